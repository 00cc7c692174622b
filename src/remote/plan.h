/* plan.h - what process/start says: a copy of what a link was opened with, kept until it can be
 * sent.
 *
 * Life: plan_copy -> plan_emit -> plan_done.  Threads: any.  Blocking: never.
 */
#pragma once

#include "base/emit.h"
#include "base/err.h"
#include "remote/environment.h"

struct plan {
	char *name, *session, *cwd, *contain, *arg0;
	char **argv, **envp, **remote_names;
	unsigned long max_procs;
	unsigned long long memory;
	enum link_stdio stdio;
	unsigned linger_ms;
};

#define PLAN_TAG_SIZE 33 /* 128 bits as hex, and NUL */

/* 0, or -EINVAL or -EILSEQ with a sentence: the cwd is missing or not absolute, or something is not
 * UTF-8 and could not be sent. */
int plan_copy(struct plan *out, const struct link_spec *spec, const struct placement *where,
	      struct err *e);
void plan_done(struct plan *p);
/* Does it ask for what only our own executor can do? 0, or -ENOTSUP with a sentence. */
int plan_check_plain(const struct plan *p, struct err *e);
/* The members of params but the processId. tag: for KILLICK_TREE, by which what is left of it can
 * be found; NULL: none. */
void plan_emit(const struct plan *p, struct emit *j, const char *tag);
