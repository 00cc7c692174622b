/* mate.h - the hub of a test, and MCP clients that use it through `killick connect`.
 *
 * Black box: the clients know the protocol and the command line, and share no code with killick.
 * Life: mate_hub_start -> mate_open ... -> mate_close or mate_kill -> mate_hub_stop. With the
 * environment variable MATE_DIRECT=1 there is no hub: each client has a server of its own, which
 * shows that a test does not depend on the hub's ways.
 * MATE_LOG names a file for the log of the hub, which is lost otherwise.
 * Every function fails the test when it cannot do its work; every wait has a deadline.
 * Threads: one.  Blocking: until the deadline.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "t.h"
#include "zoo/scan.h"

#define MATE_MS (8000 * T_PATIENCE)

/* A config file in the directory of the test: zoo servers, by name. */
struct mate_server {
	const char *name;
	const char *way;  /* of `killick-zoo mcp`; NULL: tagged */
	const char *word; /* argument of the way; NULL: none */
	const char *more; /* more members of the entry, e.g. "\"share\":\"identical\"" */
};
/* Write the config; the list ends with a NULL name. Returns its path, valid until the next. */
const char *mate_config(const char *file, const struct mate_server *list);
#define MATE_CONFIG(file_, ...)                                                                    \
	mate_config(file_, (const struct mate_server[]){ __VA_ARGS__, { NULL, NULL, NULL, NULL } })
bool mate_is_direct(void);

/* Make the directories of this test and set the variables that name them. */
void mate_room(void);
/* Start the hub of this test and wait until it answers; its pid. */
pid_t mate_hub_start(void);
/* The same with these words behind `killick hub`; NULL at the end. */
pid_t mate_hub_start_with(const char *const *words);
/* Take the hub that `killick connect` has started for the one of this test; its pid. */
pid_t mate_hub_adopt(void);
/* hub.shutdown: the hub has proved that everything is gone, and ends with status 0. */
void mate_hub_stop(void);
/* SIGKILL, wait until no process of the test is alive. */
void mate_hub_kill(void);
void mate_hub_kill_only(void); /* the same, without the wait for other processes */
const char *mate_hub_socket(void);

struct mate_spec {
	const char *config;  /* path */
	const char *only;    /* --server; NULL: all */
	const char *tag;     /* --session; NULL: none */
	const char *version; /* of the protocol; NULL: 2025-11-25; "2026-07-28": the modern era */
	const char *capabilities; /* JSON; NULL: {} */
	const char *way;          /* MATE_DIRECT: the way of the server; NULL: tagged */
	const char *word;
};

struct mate {
	pid_t pid;   /* of `killick connect` */
	int in, out; /* its stdin, its stdout */
	bool modern;
	const char *capabilities;
	long next_id;
	char *at; /* received */
	size_t from, len, room;
	struct mate_note {
		char *line;
		struct mate_note *next;
	} * notes;       /* messages that were no answer, oldest first */
	char *answer;    /* the last line of mate_answer */
	char *hello;     /* the answer to initialize or server/discover */
	size_t received; /* messages */
	int more_ms;     /* mate_answer waits so much longer than MATE_MS */
};

/* Start a client of any program that is an MCP server; nothing is sent. */
void mate_open_program(struct mate *m, const char *const *argv);
/* Start a client; nothing is sent. */
void mate_open(struct mate *m, const struct mate_spec *spec);
/* The handshake; m->hello is the answer. */
void mate_hello(struct mate *m, const struct mate_spec *spec);
/* Close both pipes, as a client that exits does; `killick connect` must end with status 0. */
void mate_close(struct mate *m);
/* SIGKILL of `killick connect`, and of the pipes. */
void mate_kill(struct mate *m);
void mate_done(struct mate *m); /* after the pid was reaped */

/* A line, without newline in fmt. */
void mate_say(struct mate *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Send a request: members of params and of params._meta, as JSON text without braces; NULL: none.
 * Returns the id. */
long mate_ask(struct mate *m, const char *method, const char *members, const char *meta);
/* The same for a call of the tool: arguments are the members of an object. */
long mate_call(struct mate *m, const char *tool, const char *arguments, const char *meta);
/* Wait for the answer to this request; messages before are notes. Returns the line. */
struct span mate_answer(struct mate *m, long id);
/* result of the answer; fails on an error. */
struct span mate_result(struct mate *m, long id);
/* error.code of the answer; fails on a result. */
long mate_error(struct mate *m, long id);
/* Call and wait; the result. */
struct span mate_do(struct mate *m, const char *tool, const char *arguments);
/* Call and wait; the first text of the content, without quotes, valid until the next call. */
const char *mate_text(struct mate *m, const char *tool, const char *arguments);
/* A number in the structuredContent of the tool `counts`; 0: absent. */
long mate_count(struct mate *m, const char *key);

/* Wait for a note with both texts in the line, and remove it; the line is valid until the next. */
struct span mate_note(struct mate *m, const char *method, const char *text);
/* How many notes have both texts, so far. */
size_t mate_noted(struct mate *m, const char *method, const char *text);
void mate_forget(struct mate *m); /* drop all notes */
/* Wait until one of them can read: 0 or 1. */
int mate_first(struct mate *a, struct mate *b);
/* Everything that was sent to this client before now has arrived: a round trip to the server. */
void mate_settle(struct mate *m);

/* Read once without blocking; false: the end. */
bool mate_read(struct mate *m);
/* The next whole line that was read; valid until the next mate_read. */
bool mate_line(struct mate *m, struct span *out);

/* A connection to the control socket. */
struct control {
	int fd;
	long next_id;
	char *at;
	size_t len;
};
void control_open(struct control *c);
void control_close(struct control *c);
/* A request: params as members of an object. Returns the whole answer, valid until the next. */
struct span control_ask(struct control *c, const char *method, const char *members);
/* The result; fails on an error. */
struct span control_do(struct control *c, const char *method, const char *members);
long control_send(struct control *c, const char *method, const char *members);
struct span control_wait(struct control *c, long id);
/* The next line that has no id: a notification. Lines before are dropped. */
struct span control_note(struct control *c);
struct span control_wait_any(struct control *c, const long *ids, size_t count);

/* The living servers of the test, counted by the auditor. */
size_t mate_servers(void);
/* Wait until so many servers live: exactly. */
void mate_await_servers(size_t count);
/* Wait until nothing of the test is alive; reap orphans. */
void mate_reap(void);
/* The i-th element of a JSON array. */
struct span mate_item(struct span array, size_t i);
/* `a` of `b` ... : a path of member names, ended by NULL. */
struct span mate_at(struct span s, const char *key, ...) __attribute__((sentinel));
