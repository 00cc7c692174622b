/* outpost.h - an executor for a test, and a gate in front of it that can be shut.
 *
 * The executor is `killick exec-server` on a unix socket. It carries the auditor's tag, like all it
 * starts. The gate is a thread that passes bytes between clients and the executor, on a socket of
 * its own; while it is shut, connections are cut and new ones are cut at once. While it is stuck
 * they stay, and nothing passes.
 * Every function fails the test when it cannot do its work.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lab.h"

#define PLACED "\"environment\":\"far\",\"cwd\":\"/\""

struct outpost {
	pid_t pid; /* of the executor; 0: it is gone */
	char socket[100], gate_socket[100], log[100];
};

/* Start it; lease NULL: 30s. */
void outpost_open(struct outpost *o, const char *lease);
/* Ask it to leave, and see that it does so with status 0. */
void outpost_close(struct outpost *o);
void outpost_kill(struct outpost *o); /* SIGKILL */
/* How often the text is in its log: by now, or once it is there so often. */
int outpost_logged(const struct outpost *o, const char *text);
void outpost_await_log(const struct outpost *o, const char *text, int times);

/* The servers of list in a config whose environment `far` is the executor: to be given to free().
 * gate: through the gate. */
char *outpost_config(const struct outpost *o, bool gate, const struct lab_server *list);
/* The same with any environments; a JSON object. */
char *outpost_config_of(const char *environments, const struct lab_server *list);
/* A session; must open. */
struct killick_session *outpost_session(struct killick *k, const struct outpost *o, bool gate,
					const struct lab_server *list);
/* The same, and what comes of it. */
int outpost_try(struct killick *k, const char *config, struct killick_session **out,
		struct killick_error *e);

enum gate_state { GATE_OPEN, GATE_SHUT, GATE_STUCK, GATE_OVER };
struct gate {
	pthread_t thread;
	int wake[2];
	const struct outpost *to;
	enum gate_state state; /* atomic */
};
void gate_open(struct gate *g, const struct outpost *o);
void gate_set(struct gate *g, enum gate_state state);
void gate_close(struct gate *g);

/* How many servers were started in this test, wherever. */
size_t outpost_started(void);
/* Wait until none of the recorded servers lives. */
void outpost_await_nobody(void);
