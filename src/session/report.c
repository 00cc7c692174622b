/* report.c - see report.h */
#include "session/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/pack.h"
#include "link/end.h"
#include "os/status.h"
#include "session/runtime.h"
#include "session/server.h"

struct ending_note {
	char *session, *server;
	struct ending e;
};

const char *ending_why_name(enum ending_why why)
{
	static const char *const names[] = {
		[ENDING_CLOSE] = "close",     [ENDING_REFRESH] = "refresh",
		[ENDING_START] = "start",     [ENDING_HANDSHAKE] = "handshake",
		[ENDING_TIMEOUT] = "timeout", [ENDING_EXIT] = "exit",
		[ENDING_CRASH] = "crash",     [ENDING_KEEPER] = "keeper",
		[ENDING_LOST] = "lost",       [ENDING_REST] = "rest",
		[ENDING_STOP] = "stop",       [ENDING_RESTART] = "restart",
	};

	assert(why != ENDING_NOT_YET && (unsigned)why < sizeof(names) / sizeof(*names));
	return names[why];
}

void ending_read(struct ending *out, const struct link_end *end, enum ending_why why,
		 const char *environment)
{
	ending_done(out);
	*out = (struct ending){
		.pid = end->pid,
		.exit_code = end->exit_code,
		.exit_signal = end->exit_signal,
		.survivors = end->survivors,
		.why = why,
		.step = end->step,
		.proof = end->proof,
		.stop_ms = end->stop_ms,
		.json = *end->report ? mem_dup(end->report) : NULL,
		.text = *end->text && !end->refused ? mem_dup(end->text) : NULL,
		.environment = mem_dup(environment),
	};
}

void ending_done(struct ending *e)
{
	free(e->json);
	free(e->text);
	free(e->environment);
	*e = (struct ending){ .pid = 0 };
}

static struct ending_note *one_more(struct endings *es)
{
	if (es->count == es->room) {
		es->room = es->room ? 2 * es->room : 8;
		es->list = mem_grow(es->list, es->room, sizeof(*es->list));
	}
	return &es->list[es->count++];
}

void endings_add(struct endings *es, const char *session, const char *server,
		 const struct ending *e)
{
	struct ending_note *n = one_more(es);

	assert(e->why != ENDING_NOT_YET);
	*n = (struct ending_note){ .session = mem_dup(session),
				   .server = mem_dup(server),
				   .e = *e };
	n->e.json = mem_dup(e->json);
	n->e.text = mem_dup(e->text);
	n->e.environment = mem_dup(e->environment);
}

void endings_done(struct endings *es)
{
	for (size_t i = 0; i < es->count; i++) {
		free(es->list[i].session);
		free(es->list[i].server);
		ending_done(&es->list[i].e);
	}
	free(es->list);
	*es = (struct endings){ .list = NULL };
}

void endings_move(struct endings *to, struct endings *from)
{
	for (size_t i = 0; i < from->count; i++)
		*one_more(to) = from->list[i];
	free(from->list);
	*from = (struct endings){ .list = NULL };
}

static bool is_proved(const struct ending *e)
{
	return e->survivors == 0 && e->proof != 0 && e->proof != LINK_PROOF_LEASE;
}

static void pack_ending(struct pack *p, const struct ending_note *n, struct killick_ending *out)
{
	char proof[LINK_PROOF_TEXT];

	*out = (struct killick_ending){
		.session = pack_text(p, n->session),
		.server = pack_text(p, n->server),
		.pid = n->e.pid,
		.why = ending_why_name(n->e.why),
		.step = link_step_name(n->e.step),
		.exit_code = n->e.exit_code,
		.exit_signal = n->e.exit_signal,
		.stop_ms = n->e.stop_ms,
		.proof = pack_text(p, link_proof_text(n->e.proof, proof)),
		.survivors = n->e.survivors,
		.json = pack_text(p, n->e.json),
		.environment = pack_text(p, n->e.environment),
		.text = pack_text(p, n->e.text),
	};
}

struct killick_report *report_new(struct endings *es, int64_t began_us)
{
	struct pack p = { .base = NULL };
	struct killick_report *r;
	struct killick_ending *list, unused;
	const struct killick_ending **index;

