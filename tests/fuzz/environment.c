/* environment.c - the client role of the exec-server protocol against what an executor sends, with
 * links, losses and time in between.
 *
 * Each line is an event if it begins with '!', else the executor sends it:
 *	!o     the connection is made          !bN   it breaks (N: 0-3, for different reasons)
 *	!k !c  initialize is answered, by ours or by another executor
 *	!aX    the next request that was sent is answered with the result X
 *	!eNX   the same with an error (N: 0-3, for its code) and a text
 *	!l     a link is opened                !L    the executor is asked for its list
 *	!wN    link N is written to            !WN   a lot
 *	!sNH   link N is stopped (H: e, t, k)  !iN   interrupted
 *	!tN    N * 100 ms go by                !TN   N s
 *	!mN    sending fails (1) or does not (0)
 * The oracle: each link ends once, events come in their order, everything ends within a minute of
 * being stopped whatever the executor says, what we send is a message, nothing is left behind.
 */
#include "fuzz.h"

#include "base/emit.h"
#include "../unit/fake_executor.h"

#define LINKS_MAX 16

struct state {
	struct far f;
	struct user users[LINKS_MAX];
	unsigned count, lists, answered;
	char *big;
};

static void on_list(void *ctx, const char *result, size_t len, const struct err *e)
{
	struct state *s = ctx;

	assert(!result == (e != NULL) && (!result || len));
	s->answered++;
}

static unsigned digit(const char *s, size_t len)
{
	return len && *s >= '0' && *s <= '9' ? (unsigned)(*s - '0') : 0;
}

static bool is_open(void)
{
	return fake.channel && fake.channel->open && !fake.channel->closing;
}

static void say(const char *text, size_t len)
{
	char *exact = malloc(len ? len : 1); /* reading past its end is seen */

	if (!exact)
		abort();
	memcpy(exact, text, len);
	fake.channel->heard_us = fake_now_us;
	if (is_open())
		fake.channel->ev->on_message(fake.channel->ctx, exact, len);
	free(exact);
}

/* Answer the next request that was sent, if there is one. */
static void answer(struct state *s, const char *kind, const char *text, size_t len)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	while (is_open() && *far_sent(&s->f)) {
		if (s->f.m.kind != MESSAGE_REQUEST)
			continue;
		buf_addf(&b, "{\"id\":%.*s,\"%s\":", (int)s->f.m.id.len, s->f.m.id.at, kind);
		buf_add(&b, text, len);
		buf_adds(&b, "}");
		say(b.data, b.len);
		break;
	}
	buf_done(&b);
}

static void answer_error(struct state *s, const char *how, size_t len)
{
	static const int codes[] = { -32600, -32010, -32601, -32603 };
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&b, "{\"code\":%d,\"message\":", codes[digit(how, len) & 3]);
	emit_quoted(&b, len ? how + 1 : "", len ? len - 1 : 0);
	buf_adds(&b, "}");
	answer(s, "error", b.data, b.len);
	buf_done(&b);
}

static void break_it(unsigned n)
{
	static const int codes[] = { -ECONNRESET, -ECONNREFUSED, -EACCES, 0 };

	if (fake.channel && !fake.channel->closing)
		fake_break(codes[n & 3], "why");
}

static void use(struct state *s, char what, const char *how, size_t len)
{
	struct user *u = &s->users[digit(how, len) % LINKS_MAX];

	if (what == 'l' && s->count < LINKS_MAX)
		s->count += far_link(&s->f, &s->users[s->count]) == 0;
	if (what == 'L' && s->lists < 64)
		s->lists += environment_list(s->f.env, on_list, s, &s->f.e) == 0;
	if (!u->link || u->ended)
		return;
	if (what == 'w')
		link_write(u->link, "hello\n", 6);
	else if (what == 'W')
		link_write(u->link, s->big, 700u << 10);
	else if (what == 'i')
		link_interrupt(u->link);
	else if (what == 's')
		link_stop(u->link, len > 1 && how[1] == 't'   ? LINK_STOP_TERM
				   : len > 1 && how[1] == 'k' ? LINK_STOP_KILL
							      : LINK_STOP_EOF);
}

static void event(struct state *s, const char *e, size_t len)
{
	unsigned n = digit(e + 1, len - 1);

	switch (e[0]) {
	case 'o':
		if (fake.channel && !fake.channel->open && !fake.channel->closing)
			far_connected();
		break;
	case 'b':
		break_it(n);
		break;
	case 'k':
		answer(s, "result", FAR_KILLICK, strlen(FAR_KILLICK));
		break;
	case 'c':
		answer(s, "result", FAR_CODEX, strlen(FAR_CODEX));
		break;
	case 'a':
		answer(s, "result", e + 1, len - 1);
		break;
	case 'e':
		answer_error(s, e + 1, len - 1);
		break;
	case 't':
		fake_pass(n * 100);
		break;
	case 'T':
		fake_pass(n * 1000);
		break;
	case 'm':
		fake.commit_error = n ? -ENOBUFS : 0;
		break;
	default:
		use(s, e[0], e + 1, len - 1);
		break;
	}
}

static void finish(struct state *s)
{
	for (unsigned i = 0; i < s->count; i++)
		if (!s->users[i].ended)
			link_stop(s->users[i].link, LINK_STOP_KILL);
	fake_pass(60000);
	for (unsigned i = 0; i < s->count; i++) {
		assert(s->users[i].ended == 1);
		user_done(&s->users[i]);
	}
	break_it(0);
	fake_pass(60000);
	assert(s->answered == s->lists);
	fake.commit_error = 0;
	far_close(&s->f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct state s;
	char *text = fuzz_text(data, size), *at = text, *end = text + size;

	memset(&s, 0, sizeof(s));
	s.big = calloc(1, 700u << 10);
	far_open(&s.f);
	while (at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);

		if (len > 1 && at[0] == '!')
			event(&s, at + 1, len - 1);
		else if (is_open())
			say(at, len);
		at += len + 1;
	}
	finish(&s);
	free(s.big);
	free(text);
	return 0;
}
