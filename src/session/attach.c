/* attach.c - see attach.h */
#include "session/attach.h"

#include <assert.h>
#include <string.h>

#include "os/fd.h"
#include "os/poller.h"
#include "os/process.h"
#include "session/look.h"
#include "session/parked.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

#define SHOWN_MAX 200 /* both keepers of 250 servers are the limit of Linux: process_again */

/* A server that a lease wants. */
struct attach_wish {
	struct killick *k;
	const struct config_server *cs;
	bool hub;
	unsigned features; /* of the session */
	struct metadata program;
	char stamp[CATALOGUE_STAMP_SIZE];
};

static struct attach_wish attach_wish_of(const struct lease *l)
{
	struct killick_session *s = l->session;
	const struct config_server *cs = lease_config(l);
	struct attach_wish w = {
		.k = s->k, .cs = cs, .hub = s->sink != NULL, .features = s->features
	};
	struct look_result look;

	if (!w.hub)
		return w;
	w.program = cs->program;
	memcpy(w.stamp, cs->stamp, sizeof(w.stamp));
	if (cs->looked)
		return w;
	look_now(&cs->recipe, &look);
	w.program = look.program;
	memcpy(w.stamp, look.stamp, sizeof(w.stamp));
	return w;
}

/* Is this the server that is wanted, if `declared` are the features? Its verdict is not looked
 * at. */
static bool attach_is(const struct server *sv, const struct attach_wish *w, unsigned declared)
{
	return sv->hub == w->hub && sv->word == w->cs->share && sv->era == w->cs->era &&
	       server_has_policy(sv, w->cs) && sv->answers == declared &&
	       strcmp(sv->fingerprint, w->cs->fingerprint) == 0 &&
	       sv->program.device == w->program.device && sv->program.inode == w->program.inode;
}

/* May a lease join? Not if the server is being ended and will not be started again. */
static bool attach_is_open(const struct server *sv)
{
	return sv->shared && sv->active > 0 && !sv->awaits &&
	       (sv->state != KILLICK_STOPPING || server_is_ordered(sv));
}

/* Find a shared server with as few leases as possible. NULL: none, or another instance should be
 * started: a server that asks handles one call at a time. */
static struct server *attach_find(const struct attach_wish *w)
{
	unsigned declared = w->hub ? share_features(w->features) : w->features, count = 0;
	struct server *best = NULL;

	RING_EACH(r, &w->k->pool.servers) {
		struct server *sv = CONTAINER_OF(r, struct server, in_pool);

		if (!attach_is_open(sv) || !attach_is(sv, w, declared))
			continue;
		count++;
		if (!best || sv->holders < best->holders)
			best = sv;
	}
	return best && w->hub && best->asked && count < w->cs->max_instances ? NULL : best;
}

/* Find a server whose verdict will tell whether it can be shared. */
static struct server *attach_find_undecided(const struct attach_wish *w, const struct server * not )
{
	RING_EACH(r, &w->k->pool.servers) {
		struct server *sv = CONTAINER_OF(r, struct server, in_pool);

		if (sv != not &&sv->verdict.answer == SHARE_UNKNOWN && sv->active > 0 &&
		    !sv->awaits && sv->state <= KILLICK_READY && attach_is(sv, w, w->features))
			return sv;
	}
	return NULL;
}

/* The verdict from the catalogue entry of the server with these declared features. */
static struct share_verdict attach_judge_as(const struct attach_wish *w, unsigned declared)
{
	struct share_facts f = { .word = w->cs->share,
				 .argv = w->cs->recipe.argv,
				 .features = share_features(w->features) };
	char key[CATALOGUE_KEY_SIZE];
	const struct catalogue_entry *e;

	catalogue_key(w->cs->fingerprint, w->cs->era, declared, key);
	e = catalogue_get(&w->k->catalogue, key, w->stamp);
	if (e) {
		f.capabilities = e->capabilities;
		f.era = e->era;
		f.tools = e->lists[CATALOGUE_TOOLS];
		f.asked = e->asked;
	}
	return share_judge(&f);
}

/* The catalogue may have an entry of sessions that share the server, or of a session that had its
 * own process. */
