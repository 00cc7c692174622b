/* report_text.h - the text of a report: the members that are the same on every system.
 *
 * The keeper of a system (report.h in its folder) adds what only it knows, in this order:
 *
 *	report_head      {"killick":..., ... "step":"eof","exit":
 *	the keeper       {"code":0}
 *	report_times     ,"stop_ms":...,"life_ms":...
 *	the keeper       ,"killed":...
 *	report_list      ,"proof":["..."]
 *	the keeper       ,"survivors":[...]
 *	report_notes     ,"notes":["..."]
 *	the keeper       }
 *
 * Threads: any.  Blocking: never.  Allocates: never.
 */
#pragma once

#include "line.h"
#include "notes.h"
#include "recipe.h"

/* Why the tree had to end. */
enum why { WHY_EXIT, WHY_STDIN, WHY_SIGNAL, WHY_OWNER, WHY_WATCH, WHY_HOLD, WHY_FAILED };

/* The furthest step that was needed to end the main process. */
enum need { NEED_NONE, NEED_EOF, NEED_TERM, NEED_KILL };

struct report_facts {
	const char *tree;            /* its id */
	const struct recipe *recipe; /* name, session and command */
	int pid, owner;              /* 0: none */
	enum level level;
	enum why why;
	enum need need;
};

const char *report_why(enum why why);
const char *report_need(enum need need);

/* The command as one text for records and reports: arguments joined by spaces, secrets hidden. */
void report_command(const struct recipe *r, struct line *out);

void report_head(struct line *l, const struct report_facts *f);
void report_times(struct line *l, long long stop_us, long long life_us);
void report_list(struct line *l, const char *key, const char *const *texts, int count);
void report_notes(struct line *l, const struct notes *n);

/* The whole line instead, when it does not fit: a line that is cut would not be JSON. */
void report_shorten(struct line *l, const char *tree, bool has_survivors);
