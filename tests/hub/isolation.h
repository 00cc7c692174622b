/* isolation.h - clients with tags that share one server, for isolation.c.
 *
 * isolation.c lets the clients act; isolation_check.c checks every line that reaches a client. A
 * client's list of open requests is what both have in common: an action adds a request, its answer
 * removes the request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mate.h"

#define CLIENTS   8
#define WINDOW    6
#define TASKS     4
#define SHARED    4 /* resources that every client may watch */
#define CANCELLED 64

enum kind {
	ECHO,
	STEPS,
	LOG,
	SLEEP,
	READ,
	PROMPT,
	WATCH,
	UNWATCH,
	TOUCH,
	CHANGED,
	LEVEL,
	LIST,
	WORK,
	TASK_GET,
	TASK_RESULT,
	TASK_CANCEL,
	TASK_LIST,
	TASK_FOREIGN,
	ASK,
	LINK,
	KINDS,
};
/* Texts for notes, and log levels in ascending order. */
extern const char *const isolation_kinds[KINDS];
extern const char *const isolation_levels[8];

struct pending {
	bool used;
	enum kind kind;
	long id;
	int expected, got; /* progress */
	int place;         /* task, uri or level */
	double since_ms;
};

struct client {
	struct mate m;
	char tag[32];
	struct pending pending[WINDOW];
	long cancelled[CANCELLED];
	unsigned cancels;
	int level, level_asked;
	enum { UNWATCHED, WATCHING, WATCHED, UNWATCHING } watch[SHARED + 1]; /* the last: its own */
	struct task {
		char id[64]; /* "": none */
		bool busy, cancelled, asks;
	} tasks[TASKS];
};

struct isolation_plan {
	const char *config, *way, *word;
	bool asks;   /* clients declare features, and tools ask */
	bool modern; /* every second client is of the modern era */
	size_t messages;
};
extern struct isolation_plan isolation_plan;
extern bool isolation_calm; /* no kills and no cancellations yet: every question is delivered */

struct isolation_seen {
	size_t received; /* messages of all kinds */
	size_t answers[KINDS];
	size_t progress, logs, asks, updates, status;
};
extern struct isolation_seen isolation_seen;

/* The uri of a resource: one of SHARED, or for place == SHARED the client's own. */
void isolation_uri(const struct client *c, int place, char *out, size_t size);
/* Check a line that this client has received, and answer it if it is a question. Fails the test if
 * the line has the tag of another client, or if this client cannot expect it. */
void isolation_check(struct client *c, struct span line);
