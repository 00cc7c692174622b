/* face.c - the MCP server of the hub against what a client writes, with an owner that answers, asks
 * and closes in between.
 *
 * The first line is the setting: 'w' (the owner welcomes the client at once) or another character,
 * then a digit for the size of chunks. Each other line is an event if it begins with '!', else the
 * client writes it; "@S" in it becomes the last requestState, without its quotes.
 *
 *	!wN         welcome, with offer N
 *	!rN         refuse
 *	!aN TEXT    answer request N with the object TEXT, or with {}
 *	!lN TEXT    answer request N with TEXT, the line of a legacy server
 *	!mN TEXT    answer request N with TEXT, the line of a modern server
 *	!fN TEXT    fail request N with this text
 *	!pN TEXT    progress of request N, with TEXT as params
 *	!nN TEXT    a notification of kind N, with TEXT as params
 *	!qNM        ask M (0-3) for request N
 *	!QM         ask M for no request
 *	!dN         withdraw ask N
 *	!kN         check the kept message of request N
 *	!tN         N * 100 s go by
 *	!x          the next line gets no newline
 *	!s          the client stops or starts to read
 *	!e          the client leaves
 *	!c          close
 *
 * The oracle: each line that the face writes is one message; each request ends once; each ask is
 * answered once, or withdrawn; on_hello comes at most once, on_closed once and last.
 */
#include "fuzz.h"

#include "rpc/message.h"
#define WORLD_KEPT 256 /* more requests do not fit into an input */
#include "../unit/face_world.h"

#define ASKS_MAX 100

struct ask_state {
	uint64_t number;
	unsigned answered;
	bool dropped;
};

static struct state {
	struct world w;
	struct ask_state asks[ASKS_MAX];
	unsigned ask_count;
	size_t chunk;
	bool no_newline, blind;
	char seal[200];
} s;

static unsigned fuzz_digit(const char *at)
{
	return *at >= '0' && *at <= '9' ? (unsigned)(*at - '0') : 0;
}

/* Read what the face wrote, and check it. */
static void fuzz_read(void)
{
	static const char key[] = "\"requestState\":\"";
	struct buf *got = &s.w.got;
	const char *newline, *at, *reason = "";
	struct message m;

	if (s.blind)
		return;
	world_read(&s.w);
	while ((newline = memchr(got->data + s.w.read, '\n', got->len - s.w.read)) != NULL) {
		size_t len = (size_t)(newline - got->data) - s.w.read;

		at = got->data + s.w.read;
		assert(message_parse(at, len, &m, &reason) == 0 && m.kind != MESSAGE_BATCH);
		assert(!memchr(at, '\r', len));
		at = memmem(at, len, key, sizeof(key) - 1);
		if (at)
			snprintf(s.seal, sizeof(s.seal), "%.*s",
				 (int)strcspn(at + sizeof(key) - 1, "\""), at + sizeof(key) - 1);
		s.w.read += len + 1;
	}
	buf_drop(got, s.w.read);
	s.w.read = 0;
}

