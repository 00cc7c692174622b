/* rows.h - two clients on one shared server, for the tests of rows*.c. */
#pragma once

#include "mate.h"

struct rows {
	struct mate a, b;
	char config[160];
};

/* Start the hub, and two clients without features on one server `one`, which is shared. more: more
 * members of the server's entry, or NULL. */
void rows_begin(struct rows *r, const char *more);
/* The same with these capabilities and this way of the server; NULL: none, tagged. */
void rows_begin_with(struct rows *r, const char *more, const char *capabilities, const char *way,
		     const char *version);
/* One more client. */
void rows_add(struct mate *m, const struct mate_spec *spec);
/* Close both clients, then as rows_stop. */
void rows_end(struct rows *r);
/* No client is left: the servers end; stop the hub. */
void rows_stop(void);
/* Wait until the server has seen so many messages of the method. */
void rows_await_count(struct mate *m, const char *method, long count);
/* Wait until so many calls of the tool are open in the server. */
void rows_await_calls(struct mate *m, const char *tool, long count);
