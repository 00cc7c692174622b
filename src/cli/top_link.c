/* top_link.c - see top_link.h */
#include "top_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/text.h"
#include "os/interrupt.h"
#include "os/time.h"

/* Ids of requests; those of TOP_STATUS and the others are 0 to 2. */
enum { TOP_ID_EVENTS = TOP_ANSWERS, TOP_ID_ORDER };

static void top_link_lose(struct top_link *l)
{
	hub_talk_close(&l->talk);
	for (int i = 0; i < TOP_ANSWERS; i++)
		buf_reset(&l->results[i], 0);
	l->due = l->events = 0;
	l->order = TOP_NO_ORDER;
}

static void top_link_send(struct top_link *l, int id, const char *method, const char *params)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct err e = ERR_INIT;

	if (l->talk.fd < 0)
		return;
	buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}", id, method,
		 params);
	if (hub_talk_send(&l->talk, b.data, b.len, NULL, &e) < 0)
		top_link_lose(l);
}

static void top_link_open(struct top_link *l)
{
	struct err e = ERR_INIT;

	if (hub_talk_open(&l->talk, false, &e) < 0)
		return;
	top_link_send(l, TOP_ID_EVENTS, "events.subscribe",
		      "{\"events\":[\"session.opened\",\"session.closed\",\"server.state\"]}");
}

void top_link_refresh(struct top_link *l, bool detail)
{
	if (l->due)
		return;
	if (l->talk.fd < 0)
		top_link_open(l);
	if (l->talk.fd < 0)
		return;
	l->due = (1u << TOP_ANSWERS) - 1;
	l->asked_us = time_now_us();
	l->events = 0;
	top_link_send(l, TOP_STATUS, "hub.status", "{}");
	top_link_send(l, TOP_SERVERS, "server.list", detail ? "{\"detail\":true}" : "{}");
	top_link_send(l, TOP_SESSIONS, "session.list", "{}");
}

/* Say how an order went. */
static void top_link_note(struct top_link *l, struct json answer, struct top_keys *k)
{
	static const char *const done[] = { "", "was stopped", "was restarted", "rests" };
	struct json error = json_get(answer, "error"), ending = json_find(answer, "result.ending");
	long long survivors = top_model_number(ending, "survivors");
	char text[160];

	if (error.at) {
		top_model_text(error, "message", text, sizeof(text));
		top_keys_say(k, true, "%s: %s failed: %s", l->order_name, top_keys_word(l->order),
			     text);
	} else if (survivors > 0) {
		top_keys_say(k, true, "%s %s, but %lld process%s survived", l->order_name,
			     done[l->order], survivors, survivors == 1 ? "" : "es");
	} else if (l->order != TOP_RESTART && json_type(ending) != JSON_OBJECT) {
		top_keys_say(k, false, "%s did not run: there was nothing to %s", l->order_name,
			     l->order == TOP_STOP ? "stop" : "end");
	} else {
		top_keys_say(k, false, "%s %s%s", l->order_name, done[l->order],
			     survivors == 0 ? "; proof: no process is left" : "");
	}
	l->order = TOP_NO_ORDER;
}

/* Take one message. True: the caller has something to show. */
static bool top_link_take(struct top_link *l, struct json line, struct top_keys *k)
{
	struct json_fault fault;
	struct json all, result;
	int64_t id;

	if (json_check(line.at, line.len, 0, &all, &fault) < 0)
		return false;
	if (!json_int(json_get(all, "id"), &id)) {
		l->events++;
		return true;
	}
	if (id == TOP_ID_ORDER && l->order) {
		top_link_note(l, all, k);
		l->events++;
		return true;
	}
	if (id < 0 || id >= TOP_ANSWERS)
		return false;
	result = json_get(all, "result");
	buf_reset(&l->results[id], l->results[id].cap);
	if (result.at)
		buf_add(&l->results[id], result.at, result.len);
	l->due &= ~(1u << id);
	return l->due == 0;
}

bool top_link_read(struct top_link *l, struct top_keys *k)
{
	bool news = false;

	while (l->talk.fd >= 0) {
		struct err e = ERR_INIT;
		struct json line;
		int r = hub_talk_line(&l->talk, 0, &line, &e);

		if (r == -ETIMEDOUT)
			break;
		if (r <= 0) {
			if (l->order)
				top_keys_say(k, true, "%s: the hub has ended", l->order_name);
			top_link_lose(l);
			return true;
		}
		news |= top_link_take(l, line, k);
	}
	return news;
}

void top_link_await(struct top_link *l, struct top_keys *k, int timeout_ms)
{
	int64_t until_us = time_now_us() + timeout_ms * 1000LL;

	while (l->talk.fd >= 0 && l->due) {
		int64_t left_ms = (until_us - time_now_us()) / 1000;

		if (left_ms <= 0)
			return;
		interrupt_wait(-1, l->talk.fd, (int)left_ms);
		top_link_read(l, k);
	}
}

bool top_link_order(struct top_link *l, enum top_order order, struct top_keys *k)
{
	static const char *const methods[] = { "", "server.stop", "server.restart", "server.rest" };
	AUTO(buf_done) struct buf params = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&params);

	if (l->talk.fd < 0 || l->order) {
		if (l->order)
			top_keys_say(k, true, "the %s of %s is not over yet",
				     top_keys_word(l->order), l->order_name);
		else
			top_keys_say(k, true, "there is no hub");
		return false;
	}
	emit_open(&j, NULL, '{');
	emit_str(&j, "server", k->asked_id);
	emit_close(&j);
	emit_end(&j);
	l->order = order;
	snprintf(l->order_name, sizeof(l->order_name), "%s", k->asked_name);
	top_keys_say(k, false, "%s: %s ...", k->asked_name, top_keys_word(order));
	k->note_stays = true;
	top_link_send(l, TOP_ID_ORDER, methods[order], params.data);
	if (l->talk.fd < 0)
		top_keys_say(k, true, "%s: the hub has ended", k->asked_name);
	return l->talk.fd >= 0;
}

struct top_answers top_link_answers(const struct top_link *l)
{
	struct json values[TOP_ANSWERS];

	for (int i = 0; i < TOP_ANSWERS; i++) {
		const struct buf *b = &l->results[i];

		values[i] = b->len ? (struct json){ b->data, b->len } : JSON_NONE;
	}
	return (struct top_answers){ values[TOP_STATUS], values[TOP_SERVERS],
				     values[TOP_SESSIONS] };
}

int top_link_fd(const struct top_link *l)
{
	return l->talk.fd;
}

void top_link_close(struct top_link *l)
{
	top_link_lose(l);
	for (int i = 0; i < TOP_ANSWERS; i++)
		buf_done(&l->results[i]);
}
