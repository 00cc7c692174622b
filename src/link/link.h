/* link.h - the byte channel to a running server, and the means to end it.
 *
 * A link leads to a keeper on this machine (local.c), or to an executor (remote/remote.c). The user
 * of a link sees bytes and, at the end, the proof.
 *
 * Life: link_open -> on_started -> on_bytes ... -> [link_stop] -> on_ended, exactly once and last
 * -> link_free. on_ended comes within the budget of link_stop whatever the server does; on_ended
 * also comes when the server ends by itself or never ran. Events come from the loop, never from
 * inside a link_ function. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "link/recipe.h"

struct link;

enum link_why { /* what began the end of the tree */
		LINK_WHY_EXIT,
		LINK_WHY_STDIN,
		LINK_WHY_SIGNAL,
		LINK_WHY_OWNER,
		LINK_WHY_WATCH,
		LINK_WHY_HOLD,
		LINK_WHY_FAILED,
		LINK_WHY_KEEPER,   /* the keeper ended without a report */
		LINK_WHY_EXECUTOR, /* the executor sent no report */
};

enum link_step { LINK_STEP_NONE, LINK_STEP_EOF, LINK_STEP_TERM, LINK_STEP_KILL };

enum link_proof { /* bits: how it is known that the tree is empty; 0: not known */
		  LINK_PROOF_WAITID = 1,
		  LINK_PROOF_CGROUP = 2,
		  LINK_PROOF_MARK = 4,
		  LINK_PROOF_GROUP =
			  8, /* the process group was ended; processes that left it may live */
		  LINK_PROOF_SWEEP = 16, /* and nothing with our mark was found on that machine */
		  LINK_PROOF_NEVER = 32, /* the server never ran */
		  LINK_PROOF_LEASE = 64, /* the executor could not be reached; it ends the tree by
					    itself when the lease is over */
		  LINK_PROOF_JOB = 128,  /* Windows: the job has no process */
};

struct link_end {      /* borrowed for the time of on_ended */
	int pid;     /* 0: it never ran */
	bool refused;  /* the server could not be started; text says why, and */
	int status;    /* exit status of `killick run` then: 127 not found, 126 ...; 0: not known */
	int exit_code; /* -1: by a signal, or unknown */
	int exit_signal; /* 0: none */
	enum link_why why;
	enum link_step step; /* the furthest step that was needed */
	unsigned proof;      /* enum link_proof */
	int survivors;
	double stop_ms;
	const char *report; /* the keeper's JSON line without its newline, "" if there was none */
	char text[240];     /* when refused, or proof is LINK_PROOF_LEASE: a sentence */
};

struct link_events {
	void (*on_started)(void *ctx, int pid, const char *level);
	void (*on_bytes)(void *ctx, const char *bytes, size_t len);  /* of its stdout; borrowed */
	void (*on_stderr)(void *ctx, const char *bytes, size_t len); /* borrowed */
	void (*on_eof)(void *ctx); /* nothing more comes from its stdout; the process may live on */
	void (*on_ended)(void *ctx, const struct link_end *end);
	/* These may be NULL: */
	void (*on_stderr_eof)(void *ctx);
	/* The main process has exited; processes that it left behind linger. */
	void (*on_exited)(void *ctx, int exit_code, int exit_signal);
	void (*on_room)(void *ctx); /* the queue of unwritten bytes is empty again */
	/* The connection to the server is lost (why: a sentence); the connection is back. Bytes
	 * that are written meanwhile are not lost, but callers should not wait for answers. */
	void (*on_lost)(void *ctx, const char *why);
	void (*on_back)(void *ctx);
};

enum link_stop {
	LINK_STOP_EOF,  /* close its stdin; grace; SIGTERM; grace; kill */
	LINK_STOP_TERM, /* SIGTERM; grace; kill */
	LINK_STOP_KILL,
};

struct link_ops { /* the functions of one kind of link */
	int (*write)(struct link *l, const char *bytes, size_t len);
	size_t (*unwritten)(const struct link *l);
	void (*stop)(struct link *l, enum link_stop how, long grace_ms);
	void (*free)(struct link *l);
	void (*interrupt)(struct link *l);
	void (*pause)(struct link *l, bool paused);
	/* These may be NULL: */
	bool (*activity)(const struct link *l, unsigned long long *out);
	bool (*pids)(const struct link *l, int *keeper, int *server);
};
#define LINK_ID_SIZE   24
#define LINK_TREE_SIZE 17 /* 16 hex digits and a NUL */
struct link {             /* first member of each kind */
	const struct link_ops *ops;
	const struct link_events *ev; /* borrowed; must outlive the link */
	void *ctx;
	unsigned long long written; /* bytes that link_write has taken */
	bool disowned;              /* the host has closed its descriptors; on_ended follows */
	char id[LINK_ID_SIZE];      /* for traces: the keeper's pid, or the executor's processId */
	char tree[LINK_TREE_SIZE];  /* the id of its tree; "" before on_started, or not known */
};
#define LINK_DISOWNED                                                                              \
	"this program has closed descriptors that belong to killick (with close_range or the "     \
	"like); the keeper ends the server"

/* Start a server on this machine; recipe is borrowed for the call. On failure nothing was started,
 * *out is untouched and e says why. */
int link_open(struct loop *loop, const struct recipe *recipe, const struct link_events *ev,
	      void *ctx, struct link **out, struct err *e);

/* The program killick: `given`, else $KILLICK_KEEPER, else the installed one, else (Windows) the one
 * beside this library, else the first in PATH. *out is to be given to free(). -ENOENT with a sentence when there is none. */
int link_keeper_path(const char *given, char **out, struct err *e);

/* Write all bytes: now, or queued. 0; -ENOBUFS when more than write_limit would wait (no byte was
 * taken), -EPIPE when the server's stdin is closed, -ESTALE when the link is disowned. */
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
/* Begin to end the server; may be called again with a harder step. Returns at once. */
static inline void link_stop(struct link *l, enum link_stop how)
{
	l->ops->stop(l, how, -1);
}
/* The same with a grace that replaces that of the recipe. */
static inline void link_stop_within(struct link *l, enum link_stop how, unsigned grace_ms)
{
	l->ops->stop(l, how, (long)grace_ms);
}
/* SIGINT to the main process's group. */
static inline void link_interrupt(struct link *l)
{
	l->ops->interrupt(l);
}
/* While paused, stdout and stderr are not read: a server that writes more than the pipes hold
 * blocks. */
static inline void link_pause(struct link *l, bool paused)
{
	l->ops->pause(l, paused);
}
/* A number that changes whenever the tree of the server does something (activity.h). False: not
 * known. */
static inline bool link_activity(const struct link *l, unsigned long long *out)
{
	return l->ops->activity && l->ops->activity(l, out);
}
/* The pids of the keeper and of the server, for memory.h. False: not known. */
static inline bool link_pids(const struct link *l, int *keeper, int *server)
{
	return l->ops->pids && l->ops->pids(l, keeper, server);
}
/* Only after on_ended. */
static inline void link_free(struct link *l)
{
	l->ops->free(l);
}