	for (size_t i = 0; i < es->count; i++)
		pack_ending(&p, &es->list[i], &unused);
	r = mem_grow(NULL, sizeof(*r) + es->count * (sizeof(*list) + sizeof(*index)) + p.used, 1);
	list = (struct killick_ending *)(r + 1);
	index = (const struct killick_ending **)(list + es->count);
	p = (struct pack){ .base = (char *)(index + es->count) };
	*r = (struct killick_report){
		.count = es->count,
		.endings = index,
		.proved = true,
		.ms = (double)(loop_now_us() - began_us) / 1000,
	};
	for (size_t i = 0; i < es->count; i++) {
		pack_ending(&p, &es->list[i], &list[i]);
		index[i] = &list[i];
		r->survivors += es->list[i].e.survivors;
		r->proved = r->proved && is_proved(&es->list[i].e);
	}
	endings_done(es);
	return r;
}

/* --- texts about the end of a server --- */

static bool is_keepers_fault(const struct link_end *end)
{
	if (end->proof == LINK_PROOF_LEASE)
		return false;
	return (end->exit_code == -1 && !end->exit_signal) || end->why == LINK_WHY_WATCH ||
	       end->why == LINK_WHY_HOLD;
}

static void describe_exit(struct server *sv, const struct link_end *end)
{
	const char *when = sv->ready_us ? "" : " during its handshake";
	int code = sv->ready_us ? KILLICK_ERR_EXITED : KILLICK_ERR_START;
	const char *sig = status_signal_name(end->exit_signal);

	if (end->proof == LINK_PROOF_LEASE)
		server_error_of(sv, KILLICK_ERR_LOST, "is lost: %s", end->text);
	else if (sv->link->disowned)
		server_error_of(sv, code, "was ended%s: " LINK_DISOWNED, when);
	else if (is_keepers_fault(end))
		server_error_set(sv, code,
				 "the keeper of server '%s' was killed, and the server was ended%s",
				 sv->recipe.name, when);
	else if (end->exit_signal)
		server_error_of(sv, code, "was ended by signal %s%s", sig ? sig : "?", when);
	else
		server_error_of(sv, code, "exited with status %d%s", end->exit_code, when);
}

static enum ending_why why_ended(const struct server *sv, const struct link_end *end)
{
	if (end->refused)
		return ENDING_START;
	if (sv->why)
		return sv->why;
	if (end->proof == LINK_PROOF_LEASE)
		return ENDING_LOST;
	if (is_keepers_fault(end))
		return ENDING_KEEPER;
	return end->exit_code == 0 ? ENDING_EXIT : ENDING_CRASH;
}

static bool is_asked_for(const struct server *sv)
{
	return sv->why == ENDING_CLOSE || sv->why == ENDING_REFRESH || server_is_ordered(sv);
}

/* The server did not get ready. If its era may be the reason, start the server once more, at once:
 * without the probe if the server ended during the probe, or with a probe if the era was taken from
 * the cache. */
static void reconsider_era(struct server *sv)
{
	struct eras *eras = &sv->k->eras;
	bool refused = sv->why == ENDING_HANDSHAKE;

	if (sv->assumed) {
		eras_forget(eras, sv->fingerprint);
		sv->again = !sv->doubted && (refused || (!sv->why && sv->spec.era == ERA_MODERN));
	} else if (!sv->why && client_is_probing(sv->client)) {
		eras_put(eras, sv->fingerprint, ERA_LEGACY);
		sv->again = true;
	}
	sv->doubted |= sv->again;
}

void server_note_end(struct server *sv, const struct link_end *end)
{
	if (end->refused)
		server_error_not_started(sv, end->text);
	else if (!sv->why)
		describe_exit(sv, end);
	if (!end->refused && !is_asked_for(sv))
		server_error_quote_stderr(sv);
	if (!sv->ready_us && !end->refused && !is_asked_for(sv) && !is_keepers_fault(end) &&
	    end->proof != LINK_PROOF_LEASE && !sv->lost)
		reconsider_era(sv);
	ending_read(&sv->ending, end, why_ended(sv, end), sv->recipe.environment);
	if (sv->stop_us) {
		sv->ending.stop_ms = (double)(loop_now_us() - sv->stop_us) / 1000;
		/* A stop also closes stdin. If the keeper took no step, the server ended because of
		 * its closed stdin, before the keeper got the request. */
		if (end->step == LINK_STEP_NONE && end->proof != LINK_PROOF_LEASE)
			sv->ending.step = LINK_STEP_EOF;
	}
	sv->has_ended = true;
}
