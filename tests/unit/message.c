/* message.c - what a line is, and that what we write is one. */
#include "rpc/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"
#include "base/frame.h"

#define V "\"jsonrpc\":\"2.0\""

static const char *const kinds[] = { "request", "notification", "result", "error", "batch" };

static void part(struct buf *b, const char *name, struct json v)
{
	if (v.at)
		OK(buf_addf(b, " %s=%.*s", name, (int)v.len, v.at) == 0);
}

static const char *describe(int r, const struct message *m, const char *reason)
{
	static struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_reset(&b, SIZE_MAX);
	if (r < 0) {
		OK(buf_addf(&b, "%s: %s",
			    r == -EBADMSG  ? "EBADMSG"
			    : r == -EPROTO ? "EPROTO"
			    : r == -E2BIG  ? "E2BIG"
					   : "?",
			    reason) == 0);
		return b.data;
	}
	OK(buf_adds(&b, kinds[m->kind]) == 0);
	part(&b, "id", m->id);
	if (m->ours)
		OK(buf_addf(&b, " ours=%llu", (unsigned long long)m->number) == 0);
	part(&b, "method", m->method);
	part(&b, "params", m->params);
	part(&b, "result", m->result);
	part(&b, "error", m->error);
	return b.data;
}

/* The line as message_parse sees it; message_of must see the same. */
static const char *read_line(const char *line)
{
	AUTO(mem_drop) char *copy = malloc(strlen(line) + 1), *again = NULL;
	const char *reason = NULL;
	struct message m, of;
	int r;

	OK(copy != NULL);
	memcpy(copy, line, strlen(line)); /* without its NUL: nobody may look for one */
	r = message_parse(copy, strlen(line), &m, &reason);
	if (r == 0 && m.kind != MESSAGE_BATCH) {
		int r_of = message_of(m.whole, &of, &reason);

		again = strdup(describe(r_of, &of, reason));
		STREQ(describe(r, &m, reason), again);
	}
	return describe(r, &m, reason);
}

TEST(message_kinds)
{
	STREQ(read_line("{" V ",\"id\":1,\"method\":\"ping\"}"), "request id=1 method=\"ping\"");
	STREQ(read_line("{" V ",\"id\":\"x-1\",\"method\":\"m\",\"params\":{\"a\":[1]}}"),
	      "request id=\"x-1\" method=\"m\" params={\"a\":[1]}");
	STREQ(read_line("{" V ",\"method\":\"n\",\"params\":[]}"),
	      "notification method=\"n\" params=[]");
	STREQ(read_line("{" V ",\"id\":7,\"result\":{}}"), "result id=7 ours=7 result={}");
	STREQ(read_line("{" V ",\"id\":7,\"error\":{\"code\":-1,\"message\":\"\"}}"),
	      "error id=7 ours=7 error={\"code\":-1,\"message\":\"\"}");
	STREQ(read_line("{" V ",\"error\":{}}"), "error error={}");
	STREQ(read_line("[1]"), "batch");
}

TEST(message_members_in_any_order_and_any_dress)
{
	STREQ(read_line(" {\"result\" : [ 1 ] , \"id\" : 3 , " V " } "),
	      "result id=3 ours=3 result=[ 1 ]");
	STREQ(read_line("{\"\\u0069d\":3,\"resul\\u0074\":4,\"json\\u0072pc\":\"\\u0032.0\"}"),
	      "result id=3 ours=3 result=4");
	STREQ(read_line("{" V
			",\"x\":{\"id\":9,\"method\":\"no\"},\"id\":1,\"result\":2,\"idx\":3}"),
	      "result id=1 ours=1 result=2");
	STREQ(read_line("\xef\xbb\xbf{" V ",\"id\":1,\"result\":2}"),
	      "result id=1 ours=1 result=2");
}

