/* protocol_lines.c - ways that are about bytes: how lines are written and what is between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol_ways.h"
#include "fixtures.h"

#define FLOOD_NOTES 100000
#define MIB         (1u << 20)

void put_twice(const char *line, size_t len)
{
	protocol_raw(line, len);
	protocol_raw(line, len);
}

void put_drip(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		protocol_raw(line + i, 1);
}

void put_trickle(const char *line, size_t len)
{
	for (size_t i = 0; i < len && !zoo_expired(); i++) {
		zoo_nap_us(100000);
		protocol_raw(line + i, 1);
	}
}

void put_bare(const char *line, size_t len)
{
	protocol_raw(line, len - 1);
}

void put_crlf(const char *line, size_t len)
{
	protocol_raw(line, len - 1);
	protocol_raw("\r\n", 2);
}

void put_bom(const char *line, size_t len)
{
	static bool begun;

	if (!begun)
		protocol_raw("\xef\xbb\xbf", 3);
	begun = true;
	protocol_raw(line, len);
}

void put_chatty(const char *line, size_t len)
{
	static const char *const noise[] = {
		"Zoo server v1 listening on stdio\n",
		"\n",
		"   \n",
		"{\"level\":\"info\",\"msg\":\"handling a request\"}\n",
		"[]\n",
		"42\n",
		"null\n",
		"Traceback (most recent call last):\n",
		"  File \"server.py\", line 1, in <module>\n",
		"\x1b[32minfo\x1b[0m {\"jsonrpc\":\"2.0\"}\n",
	};

	for (size_t i = 0; i < sizeof(noise) / sizeof(*noise); i++)
		protocol_raw(noise[i], strlen(noise[i]));
	protocol_raw(line, len);
	protocol_raw("done.\n", 6);
}

/* Another protocol's framing: 1 GiB are promised. */
void put_header(const char *line, size_t len)
{
	static const char header[] = "Content-Length: 1073741824\r\n\r\n";

	protocol_raw(header, sizeof(header) - 1);
	protocol_raw(line, len);
}

void put_batch(const char *line, size_t len)
{
	static const char note[] = ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/zoo\"}]\n";

	if (memmem(line, len, "\"protocolVersion\"", 17)) {
		protocol_raw(line, len); /* initialize may not be in one */
		return;
	}
	protocol_raw("[", 1);
	protocol_raw(line, len - 1);
	protocol_raw(note, sizeof(note) - 1);
}

bool before_endless(const struct request *rq)
{
	char *block;

	if (!request_calls(rq, "echo"))
		return false;
	block = malloc(MIB);
	if (!block)
		abort();
	memset(block, 'x', MIB);
	for (int i = 0; i < 128; i++)
		protocol_raw(block, MIB);
	free(block);
	zoo_linger();
}

bool before_huge(const struct request *rq)
{
	size_t bytes = (size_t)atol(way_argument);
	char *text;

	if (!request_calls(rq, "echo"))
		return false;
	text = malloc(bytes + 2);
	if (!text)
		abort();
	memset(text, 'x', bytes + 2);
	text[0] = text[bytes + 1] = '"';
	protocol_tool_answer(rq, (struct span){ text, bytes + 2 }, SPAN_NONE);
	free(text);
	return true;
}

/* An answer whose text is these bytes. */
static bool answer_bytes(const struct request *rq, const char *bytes, size_t len)
{
	struct grow t = { 0 };

	if (!request_calls(rq, "echo"))
		return false;
	grow_adds(&t, "\"");
	grow_add(&t, bytes, len);
	grow_adds(&t, "\"");
	protocol_tool_answer(rq, (struct span){ t.at, t.len }, SPAN_NONE);
	grow_done(&t);
	return true;
}

bool before_not_utf8(const struct request *rq)
{
	return answer_bytes(rq, "caf\xe9 \xff\xc0\xaf", 8);
}

bool before_nul(const struct request *rq)
{
	return answer_bytes(rq, "a\0b", 3);
}

bool before_deep(const struct request *rq)
{
	struct grow t = { 0 };

	if (!request_calls(rq, "echo"))
		return false;
	grow_addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", (int)rq->id.len, rq->id.at);
	for (int i = 0; i < 1000000; i++)
		grow_adds(&t, "[");
	for (int i = 0; i < 1000000; i++)
		grow_adds(&t, "]");
	grow_adds(&t, "}");
	protocol_say_text(&t);
	return true;
}

bool before_twokeys(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	protocol_say("{\"jsonrpc\":\"1.0\",\"id\":99999,\"result\":{\"content\":[]},"
		     "\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":["
		     "{\"type\":\"text\",\"text\":\"first\",\"text\":\"last\"}]}}",
		     (int)rq->id.len, rq->id.at);
	return true;
}

bool before_errflood(const struct request *rq)
{
	static char block[65536];

	if (!request_calls(rq, "echo"))
		return false;
	memset(block, 'e', sizeof(block));
	for (int i = 0; i < 1024; i++) {
		if (i % 2)
			for (size_t k = 79; k < sizeof(block); k += 80)
				block[k] = '\n';
		else
			memset(block, 'e', sizeof(block));
		(void)!write(2, block, sizeof(block));
	}
	(void)!write(2, "\nthe last line\n", 15);
	return false;
}

bool before_noteflood(const struct request *rq)
{
	static const char *const notes[] = {
		"\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}",
		"\"method\":\"notifications/progress\",\"params\":{\"progressToken\":123456789,"
		"\"progress\":1}",
		"\"method\":\"notifications/tools/list_changed\"",
		"\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"zoo://x\"}",
		"\"method\":\"notifications/what/is/this\",\"params\":[1,2,3]",
	};
	struct grow t = { 0 };

	if (!request_calls(rq, "echo"))
		return false;
	for (int i = 0; i < FLOOD_NOTES; i++) {
		grow_addf(&t, "{\"jsonrpc\":\"2.0\",%s}\n", notes[i % 5]);
		if (t.len > 60000) {
			protocol_raw(t.at, t.len);
			t.len = 0;
		}
	}
	protocol_raw(t.at, t.len);
	grow_done(&t);
	return false;
}

/* Both pipes fill up unless the client drops something: we write and do not read. */
bool before_pingflood(const struct request *rq)
{
	struct grow t = { 0 };

	if (!request_calls(rq, "echo"))
		return false;
	for (int i = 0; i < FLOOD_NOTES; i++) {
		grow_addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"ping-%d\",\"method\":\"ping\"}\n", i);
		if (t.len > 60000) {
			protocol_raw(t.at, t.len);
			t.len = 0;
		}
	}
	protocol_raw(t.at, t.len);
	grow_done(&t);
	return false;
}
