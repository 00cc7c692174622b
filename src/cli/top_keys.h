/* top_keys.h - what the keys of `killick top` do: sort, select, unfold, and orders to the hub.
 *
 * Only keys change the state of the view. The state names rows by their ids, so that a new model
 * does not move the selection. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top_model.h"

enum { TOP_NOTE_MS = 3000 };

enum top_order { TOP_NO_ORDER, TOP_STOP, TOP_RESTART, TOP_REST };

struct top_keys {
	enum top_sort sort;
	char selected[40];    /* id of a server or a session; "": the first row */
	char unfolded[40];    /* id of a server; "": none */
	enum top_order asked; /* waits for the key that confirms it */
	char asked_id[40], asked_name[100];
	long long asked_sessions;
	bool asked_tree;
	char note[300]; /* a sentence about the last key or order; "": none */
	bool note_bad;
	bool note_stays;    /* until another note replaces it: an order is under way */
	int64_t note_until; /* in us; 0: the note is new */
	bool quit;
	char rest[8]; /* the beginning of a key that sends several bytes */
	size_t rest_len;
};

/* The word for an order: "stop", "restart", "rest". */
const char *top_keys_word(enum top_order order);
/* The selected row: the index of a server, or the number of servers plus the index of a session. 0
 * if the row is gone. */
size_t top_keys_selected(const struct top_keys *k, const struct top_model *m);
/* The selected server; NULL: the list is empty, or a session is selected. */
const struct top_server *top_keys_server(const struct top_keys *k, const struct top_model *m);
/* May this order be given for the selected row? false: out_why says why not. */
bool top_keys_may(const struct top_keys *k, const struct top_model *m, enum top_order order,
		  char *out_why, size_t size);
/* Write the note; it is shown for TOP_NOTE_MS. */
void top_keys_say(struct top_keys *k, bool bad, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Begin the time of a new note, and remove a note whose time is over. Returns the time until the
 * next call is due in ms; -1: none. */
int top_keys_expire(struct top_keys *k, int64_t now_us);
/* Read bytes of the terminal. Returns the order that was confirmed, for asked_id, or TOP_NO_ORDER;
 * bytes behind a confirmed order are dropped. */
enum top_order top_keys_read(struct top_keys *k, const struct top_model *m, const char *bytes,
			     size_t len);
