/* refresh.c - another set of servers for a session, one by one and without a gap.
 *
 * Compared by name. A server whose fingerprint (and era, and sharing) is the same stays; what does
 * not need a restart is taken over. Another one is started beside the old one and takes its place
 * in the table when it is ready or failed; until then calls go to the old one. Those that are no
 * longer named leave at once. The refresh is over when the new ones are settled, as far as they are
 * waited for, and every old tree is proved gone. Refreshes wait for each other; a close does not
 * wait for them.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "session/event.h"
#include "session/pool.h"
#include "session/session.h"

/* It is no longer in the table. */
static void dismiss(struct killick_session *s, struct lease *l, struct job *j)
{
	names_remove(&s->names, lease_name(l));
	names_settle(&s->names);
	l->listed = false;
	lease_leave(l, ENDING_REFRESH, s->drain_ms, j);
}

/* What the session has under this name, taken out of its old table. */
static struct lease *take_old(struct killick_session *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		struct lease *l = s->table[i];

		if (l && strcmp(lease_name(l), name) == 0) {
			s->table[i] = NULL;
			return l;
		}
	}
	return NULL;
}

static void begin_one(struct killick_session *s, struct job *j, size_t i, struct lease **table)
{
	struct config_server *cs = &j->config.servers[i];
	struct lease *old = take_old(s, cs->name);

	if (old && lease_fits(old, cs)) {
		lease_adjust(old, cs);
		table[i] = old;
	} else if (old) {
		j->fresh[i] = lease_new(s, cs);
		table[i] = old; /* for the time being */
	} else {
		table[i] = lease_new(s, cs);
	}
	table[i]->listed = true;
}

static void begin(struct killick_session *s, struct job *j)
{
	size_t count = j->config.count;
	struct lease **table = mem_grow(NULL, count, sizeof(struct lease *));

	j->begun = true;
	j->began_us = loop_now_us();
	j->fresh = mem_grow(NULL, count, sizeof(struct lease *));
	memset(j->fresh, 0, count * sizeof(struct lease *));
	for (size_t i = 0; i < count; i++)
		begin_one(s, j, i, table);
	for (size_t i = 0; i < s->count; i++)
		if (s->table[i])
			dismiss(s, s->table[i], j);
	free(s->table);
	s->table = table;
	s->count = count;
	for (size_t i = 0; j->config.warnings && j->config.warnings[i]; i++)
		event_warning(s, NULL, j->config.warnings[i]);
}

/* Put those in their place that are ready or failed. True: there are none left. */
static bool swap(struct killick_session *s, struct job *j)
{
	bool all = true;

	for (size_t i = 0; i < s->count; i++) {
		struct lease *l = j->fresh[i], *old = s->table[i];

		if (l && l->settled) {
			j->fresh[i] = NULL;
			s->table[i] = l;
			l->listed = true;
			old->replaced = true;
			dismiss(s, old, j);
		} else if (l) {
			all = false;
		}
	}
	return all;
}

static bool is_waiting_for(const struct killick_session *s, const struct job *j)
{
	RING_EACH(r, &s->leases)
		if (RING_OF(r, struct lease, in_session)->job == j)
			return true;
	return false;
}

void refresh_advance(struct killick_session *s, struct job *j)
{
	const struct lease *failed;

	assert(j->kind == JOB_REFRESH && s->state == SESSION_OPEN);
	if (!j->begun)
		begin(s, j);
	if (!swap(s, j) || !session_is_settled(s) || is_waiting_for(s, j))
		return;
	failed = session_failed(s);
	if (failed)
		session_blame(failed, &j->error);
	job_finish(j);
	session_poke(s); /* another may wait */
}

void refresh_abandon(struct killick_session *s, struct job *j)
{
	(void)s; /* what it had begun is in the session's ring of leases, and goes with all others
		  */
	error_set(&j->error, KILLICK_ERR_CLOSED,
		  "the session was closed before the refresh was done");
	job_finish(j);
}

/* --- for the host --- */

static int begin_refresh(struct killick_session *s, struct config *c, struct job **out,
			 struct killick_error *e)
{
	struct job *j;

	assert(s); /* without a session its config would not have been read */
	if (s->state != SESSION_OPEN)
		return error_set(e, KILLICK_ERR_CLOSED, "the session is closed");
	j = job_new(s, JOB_REFRESH);
	j->config = *c;
	*c = (struct config){ .count = 0 };
	ring_add(&s->jobs, &j->in_session);
	session_poke(s);
	*out = j;
	return 0;
}

static int read_config(struct killick_session *s, const char *config, const char *config_file,
		       struct config *out, struct killick_error *e)
{
	if (!s)
		return error_set(e, KILLICK_ERR_USAGE, "no session");
	return session_read_config(
		&(struct config_from){ .text = config, .file = config_file, .only = s->only }, out,
		e);
}

int killick_session_refresh(struct killick_session *s, const char *config, const char *config_file,
			    struct killick_report **out_report, struct killick_error *e)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct outcome o;
	struct killick *k = s ? s->k : NULL;
	struct job *j = NULL;
	int r = read_config(s, config, config_file, &c, e);

	if (r == 0)
		r = runtime_enter_blocking(k, e);
	if (r < 0)
		return r;
	r = begin_refresh(s, &c, &j, e);
	if (r == 0) {
		assert(j);
		session_pin(s);
		job_tell(j, &o);
		waiter_wait(s->k, &o.waiter);
		r = o.error.code;
		if (r < 0)
			error_set(e, r, "%s", o.error.text);
		else if (out_report)
			*out_report = o.report;
		if (!out_report)
			killick_report_free(o.report);
		session_unpin(s);
	}
	runtime_save(k);
	runtime_leave(k);
	return r;
}

int killick_session_refresh_start(struct killick_session *s, const char *config,
				  const char *config_file, killick_ended_fn done, void *ctx,
				  struct killick_error *e)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct job *j = NULL;
	int r = read_config(s, config, config_file, &c, e);

	if (r == 0)
		r = runtime_enter(s->k, e);
	if (r < 0)
		return r;
	r = runtime_want(s->k, done, e);
	if (r == 0)
		r = begin_refresh(s, &c, &j, e);
	if (r == 0) {
		assert(j);
		j->on_ended = done;
		j->ctx = ctx;
		runtime_attend(s->k);
	}
	runtime_leave(s->k);
	return r;
}
