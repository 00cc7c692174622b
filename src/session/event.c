/* event.c - see event.h */
#include "session/event.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/pack.h"
#include "session/pool.h"
#include "session/session.h"

struct event { /* on its way; the texts are behind it */
	struct outbox_item item;
	struct killick_session *session;
	struct killick_event ev;
	bool counted;
	size_t bytes;
	unsigned long missed; /* of the event that says so */
};

static bool is_wanted(struct outbox_item *i)
{
	struct event *e = RING_OF(i, struct event, item);

	if (!e->ev.text &&
	    e->ev.kind == KILLICK_EVENT_WARNING) { /* how much was dropped is known now */
		e->missed = e->session->dropped;
		e->session->dropped = 0;
	}
	return !e->session->muted;
}

static void run(struct outbox_item *i)
{
	struct event *e = RING_OF(i, struct event, item);
	char text[128];

	if (e->missed) {
		e->ev.text_len = (size_t)snprintf(
			text, sizeof(text),
			"%lu events were dropped because they were not taken in time", e->missed);
		e->ev.text = text;
	}
	e->session->handlers.on_event(e->session->handlers.ctx, &e->ev);
}

static void done(struct outbox_item *i)
{
	struct event *e = RING_OF(i, struct event, item);

	if (e->counted)
		event_taken(e->session, e->bytes);
	e->session->news--;
	session_unpin(e->session);
	free(e);
}

static void pack_event(struct pack *p, const char *server, const struct killick_event *from,
		       struct killick_event *to)
{
	*to = *from;
	to->server = server ? pack_text(p, server) : NULL;
	to->text = from->text ? pack_bytes(p, from->text, from->text_len) : NULL;
	to->json = from->json ? pack_bytes(p, from->json, from->json_len) : NULL;
}

static void send(struct killick_session *s, const char *server, const struct killick_event *ev,
		 bool counted)
{
	static const struct outbox_kind kind = { is_wanted, run, done };
	struct pack p = { .base = NULL };
	struct killick_event unused;
	struct event *e;

	pack_event(&p, server, ev, &unused);
	e = mem_grow(NULL, sizeof(*e) + p.used, 1);
	*e = (struct event){ .item = { .kind = &kind, .subject = s },
			     .session = s,
			     .counted = counted,
			     .bytes = p.used };
	p = (struct pack){ .base = (char *)(e + 1) };
	pack_event(&p, server, ev, &e->ev);
	if (counted) {
		s->events++;
		s->event_bytes += e->bytes;
	}
	s->news++;
	session_pin(s);
	outbox_put(&s->k->outbox, &e->item);
}

bool event_room(struct killick_session *s, size_t bytes)
{
	if (s->events < EVENTS_MAX && (s->events == 0 || bytes < EVENT_BYTES_MAX - s->event_bytes))
		return true;
	if (s->dropped++ == 0 && s->handlers.on_event)
		send(s, NULL, &(struct killick_event){ .kind = KILLICK_EVENT_WARNING }, false);
	return false;
}

void event_taken(struct killick_session *s, size_t bytes)
{
	assert(s->events > 0 && s->event_bytes >= bytes);
	s->events--;
	s->event_bytes -= bytes;
}

void event_put(struct killick_session *s, const struct lease *l, const struct killick_event *ev)
{
	/* what we do ourselves is bounded; what a server says is not */
	bool counted = ev->kind != KILLICK_EVENT_STATE;

	if (!s->handlers.on_event || s->muted)
		return;
	if (counted && !event_room(s, ev->text_len + ev->json_len))
		return;
	send(s, l ? lease_name(l) : NULL, ev, counted);
}

void event_warning(struct killick_session *s, const struct lease *l, const char *text)
{
	event_put(s, l,
		  &(struct killick_event){
			  .kind = KILLICK_EVENT_WARNING, .text = text, .text_len = strlen(text) });
}