TEST(message_last_duplicate_counts)
{
	STREQ(read_line("{\"jsonrpc\":\"1.0\",\"id\":1,\"id\":2,\"result\":3,\"result\":4," V "}"),
	      "result id=2 ours=2 result=4");
	STREQ(read_line("{" V ",\"jsonrpc\":\"1.0\",\"method\":\"x\"}"),
	      "EPROTO: jsonrpc is not \"2.0\"");
	STREQ(read_line("{" V ",\"id\":1,\"method\":\"x\",\"id\":null}"),
	      "notification method=\"x\"");
}

TEST(message_null_counts_as_absent)
{
	STREQ(read_line("{" V ",\"id\":null,\"method\":\"n\",\"params\":null}"),
	      "notification method=\"n\"");
	STREQ(read_line("{" V ",\"id\":1,\"result\":{},\"error\":null,\"method\":null}"),
	      "result id=1 ours=1 result={}");
	STREQ(read_line("{" V ",\"id\":1,\"result\":null,\"error\":{}}"),
	      "error id=1 ours=1 error={}");
	STREQ(read_line("{" V ",\"id\":1,\"result\":null}"), "result id=1 ours=1 result=null");
	STREQ(read_line("{" V ",\"id\":null,\"error\":{}}"), "error error={}");
	STREQ(read_line("{" V ",\"id\":null,\"result\":{}}"), "EPROTO: a result without an id");
}

TEST(message_with_too_much)
{
	STREQ(read_line("{" V ",\"id\":1,\"result\":2,\"error\":3}"), "error id=1 ours=1 error=3");
	STREQ(read_line("{" V ",\"id\":1,\"method\":\"m\",\"result\":2,\"error\":3}"),
	      "request id=1 method=\"m\"");
	STREQ(read_line("{" V ",\"id\":1,\"params\":{},\"result\":2}"),
	      "result id=1 ours=1 result=2");
}

TEST(message_ids_of_ours)
{
	static const struct {
		const char *id;
		long long number; /* -1: not ours */
	} ids[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "9007199254740993", 9007199254740993 },
		{ "\"12\"", 12 },
		{ "\"0\"", 0 },
		{ "1.0", -1 },
		{ "1e0", -1 },
		{ "-1", -1 },
		{ "-0", -1 },
		{ "18446744073709551616", -1 },
		{ "99999999999999999999999999", -1 },
		{ "\"01\"", -1 },
		{ "\"\"", -1 },
		{ "\"x\"", -1 },
		{ "\" 1\"", -1 },
		{ "\"1x\"", -1 },
		{ "\"\\u0031\"", -1 },
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char line[100];
		const char *reason;
		struct message m;

		snprintf(line, sizeof(line), "{" V ",\"id\":%s,\"result\":1}", ids[i].id);
		EQ(message_parse(line, strlen(line), &m, &reason), 0);
		if (m.ours != (ids[i].number >= 0))
			FAIL("%s", ids[i].id);
		if (m.ours)
			EQ(m.number, ids[i].number);
	}
	STREQ(read_line("{" V ",\"id\":18446744073709551615,\"result\":1}"),
	      "result id=18446744073709551615 ours=18446744073709551615 result=1");
}

