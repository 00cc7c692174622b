/* executor.h - shared by the measures of executors: two executors, one client.
 *
 * killick exec-server and codex exec-server speak the same protocol; all measures use it, over a
 * WebSocket on loopback, with the same client. The executors run interleaved, in another order each
 * round (bench.h has the same rule for the wrappers), with no option except --listen.
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
	long last_id, last_process; /* both count up */
	bool missing;
};

/* OURS is killick, which is compared with codex. */
enum { OURS, CODEX, EXECUTORS };

struct executor_bench {
	const char *self, *echo;
	struct executor at[EXECUTORS];
	struct report report;
	double load;
	size_t percent; /* of the usual number of rounds */
};

/* The kind of a message from an executor. */
enum executor_said { SAID_ANSWER, SAID_OUTPUT, SAID_EXITED, SAID_CLOSED };
struct executor_event {
	enum executor_said said;
	long id;          /* of the request, for ANSWER only */
	long process;     /* of the other kinds */
	long seq;         /* per process, without gaps, but not always in order */
	const char *data; /* OUTPUT: base64, in the wire's buffer */
	size_t len;
	long exit_code; /* EXITED */
};

struct executor_spec {
	const char *argv[8]; /* NULL after the last; no character that JSON escapes */
	bool pipe_stdin;
};

/* Start the program, connect, initialize. The executor inherits the CPUs of this process. False: it
 * does not start. */
bool executor_up(struct executor *e);
/* Stop the executor, and kill it and its processes if they remain. */
void executor_down(struct executor *e);

/* All executors that exist on this machine. */
void executors_up(struct executor_bench *b);
void executors_down(struct executor_bench *b);

/* Send a process/start. Returns the number of the process; the answer is not read yet. */
long executor_start(struct executor *e, const struct executor_spec *spec);
/* Send a process/write of bytes. Returns the number of the request. */
long executor_write(struct executor *e, long process, const char *bytes, size_t len);
/* The next message. Errors end the program. */
struct executor_event executor_next(struct executor *e);
/* Wait until a process/start has been answered. No other request may be in flight. */
void executor_started(struct executor *e);
/* The number of bytes of base64 data, decoded into `out` unless it is NULL. */
size_t executor_decode(const char *data, size_t len, char *out);

size_t executor_rounds(const struct executor_bench *b, size_t rounds);
/* The executor of the k-th turn; NULL: it is not installed. */
struct executor *executor_turn(struct executor_bench *b, size_t round, size_t k);
_Noreturn void executor_die(const struct executor *e, const char *what);

/* A row for each executor: median, p99, n, and the ratio to codex. */
void executor_table(struct executor_bench *b, const char *unit, struct samples *s);
/* Check that the ratio killick / codex of the medians, which are costs, is at most `bound`. With
 * `speed`, check that the inverse ratio is at least `bound`. */
void executor_judge(struct executor_bench *b, const char *what, double bound, bool speed,
		    struct samples *s);

void executor_talk(struct executor_bench *b);   /* calls of an MCP server */
void executor_stream(struct executor_bench *b); /* 1 GiB of output */
void executor_rate(struct executor_bench *b);   /* processes started and ended */
void executor_memory(struct executor_bench *b); /* with 0, 10 and 100 processes */

/* Read /proc/PID/stat; false: the process is gone. */
struct executor_stat {
	pid_t parent;
	unsigned long ticks; /* of CPU, user and system */
};
bool executor_stat(pid_t pid, struct executor_stat *out);

/* The source of the stream: writes this many zero bytes in big writes. */
int executor_pour_main(const char *bytes);
