/* link_seen.h - a link to a real keeper, and what was seen of it. */
#pragma once

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "link/link.h"
#include "t.h"

#define DEADLINE_S 8

struct seen {
	struct loop *loop;
	struct link *link;
	struct cond news;
	pid_t pid;
	char level[16];
	struct buf out, err;
	bool eof, ended, err_eof, exited;
	int exit_code;
	unsigned rooms;
	bool pauses; /* whenever bytes come */
	struct link_end end;
	char report[4096];
};

static inline void on_started(void *ctx, pid_t pid, const char *level)
{
	struct seen *s = ctx;

	s->pid = pid;
	snprintf(s->level, sizeof(s->level), "%s", level);
	cond_broadcast(&s->news);
}

static inline void on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct seen *s = ctx;

	buf_add(&s->out, bytes, len);
	if (s->pauses)
		link_pause(s->link, true);
	cond_broadcast(&s->news);
}

static inline void on_stderr(void *ctx, const char *bytes, size_t len)
{
	struct seen *s = ctx;

	buf_add(&s->err, bytes, len);
}

static inline void on_eof(void *ctx)
{
	((struct seen *)ctx)->eof = true;
	cond_broadcast(&((struct seen *)ctx)->news);
}

static inline void on_ended(void *ctx, const struct link_end *end)
{
	struct seen *s = ctx;

	OK(!s->ended);
	s->ended = true;
	s->end = *end;
	snprintf(s->report, sizeof(s->report), "%s", end->report);
	cond_broadcast(&s->news);
}

static inline void on_stderr_eof(void *ctx)
{
	((struct seen *)ctx)->err_eof = true;
}

static inline void on_exited(void *ctx, int exit_code, int exit_signal)
{
	struct seen *s = ctx;

	EQ(exit_signal, 0);
	OK(!s->ended);
	s->exited = true;
	s->exit_code = exit_code;
	cond_broadcast(&s->news);
}

static inline void on_room(void *ctx)
{
	struct seen *s = ctx;

	s->rooms++;
	cond_broadcast(&s->news);
}

static inline void nothing(void *ctx)
{
	(void)ctx;
}

static const struct link_events events = {
	.on_started = on_started,
	.on_bytes = on_bytes,
	.on_stderr = on_stderr,
	.on_eof = on_eof,
	.on_ended = on_ended,
	.on_stderr_eof = on_stderr_eof,
	.on_exited = on_exited,
	.on_room = on_room,
};

extern char **environ;

static inline void begin(struct seen *s)
{
	struct err e;

	memset(s, 0, sizeof(*s));
	s->out.max = s->err.max = 64 << 20;
	cond_init(&s->news);
	EQ(loop_open(&s->loop, nothing, NULL, &e), 0);
}

static inline int start_as(struct seen *s, char **argv, const struct recipe *as, struct err *e)
{
	struct recipe spec = { .keeper = t_program("KILLICK", "build/killick"),
			       .name = as->name ? as->name : "test",
			       .session = as->session,
			       .arg0 = as->arg0,
			       .argv = argv,
			       .envp = environ,
			       .cwd = as->cwd,
			       .grace_ms = 2000,
			       .write_limit = 16 << 20,
			       .stdio = as->stdio,
			       .linger_ms = as->linger_ms };
	int r;

	loop_lock(s->loop);
	r = link_open(s->loop, &spec, &events, s, &s->link, e);
	loop_unlock(s->loop);
	return r;
}

static inline int start(struct seen *s, char **argv, const char *cwd, struct err *e)
{
	return start_as(s, argv, &(struct recipe){ .cwd = cwd }, e);
}

static inline void start_shell_as(struct seen *s, const char *script, const struct recipe *as)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	struct err e;

	begin(s);
	if (start_as(s, argv, as, &e) < 0)
		FAIL("%s", e.text);
}

static inline void start_shell(struct seen *s, const char *script)
{
	start_shell_as(s, script, &(struct recipe){ .cwd = NULL });
}

/* With the lock: wait for the next news. */
static inline void await(struct seen *s)
{
	OK(cond_wait_until(&s->news, loop_mutex(s->loop), loop_now_us() + DEADLINE_S * 1000000));
}

static inline void await_bytes(struct seen *s, size_t len)
{
	loop_lock(s->loop);
	while (s->out.len < len || !s->pid) /* a server may be faster than its keeper */
		await(s);
	loop_unlock(s->loop);
}

static inline void await_end(struct seen *s)
{
	loop_lock(s->loop);
	while (!s->ended)
		await(s);
	loop_unlock(s->loop);
}

static inline void stop(struct seen *s, enum link_stop how)
{
	loop_lock(s->loop);
	link_stop(s->link, how);
	loop_unlock(s->loop);
}

static inline void finish(struct seen *s)
{
	loop_lock(s->loop);
	if (s->link)
		link_free(s->link);
	loop_unlock(s->loop);
	loop_close(s->loop);
	buf_done(&s->out);
	buf_done(&s->err);
}

static inline int put(struct seen *s, const char *bytes, size_t len)
{
	int r;

	loop_lock(s->loop);
	r = link_write(s->link, bytes, len);
	loop_unlock(s->loop);
	return r;
}

static inline pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "PPid: %d", &parent);
	if (f)
		fclose(f);
	return parent;
}
