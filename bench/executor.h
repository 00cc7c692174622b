/* executor.h - what the measures of executors share: two of them, one client.
 *
 * killick exec-server and codex exec-server speak the same protocol; everything is measured through
 * it, over a WebSocket on loopback, by the same client. They run interleaved, in another order each
 * round (bench.h has the same rule for the wrappers). Both as they come: no options but --listen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "executor_wire.h"
#include "report.h"
#include "samples.h"
#include "server.h"

struct executor {
	const char *name, *program;
	struct server server;
	struct wire wire;
	long last_id, last_process; /* both are numbers, counted up */
	bool missing;
};

/* Ours first; the other is what ours is compared with. */
enum { OURS, CODEX, EXECUTORS };

struct executor_bench {
	const char *self, *echo;
	struct executor at[EXECUTORS];
	struct report report;
	double load;
	size_t percent; /* of the usual number of rounds */
};

/* What an executor said. */
enum executor_said { SAID_ANSWER, SAID_OUTPUT, SAID_EXITED, SAID_CLOSED };
struct executor_event {
	enum executor_said said;
	long id;          /* of the request, ANSWER only; the others: */
	long process;     /* whose */
	long seq;         /* gap-free per process, but not always in order */
	const char *data; /* OUTPUT: base64, in the wire's buffer */
	size_t len;
	long exit_code; /* EXITED */
};

struct executor_spec {
	const char *argv[8]; /* NULL after the last; no character that JSON escapes */
	bool pipe_stdin;
};

/* Start the program, connect, initialize. It inherits our CPUs. False: it does not start. */
bool executor_up(struct executor *e);
/* Ask it to end, and see to it that it and all it has started are gone. */
void executor_down(struct executor *e);

/* Both, or those there are. */
void executors_up(struct executor_bench *b);
void executors_down(struct executor_bench *b);

/* Send a process/start: the process's number; the answer is not yet read. */
long executor_start(struct executor *e, const struct executor_spec *spec);
/* Send a process/write of bytes; the number of the request. */
long executor_write(struct executor *e, long process, const char *bytes, size_t len);
/* The next thing said. Errors end the program. */
struct executor_event executor_next(struct executor *e);
/* Wait until a process/start has been answered. Nothing else may be under way. */
void executor_started(struct executor *e);
/* How many bytes of base64 those are, decoded into `out` when it is not NULL. */
size_t executor_decode(const char *data, size_t len, char *out);

size_t executor_rounds(const struct executor_bench *b, size_t rounds);
/* Whose turn it is; NULL: not here. */
struct executor *executor_turn(struct executor_bench *b, size_t round, size_t k);
_Noreturn void executor_die(const struct executor *e, const char *what);

/* A row for each: median, p99, n, and the ratio to codex. */
void executor_table(struct executor_bench *b, const char *unit, struct samples *s);
/* Judge killick / codex of the medians, which are costs: at most `bound`. With `speed` it is the
 * speed that is judged, the inverse: at least. */
void executor_judge(struct executor_bench *b, const char *what, double bound, bool speed,
		    struct samples *s);

void executor_talk(struct executor_bench *b);   /* calls of an MCP server */
void executor_stream(struct executor_bench *b); /* 1 GiB of output */
void executor_rate(struct executor_bench *b);   /* processes started and ended */
void executor_memory(struct executor_bench *b); /* with 0, 10 and 100 processes */

/* What /proc says of a process; false: it is gone. */
struct executor_stat {
	pid_t parent;
	unsigned long ticks; /* of CPU, user and system */
};
bool executor_stat(pid_t pid, struct executor_stat *out);

/* The source of the stream: that many zero bytes in big writes. */
int executor_pour_main(const char *bytes);
