/* demo_view.h - what the demo shows: two trees side by side, and the table that grows below them.
 *
 * On a terminal that is large enough the picture is redrawn in place (view_frame, as often as one
 * likes); elsewhere each scene is printed in steps (view_step). Nothing here starts or ends a
 * process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "demo_audit.h"

enum { SIDE_PLAIN, SIDE_KILLICK, SIDES };
enum { SIDE_MAX = 64 }; /* processes that are kept to be shown; more are counted */

struct scene {
	const char *mode, *inner; /* of the zoo; inner may be NULL */
	const char *about;        /* for the table: at most 25 columns */
	const char *story;        /* above the trees: at most 45 columns, so that the line has 60 */
	/* results */
	bool done;
	size_t left[SIDES];
	double gone_ms; /* killick's side, from SIGKILL to the first look that found nothing; -1:
			   never */
};

struct side {
	struct audit_proc list[SIDE_MAX];
	size_t count; /* found; may be more than are in the list */
	pid_t server; /* the process the client meant to start, once seen */
};

struct view {
	const struct scene *scenes;
	size_t count, current;
	const struct side *sides;
	bool killed;     /* the clients of this scene were */
	double since_ms; /* ... so long ago */
	bool live;
	size_t drawn; /* lines on the screen that are ours */
};

/* Choose between live and steps. */
void view_init(struct view *v, const struct scene *scenes, size_t count, const struct side *sides);

/* Live only: draw the picture over the last one. */
void view_frame(struct view *v);

/* Steps only: print what there is to see now. */
void view_step(const struct view *v, const char *what);

/* Live only: take the picture away and give the cursor back. Safe to call twice. */
void view_clear(struct view *v);

/* The table of all scenes; those that are not done have no results yet. */
void view_table(const struct view *v);
