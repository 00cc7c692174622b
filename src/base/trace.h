/* trace.h - print each change of a state on stderr, for a person who looks for a fault.
 *
 * The environment variable KILLICK_TRACE names what is printed: a list of areas, separated by
 * commas, or `all`. One line is one change:
 *
 *	trace 81.304112 server files tree=5e0c1f2a9b7d4e63: starting -> handshaking (started)
 *
 * that is: seconds of CLOCK_MONOTONIC, the area, the object, the old state, the new state, and what
 * caused the change. `tree` is the id that `killick ps`, --log and --report have for the same tree.
 * Each state has one function that writes the state; only that function traces.
 *
 * The keepers do not trace: they have --log. Without the variable, a change of a state costs one
 * load of trace_areas. A program that runs with the privileges of another user ignores the
 * variable.
 *
 * Life: trace_init, any number of times; the first one counts.
 * Threads: any.  Blocking: when stderr is full.
 */
#pragma once

#include <stdatomic.h>

enum trace_area {
	TRACE_SESSION,     /* runtimes, sessions, and the leases by which a session uses servers */
	TRACE_SERVER,      /* servers: killick_state */
	TRACE_CLIENT,      /* the MCP handshake with a server */
	TRACE_CALL,        /* requests to a server: several lines for each call */
	TRACE_LINK,        /* links: to a keeper on this machine, or to a process of an executor */
	TRACE_ENVIRONMENT, /* the session with an executor */
	TRACE_CHANNEL,     /* connections between machines, of both sides */
	TRACE_EXECUTOR,    /* an executor: its connections, owners and processes */
	TRACE_LOOP,        /* which thread drives the loop: two lines for each wait */
	TRACE_AREAS,
};

extern atomic_uint trace_areas; /* a bit for each area that is printed */

/* Read KILLICK_TRACE. A word that is no area is named on stderr. */
void trace_init(void);
/* The same with a text in place of the variable's value; NULL: nothing is printed. For tests. */
void trace_set(const char *areas);

/* Pass all lines to this function, without the newline, in place of stderr; NULL: stderr. Before
 * threads trace. */
void trace_send_to(void (*fn)(void *ctx, const char *line), void *ctx);

/* Print a line; control characters become spaces. Called only by the macro TRACE. */
void trace_print(enum trace_area area, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* TRACE(TRACE_SERVER, "%s: %s -> %s (%s)", ...): the arguments are evaluated only when the area is
 * printed. */
#define TRACE(area, ...)                                                                           \
	do {                                                                                       \
		if (__builtin_expect(atomic_load_explicit(&trace_areas, memory_order_relaxed) &    \
					     1u << (area),                                         \
				     0))                                                           \
			trace_print(area, __VA_ARGS__);                                            \
	} while (0)
