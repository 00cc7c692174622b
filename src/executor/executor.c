/* executor.c - see executor.h */
#include "executor/executor.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strings.h"
#include "base/trace.h"
#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "executor/files.h"
#include "executor/info.h"
#include "executor/owner.h"
#include "executor/process.h"
#include "base/workers.h"
#include "os/random.h"
#include "wire/wire.h"

#define MAX_PROCESSES 1024
#define MAX_REQUESTS  1024
#define WRITE_QUEUE   (8u << 20)
#define MAX_OUTPUT    (512u << 20)
#define SCANNERS      2   /* threads for long messages */
#define QUOTED_MAX    200 /* bytes of a client's text in a log line */

/* --- the log --- */

void executor_log(struct executor *x, const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	if (!x->o.on_log)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	x->o.on_log(x->o.ctx, line);
}

const char *executor_quote(const char *text)
{
	static char texts[4][6 * QUOTED_MAX + 3];
	static unsigned next;
	char *out = texts[next++ % 4];
	struct buf b = BUF_INIT(6 * QUOTED_MAX + 2);
	size_t len = strnlen(text, QUOTED_MAX);

	while (len && text[len] && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--; /* do not split a character */
	if (emit_quoted(&b, text, len) < 0)
		buf_adds(&b, "\"\"");
	memcpy(out, b.data, b.len + 1);
	buf_done(&b);
	return out;
}

/* --- open and close --- */

static void take_options(struct executor *x, const struct executor_options *o)
{
	x->o = *o;
	x->o.keeper = mem_dup(o->keeper);
	x->o.sandbox = mem_dup(o->sandbox);
	x->o.envp = strings_copy(o->envp);
	if (!x->o.lease_ms)
		x->o.lease_ms = WIRE_LEASE_MS;
	if (!x->o.retain_ms)
		x->o.retain_ms = WIRE_RETAIN_MS;
	if (!x->o.max_processes)
		x->o.max_processes = MAX_PROCESSES;
	if (!x->o.max_requests)
		x->o.max_requests = MAX_REQUESTS;
	if (!x->o.write_queue)
		x->o.write_queue = WRITE_QUEUE;
	if (!x->o.max_output)
		x->o.max_output = MAX_OUTPUT;
}

static void drop_options(struct executor *x)
{
	strings_free((char **)x->o.envp);
	free((void *)x->o.keeper);
	free((void *)x->o.sandbox);
}

int executor_open(struct loop *loop, const struct executor_options *options, struct executor **out,
		  struct err *e)
{
	struct executor *x = mem_grow(NULL, 1, sizeof(*x));
	struct {
		uint64_t seed, instance[2];
	} random;
	int r;

	trace_init();
	*x = (struct executor){ .loop = loop, .scratch = BUF_INIT(WIRE_MESSAGE_MAX) };
	random_fill(&random, sizeof(random));
	r = files_new(loop, &x->files, e);
	if (r == 0) {
		r = workers_new(loop, SCANNERS, &x->scanners, e);
		if (r < 0)
			files_free(x->files);
	}
	if (r < 0) {
		free(x);
		return r;
	}
	take_options(x, options);
	snprintf(x->instance, sizeof(x->instance), "%016llx%016llx",
		 (unsigned long long)random.instance[0], (unsigned long long)random.instance[1]);
	roster_init(&x->roster, random.seed);
	retention_init(&x->retention, loop, x->o.max_output);
	ring_init(&x->owners);
	ring_init(&x->connections);
	x->info = info_make(x->o.envp);
	*out = x;
	return 0;
}

void executor_adopt(struct executor *x, struct channel *c, bool last, void (*on_gone)(void *ctx),
		    void *ctx)
{
	struct connection *n = connection_new(x, c, last);

	n->on_gone = on_gone;
	n->on_gone_ctx = ctx;
	if (x->closing)
		connection_drop(n, "the executor is ending");
}

static void on_all_closed(struct loop_timer *t)
{
	struct executor *x = CONTAINER_OF(t, struct executor, closed);

	x->over = true;
	if (x->o.on_closed)
		x->o.on_closed(x->o.ctx);
}

void executor_settle(struct executor *x)
{
	if (!x->closing || x->over || x->process_count)
		return;
	if (!x->channels_closing) {
		x->channels_closing = true;
		RING_EACH(at, &x->connections)
			connection_finish(CONTAINER_OF(at, struct connection, in_executor));
	}
	if (ring_is_empty(&x->connections) && ring_is_empty(&x->owners) && !x->closed.slot)
		loop_timer_set(x->loop, &x->closed, 0, on_all_closed);
}

/* Attached clients are told of the end of their processes. */
static void stop_all(struct owner *o, unsigned grace_ms)
{
	RING_EACH(at, &o->processes)
		process_stop(CONTAINER_OF(at, struct process, in_owner),
			     grace_ms ? LINK_STOP_TERM : LINK_STOP_KILL, grace_ms);
}

void executor_close(struct executor *x, unsigned grace_ms)
{
	x->closing = true;
	RING_EACH(at, &x->owners) {
		struct owner *o = CONTAINER_OF(at, struct owner, in_executor);

		if (o->connection || o->ended)
			stop_all(o, grace_ms);
		else
			owner_end(o, grace_ms);
	}
	executor_settle(x);
}

void executor_free(struct executor *x)
{
	assert(ring_is_empty(&x->connections) && ring_is_empty(&x->owners) && !x->process_count);
	loop_timer_stop(x->loop, &x->closed);
	files_free(x->files);
	workers_free(x->scanners);
	roster_done(&x->roster);
	retention_done(&x->retention);
	drop_options(x);
	buf_done(&x->scratch);
	free(x->info);
	free(x);
}
