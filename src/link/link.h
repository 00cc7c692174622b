/* link.h - the byte channel to a running server, and the means to end it.
 *
 * Behind it is a keeper on this machine (local.c); later an executor elsewhere. Whoever opens
 * one sees bytes and, at the end, the proof.
 *
 * Life: link_open -> on_started -> on_bytes ... -> [link_stop] -> on_ended, exactly once and last
 * -> link_free. on_ended comes within the budget of link_stop whatever the server does; it also
 * comes when the server ends by itself or never ran. Events come from the loop, never from inside a
 * link_ function. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

struct link;

struct link_spec {                  /* borrowed for the time of link_open */
	const char *keeper;         /* path of the program killick */
	const char *name, *session; /* for `killick ps`; session may be NULL */
	char *const *argv, *const *envp;
	const char *cwd;     /* NULL: ours */
	const char *contain; /* NULL: auto */
	unsigned grace_ms;
	unsigned long max_procs;   /* 0: no limit */
	unsigned long long memory; /* bytes, 0: no limit */
	bool no_sweep; /* others start at the same time, and one of them looks for lost trees */
	size_t write_limit; /* bytes that may wait because the server does not read */
};

struct link_end {        /* borrowed for the time of on_ended */
	pid_t pid;       /* 0: it never ran */
	bool refused;    /* it could not be started; text says why */
	int exit_code;   /* -1: by a signal, or unknown */
	int exit_signal; /* 0: none */
	char why[16];    /* the keeper's word: exit, stdin, signal, owner, watch, hold, failed */
	char step[8];    /* none, eof, term, kill */
	char proof[24];  /* "waitid,cgroup"; "none" */
	int survivors;
	double stop_ms;
	const char *report; /* the keeper's JSON line without its newline, "" if there was none */
	char text[240];     /* when refused: a sentence */
};

struct link_events {
	void (*on_started)(void *ctx, pid_t pid, const char *level);
	void (*on_bytes)(void *ctx, const char *bytes, size_t len);  /* of its stdout; borrowed */
	void (*on_stderr)(void *ctx, const char *bytes, size_t len); /* borrowed */
	void (*on_eof)(void *ctx); /* nothing more comes from its stdout; the process may live on */
	void (*on_ended)(void *ctx, const struct link_end *end);
};

enum link_stop {
	LINK_STOP_EOF,  /* close its stdin; grace; SIGTERM; grace; kill */
	LINK_STOP_TERM, /* SIGTERM; grace; kill */
	LINK_STOP_KILL,
};

struct link_ops { /* what a kind of link can do */
	int (*write)(struct link *l, const char *bytes, size_t len);
	size_t (*unwritten)(const struct link *l);
	void (*stop)(struct link *l, enum link_stop how);
	void (*free)(struct link *l);
};
struct link { /* first member of each kind */
	const struct link_ops *ops;
	const struct link_events *ev; /* borrowed; must outlive the link */
	void *ctx;
	unsigned long long written; /* bytes that link_write has taken */
};

/* Start a server on this machine. On failure nothing was started, *out is untouched and e says why.
 */
int link_open(struct loop *loop, const struct link_spec *spec, const struct link_events *ev,
	      void *ctx, struct link **out, struct err *e);

/* The program killick: `given`, else $KILLICK_KEEPER, else the installed one, else the first in
 * PATH. *out is to be given to free(). -ENOENT with a sentence when there is none. */
int link_keeper_path(const char *given, char **out, struct err *e);

/* Write all of it: now, or queued. 0; -ENOBUFS when more than write_limit would wait (nothing was
 * taken), -EPIPE when the server's stdin is closed. */
static inline int link_write(struct link *l, const char *bytes, size_t len)
{
	int r = l->ops->write(l, bytes, len);

	if (r == 0)
		l->written += len;
	return r;
}
/* Bytes that wait to be written. */
static inline size_t link_unwritten(const struct link *l)
{
	return l->ops->unwritten(l);
}
/* Begin the end; may be called again with a stronger means. Returns at once. */
static inline void link_stop(struct link *l, enum link_stop how)
{
	l->ops->stop(l, how);
}
/* Only after on_ended. */
static inline void link_free(struct link *l)
{
	l->ops->free(l);
}