static struct share_verdict attach_judge(const struct attach_wish *w)
{
	unsigned shared = share_features(w->features);
	struct share_verdict v = attach_judge_as(w, shared);

	return v.answer == SHARE_UNKNOWN && shared != w->features ? attach_judge_as(w, w->features)
								  : v;
}

void server_identify(struct server *sv)
{
	sv->spec.answers = sv->answers;
	catalogue_key(sv->fingerprint, sv->era, sv->answers, sv->key);
}

static void attach_set_verdict(struct server *sv, const struct attach_wish *w,
			       const struct share_verdict *v)
{
	const struct catalogue_entry *e;

	sv->verdict = *v;
	sv->shared = v->answer == SHARE_YES;
	sv->answers = sv->shared ? share_features(w->features) : w->features;
	server_identify(sv);
	memcpy(sv->stamp, w->stamp, sizeof(sv->stamp));
	e = catalogue_get(&sv->k->catalogue, sv->key, sv->stamp);
	sv->asked = sv->gate.asks |= e && e->asked;
}

static struct server *attach_new(const struct lease *l, const struct attach_wish *w)
{
	struct killick_session *s = l->session;
	struct server *sv = server_new(s->k, w->cs, s->grace_ms, s->features, s->label);
	struct share_verdict v;

	sv->file_owner = s->file_owner;
	if (!w->hub)
		return sv;
	v = attach_judge(w);
	if (v.answer == SHARE_UNKNOWN)
		sv->awaits = attach_find_undecided(w, sv);
	sv->hub = true;
	sv->program = w->program;
	attach_set_verdict(sv, w, &v);
	return sv;
}

/* The keepers of the server watch whether the end of an owner is handled. A server elsewhere is
 * held by its executor. */
static void attach_show_owners(struct lease *l, struct server *sv)
{
	struct killick_session *s = l->session;

	for (unsigned i = 0; i < SESSION_OWNERS && !sv->site; i++) {
		int own = -1;

		if (s->owners[i] && !sv->recipe.users) {
			int poller = poller_open();

			sv->recipe.users = poller > 0 ? poller : 0;
		}
		if (!s->owners[i] || !sv->recipe.users)
			continue;
		if (s->shown[i] >= SHOWN_MAX)
			own = process_again(s->owners[i]);
		s->shown[i] += own < 0;
		l->owners[i] = own < 0 ? s->owners[i] : own;
		poller_add(sv->recipe.users, l->owners[i], POLLER_IN,
			   (uint64_t)s->number * SESSION_OWNERS + i);
	}
}

void attach_hide_owners(struct lease *l, struct server *sv)
{
	struct killick_session *s = l->session;

	for (unsigned i = 0; i < SESSION_OWNERS; i++) {
		if (!l->owners[i])
			continue;
		poller_remove(sv->recipe.users, l->owners[i]);
		if (l->owners[i] == s->owners[i])
			s->shown[i]--;
		else
			fd_close(l->owners[i]);
		l->owners[i] = 0;
	}
}

static void attach_join(struct lease *l, struct server *sv)
{
	assert(l->state == LEASE_HELD);
	attach_show_owners(l, sv);
	l->server = sv;
	sv->holders++;
	sv->active++;
	ring_add(&sv->leases, &l->on_server);
	server_look_full(sv);
	if (sv->holders > 1) {
		sv->mixed = true;
		server_error_unquote(sv);
	}
}

void attach_lease(struct lease *l)
{
	struct attach_wish w = attach_wish_of(l);
	struct server *sv = w.hub || w.cs->share == CONFIG_SHARE_IDENTICAL ? attach_find(&w) : NULL;

	if (!sv)
		sv = attach_new(l, &w);
	else if (sv->state == KILLICK_GONE)
		server_forgive(sv); /* a new session tries a failed server again */
	attach_join(l, sv);
	attach_start(l);
}

const struct catalogue_entry *lease_catalogue(const struct lease *l)
{
	struct server *sv = l->server;

	return sv && *sv->key ? catalogue_get(&sv->k->catalogue, sv->key, sv->stamp) : NULL;
}

