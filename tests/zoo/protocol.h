/* protocol.h - a whole MCP server, and the places where its ways misbehave.
 *
 * `killick-zoo mcp [WAY [ARGUMENT]]` is a server with every feature a client can ask for, in the
 * legacy era unless the way says otherwise. A way is a few functions that are called before and
 * after a request is answered, or instead of writing a line. Most do their harm to calls of the
 * tool `echo` alone: whoever is still able to call `pid` has a session that survived it.
 *
 * Tools: echo {text}, sleep {ms}, block, pid, progress {n, ms}, ask {method, params, bytes, late},
 * log {n, text, bytes}, big {bytes}, crash {code, signal}, spawn, stderr {lines}, notify {what, uri}, fail, seen,
 * env. `seen` says as structuredContent what the client did: cancelled, initialized, roots, level,
 * late (the answer to an ask that belonged to no call).
 * Lists have three pages. Every process adds its pid to the file that ZOO_PIDS names, and every
 * line that it reads to the file that ZOO_WIRE names, if that is set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "zoo/scan.h"

struct grow { /* bytes that grow */
	char *at;
	size_t len, room;
};
void grow_add(struct grow *t, const char *bytes, size_t len);
void grow_adds(struct grow *t, const char *s);
void grow_addf(struct grow *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void grow_span(struct grow *t, struct span s);
void grow_done(struct grow *t);

struct request {
	struct span whole, id, method, params;
	struct span meta; /* params._meta */
	bool modern;      /* it says so itself */
};

struct way {
	const char *name, *about;
	void (*begin)(void);                      /* before anything is read */
	bool (*before)(const struct request *rq); /* true: that was all, no usual answer */
	void (*after)(const struct request *rq);
	void (*put)(const char *line, size_t len); /* how a line is written; newline included */
	void (*at_eof)(void);
	bool modern, not_legacy; /* the eras it speaks; legacy only without */
	bool stays;              /* also after EOF and SIGTERM */
};
extern const struct way protocol_ways[]; /* ends with a NULL name */
extern const struct way *way;            /* ours */
extern const char *way_argument;         /* "" without */

/* What a variant may change of the whole. */
extern const char *protocol_version; /* answered to initialize; NULL: what was asked for */
extern unsigned protocol_lists;      /* how often tools were listed; odd tools change by it */
extern long protocol_read_pause_us;  /* between reads of 512 bytes; 0: none */
extern const char *protocol_tools;   /* the capability "tools" of the legacy era */
extern long protocol_ttl_ms;         /* of cacheable results of the modern era */

void protocol_raw(const char *bytes, size_t len); /* to stdout, whatever the way */
/* A line, written as the way writes. */
void protocol_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void protocol_say_text(struct grow *t);
/* Answer with the members of a result object, e.g. "\"tools\":[]"; cacheable results of the modern
 * era have two more. */
void protocol_answer(const struct request *rq, const char *members, size_t len, bool cacheable);
void protocol_answers(const struct request *rq, const char *members);
void protocol_error(const struct request *rq, int code, const char *message);
/* The answer of a tool: one text, a JSON string as written; structured may be absent. */
void protocol_tool_answer(const struct request *rq, struct span json_string,
			  struct span structured);

bool request_is(const struct request *rq, const char *method);
bool request_calls(const struct request *rq, const char *tool);
struct span request_arg(const struct request *rq, const char *name);

/* Requests that stay open: a copy, until they are answered or cancelled. */
enum open_kind { OPEN_BLOCK, OPEN_SLEEP, OPEN_ASK };
struct open {
	enum open_kind kind;
	struct request rq; /* of a copy of the line */
	char *line;
	double due_ms; /* OPEN_SLEEP */
	long number;   /* OPEN_ASK: "zoo-NUMBER" */
};
struct open *protocol_open(const struct request *rq, enum open_kind kind);
void protocol_close(struct open *o);
double protocol_now_ms(void);

/* protocol_tools.c */
void tools_list(const struct request *rq);
void tools_call(const struct request *rq);
void tools_wake(void);                                  /* sleeps that are over, late asks */
double tools_next_ms(void);                             /* when the next is due; 0: none */
bool tools_answered(struct span id, struct span whole); /* an answer to one of our asks */
void tools_cancelled(struct span id);
void tools_note(const char *what); /* initialized, roots */
void tools_level(struct span level);
void tools_ask(const struct request *rq, const char *method, struct span params);
extern bool (*tools_on_answer)(struct open *o); /* true: dealt with; for ways that ask again */
void open_each(void (*fn)(struct open *o));

/* protocol_lists.c: false when the method is none of these */
bool lists_answer(const struct request *rq);
void lists_updated(struct span uri);
void lists_page(const struct request *rq, const char *key, const char *const *items, size_t count);

/* protocol_modern.c */
bool modern_answer(const struct request *rq); /* server/discover, subscriptions/listen */
void modern_notify(const char *filter, const char *method, struct span uri);
bool modern_cancelled(struct span id);