static void fuzz_say(const char *line, size_t len)
{
	char *text = malloc(len + 1 + 8 * sizeof(s.seal)), *to = text;

	if (!text || s.w.fd < 0)
		abort();
	for (size_t i = 0, seals = 0; i < len; i++) {
		if (i + 1 < len && line[i] == '@' && line[i + 1] == 'S' && seals++ < 8) {
			memcpy(to, s.seal, strlen(s.seal));
			to += strlen(s.seal);
			i++;
		} else {
			*to++ = line[i];
		}
	}
	if (!s.no_newline)
		*to++ = '\n';
	s.no_newline = false;
	for (char *at = text; at < to && !s.w.closed;) {
		size_t n = (size_t)(to - at) < s.chunk ? (size_t)(to - at) : s.chunk;
		ssize_t sent = send(s.w.fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			break;
		at += sent > 0 ? sent : 0;
		world_turn();
	}
	free(text);
}

static void fuzz_on_answer(void *ctx, uint64_t ask, struct json result, struct json error)
{
	struct ask_state *a = ctx;

	assert(a->number == ask && !a->dropped && a->answered == 0);
	assert(!result.at || !error.at);
	a->answered++;
}

static void fuzz_ask(struct face_request *rq, unsigned kind)
{
	static const char *const methods[] = { "elicitation/create", "sampling/createMessage",
					       "roots/list", "elicitation/create" };
	struct ask_state *a = &s.asks[s.ask_count];

	if (s.ask_count == ASKS_MAX)
		return;
	a->number = face_ask(s.w.face, rq, methods[kind & 3],
			     kind == 2 ? JSON_NONE
				       : world_json(kind == 3 ? "{\"mode\":\"url\"}"
							      : "{\"message\":\n\"m\",\"k\":[1]}"),
			     fuzz_on_answer, a);
	if (a->number)
		s.ask_count++;
}

static bool fuzz_is_object(struct json *v)
{
	struct json_fault fault;

	return json_check(v->at, v->len, 0, v, &fault) == 0 && json_type(*v) == JSON_OBJECT;
}

static void fuzz_line(unsigned n, struct json text, enum client_era from)
{
	const char *reason;
	struct message m;

	if (message_parse(text.at, text.len, &m, &reason) == 0 &&
	    (m.kind == MESSAGE_RESULT || m.kind == MESSAGE_ERROR))
		face_answer_line(world_take(&s.w, n), &m, from);
}

/* An event about the open request n. */
static void fuzz_on_open(char what, unsigned n, struct json text)
{
	struct face_request *rq = s.w.requests[n].rq;

	switch (what) {
	case 'a':
		face_answer_result(world_take(&s.w, n),
				   fuzz_is_object(&text) ? text : world_json("{}"));
		break;
	case 'l':
		fuzz_line(n, text, ERA_LEGACY);
		break;
	case 'm':
		fuzz_line(n, text, ERA_MODERN);
		break;
	case 'f':
		face_answer_fail(world_take(&s.w, n), -32602, "%.*s", (int)text.len, text.at);
		break;
	case 'p':
		if (fuzz_is_object(&text))
			face_progress(rq, text);
		break;
	case 'q':
		fuzz_ask(rq, text.len ? fuzz_digit(text.at) : 0);
		break;
	case 'k':
		if (s.w.keep)
			assert(memcmp(rq->m.method.at, "\"", 1) == 0);
		break;
	default:
		break;
	}
}

static void fuzz_note(unsigned n, struct json text)
{
	struct face_request *rq = n & 1 ? s.w.requests[0].rq : NULL;

	if (!fuzz_is_object(&text))
		text = JSON_NONE;
	face_note(s.w.face, rq, (enum killick_event_kind)(n % 8), text);
}

static void fuzz_event(const char *e, size_t len)
{
	static const char *const offers[] = { WORLD_CAPABILITIES, "{}",
					      "{\"tools\":{},\"resources\":{\"subscribe\":true}}" };
	unsigned n = len > 1 ? fuzz_digit(e + 1) : 0;
	struct json text = { e + (len < 2 ? len : 2), len < 2 ? 0 : len - 2 };

	switch (e[0]) {
	case 'w':
		s.w.offer.capabilities = offers[n % 3];
		if (s.w.hellos)
			face_welcome(s.w.face, &s.w.offer);
		break;
	case 'r':
		face_refuse(s.w.face, -32000, "no");
		break;
	case 'n':
		fuzz_note(n, text);
		break;
	case 'Q':
		fuzz_ask(NULL, n);
		break;
	case 'd':
		if (n < s.ask_count && !s.asks[n].answered) {
			face_ask_drop(s.w.face, s.asks[n].number);
			s.asks[n].dropped = true;
		}
		break;
	case 't':
		world_pass(n * 100000);
		break;
	case 'x':
		s.no_newline = true;
		break;
	case 's':
		s.blind = !s.blind;
		break;
	case 'e':
		world_leave(&s.w);
		break;
	case 'c':
		face_close(s.w.face);
		break;
	default:
		if (n < s.w.count && s.w.requests[n].rq)
			fuzz_on_open(e[0], n, text);
		break;
	}
	if (!s.w.closed)
		world_turn();
}

static void fuzz_begin(const char *setting, size_t len)
{
	world_open(&s.w);
	s.w.welcome = len && setting[0] == 'w';
	s.w.keep = len > 2 && setting[2] == 'k';
	s.chunk = len > 1 && fuzz_digit(setting + 1) ? fuzz_digit(setting + 1) : 1 << 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *at = text, *end = text + size;
	char *line;
	size_t len;

	memset(&s, 0, sizeof(s));
	line = fuzz_next_line(&at, end, &len);
	fuzz_begin(line, len);
	fuzz_read();
	while (at < end && !s.w.closed && s.w.fd >= 0) {
		line = fuzz_next_line(&at, end, &len);
		if (len > 1 && line[0] == '!')
			fuzz_event(line + 1, len - 1);
		else
			fuzz_say(line, len);
		fuzz_read();
	}
	world_close(&s.w);
	assert(s.w.hellos <= 1);
	for (unsigned i = 0; i < s.ask_count; i++)
		assert(s.asks[i].dropped || s.asks[i].answered == 1);
	free(text);
	return 0;
}
