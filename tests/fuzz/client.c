/* client.c - the whole client against what a server writes, with calls, cancellations and time in
 *between.
 *
 * The first line is the setting: an era (l, m, a), then a digit for the size of chunks and one for
 *the limits. Each other line is an event if it begins with '!', else the server writes it: !cON
 *call operation O (a-l) for owner N      !xN   cancel the N-th call !tN    N * 100 ms go by !fN
 *owner N leaves !aNx   answer the N-th ask with x              !dN   decline it !eN    the link
 *does not take what is written (1, 2), or does again (0) !n     the line that follows gets no
 *newline   !z    everything fails The oracle: each call ends once, on_ready comes at most once,
 *warnings are few, what we write is a message on one line.
 */
#include "fuzz.h"

#include "rpc/message.h"
#include "../unit/fake.h"

#define CALLS_MAX 200

struct state {
	struct world w;
	struct client_call *calls[CALLS_MAX];
	struct done done[CALLS_MAX];
	unsigned count;
	size_t chunk;
	bool no_newline, failed;
	char owners[4];
};

static int checked_write(struct link *l, const char *bytes, size_t len)
{
	const char *reason = "";
	struct message m;

	assert(message_parse(bytes, len - 1, &m, &reason) == 0 && m.kind != MESSAGE_BATCH);
	return fake_write(l, bytes, len);
}

static const struct link_ops checked_ops = { .write = checked_write, .unwritten = fake_unwritten };

static unsigned digit(const char *s)
{
	return *s >= '0' && *s <= '9' ? (unsigned)(*s - '0') : 0;
}

static void begin(struct state *s, const char *setting)
{
	size_t len = strlen(setting);
	unsigned limits = len > 2 ? digit(setting + 2) : 0;

	s->chunk = len > 1 && digit(setting + 1) ? digit(setting + 1) : 1 << 20;
	s->w = (struct world){ .link = { .link.ops = &checked_ops, .out = BUF_INIT(8 << 20) } };
	s->w.spec = (struct client_spec){
		.name = "fuzz\"\n\xff",
		.version = "1",
		.era = setting[0] == 'm'   ? ERA_MODERN
		       : setting[0] == 'a' ? ERA_AUTO
					   : ERA_LEGACY,
		.answers = limits == 1 ? 0 : 7,
		.message_limit = limits == 2 ? 400 : 1 << 20,
		.probe_ms = 2000,
		.max_in_flight = limits == 3 ? 3 : 100,
	};
	s->w.client = client_new(NULL, &s->w.link.link, &s->w.spec, &world_events, &s->w);
}

static void call(struct state *s, const char *how, size_t len)
{
	static const char *const names[] = { "u", "info", "debug", "t\xff\"" };
	static const char args[] = "{\"a\":\n1,\"_meta\":{\"x\":2}}";
	enum killick_op op =
		how[0] >= 'a' && how[0] <= 'l' ? (enum killick_op)(how[0] - 'a') : KILLICK_PING;
	unsigned n = len > 1 ? digit(how + 1) : 0;
	struct client_call like = {
		.op = op,
		.name = names[n & 3],
		.args = { args, sizeof(args) - 1 },
		.owner = &s->owners[n & 1],
		.timeout_ms = n == 9 ? -1 : 1000,
		.progress_extends = n & 2,
		.on_progress = n & 4 ? world_progress : NULL,
	};

	if (s->count == CALLS_MAX)
		return;
	s->calls[s->count] = world_begin(&s->w, &s->done[s->count], &like);
	assert(s->done[s->count].count == 0);
	s->count++;
}

static void event(struct state *s, const char *e, size_t len)
{
	unsigned n = len > 1 ? digit(e + 1) : 0;
	uint64_t ask = s->w.asks[n].number;

	switch (e[0]) {
	case 'c':
		call(s, e + 1, len - 1);
		break;
	case 'x':
		if (n < s->count && !s->done[n].count)
			client_cancel(s->calls[n]);
		break;
	case 't':
		fake_pass(n * 100);
		break;
	case 'f':
		client_forget(s->w.client, &s->owners[n & 1], "left");
		break;
	case 'a':
		client_answer(s->w.client, ask, e + 2, len > 2 ? len - 2 : 0);
		break;
	case 'd':
		client_decline(s->w.client, ask, n ? "no" : NULL);
		break;
	case 'e':
		s->w.link.error = n == 1 ? -ENOBUFS : n == 2 ? -EPIPE : 0;
		break;
	case 'r':
		s->w.refuse_asks = n;
		break;
	case 'n':
		s->no_newline = true;
		break;
	case 'z':
		client_fail(s->w.client, -5, "gone");
		break;
	default:
		break;
	}
}

/* In blocks of exactly their size: reading past their end is seen. */
static void say(struct state *s, const char *line, size_t len)
{
	for (size_t at = 0, n; at < len; at += n) {
		char *piece;

		n = len - at < s->chunk ? len - at : s->chunk;
		piece = malloc(n);
		if (!piece)
			abort();
		memcpy(piece, line + at, n);
		client_feed(s->w.client, piece, n);
		free(piece);
	}
	if (!s->no_newline)
		client_feed(s->w.client, "\n", 1);
	s->no_newline = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct state s;
	char *text = fuzz_text(data, size), *at = text, *end = text + size;
	char *line;
	size_t len;

	memset(&s, 0, sizeof(s));
	begin(&s, fuzz_next_line(&at, end, &len));
	while (at < end) {
		line = fuzz_next_line(&at, end, &len);
		if (len > 1 && line[0] == '!')
			event(&s, line + 1, len - 1);
		else
			say(&s, line, len);
	}
	world_close(&s.w);
	for (unsigned i = 0; i < s.count; i++) {
		assert(s.done[i].count == 1);
		done_drop(&s.done[i]);
	}
	assert(s.w.ready <= 1);
	assert(s.w.warnings < 200);
	free(text);
	return 0;
}
