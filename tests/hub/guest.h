/* guest.h - an MCP client of a desk under a test: it writes and reads lines on a socket.
 *
 * The runtime and the servers are those of lab.h. Every function fails the test when it cannot do
 * its work; every wait has the deadline LAB_MS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../lib/lab.h"
#include "hub/desk.h"

#define GUEST_NOTES 256

struct guest {
	struct killick *k;
	struct desk *desk;
	int fd; /* -1: without a face, or closed */
	char *in;
	size_t in_len, in_room;
	bool modern;
	bool careless;    /* the desk may have closed the connection already */
	const char *meta; /* modern: more members of _meta; NULL: none */
	long last_id;
	/* lines that were read while the guest waited for another line, oldest first */
	char *notes[GUEST_NOTES];
	size_t note_count;
	char *line; /* the last line that was returned */
	/* events of the desk, with the lock of the loop */
	struct lab_count opened, closed, changes, answers;
	struct killick_error error;
	struct killick_report *report;
	char *kept, *why;
	char *result, *answer_error; /* of guest_request */
};

/* A desk with these servers. */
void guest_open(struct guest *g, struct killick *k, const struct lab_server *list);
void guest_config(const struct lab_server *list, struct config *out);
/* The same without a face, and wait until it is open. */
void guest_open_bare(struct guest *g, struct killick *k, const struct lab_server *list);
/* initialize, the answer's result, notifications/initialized. */
const char *guest_meet(struct guest *g, const char *capabilities);
/* A modern client: server/discover; returns the result. */
const char *guest_discover(struct guest *g);
void guest_send(struct guest *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The next line, or the oldest note. */
const char *guest_line(struct guest *g);
/* A request with the next id; params: the members of the object, without _meta. Returns its id. */
long guest_ask(struct guest *g, const char *method, const char *params);
/* The whole line that answers this id; other lines become notes. */
const char *guest_answer(struct guest *g, long id);
/* Both. */
const char *guest_do(struct guest *g, const char *method, const char *params);
/* A tool call; args: JSON. */
const char *guest_call(struct guest *g, const char *tool, const char *args);
/* The next line, or the oldest note, that has this text; other lines become notes. */
const char *guest_await(struct guest *g, const char *text);
/* How many notes have this text? Notes that wait in the socket are read first, for `ms`. */
size_t guest_count(struct guest *g, const char *text, int ms);
/* Does the line contain the text? Fails the test if not. */
#define HAS(line_, text_)                                                                          \
	do {                                                                                       \
		const char *has_line_ = (line_);                                                   \
		if (!strstr(has_line_, (text_)))                                                   \
			FAIL("%s is not in %s", (text_), has_line_);                               \
	} while (0)
#define HAS_NOT(line_, text_)                                                                      \
	do {                                                                                       \
		const char *has_line_ = (line_);                                                   \
		if (strstr(has_line_, (text_)))                                                    \
			FAIL("%s is in %s", (text_), has_line_);                                   \
	} while (0)
/* A request of the control API; the result, or NULL and g->answer_error. */
const char *guest_request(struct guest *g, const char *server, const char *method,
			  const char *params);
void guest_refresh(struct guest *g, const struct lab_server *list);
/* Close the client's end (or, without a face, the desk), wait until the desk is closed; every
 * ending must be proved. The number of endings is returned. */
size_t guest_leave(struct guest *g);
/* The same for a desk that is closing or closed already. */
size_t guest_bury(struct guest *g);
