/* face_params.c - the members of params that the face reads, in one pass. */
#include <string.h>

#include "mcp/face_internal.h"

#define NAMESPACE     "io.modelcontextprotocol/"
#define NAMESPACE_LEN (sizeof(NAMESPACE) - 1)

static void face_read_meta(struct json meta, struct face_params *out)
{
	struct json_iter it = json_iter(meta);

	while (json_each(&it)) {
		if (!it.key.at)
			return; /* an array */
		if (json_key_is(it.key, "progressToken"))
			out->token = it.value;
		else if (it.key.len < NAMESPACE_LEN + 2)
			continue;
		else if (json_key_is(it.key, NAMESPACE "protocolVersion"))
			out->version = it.value;
		else if (json_key_is(it.key, NAMESPACE "clientCapabilities"))
			out->capabilities = it.value;
		else if (json_key_is(it.key, NAMESPACE "clientInfo"))
			out->info = it.value;
		else if (json_key_is(it.key, NAMESPACE "logLevel"))
			out->level = it.value;
	}
}

void face_read_params(const struct message *m, const char *key, struct face_params *out)
{
	struct json_iter it = message_iter(m, m->params);
	enum json_type token;

	*out = (struct face_params){ .name = JSON_NONE };
	while (json_each(&it)) {
		if (!it.key.at)
			return;
		if (key && json_key_is(it.key, key))
			out->name = it.value;
		else if (json_key_is(it.key, "_meta"))
			out->meta = it.value;
		else if (json_key_is(it.key, "requestState"))
			out->state = it.value;
		else if (json_key_is(it.key, "inputResponses"))
			out->responses = it.value;
	}
	if (out->name.at && *out->name.at != '"')
		out->name = JSON_NONE;
	if (out->meta.at)
		face_read_meta(out->meta, out);
	token = json_type(out->token);
	if (token != JSON_STRING && token != JSON_NUMBER)
		out->token = JSON_NONE;
}

unsigned face_read_answers(struct json capabilities)
{
	struct json_iter it = json_iter(capabilities);
	unsigned answers = 0;
	bool changes;

	while (json_each(&it)) {
		if (!it.key.at || json_type(it.value) != JSON_OBJECT)
			continue;
		if (json_key_is(it.key, "sampling")) {
			answers |= KILLICK_SAMPLING;
		} else if (json_key_is(it.key, "elicitation")) {
			answers |= KILLICK_ELICITATION;
			if (json_type(json_get(it.value, "url")) == JSON_OBJECT)
				answers |= FACE_URL;
		} else if (json_key_is(it.key, "roots")) {
			answers |= KILLICK_ROOTS;
			if (json_bool(json_get(it.value, "listChanged"), &changes) && changes)
				answers |= KILLICK_ROOTS_CHANGE;
		}
	}
	return answers;
}

/* --- digests --- */

static uint64_t face_mix(uint64_t h)
{
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

uint64_t face_digest(uint64_t seed, const char *bytes, size_t len)
{
	uint64_t h = seed ^ len, word;

	for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		h = face_mix(h ^ word);
	}
	word = 0;
	memcpy(&word, bytes, len);
	return face_mix(h ^ word);
}

/* The sum does not depend on the order of the members. */
uint64_t face_digest_params(const struct face *f, struct json params)
{
	struct json_iter it = json_iter(params);
	uint64_t sum = f->seed;

	while (json_each(&it))
		if (it.key.at && !json_key_is(it.key, "_meta") &&
		    !json_key_is(it.key, "requestState") && !json_key_is(it.key, "inputResponses"))
			sum += face_digest(face_digest(f->seed, it.key.at, it.key.len), it.value.at,
					   it.value.len);
	return sum;
}
