/* orders.c - see orders.h */
#include "executor/orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "executor/owner.h"
#include "executor/params.h"
#include "executor/process.h"
#include "wire/wire.h"

#define GRACE_MAX_MS 3600000u /* the keeper's limit */

static void write_status(const struct reply *r, const char *status)
{
	struct emit j;

	if (!reply_begin(r, &j))
		return;
	emit_str(&j, "status", status);
	reply_end(r, &j);
}

static void write_to(struct process *p, const struct reply *r, const char *write_id,
		     struct buf *bytes)
{
	struct executor *x = p->owner->executor;
	struct input_write w = { write_id, bytes };
	struct input_limits limits = { x->o.write_queue, 4 * x->o.write_queue,
				       &p->owner->held_bytes };

	if (p->stdio == STDIO_NULL)
		write_status(r, "stdinClosed");
	else if (p->state >= PROCESS_EXITED || !p->link)
		reply_error(r, RPC_INTERNAL, "failed to write to process stdin");
	else
		input_write(&p->input, p->link, &w, &limits, r);
}

int orders_read_write(struct json params, struct orders_write *w, struct buf *out, struct err *e)
{
	struct param list[] = { { .name = "processId" },
				{ .name = "chunk" },
				{ .name = "writeId" } };

	w->id = NULL;
	if (params_read(params, list, 3, e) < 0 || param_is(&list[0], JSON_STRING, e) < 0 ||
	    param_is(&list[1], JSON_STRING, e) < 0 || param_text(&list[2], &w->id, e) < 0)
		return e->code;
	json_string_into(list[0].value, w->process, sizeof(w->process));
	if (!*w->id)
		return err_set(e, RPC_BAD_PARAMS, "writeId must not be empty");
	return param_base64(&list[1], out, e);
}

void orders_write_done(struct orders_write *w)
{
	free(w->id);
	w->id = NULL;
}

void orders_do_write(struct owner *o, const struct reply *r, const struct orders_write *w,
		     struct buf *bytes)
{
	struct process *p = process_find_id(o, w->process);

	if (p)
		write_to(p, r, w->id, bytes);
	else
		write_status(r, "unknownProcess");
}

void orders_write(void *connection, const struct reply *r, struct json params)
{
	struct owner *o = ((struct connection *)connection)->owner;
	struct buf *scratch = &o->executor->scratch;
	AUTO(orders_write_done) struct orders_write w;
	struct err e = ERR_INIT;

	buf_reset(scratch, WIRE_CHUNK_MAX);
	if (orders_read_write(params, &w, scratch, &e) < 0)
		reply_error(r, e.code, "%s", e.text);
	else
		orders_do_write(o, r, &w, scratch);
	buf_reset(scratch, WIRE_CHUNK_MAX);
}

void orders_signal(void *connection, const struct reply *r, struct json params)
{
	struct owner *o = ((struct connection *)connection)->owner;
	struct param list[] = { { .name = "processId" }, { .name = "signal" } };
	AUTO(mem_drop) char *name = NULL;
	char id[PROCESS_ID_MAX + 8];
	struct err e = ERR_INIT;
	struct process *p;
	struct emit j;

	if (params_read(params, list, 2, &e) < 0 || param_is(&list[0], JSON_STRING, &e) < 0 ||
	    param_text(&list[1], &name, &e) < 0) {
		reply_error(r, e.code, "%s", e.text);
		return;
	}
	if (strcmp(name, "interrupt") != 0) {
		reply_error(r, RPC_BAD_PARAMS, "unknown variant `%s`, expected `interrupt`", name);
		return;
	}
	p = process_find(o, list[0].value, id);
	if (p && p->link && p->state <= PROCESS_RUNNING)
		link_interrupt(p->link);
	if (reply_begin(r, &j))
		reply_end(r, &j);
}

/* A process that is closed is left alone, with the processes that it left behind: these are
 * background jobs, and codex terminates every command after its close. If the output is still open,
 * codex terminates the process only when it wants to end it. */
static bool orders_end(struct process *p, enum link_stop how, unsigned grace_ms)
{
	bool running = p->state <= PROCESS_RUNNING;

	if (p->state >= PROCESS_CLOSED)
		return false;
	if (how == LINK_STOP_EOF && p->stdio != STDIO_PIPES)
		how = LINK_STOP_TERM;
	process_stop(p, how, grace_ms);
	return running;
}

void orders_terminate(void *connection, const struct reply *r, struct json params)
{
	struct owner *o = ((struct connection *)connection)->owner;
	struct param list[] = { { .name = "processId" }, { .name = "graceMs" }, { .name = "eof" } };
	char id[PROCESS_ID_MAX + 8];
	struct err e = ERR_INIT;
	uint64_t grace_ms = 0;
	enum link_stop how = LINK_STOP_KILL;
	struct process *p;
	bool running, eof = true;
	struct emit j;

	if (params_read(params, list, 3, &e) < 0 || param_is(&list[0], JSON_STRING, &e) < 0 ||
	    param_number_if(&list[1], &grace_ms, &e) < 0 || param_bool_if(&list[2], &eof, &e) < 0) {
		reply_error(r, e.code, "%s", e.text);
		return;
	}
	if (grace_ms > GRACE_MAX_MS)
		grace_ms = GRACE_MAX_MS;
	if (list[1].value.at)
		how = eof ? LINK_STOP_EOF : LINK_STOP_TERM;
	p = process_find(o, list[0].value, id);
	running = p && orders_end(p, how, (unsigned)grace_ms);
	if (!reply_begin(r, &j))
		return;
	emit_bool(&j, "running", running);
	reply_end(r, &j);
}
