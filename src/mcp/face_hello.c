/* face_hello.c - initialize, server/discover, and what the face offers. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/face_internal.h"

/* --- the client's part --- */

void face_read_initialize(struct face *f, struct json params)
{
	const char *version = legacy_version(json_get(params, "protocolVersion"));

	f->initialize_came = true;
	f->legacy_version = version ? version : "2025-11-25"; /* the newest with initialize */
	f->answers = face_read_answers(json_get(params, "capabilities"));
	/* A client that tries the modern era first may get no answer in time, and change over. */
	f->era = ERA_LEGACY;
	f->version = f->legacy_version;
	f->rpc.batches = strcmp(f->legacy_version, "2025-03-26") == 0;
}

void face_say_hello(struct face *f, struct json params, const struct face_params *modern)
{
	struct face_hello h = { .era = modern ? ERA_MODERN : ERA_LEGACY };

	if (modern) {
		h.version = FACE_MODERN_VERSION;
		h.info = modern->info;
		h.capabilities = modern->capabilities;
	} else {
		h.version = f->legacy_version;
		h.info = json_get(params, "clientInfo");
		h.capabilities = json_get(params, "capabilities");
	}
	h.answers = face_read_answers(h.capabilities) & ~FACE_URL;
	f->era = h.era;
	f->version = h.version;
	face_go(f, FACE_GREETED);
	f->ev->on_hello(f->ctx, &h);
}

/* --- the offer --- */

void face_offer_done(struct face *f)
{
	char **const texts[] = { &f->info,         &f->capabilities, &f->modern_capabilities,
				 &f->instructions, &f->meta_member,  &f->info_member };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
}

static char *face_info_text(const struct face_offer *offer)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);

	if (offer->info) {
		emit_json(&j, NULL, offer->info, strlen(offer->info));
	} else {
		emit_open(&j, NULL, '{');
		emit_text(&j, "name", offer->name, strlen(offer->name));
		emit_text(&j, "version", offer->version, strlen(offer->version));
		emit_close(&j);
	}
	emit_end(&j);
	return buf_take(&b);
}

/* Tasks are an extension in the modern era, with other messages. */
static char *face_modern_capabilities(struct json legacy)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);
	struct json_iter it = json_iter(legacy);

	emit_open(&j, NULL, '{');
	while (json_each(&it))
		if (it.key.at && !json_is(it.key, "tasks"))
			emit_member(&j, it.key, it.value);
	emit_close(&j);
	emit_end(&j);
	return buf_take(&b);
}

static unsigned face_read_offer(struct json capabilities)
{
	static const struct {
		const char *path;
		unsigned can;
		bool flag; /* a boolean; else an object */
	} facts[] = {
		{ "tools", CAN_TOOLS, false },
		{ "tools.listChanged", CAN_TOOLS_CHANGE, true },
		{ "prompts", CAN_PROMPTS, false },
		{ "prompts.listChanged", CAN_PROMPTS_CHANGE, true },
		{ "resources", CAN_RESOURCES, false },
		{ "resources.listChanged", CAN_RESOURCES_CHANGE, true },
		{ "resources.subscribe", CAN_SUBSCRIBE, true },
		{ "completions", CAN_COMPLETE, false },
		{ "logging", CAN_LOG, false },
	};
	unsigned can = 0;
	bool on;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct json v = json_find(capabilities, facts[i].path);

		if (facts[i].flag ? json_bool(v, &on) && on : json_type(v) == JSON_OBJECT)
			can |= facts[i].can;
	}
	return can;
}

static void face_take_offer(struct face *f, const struct face_offer *offer)
{
	struct buf meta = BUF_INIT(BUF_ANY_SIZE), info = BUF_INIT(BUF_ANY_SIZE);
	struct json_fault fault;
	struct json v = JSON_NONE;
	int r;

	face_offer_done(f);
	r = json_check(offer->capabilities, strlen(offer->capabilities), 0, &v, &fault);
	assert(r == 0 && json_type(v) == JSON_OBJECT);
	f->info = face_info_text(offer);
	f->capabilities = mem_text(v.at, v.len);
	f->modern_capabilities = face_modern_capabilities(v);
	f->instructions = mem_dup(offer->instructions);
	f->can = face_read_offer(v);
	buf_addf(&info, "\"" META("serverInfo") "\":%s,", f->info);
	buf_addf(&meta, "\"_meta\":{\"" META("serverInfo") "\":%s},", f->info);
	f->info_len = info.len;
	f->meta_len = meta.len;
	f->info_member = buf_take(&info);
	f->meta_member = buf_take(&meta);
}

void face_welcome(struct face *f, const struct face_offer *offer)
{
	if (f->state >= FACE_CLOSING)
		return;
	assert(f->state != FACE_NEW);
	face_take_offer(f, offer);
	if (f->state == FACE_READY)
		return;
	face_go(f, FACE_READY);
	RING_EACH(n, &f->waiting) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, in_face);

		if (rq->row == &face_initialize_row) {
			face_answer_initialize(rq);
			break;
		}
	}
	loop_timer_set(f->loop, &f->run_timer, 0, face_run_waiting);
}

void face_refuse(struct face *f, int code, const char *text)
{
	for (struct ring *n; (n = ring_first(&f->waiting)) != NULL;)
		face_answer_fail(CONTAINER_OF(n, struct face_request, in_face), code, "%s", text);
	face_close(f);
}

/* --- answers --- */

void face_answer_initialize(struct face_request *rq)
{
	struct face *f = rq->face;
	struct emit j;

	f->initialized = true;
	if (!face_answer_begin(rq, &j))
		return;
	emit_open(&j, "result", '{');
	emit_str(&j, "protocolVersion", f->legacy_version);
	emit_json(&j, "capabilities", f->capabilities, strlen(f->capabilities));
	emit_raw(&j, "serverInfo", f->info, strlen(f->info));
	if (f->instructions)
		emit_text(&j, "instructions", f->instructions, strlen(f->instructions));
	face_answer_end(rq, &j);
}

void face_answer_discover(struct face_request *rq)
{
	struct face *f = rq->face;
	struct emit j;

	if (!face_answer_begin(rq, &j))
		return;
	emit_open(&j, "result", '{');
	emit_str(&j, "resultType", "complete");
	emit_open(&j, "supportedVersions", '[');
	emit_str(&j, NULL, FACE_MODERN_VERSION);
	emit_close(&j);
	emit_raw(&j, "capabilities", f->modern_capabilities, strlen(f->modern_capabilities));
	if (f->instructions)
		emit_text(&j, "instructions", f->instructions, strlen(f->instructions));
	emit_int(&j, "ttlMs", 0);
	emit_str(&j, "cacheScope", "private");
	emit_members(&j, f->meta_member, f->meta_len - 1);
	face_answer_end(rq, &j);
}
