/* hubs.c - see hubs.h */
#include "hubs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/sink.h"

struct hubs_seen hubs_seen;

static void hubs_on_note(void *ctx, struct lease *l, enum killick_event_kind kind,
			 struct json params)
{
	(void)ctx;
	(void)l;
	(void)params;
	hubs_seen.notes[kind]++;
}

static void hubs_on_other(void *ctx, struct lease *l, const char *method, struct json params)
{
	(void)ctx;
	(void)l;
	(void)method;
	(void)params;
}

static bool hubs_on_ask(void *ctx, struct lease *l, uint64_t ask, const char *method,
			struct json params)
{
	(void)ctx;
	(void)l;
	(void)ask;
	(void)method;
	(void)params;
	hubs_seen.asks++;
	return false;
}

static void hubs_on_ask_over(void *ctx, struct lease *l, uint64_t ask)
{
	(void)ctx;
	(void)l;
	(void)ask;
}

static void hubs_on_state(void *ctx, struct lease *l)
{
	(void)ctx;
	(void)l;
	hubs_seen.states++;
}

static void hubs_on_warning(void *ctx, struct lease *l, const char *text)
{
	(void)ctx;
	(void)l;
	(void)text;
}

static const struct session_sink hubs_sink = {
	.on_note = hubs_on_note,
	.on_other = hubs_on_other,
	.on_ask = hubs_on_ask,
	.on_ask_over = hubs_on_ask_over,
	.on_state = hubs_on_state,
	.on_warning = hubs_on_warning,
};

void hubs_begin(struct killick *k, const struct lab_server *list, const struct hubs_spec *spec,
		struct hubs_opening *out)
{
	char *config = lab_config(list), *text = config;
	struct session_spec sp = { .o = KILLICK_SESSION_OPTIONS(),
				   .handlers = KILLICK_HANDLERS(),
				   .sink = &hubs_sink,
				   .lazy = spec->lazy };
	struct killick_error e = { 0 };
	struct config c;

	if (spec->top && asprintf(&text, "{%s%s", spec->top, config + 1) < 0)
		FAIL("no memory");
	sp.o.features = spec->features ? spec->features : KILLICK_NO_FEATURES;
	if (session_read_config(&(struct config_from){ .text = text }, &c, &e))
		FAIL("config: %s", e.text);
	out->k = k;
	EQ(runtime_enter(k, &e), 0);
	job_tell(session_begin(k, &sp, &c), &out->o);
	loop_attend(k->loop);
	runtime_leave(k);
	config_done(&c);
	if (text != config)
		free(text);
	free(config);
}

struct killick_session *hubs_opened(struct hubs_opening *o)
{
	EQ(runtime_enter(o->k, NULL), 0);
	waiter_wait(o->k, &o->o.waiter);
	runtime_leave(o->k);
	if (o->o.error.code)
		FAIL("the session was not opened: %s", o->o.error.text);
	return o->o.session;
}

struct killick_session *hubs_session(struct killick *k, const struct lab_server *list,
				     const struct hubs_spec *spec)
{
	struct hubs_opening o;

	hubs_begin(k, list, spec, &o);
	return hubs_opened(&o);
}

size_t hubs_servers(struct killick *k)
{
	size_t count = 0;

	EQ(runtime_enter(k, NULL), 0);
	RING_EACH(r, &k->pool.servers)
		count += CONTAINER_OF(r, struct server, in_pool)->holders > 0;
	runtime_leave(k);
	return count;
}

struct share_verdict hubs_verdict(struct killick_session *s, const char *server)
{
	struct share_verdict v;

	EQ(runtime_enter(s->k, NULL), 0);
	v = session_find(s, server)->server->verdict;
	runtime_leave(s->k);
	return v;
}

char *hubs_list(struct killick_session *s, const char *server, enum catalogue_kind kind)
{
	const struct catalogue_entry *e;
	char *copy;

	EQ(runtime_enter(s->k, NULL), 0);
	e = lease_catalogue(session_find(s, server));
	copy = strdup(e && e->lists[kind].at ? e->lists[kind].at : "");
	runtime_leave(s->k);
	return copy;
}

void hubs_await(struct killick *k, bool (*ready)(void *ctx), void *ctx)
{
	int64_t until_us = loop_now_us() + LAB_MS * 1000LL;
	bool is_ready = false;

	EQ(runtime_enter(k, NULL), 0);
	/* no event of the library reports all that tests wait for: look again every few ms */
	while (!is_ready && loop_now_us() < until_us)
		is_ready = runtime_wait(k, ready, ctx, loop_now_us() + 5000);
	runtime_leave(k);
	if (!is_ready)
		FAIL("waited too long");
}
