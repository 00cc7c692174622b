/* guest.h - a client of an executor that does what a test tells it, byte for byte.
 *
 * It speaks lines over a unix socket, or over the executor's stdin and stdout, or messages of a
 * WebSocket, and shares no code with killick's own client but the JSON reader.
 *
 * Life: host_start -> guest_open -> guest_ask ... -> guest_close -> host_stop. Every wait has a
 * deadline and fails the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/json.h"

#define GUEST_MS 8000 /* for what should take milliseconds */

struct host { /* an exec-server */
	pid_t pid;
	char url[300];
	int in, out; /* of --listen stdio; -1 */
};

/* killick exec-server --listen WHERE and more words, NULL at the end. `where` NULL: a unix socket.
 */
void host_start(struct host *h, const char *where, const char *const *words);
#define HOST(h_, where_, ...) host_start(h_, where_, (const char *const[]){ __VA_ARGS__, NULL })
/* The same as a service manager does it: fd, which is closed here, is a listening socket and
 * becomes descriptor 3. `words` is part of a shell command; `as`, NULL or the beginning of one,
 * such as "setpriv --reuid 1". The url is for guest_connect: a name with an '@' is abstract. */
void host_start_given(struct host *h, int fd, const char *as, const char *words);
/* SIGTERM, and its end; the exit status must be 0. */
void host_stop(struct host *h);
/* SIGKILL, and its end. */
void host_kill(struct host *h);
/* It ends by itself, and its keepers with it: its wait status. */
int host_end(struct host *h);

#define GUEST_QUEUE 4096
struct guest {
	int in, out;
	bool web;    /* a WebSocket */
	char *bytes; /* what was read: of a WebSocket a message with a newline behind it */
	size_t len, room;
	char *raw; /* of a WebSocket: what is no whole frame yet */
	size_t raw_len, raw_room;
	char *queue[GUEST_QUEUE]; /* messages that nobody asked for yet */
	size_t queued;
	long last_id;
	char session[64];
};

/* No handshake; on ws:// it becomes a WebSocket. */
void guest_connect(struct guest *g, const struct host *h);
/* The same, and false when the executor hangs up instead; nothing is to be closed then. */
bool guest_try_connect(struct guest *g, const struct host *h);
/* As this user, who is root or another one; only root can. */
void guest_connect_as(struct guest *g, const struct host *h, uid_t uid);
void guest_open(struct guest *g, const struct host *h); /* with it */
void guest_resume(struct guest *g, const struct host *h, const char *session);
/* Come (session NULL) or come back; false when the executor hung up or refused. */
bool guest_try(struct guest *g, const struct host *h, const char *session);
void guest_close(struct guest *g); /* hangs up */
/* For what is no guest: a socket that is connected to the port of ws://, and the head of an upgrade
 * without its last, empty line. */
int guest_port(const struct host *h);
extern const char guest_upgrade[];

void guest_say(struct guest *g, const char *text); /* a line */
/* The next line; to be given to free(). NULL: the other side hung up. */
char *guest_hear(struct guest *g);
/* Send a request; its id. No test fails if the executor has hung up: whoever waits hears that. */
long guest_send(struct guest *g, const char *method, const char *params_fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Wait for the answer to id; what comes before it is kept. To be given to free(). */
char *guest_answer(struct guest *g, long id);
/* Both: the answer must be a result. */
char *guest_ask(struct guest *g, const char *method, const char *params_fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The answer must be an error with this code. */
void guest_refused(struct guest *g, int code, const char *method, const char *params_fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The next notification of this method for this process; to be given to free(). */
char *guest_await(struct guest *g, const char *method, const char *process);
/* Is there one, among those that came? Reads nothing. */
bool guest_has(struct guest *g, const char *method, const char *process);
/* Output of a process until `text` is in it. */
void guest_await_output(struct guest *g, const char *process, const char *text);

/* process/start: `as` is "\"pipeStdin\":true" and the like; the command is given to sh -c. It has
 * the executor's whole environment, and so the auditor's tag. */
void guest_start(struct guest *g, const char *process, const char *as, const char *script);
#define PIPED "\"tty\":false,\"pipeStdin\":true"
#define SHELL "\"tty\":false,\"pipeStdin\":false"
#define TTY   "\"tty\":true,\"pipeStdin\":false"

/* A member of a message, by path. */
struct json guest_find(const char *message, const char *path);
long long guest_number(const char *message, const char *path); /* fails the test if it is none */
bool guest_true(const char *message, const char *path);
