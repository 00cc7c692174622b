/* environment.h - an executor that servers are placed on, as its client sees it: one connection,
 * shared by everybody who uses it.
 *
 * It is opened when first needed and closed when nobody needs it any more. When the connection is
 * lost everybody hears it at once (link's on_lost), and we try for WIRE_RECOVERY_MS to come back to
 * the same session: then every process's output is fetched from where it broke off, what was not
 * acknowledged is written again under the same writeId, and on_back is told. Otherwise every link
 * ends, with proof "lease": the executor ends the trees itself.
 *
 *	idle -> connecting -> greeting -> attached <-> lost -> idle
 *
 * Life: environment_new -> environment_open_link ... -> environment_free, when no link is left; it
 * takes care of itself meanwhile.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "link/link.h"

struct environment;

struct environment_spec {     /* copied. One of url, program. */
	const char *name;     /* for sentences */
	const char *url;      /* ws://, wss://, unix: */
	char *const *program; /* argv; its stdin and stdout speak the protocol (ssh is this, too) */
	char *const *program_env; /* of the program: the whole environment */
	const char *token;        /* NULL: none */
	const char *ca_file;      /* NULL: the system's */
	const char *keeper;       /* of the program */
	const char *label;        /* tells the executor who we are; NULL: none */
};

struct environment *environment_new(struct loop *loop, const struct environment_spec *spec);
/* Start a server there: as link_open. Of the executor's own environment it inherits the core
 * variables, and those named in remote_names. What fails later (no connection, refused) comes as
 * on_ended. Fails at once while the connection is lost. */
int environment_open_link(struct environment *env, const struct recipe *recipe,
			  const struct link_events *ev, void *ctx, struct link **out,
			  struct err *e);
/* What the executor holds: `result` is the JSON of process/list, NULL on failure with e. */
typedef void (*environment_list_fn)(void *ctx, const char *result, size_t len, const struct err *e);
int environment_list(struct environment *env, environment_list_fn done, void *ctx, struct err *e);
/* Links that have not been freed, and lists that have not been answered. */
size_t environment_users(const struct environment *env);
/* Close the connection (processes that are still held there lose their owner), then on_freed, which
 * may be NULL: a program that was started for it is proved gone. No user may be left. */
void environment_free(struct environment *env, void (*on_freed)(void *ctx), void *ctx);
