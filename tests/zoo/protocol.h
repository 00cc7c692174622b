/* protocol.h - a complete MCP server, and the ways in which it can misbehave.
 *
 * `killick-zoo mcp [WAY [ARGUMENT]]` is a server with every feature a client can use, in the legacy
 * era unless the way says otherwise. A way is a set of functions that are called before and after a
 * request is answered, or instead of writing a line. Most ways only affect calls of the tool
 * `echo`: a client that can still call `pid` has a session that survived.
 *
 * Tools: echo {text}, sleep {ms, text}, block, pid, progress {n, ms}, ask {method, params,
 * bytes, late}, log {n, text, bytes, level, token} (with a level: only from the level up that the
 * client has set), big {bytes}, crash {code, signal}, spawn, stderr {lines}, notify {what,
 * uri, n, force}, fail, seen, env. `seen` says as structuredContent what the client did: cancelled,
 * initialized, roots, level, late (the answer to an ask that belonged to no call). Lists have three
 * pages. The way `tagged` has more tools (protocol_tagged.c). Every process adds its pid to the
 * file that ZOO_PIDS names, and every line that it reads to the file that ZOO_WIRE names, if that
 * is set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "zoo/scan.h"

struct grow { /* a growing buffer */
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
	bool modern;      /* the request says that it is of the modern era */
};

struct way {
	const char *name, *about;
	void (*begin)(void);                      /* before the first read */
	bool (*before)(const struct request *rq); /* true: skip the usual answer */
	void (*after)(const struct request *rq);
	void (*put)(const char *line, size_t len); /* writes a line; newline included */
	void (*at_eof)(void);
	bool modern, not_legacy; /* the eras it speaks; by default only legacy */
	bool stays;              /* also after EOF and SIGTERM */
};
extern const struct way protocol_ways[]; /* ends with a NULL name */
extern const struct way *way;            /* of this process */
extern const char *way_argument;         /* "": none */

/* Settings that a way may change. */
extern const char *protocol_version; /* answer to initialize; NULL: the requested version */
extern unsigned protocol_lists;      /* how often tools were listed; odd tools depend on it */
extern long protocol_read_pause_us;  /* between reads of 512 bytes; 0: none */
extern const char *protocol_tools;   /* the capability "tools" of the legacy era */
extern const char *protocol_more;    /* more capabilities of the legacy era, with a comma first */
extern const char *protocol_scheme;  /* of its resources */
extern bool protocol_bare; /* legacy: only tools are declared, and protocol_more */
struct zoo_tool {
	const char *name;
	void (*call)(const struct request *rq);
};
extern const struct zoo_tool *protocol_more_tools; /* ends with a NULL name; NULL: none */
extern const char *protocol_tool_more; /* more members of each tool, with a comma first */
extern long protocol_ttl_ms;                       /* of cacheable results of the modern era */

void protocol_raw(const char *bytes, size_t len); /* to stdout, without the way's `put` */
/* Write a line with the way's `put`. */
void protocol_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void protocol_say_text(struct grow *t);
/* Answer with the members of a result object, e.g. "\"tools\":[]"; cacheable results of the modern
 * era have two more. */
void protocol_answer(const struct request *rq, const char *members, size_t len, bool cacheable);
void protocol_answers(const struct request *rq, const char *members);
void protocol_error(const struct request *rq, int code, const char *message);
/* The answer of a tool: one text, given as a JSON string; structured may be absent. */
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
	double due_ms;                /* OPEN_SLEEP */
	long left;                    /* OPEN_SLEEP: steps, or for the owner of `fire` */
	void (*fire)(struct open *o); /* OPEN_SLEEP: instead of the answer of the tool `sleep` */
	long number;                  /* OPEN_ASK: "zoo-NUMBER" */
};
struct open *protocol_open(const struct request *rq, enum open_kind kind);
void protocol_close(struct open *o);
double protocol_now_ms(void);

/* protocol_tools.c */
void tools_list(const struct request *rq);
void tools_call(const struct request *rq);
void tools_wake(void);                                  /* sleeps that are over, late asks */
double tools_next_ms(void);                             /* when the next is due; 0: none */
bool tools_answered(struct span id, struct span whole); /* an answer to an ask of the server */
void tools_cancelled(struct span id);
void tools_note(const char *what); /* initialized, roots */
void tools_level(struct span level);
const char *tools_get_level(void); /* "": the client has set none */
void tools_ask(const struct request *rq, const char *method, struct span params);
/* The argument `text`, or this JSON text. */
struct span tools_text(const struct request *rq, const char *otherwise);
extern bool (*tools_on_answer)(struct open *o); /* true: handled; for ways that ask again */
void open_each(void (*fn)(struct open *o));

/* protocol_lists.c: false when the method is not a list or a read */
bool lists_answer(const struct request *rq);
void lists_updated(struct span uri, bool forced); /* forced: without a subscription */
void lists_page(const struct request *rq, const char *key, const char *const *items, size_t count);

/* protocol_modern.c */
bool modern_answer(const struct request *rq); /* server/discover, subscriptions/listen */
void modern_notify(const char *filter, const char *method, struct span uri);
bool modern_cancelled(struct span id);
