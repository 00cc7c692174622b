/* event.c - see event.h */
#include "session/event.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pack.h"
#include "session/call.h"
#include "session/pool.h"
#include "session/session.h"
#include "session/sink.h"

struct event { /* in the outbox; the texts follow the struct */
	struct outbox_item item;
	struct killick_session *session;
	struct killick_event ev;
	bool counted;
	size_t bytes;
	unsigned long missed; /* events that were dropped, if this event reports them */
};

static bool event_is_wanted(struct outbox_item *i)
{
	struct event *e = CONTAINER_OF(i, struct event, item);

	if (!e->ev.text && e->ev.kind == KILLICK_EVENT_WARNING) { /* reports the drops */
		e->missed = e->session->dropped;
		e->session->dropped = 0;
	}
	return !e->session->muted;
}

static void event_run(struct outbox_item *i)
{
	struct event *e = CONTAINER_OF(i, struct event, item);
	char text[128];

	if (e->missed) {
		e->ev.text_len = (size_t)snprintf(
			text, sizeof(text),
			"%lu events were dropped because the host did not take them in time",
			e->missed);
		e->ev.text = text;
	}
	e->session->handlers.on_event(e->session->handlers.ctx, &e->ev);
}

static void event_done(struct outbox_item *i)
{
	struct event *e = CONTAINER_OF(i, struct event, item);

	if (e->counted)
		event_taken(e->session, e->bytes);
	e->session->news--;
	session_unpin(e->session);
	free(e);
}

static void event_pack(struct pack *p, const char *server, const struct killick_event *from,
		       struct killick_event *to)
{
	*to = *from;
	to->server = server ? pack_text(p, server) : NULL;
	to->text = from->text ? pack_bytes(p, from->text, from->text_len) : NULL;
	to->json = from->json ? pack_bytes(p, from->json, from->json_len) : NULL;
}

static void event_drop(struct killick_session *s);

static void event_send(struct killick_session *s, const char *server,
		       const struct killick_event *ev, bool counted)
{
	static const struct outbox_kind kind = { event_is_wanted, event_run, event_done };
	struct pack p = { .base = NULL };
	struct killick_event unused;
	struct event *e;

	event_pack(&p, server, ev, &unused);
	e = mem_try(sizeof(*e) + p.used);
	if (!e) {
		event_drop(s);
		return;
	}
	*e = (struct event){ .item = { .kind = &kind, .subject = s },
			     .session = s,
			     .counted = counted,
			     .bytes = p.used };
	p = (struct pack){ .base = (char *)(e + 1) };
	event_pack(&p, server, ev, &e->ev);
	if (counted) {
		s->events++;
		s->event_bytes += e->bytes;
	}
	s->news++;
	session_pin(s);
	outbox_put(&s->k->outbox, &e->item);
}

/* Count a dropped event. After the first drop, an event is sent that reports the number of
 * drops. */
static void event_drop(struct killick_session *s)
{
	if (s->dropped++ == 0 && s->handlers.on_event)
		event_send(s, NULL, &(struct killick_event){ .kind = KILLICK_EVENT_WARNING },
			   false);
}

bool event_room(struct killick_session *s, size_t bytes)
{
	/* A single event may be as large as a message. Later events are dropped until there is
	 * room. */
	if (s->events == 0 || (s->events < EVENTS_MAX && s->event_bytes < EVENT_BYTES_MAX &&
			       bytes < EVENT_BYTES_MAX - s->event_bytes))
		return true;
	event_drop(s);
	return false;
}

void event_taken(struct killick_session *s, size_t bytes)
{
	assert(s->events > 0 && s->event_bytes >= bytes);
	s->events--;
	s->event_bytes -= bytes;
}

void event_put(struct killick_session *s, struct lease *l, const struct killick_event *ev)
{
	/* the library bounds the number of state events; a server can send others without end */
	bool counted = ev->kind != KILLICK_EVENT_STATE;

	if (s->sink && ev->kind == KILLICK_EVENT_WARNING)
		s->sink->on_warning(s->sink_ctx, l, ev->text);
	if (!s->handlers.on_event || s->muted)
		return;
	if (counted && !event_room(s, ev->text_len + ev->json_len))
		return;
	event_send(s, l ? lease_name(l) : NULL, ev, counted);
}

void event_warning(struct killick_session *s, struct lease *l, const char *text)
{
	event_put(s, l,
		  &(struct killick_event){
			  .kind = KILLICK_EVENT_WARNING, .text = text, .text_len = strlen(text) });
}

/* --- progress of a call --- */

struct progress { /* in the outbox; the message follows the struct */
	struct outbox_item item;
	struct killick_call *call;
	struct killick_progress p;
	size_t bytes;
};

static bool progress_is_wanted(struct outbox_item *i)
{
	const struct killick_call *c = CONTAINER_OF(i, struct progress, item)->call;

	return !c->waited; /* the wait is over: the host may have freed ctx */
}

static void progress_run(struct outbox_item *i)
{
	struct progress *p = CONTAINER_OF(i, struct progress, item);

	p->call->rq.on_progress(p->call->rq.ctx, &p->p);
}

static void progress_done(struct outbox_item *i)
{
	struct progress *p = CONTAINER_OF(i, struct progress, item);

	event_taken(p->call->session, p->bytes);
	p->call->progress--;
	call_free_if_forgotten(p->call);
	free(p);
}

void event_progress(struct client_call *op, const struct killick_progress *told)
{
	static const struct outbox_kind kind = { progress_is_wanted, progress_run, progress_done };
	struct killick_call *c = CONTAINER_OF(op, struct part, op)->call;
	size_t len = strlen(told->message);
	struct progress *p;

	if (!event_room(c->session, len))
		return;
	p = mem_try(sizeof(*p) + len + 1);
	if (!p) {
		event_drop(c->session);
		return;
	}
	*p = (struct progress){
		.item = { .kind = &kind, .subject = c },
		.call = c,
		.p = { told->progress, told->total, (char *)(p + 1) },
		.bytes = len,
	};
	memcpy(p + 1, told->message, len + 1);
	c->session->events++;
	c->session->event_bytes += len;
	c->progress++;
	outbox_put(&c->session->k->outbox, &p->item);
}
