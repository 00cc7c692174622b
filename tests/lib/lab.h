/* lab.h - a runtime and servers of the zoo under a test.
 *
 * LAB(k) opens a runtime whose keeper is $KILLICK. A set of servers is a list of struct lab_server;
 * each server is `killick-zoo mcp WAY ARGUMENT` and carries the auditor's tag. Every function fails
 * the test when it cannot do its work; every wait has the deadline LAB_MS.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <killick/killick.h>

#include "t.h"

/* A server is its name, and as much else as the test is about. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* For what should take milliseconds; only a broken library meets it. */
#define LAB_MS (8000 * T_PATIENCE)

struct lab_server {
	const char *name;
	const char *way;      /* NULL: good */
	const char *argument; /* NULL: none */
	const char *more;     /* further members of its config: "\"required\":true" */
	const char *mode;     /* of the zoo instead of `mcp`: "ignore" */
};
#define SERVERS(...) ((const struct lab_server[]){ __VA_ARGS__, { 0 } })

/* Sets ZOO_PIDS and ZOO_LIFE_MS on its first use in a test. */
struct killick *lab_open(const struct killick_options *options);
#define LAB() lab_open(NULL)

/* JSON text, to be given to free(). The list ends with a NULL name. */
char *lab_config(const struct lab_server *list);

/* A session with these servers; must succeed. Options but for the config may be given. */
struct killick_session *lab_session(struct killick *k, const struct lab_server *list);
struct killick_session *lab_session_with(struct killick *k, const struct lab_server *list,
					 const struct killick_session_options *options);
/* Close and free it; every ending must be proved. */
void lab_end(struct killick_session *s);
/* Close the runtime and free it, in the same way. */
void lab_close(struct killick *k);
/* Refresh; must succeed and be proved. */
void lab_refresh(struct killick_session *s, const struct lab_server *list);

/* A tool call whose code must be `code`; its text is put into out unless that is NULL. */
void lab_call(struct killick_session *s, const char *server, const char *tool, const char *args,
	      int code, char *out, size_t size);
/* The same with a time; the result is the caller's. */
struct killick_result *lab_try(struct killick_session *s, const char *server, const char *tool,
			       const char *args, long timeout_ms);
/* A request whose code must be `code`; the result is the caller's. */
struct killick_result *lab_do(struct killick_session *s, const struct killick_request *rq,
			      int code);
/* What the server itself says its pid is. */
pid_t lab_pid(struct killick_session *s, const char *server);
/* A call of `block` that is known to have arrived. */
struct killick_call *lab_block(struct killick_session *s, const char *server);
/* A member of what `seen` tells (protocol.h of the zoo), as text. */
void lab_seen(struct killick_session *s, const char *server, const char *path, char *out,
	      size_t size);

enum killick_state lab_state(struct killick_session *s, const char *server);
/* Wait for a state. */
void lab_await_state(struct killick_session *s, const char *server, enum killick_state state);
/* Copies of two texts of a server's status. */
void lab_errors(struct killick_session *s, const char *server, char *out_error, size_t error_size,
		char *out_stderr, size_t stderr_size);

/* The pids that servers recorded in this test, oldest first; how many. */
size_t lab_pids(pid_t *out, size_t max);
/* Is it alive and of this test? (pids are used again) */
bool lab_lives(pid_t pid);
/* How many of the recorded live. */
size_t lab_living(void);
void lab_await_pids(size_t count); /* until so many were recorded */

/* Reap what came to us as the subreaper of others, until we have no child. */
void lab_reap(void);

/* Open descriptors of this process, and its memory in use in KiB (0 where it cannot be told). */
int lab_fds(void);
long lab_memory_kib(void);

/* Counts that threads wait for. */
struct lab_count {
	pthread_mutex_t lock;
	pthread_cond_t grew;
	int value;
};
#define LAB_COUNT_INIT                                                                             \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                             \
	}
void lab_add(struct lab_count *c);
int lab_value(struct lab_count *c);
void lab_await(struct lab_count *c, int value); /* or more */

/* Everything a session told, counted by kind; the last text and json of each. */
#define LAB_KINDS 8
struct lab_events {
	struct lab_count count[LAB_KINDS];
	struct {
		char server[64], text[512], json[512];
	} last[LAB_KINDS];
	struct lab_count asks;
	const char *answer; /* to whatever is asked; NULL: decline */
	char ask_method[64], ask_params[512];
	pthread_mutex_t lock;
	struct killick_handlers handlers;
};
void lab_events_init(struct lab_events *ev);
/* Handlers that fill it in; answers as in killick_handlers. */
const struct killick_handlers *lab_handlers(struct lab_events *ev, unsigned answers);

/* Run fn in a thread; pthread_join it. */
pthread_t lab_thread(void *(*fn)(void *arg), void *arg);