/* Can the session do without the process of the server for now? */
static bool attach_can_wait(const struct lease *l)
{
	const struct server *sv = l->server;
	const struct catalogue_entry *known = lease_catalogue(l);

	return l->session->lazy && sv->state == KILLICK_IDLE && !ring_is_in(&sv->in_queue) &&
	       ring_is_empty(&sv->parked) && !sv->timer.slot &&
	       sv->verdict.answer != SHARE_UNKNOWN && known && !catalogue_is_old(known);
}

void attach_start(struct lease *l)
{
	struct killick_error e;

	if (attach_can_wait(l) || l->server->state == KILLICK_RESTING) {
		lease_settle(l, false);
		return;
	}
	/* A shared server may be ready already, or may have failed for good: then the lease is
	 * settled at once. */
	if (server_use(l->server, &e) < 0)
		lease_settle(l, true);
	else if (l->server->state == KILLICK_READY)
		lease_settle(l, false);
}

/* --- servers that wait for a verdict --- */

/* Move a lease and its parked calls from a server that never ran to another server. */
static void attach_move(struct lease *l, struct server *to)
{
	struct server *from = l->server;

	assert(from->state == KILLICK_IDLE && from->starts == 0 && from->holders == 1);
	ring_remove(&l->on_server);
	attach_hide_owners(l, from);
	from->holders--;
	from->active--;
	attach_join(l, to);
	RING_EACH(r, &from->parked) {
		ring_remove(r);
		ring_add(&to->parked, r);
		if (server_has_client(to))
			parked_of(r)->begin(parked_of(r));
	}
	server_unleased(from); /* frees the server */
	attach_start(l);
}

/* The server need not wait any longer: it starts, or its lease joins another server. */
static void attach_again(struct server *sv, bool may_wait)
{
	struct ring *first = ring_first(&sv->leases);
	struct lease *l = first ? CONTAINER_OF(first, struct lease, on_server) : NULL;
	struct attach_wish w;
	struct share_verdict v;
	struct server *to;

	sv->awaits = NULL;
	if (!l || l->state != LEASE_HELD)
		return;
	w = attach_wish_of(l);
	to = attach_find(&w);
	if (to) {
		attach_move(l, to);
		return;
	}
	v = attach_judge(&w);
	attach_set_verdict(sv, &w, &v);
	if (v.answer == SHARE_UNKNOWN && may_wait)
		sv->awaits = attach_find_undecided(&w, sv);
	if (!sv->awaits)
		attach_start(l);
}

static void attach_release_all(struct server *sv, bool may_wait)
{
	struct pool *p = &sv->k->pool;

	RING_EACH(r, &p->servers) {
		struct server *waits = CONTAINER_OF(r, struct server, in_pool);

		if (waits->awaits == sv)
			attach_again(waits, may_wait);
	}
}

void attach_decided(struct server *sv)
{
	attach_release_all(sv, true);
}

void attach_release(struct server *sv, bool failed)
{
	if (sv->hub)
		attach_release_all(sv, !failed);
}

/* --- why sessions do not share --- */

static struct share_key attach_key(const struct server *sv)
{
	return (struct share_key){ .recipe = &sv->recipe,
				   .era = sv->era,
				   .features = sv->answers,
				   .program = sv->program,
				   .stateful = sv->stateful,
				   .logs_all = sv->logs_all };
}

static bool attach_has_command_of(const struct server *a, const struct server *b)
{
	char **x = a->recipe.argv, **y = b->recipe.argv;

	for (; *x && *y; x++, y++)
		if (strcmp(*x, *y) != 0)
			return false;
	return *x == *y;
}

const struct server *server_difference(const struct server *sv, char *out, size_t size)
{
	struct share_key mine = attach_key(sv), other;
	bool found = false;

	*out = '\0';
	/* a launcher such as npx is the first word of servers that have nothing else in common, so
	 * the command must be the same in all words */
	for (int by_name = 1; by_name >= 0 && !found; by_name--) {
		RING_EACH(r, &sv->k->pool.servers) {
			const struct server *o = CONTAINER_OF(r, struct server, in_pool);

			if (o == sv || !(by_name ? strcmp(o->recipe.name, sv->recipe.name) == 0
						 : attach_has_command_of(o, sv)))
				continue;
			found = true;
			other = attach_key(o);
			if (share_difference(&mine, &other, out, size))
				return o;
		}
	}
	return NULL;
}