TEST(message_refused)
{
	STREQ(read_line(""), "EBADMSG: a value is expected");
	STREQ(read_line("Server started on port 80"), "EBADMSG: a value is expected");
	STREQ(read_line("{" V ",\"id\":1,\"result\":2} x"), "EBADMSG: something follows the value");
	STREQ(read_line("{" V ",\"method\":\"\xff\"}"), "EBADMSG: a character is not UTF-8");
	STREQ(read_line("{" V ",\"method\":\"x\",}"), "EBADMSG: a key in quotes is expected");
	STREQ(read_line("// x"), "EBADMSG: a value is expected");
	STREQ(read_line("17"), "EPROTO: not an object");
	STREQ(read_line("\"x\""), "EPROTO: not an object");
	STREQ(read_line("null"), "EPROTO: not an object");
	STREQ(read_line("[]"), "EPROTO: an empty batch");
	STREQ(read_line("[ ]"), "EPROTO: an empty batch");
	STREQ(read_line("{}"), "EPROTO: jsonrpc is not \"2.0\"");
	STREQ(read_line("{\"id\":1,\"result\":{}}"), "EPROTO: jsonrpc is not \"2.0\"");
	STREQ(read_line("{\"jsonrpc\":2.0,\"id\":1,\"result\":{}}"),
	      "EPROTO: jsonrpc is not \"2.0\"");
	STREQ(read_line("{\"jsonrpc\":\"2.0 \",\"method\":\"x\"}"),
	      "EPROTO: jsonrpc is not \"2.0\"");
	STREQ(read_line("{" V "}"), "EPROTO: neither a method nor a result nor an error");
	STREQ(read_line("{" V ",\"id\":1}"), "EPROTO: neither a method nor a result nor an error");
	STREQ(read_line("{" V ",\"result\":1}"), "EPROTO: a result without an id");
	STREQ(read_line("{" V ",\"method\":1}"), "EPROTO: the method is no string");
	STREQ(read_line("{" V ",\"method\":\"x\",\"params\":1}"),
	      "EPROTO: params is neither an object nor an array");
	STREQ(read_line("{" V ",\"method\":\"x\",\"id\":true}"),
	      "EPROTO: the id is neither a string nor a number");
	STREQ(read_line("{" V ",\"result\":1,\"id\":{}}"),
	      "EPROTO: the id is neither a string nor a number");
}

TEST(message_too_deep)
{
	static char line[1100];
	const char *reason;
	struct message m;
	int n = snprintf(line, sizeof(line), "{" V ",\"method\":\"x\",\"params\":");

	memset(line + n, '[', 1000);
	EQ(message_parse(line, (size_t)n + 1000, &m, &reason), -E2BIG);
	STREQ(reason, "nested too deep");
}

TEST(message_refusal_leaves_out_alone)
{
	struct message m, before;
	const char *reason;

	memset(&m, 0x5a, sizeof(m));
	before = m;
	EQ(message_parse("{", 1, &m, &reason), -EBADMSG);
	EQ(message_parse("[]", 2, &m, &reason), -EPROTO);
	EQ(message_parse("{\"id\":1}", 8, &m, &reason), -EPROTO);
	OK(memcmp(&m, &before, sizeof(m)) == 0);
}

TEST(message_batches)
{
	static const char line[] = "[{" V ",\"id\":1,\"result\":2},{" V ",\"method\":\"n\"},3,[{" V
				   ",\"method\":\"n\"}]]";
	struct message batch, m;
	struct json_iter it;
	const char *reason;

	EQ(message_parse(line, strlen(line), &batch, &reason), 0);
	EQ(batch.kind, MESSAGE_BATCH);
	EQ(batch.whole.len, strlen(line));
	it = json_iter(batch.whole);
	OK(json_each(&it));
	EQ(message_of(it.value, &m, &reason), 0);
	STREQ(describe(0, &m, NULL), "result id=1 ours=1 result=2");
	OK(json_each(&it));
	EQ(message_of(it.value, &m, &reason), 0);
	STREQ(describe(0, &m, NULL), "notification method=\"n\"");
	OK(json_each(&it));
	EQ(message_of(it.value, &m, &reason), -EPROTO);
	OK(json_each(&it)); /* a batch in a batch */
	EQ(message_of(it.value, &m, &reason), -EPROTO);
	OK(!json_each(&it));
	EQ(message_of(JSON_NONE, &m, &reason), -EPROTO);
}

/* Whole messages, each with a newline behind it. */
static int end_line(struct emit *j, struct buf *b, int r)
{
	r = r ? r : buf_add(b, "\n", 1);
	if (r < 0)
		b->data[b->len = j->start] = '\0';
	return r;
}

static int write_call(struct buf *b, bool bare, const uint64_t *id, const char *method,
		      const char *params, size_t len)
{
	struct emit j;

	if (id)
		message_request(&j, b, bare, *id, method);
	else
		message_notification(&j, b, bare, method);
	if (params)
		emit_json(&j, "params", params, len);
	return end_line(&j, b, message_end(&j));
}

