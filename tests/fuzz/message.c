/* message.c - a line, and the answers that can be made of it. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "fuzz.h"
#include "rpc/message.h"

static bool same(struct json a, struct json b)
{
	return a.at == b.at && (!a.at || a.len == b.len);
}

/* The answer to a request is a line that is read as an answer to it. */
static void answer(const struct message *m)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct message back;
	const char *reason;
	struct emit j;
	size_t first;

	message_result(&j, &b, false, m->id);
	if (m->params.at)
		emit_json(&j, "result", m->params.at, m->params.len);
	else
		emit_open(&j, "result", '{');
	assert(message_end(&j) == 0);
	first = b.len;
	message_error(&j, &b, false, m->id, RPC_UNKNOWN_METHOD, "none");
	assert(message_end_error(&j, false, m->id) == 0);
	assert(!memchr(b.data, '\n', b.len));
	/* JSON_DEPTH may be exceeded by the level that the answer adds; nothing else may be wrong
	 */
	if (message_parse(b.data, first, &back, &reason) == 0) {
		assert(back.kind == MESSAGE_RESULT && back.id.len == m->id.len);
		assert(memcmp(back.id.at, m->id.at, m->id.len) == 0);
	} else {
		assert(strcmp(reason, "nested too deep") == 0);
	}
	assert(message_parse(b.data + first, b.len - first, &back, &reason) == 0);
	assert(back.kind == MESSAGE_ERROR && back.id.len == m->id.len);
	buf_done(&b);
}

static void judge(const struct message *m)
{
	enum json_type id = json_type(m->id);

	assert(id == JSON_ABSENT || id == JSON_STRING || id == JSON_NUMBER);
	switch (m->kind) {
	case MESSAGE_REQUEST:
		assert(m->id.at && json_type(m->method) == JSON_STRING && !m->ours);
		answer(m);
		break;
	case MESSAGE_NOTIFICATION:
		assert(!m->id.at && json_type(m->method) == JSON_STRING);
		break;
	case MESSAGE_RESULT:
		assert(m->id.at && m->result.at && !m->error.at && !m->method.at);
		break;
	case MESSAGE_ERROR:
		assert(m->error.at && !m->result.at && !m->method.at);
		break;
	case MESSAGE_BATCH:
		assert(json_type(m->whole) == JSON_ARRAY && json_count(m->whole) > 0);
		break;
	}
}

static void use(const struct message *m)
{
	struct json_iter it = json_iter(m->whole);
	const char *reason;
	struct message of;

	judge(m);
	if (m->kind != MESSAGE_BATCH) {
		assert(message_of(m->whole, &of, &reason) == 0);
		assert(of.kind == m->kind && of.ours == m->ours && of.number == m->number);
		assert(same(of.id, m->id) && same(of.method, m->method) &&
		       same(of.params, m->params) && same(of.result, m->result) &&
		       same(of.error, m->error));
		return;
	}
	while (json_each(&it)) {
		int r = message_of(it.value, &of, &reason);

		assert(r == 0 || r == -EPROTO);
		if (r == 0) {
			assert(of.kind != MESSAGE_BATCH);
			judge(&of);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size ? size : 1);
	struct message m, before;
	const char *reason = NULL;
	int r;

	assert(line);
	if (size)
		memcpy(line, data, size);
	memset(&m, 0x5a, sizeof(m));
	before = m;
	r = message_parse(line, size, &m, &reason);
	assert(r == 0 || r == -EBADMSG || r == -EPROTO || r == -E2BIG);
	if (r == 0)
		use(&m);
	else
		assert(reason && memcmp(&m, &before, sizeof(m)) == 0);
	free(line);
	return 0;
}
