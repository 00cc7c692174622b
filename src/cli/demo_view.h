/* demo_view.h - draws the demo: two trees side by side, and a table of results below them.
 *
 * On a terminal that is large enough the picture is redrawn in place (view_frame, as often as the
 * caller likes); elsewhere each scene is printed in steps (view_step). The view starts and ends no
 * process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SIDE_PLAIN, SIDE_KILLICK, SIDES };
enum { SIDE_MAX = 64 }; /* processes that can be shown; more are only counted */

struct demo_process {
	int pid, ppid;
	/* Arguments joined by spaces, as the process wrote them: the view cleans them. On Windows
	 * the first word is the name of the program without directory and ".exe". */
	char args[200];
};

struct scene {
	const char *mode, *inner; /* modes of the zoo; inner may be NULL */
	const char *about;        /* for the table: at most 25 columns */
	const char *story;        /* above the trees: at most 45 columns, so that the line has 60 */
	/* results */
	bool done;
	size_t left[SIDES];
	/* killick's side: time from the kill to the first scan without a process; -1: never */
	double gone_ms;
};

struct side {
	struct demo_process list[SIDE_MAX];
	size_t count; /* found; may be more than in the list */
	int server;   /* the process that the client started, once seen */
};

struct view {
	const struct scene *scenes;
	size_t count, current;
	const struct side *sides;
	const char *kill_name; /* how clients are killed: "SIGKILL" */
	bool killed;           /* the clients of this scene were killed */
	double since_ms;       /* time since the kill */
	bool live;
	size_t drawn; /* lines of the picture on the screen */
};

/* Choose between live and steps. The fields scenes, count, sides and kill_name are the caller's. */
void view_init(struct view *v);

/* Live only: draw the picture over the previous picture. */
void view_frame(struct view *v);

/* Steps only: print the current state. */
void view_step(const struct view *v, const char *what);

/* Live only: erase the picture and show the cursor. Safe to call twice. */
void view_clear(struct view *v);

/* Print the table of all scenes; scenes that are not done have no results yet. */
void view_table(const struct view *v);
