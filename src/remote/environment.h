/* environment.h - the connection to an executor on which servers are placed, shared by all links to
 * it.
 *
 * The connection is opened when it is first needed and closed when it is not needed any more. When
 * the connection is lost, on_lost of every link is called at once, and the environment tries for
 * WIRE_RECOVERY_MS to resume the same session. On success the output of every process is fetched
 * from where it broke off, input that was not acknowledged is written again under the same writeId,
 * and on_back is called. Otherwise every link ends, with proof "lease": the executor ends the trees
 * itself.
 *
 *	idle -> connecting -> greeting -> attached <-> lost -> idle
 *
 * Life: environment_new -> environment_open_link ... -> environment_free, when no user is left.
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
	const char *keeper;       /* path of killick, which holds the program */
	const char *label;        /* tells the executor who we are; NULL: none */
};

struct environment *environment_new(struct loop *loop, const struct environment_spec *spec);
/* Start a server on the executor, as link_open does. The server inherits the core variables of the
 * executor's own environment, and the variables named in remote_names. A later failure (no
 * connection, refused) is reported by on_ended. Fails at once while the connection is lost. */
int environment_open_link(struct environment *env, const struct recipe *recipe,
			  const struct link_events *ev, void *ctx, struct link **out,
			  struct err *e);
/* List the processes of the executor: `result` is the JSON of process/list; on failure it is NULL,
 * and e says why. */
typedef void (*environment_list_fn)(void *ctx, const char *result, size_t len, const struct err *e);
int environment_list(struct environment *env, environment_list_fn done, void *ctx, struct err *e);
/* End all lists that are not answered yet: `done` of each is called with e. */
void environment_end_lists(struct environment *env, const struct err *e);
/* Links that have not been freed, and lists that have not been answered. */
size_t environment_users(const struct environment *env);
/* Close the connection (processes that the executor still holds lose their owner), then call
 * on_freed, which may be NULL: a program that was started for the connection is proved gone by
 * then. No user may be left. */
void environment_free(struct environment *env, void (*on_freed)(void *ctx), void *ctx);
