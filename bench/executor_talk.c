/* executor_talk.c - calls of an MCP server through each executor, one in flight: from the
 * process/write until it is accepted and the whole answer has come as process/output. On one CPU,
 * where a switch costs the same for everybody, and as they come on all CPUs (see lib_talk.c). */
#include "executor.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define TEXT_MAX 65536
#define STARTS   5 /* of each: on which CPU the scheduler likes to have it is luck */
#define CASES    (sizeof(cases) / sizeof(cases[0]))

static const struct case_ {
	const char *title, *target; /* no target: not judged */
	size_t len, count, rounds;  /* of the text; calls per round; rounds per start */
	bool patient;               /* of the client, see executor_wire.h */
} cases[] = {
	{ "A call of 100 B", "round trip of a call of 100 B", 100, 200, 9, false },
	{ "A call of 64 KiB", NULL, TEXT_MAX, 20, 5, false },
	{ "A call of 100 B, the client acknowledges when its kernel likes", NULL, 100, 4, 3, true },
};

struct call {
	char request[TEXT_MAX + 256], answer[TEXT_MAX + 256];
	size_t request_len, answer_len;
};

/* The request, and what the server must answer, to the byte. */
static void compose(struct call *c, long id, size_t len)
{
	static char text[TEXT_MAX + 1];

	memset(text, 'x', len);
	text[len] = '\0';
	c->request_len = (size_t)snprintf(
		c->request, sizeof(c->request),
		"{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"echo\",\"arguments\":{\"text\":\"%s\"}}}\n",
		id, text);
	c->answer_len =
		(size_t)snprintf(c->answer, sizeof(c->answer),
				 "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":[{"
				 "\"type\":\"text\",\"text\":\"%s\"}]}}\n",
				 id, text);
}

/* Microseconds. Chunks of one answer come in order: one stream, and each is sent after the one
 * before. */
static double call_once(struct executor *e, long process, const struct call *c)
{
	static char got[2 * sizeof(c->answer)];
	double t0 = now_us();
	long id = executor_write(e, process, c->request, c->request_len);
	bool accepted = false;
	size_t have = 0;

	while (!accepted || have < c->answer_len) {
		struct executor_event ev = executor_next(e);

		if (ev.said == SAID_ANSWER && ev.id == id)
			accepted = true;
		else if (ev.said == SAID_OUTPUT && have + ev.len < sizeof(got))
			have += executor_decode(ev.data, ev.len, got + have);
		else
			executor_die(e, "the server has ended");
	}
	t0 = now_us() - t0;
	if (have != c->answer_len || memcmp(got, c->answer, have) != 0)
		executor_die(e, "a wrong answer");
	return t0;
}

/* Start the server; its number. */
static long greet(struct executor *e, const char *echo)
{
	static const char initialized[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	long process = executor_start(
		e, &(struct executor_spec){ .argv = { echo, "mcp" }, .pipe_stdin = true });
	bool accepted = false, answered = false;
	long id;

	executor_started(e);
	id = executor_write(e, process, bench_initialize, strlen(bench_initialize));
	while (!accepted || !answered) {
		struct executor_event ev = executor_next(e);

		accepted |= ev.said == SAID_ANSWER && ev.id == id;
		answered |= ev.said == SAID_OUTPUT; /* it is one write of a small line */
		if (ev.said != SAID_ANSWER && ev.said != SAID_OUTPUT)
			executor_die(e, "the server has ended");
	}
	id = executor_write(e, process, initialized, strlen(initialized));
	if (executor_next(e).id != id)
		executor_die(e, "no answer to a write");
	return process;
}

static void talk(struct executor_bench *b, const struct case_ *k, const long *process,
		 struct samples *s)
{
	static struct call c;

	for (size_t round = 0; round < executor_rounds(b, k->rounds); round++)
		for (size_t turn = 0; turn < EXECUTORS; turn++) {
			struct executor *e = executor_turn(b, round, turn);

			for (size_t i = 0; e && i < k->count; i++) {
				double us;

				e->wire.patient = k->patient;
				compose(&c, (long)(round * k->count + i), k->len);
				us = call_once(e, process[e - b->at], &c);
				if (round > 0) /* the first is for getting warm */
					samples_add(&s[e - b->at], us);
			}
		}
}

static void tell(struct executor_bench *b, const struct case_ *k, const char *where,
		 struct samples *s)
{
	char what[128];

	report_text(&b->report, "### %s, on %s\n\n", k->title, where);
	executor_table(b, "µs", s);
	if (k->target) {
		snprintf(what, sizeof(what), "%s on %s, killick / codex", k->target, where);
		executor_judge(b, what, 0.6, false, s);
	}
	for (size_t i = 0; i < EXECUTORS; i++)
		samples_done(&s[i]);
}

static void talk_all(struct executor_bench *b, const char *where)
{
	struct samples s[CASES][EXECUTORS] = { 0 };
	long process[EXECUTORS] = { 0 };

	for (size_t start = 0; start < STARTS; start++) {
		executors_up(b);
		for (size_t i = 0; i < EXECUTORS; i++)
			if (!b->at[i].missing)
				process[i] = greet(&b->at[i], b->echo);
		for (size_t k = 0; k < CASES; k++)
			talk(b, &cases[k], process, s[k]);
		executors_down(b);
	}
	for (size_t k = 0; k < CASES; k++)
		tell(b, &cases[k], where, s[k]);
}

void executor_talk(struct executor_bench *b)
{
	cpu_set_t before;

	report_text(&b->report,
		    "## Round trip of one call\n\nA tool that answers its text: from "
		    "the `process/write` until it is accepted and the whole answer has "
		    "come. The client acknowledges what it received before it waits for "
		    "more (`TCP_QUICKACK`): an executor that sets no `TCP_NODELAY` would "
		    "be measured waiting for the kernel, as the last table shows.\n\n");
	bench_pin(&before);
	talk_all(b, "one CPU");
	sched_setaffinity(0, sizeof(before), &before);
	talk_all(b, "all CPUs");
}