static int write_result(struct buf *b, bool bare, struct json id, const char *result, size_t len)
{
	struct emit j;

	message_result(&j, b, bare, id);
	emit_json(&j, "result", result, len);
	return end_line(&j, b, message_end(&j));
}

static int write_error(struct buf *b, bool bare, struct json id, int code, const char *text)
{
	struct emit j;

	message_error(&j, b, bare, id, code, text);
	return end_line(&j, b, message_end_error(&j, bare, id));
}

TEST(message_iter_finds_what_json_iter_finds)
{
	static const char *const lines[] = {
		"{" V ",\"id\":1,\"method\":\"m\",\"params\":{\"a\":{\"b\":[1,2,3]},\"c\":\"}\"}}",
		" {" V ",\"params\" : { \"a\" : \"x\" , \"b\" : {} } ,\"method\":\"m\"}",
		"{" V ",\"id\":1,\"result\":{\"content\":[{\"text\":\"long\"}],\"_meta\":{}}}",
		"{" V ",\"x\":{\"y\":\"a longer member of no "
		      "use\"},\"method\":\"m\",\"params\":{\"a\":1}}",
		"{" V ",\"params\":{\"a\":\"the longest\"},\"method\":\"m\",\"params\":{\"a\":12}}",
		"{" V ",\"id\":1,\"method\":\"m\",\"params\":[{\"a\":1}]}",
		"{" V ",\"id\":1,\"method\":\"m\",\"params\":{}}",
		"{" V ",\"id\":1,\"method\":\"m\"}",
	};
	size_t known = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct json_iter plain, quick;
		const char *reason;
		struct message m;
		struct json v;

		EQ(message_parse(lines[i], strlen(lines[i]), &m, &reason), 0);
		v = m.params.at ? m.params : m.result;
		plain = json_iter(v);
		quick = message_iter(&m, v);
		known += m.known_len > 0;
		while (json_each(&plain)) {
			OK(json_each(&quick));
			OK(plain.key.at == quick.key.at && plain.key.len == quick.key.len);
			OK(plain.value.at == quick.value.at && plain.value.len == quick.value.len);
		}
		OK(!json_each(&quick));
	}
	EQ(known, 5); /* the lines that have a member in params or result */
}

TEST(message_writes_lines)
{
	AUTO(buf_done) struct buf b = BUF_INIT(1000);
	static const char id[] = "\"a\\n\"";

	EQ(write_call(&b, false, &(uint64_t){ 18446744073709551615u }, "tools/list", NULL, 0), 0);
	EQ(write_call(&b, false, &(uint64_t){ 0 }, "m\"", "{\"a\":1}xx", 7), 0);
	EQ(write_call(&b, false, NULL, "notifications/initialized", NULL, 0), 0);
	EQ(write_call(&b, false, NULL, "n", "{\n \"a\":\r\n1}", 11), 0);
	EQ(write_result(&b, false, (struct json){ id, sizeof(id) - 1 }, "{}", 2), 0);
	EQ(write_result(&b, false, (struct json){ "7", 1 }, "{\"x\":[]}", 8), 0);
	EQ(write_error(&b, false, (struct json){ "7", 1 }, -32601, "no\nsuch \"thing\""), 0);
	EQ(write_error(&b, false, JSON_NONE, -32700, ""), 0);
	STREQ(b.data, "{" V ",\"id\":18446744073709551615,\"method\":\"tools/list\"}\n"
		      "{" V ",\"id\":0,\"method\":\"m\\\"\",\"params\":{\"a\":1}}\n"
		      "{" V ",\"method\":\"notifications/initialized\"}\n"
		      "{" V ",\"method\":\"n\",\"params\":{  \"a\":  1}}\n"
		      "{" V ",\"id\":\"a\\n\",\"result\":{}}\n"
		      "{" V ",\"id\":7,\"result\":{\"x\":[]}}\n"
		      "{" V ",\"id\":7,\"error\":{\"code\":-32601,\"message\":"
		      "\"no\\u000asuch \\\"thing\\\"\"}}\n"
		      "{" V ",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}\n");
}

