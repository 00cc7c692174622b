/* census.c - see census.h */
#include "executor/census.h"

#include <string.h>

#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "executor/owner.h"
#include "executor/params.h"
#include "executor/process.h"

static void add_process(struct emit *j, const struct process *p)
{
	int64_t lease_ms = owner_lease_ms(p->owner);

	emit_open(j, NULL, '{');
	emit_text(j, "processId", p->id, strlen(p->id));
	emit_int(j, "pid", p->pid);
	emit_raw(j, "argv", p->argv, strlen(p->argv));
	emit_str(j, "name", p->name);
	emit_str(j, "session", p->session);
	emit_str(j, "client", p->owner->client);
	emit_str(j, "state", process_state_names[p->state]);
	emit_bool(j, "attached", lease_ms < 0);
	if (lease_ms < 0)
		emit_null(j, "leaseMs");
	else
		emit_int(j, "leaseMs", lease_ms);
	emit_int(j, "startedMs", p->started_ms);
	emit_str(j, "level", p->level);
	emit_bool(j, "held", p->link != NULL);
	emit_close(j);
}

void census_request(void *connection, const struct reply *r, struct json params)
{
	struct executor *x = ((struct connection *)connection)->executor;
	struct err e = ERR_INIT;
	struct emit j;

	if (params_none(params, &e) < 0) {
		reply_error(r, e.code, "%s", e.text);
		return;
	}
	if (!reply_begin(r, &j))
		return;
	emit_open(&j, "processes", '[');
	RING_EACH(at, &x->owners) {
		struct owner *o = CONTAINER_OF(at, struct owner, in_executor);

		RING_EACH(each, &o->processes)
			add_process(&j, CONTAINER_OF(each, struct process, in_owner));
	}
	emit_close(&j);
	reply_end(r, &j);
}