TEST(message_writes_without_a_version)
{
	AUTO(buf_done) struct buf b = BUF_INIT(1000);

	EQ(write_call(&b, true, &(uint64_t){ 7 }, "m", "{}", 2), 0);
	EQ(write_call(&b, true, NULL, "n", NULL, 0), 0);
	EQ(write_result(&b, true, (struct json){ "\"a\"", 3 }, "{}", 2), 0);
	EQ(write_error(&b, true, JSON_NONE, -32600, "?"), 0);
	STREQ(b.data, "{\"id\":7,\"method\":\"m\",\"params\":{}}\n{\"method\":\"n\"}\n"
		      "{\"id\":\"a\",\"result\":{}}\n"
		      "{\"error\":{\"code\":-32600,\"message\":\"?\"},\"id\":-1}\n");
}

static int write_one(struct buf *b, int which)
{
	struct json id = { "\"x\"", 3 };

	switch (which & 3) {
	case 0:
		return write_call(b, which & 4, &(uint64_t){ 12 }, "ping", "{\"a\":\n1}", 8);
	case 1:
		return write_call(b, which & 4, NULL, "ping", "{\"a\":1}", 7);
	case 2:
		return write_result(b, which & 4, id, "{\"a\":1}", 7);
	default:
		return write_error(b, which & 4, id, -32000, "a \"reason\"");
	}
}

/* Whole or not at all, whatever the limit. */
TEST(message_that_does_not_fit_leaves_no_piece)
{
	for (int which = 0; which < 8; which++) {
		AUTO(buf_done) struct buf whole = BUF_INIT(1000);

		EQ(write_one(&whole, which), 0);
		for (size_t limit = 0; limit <= whole.len + 2; limit++) {
			AUTO(buf_done) struct buf b = BUF_INIT(limit + 2);

			EQ(buf_adds(&b, "xy"), 0);
			EQ(write_one(&b, which), limit < whole.len ? -EMSGSIZE : 0);
			EQ(b.len, 2 + (limit < whole.len ? 0 : whole.len));
			EQ(strlen(b.data), b.len);
		}
	}
}

struct back {
	int count;
	struct message m;
};

static void on_line(void *ctx, const char *line, size_t len)
{
	struct back *back = ctx;
	const char *reason;

	back->count++;
	EQ(message_parse(line, len, &back->m, &reason), 0);
	if (back->m.kind == MESSAGE_REQUEST)
		OK(json_is(back->m.method, "a\"\xc3\xa4\n/") && json_count(back->m.params) == 2);
	else if (back->m.kind == MESSAGE_RESULT)
		OK(back->m.ours && back->m.number == 5 && back->m.result.len > 100000);
	else
		OK(json_is(json_find(back->m.error, "message"), "x\r\ny"));
}

static void on_too_long(void *ctx)
{
	(void)ctx;
	FAIL("too long");
}

/* What we write is what a peer of our kind reads. */
TEST(message_comes_back)
{
	static const struct frame_events ev = { on_line, on_too_long };
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE), big = BUF_INIT(BUF_ANY_SIZE);
	AUTO(frame_done) struct frame f = FRAME_INIT(1000000);
	struct back back = { .count = 0 };

	EQ(buf_adds(&big, "[\"x\""), 0);
	while (big.len < 100000)
		EQ(buf_adds(&big, ",\r\n\"some text\",1.5,{\"a\":null}"), 0);
	EQ(buf_adds(&big, "]"), 0);
	EQ(write_call(&b, false, &(uint64_t){ 5 }, "a\"\xc3\xa4\n/", "[1,\n\n2]", 7), 0);
	EQ(write_result(&b, false, (struct json){ "5", 1 }, big.data, big.len), 0);
	EQ(write_error(&b, false, JSON_NONE, 1, "x\r\ny"), 0);
	frame_feed(&f, b.data, b.len, &ev, &back);
	EQ(back.count, 3);
	EQ(frame_pending(&f), 0);
}
