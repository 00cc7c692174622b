/* hostile.c - every way in which a server can misbehave (tests/zoo/protocol_ways.c): a defined
 * result, no hang, the other server of the session is not disturbed, and the close proves both
 * gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define LIMIT    (1u << 20)
#define CODE(c)  (1u << -(c)) /* a set of codes */
#define FINE     CODE(KILLICK_OK)
#define LATE     CODE(KILLICK_ERR_TIMEOUT)
#define BAD      CODE(KILLICK_ERR_PROTOCOL)
#define EXITED   CODE(KILLICK_ERR_EXITED)
#define NO_START CODE(KILLICK_ERR_START)

#define QUICK "\"startupTimeoutSec\":0.5"

struct trial {
	const char *way, *argument;
	bool fails;       /* it never becomes ready */
	unsigned echo;    /* what a call of `echo` may end with */
	unsigned next;    /* and the call of `pid` after that */
	const char *more; /* of the config */
};

static void one_call(struct killick_session *s, const struct trial *t, const char *tool,
		     unsigned may, long timeout_ms)
{
	double began = t_now_ms();
	struct killick_result *r = lab_try(s, "bad", tool, "{\"text\":\"x\"}", timeout_ms);
	int code = killick_result_code(r);

	if (!(may & CODE(code)))
		FAIL("%s: %s ended with %s: %s", t->way, tool, killick_code_name(code),
		     killick_result_error(r));
	if (code)
		OK(*killick_result_error(r)); /* there is always a sentence */
	if (t_now_ms() - began > (double)timeout_ms + 5000)
		FAIL("%s: %s took %.0f ms", t->way, tool, t_now_ms() - began);
	killick_result_free(r);
}

static void run_trial(const struct trial *t)
{
	struct lab_events ev;
	struct killick *k = lab_open(&KILLICK_OPTIONS(.message_limit = LIMIT));
	struct killick_session *s;
	pid_t good;

	lab_events_init(&ev);
	s = lab_session_with(
		k, SERVERS({ "bad", t->way, t->argument, t->more }, { "good" }),
		&KILLICK_SESSION_OPTIONS(.grace_ms = 200, .handlers = lab_handlers(&ev, 0)));
	good = lab_pid(s, "good");
	if (t->fails != (lab_state(s, "bad") != KILLICK_READY))
		FAIL("%s: it is %s", t->way, killick_state_name(lab_state(s, "bad")));
	/* A call that will not be answered has little time; one that will has enough. */
	one_call(s, t, "echo", t->echo, t->echo & LATE ? 1000 : LAB_MS);
	EQ(lab_pid(s, "good"), good);
	one_call(s, t, "pid", t->next, t->next & LATE ? 1000 : LAB_MS);
	EQ(lab_pid(s, "good"), good);
	lab_end(s);
	EQ(audit_count(&t_audit), 0);
	lab_close(k);
}

#define NEVER_READY .fails = true, .echo = NO_START, .next = NO_START
#define ALL_FINE    .echo = FINE, .next = FINE
#define NOT_READ    .echo = BAD, .next = FINE
#define TRIAL(name_, way_, ...)                                                                    \
	TEST(name_, .timeout_ms = 40000)                                                           \
	{                                                                                          \
		run_trial(&(const struct trial){ .way = way_, __VA_ARGS__ });                      \
	}

/* from the start */
TRIAL(mute, "mute", NEVER_READY, .more = QUICK)
TRIAL(refuses, "refuses", NEVER_READY)
TRIAL(badinit, "badinit", NEVER_READY)
TRIAL(noversion, "noversion", NEVER_READY)
TRIAL(future, "future", NEVER_READY)
TRIAL(diesnow, "diesnow", NEVER_READY)
TRIAL(dies, "dies", NEVER_READY)
TRIAL(trickle, "trickle", NEVER_READY, .more = QUICK)
TRIAL(nonewline, "nonewline", NEVER_READY, .more = QUICK)
TRIAL(modern, "modern", NEVER_READY)
TRIAL(early, "early", ALL_FINE)
TRIAL(slowstart_200, "slowstart", ALL_FINE, .argument = "200")
TRIAL(probedeath, "probedeath", ALL_FINE)

/* bytes */
TRIAL(twice, "twice", ALL_FINE)
TRIAL(drip, "drip", ALL_FINE)
TRIAL(crlf, "crlf", ALL_FINE)
TRIAL(bom, "bom", ALL_FINE)
TRIAL(chatty, "chatty", ALL_FINE)
TRIAL(header, "header", ALL_FINE)
TRIAL(batch, "batch", ALL_FINE)
TRIAL(batchnew, "batchnew", .echo = LATE, .next = LATE)
TRIAL(slowread, "slowread", ALL_FINE)
TRIAL(endless, "endless", .echo = LATE, .next = LATE)
TRIAL(huge_3000000, "huge", NOT_READ, .argument = "3000000")
TRIAL(huge_900000, "huge", ALL_FINE, .argument = "900000")
TRIAL(notutf8, "notutf8", NOT_READ)
TRIAL(nul, "nul", NOT_READ)
TRIAL(deep, "deep", NOT_READ)
TRIAL(notjson, "notjson", NOT_READ)
TRIAL(twokeys, "twokeys", ALL_FINE)
TRIAL(errflood, "errflood", ALL_FINE)
TRIAL(noteflood, "noteflood", ALL_FINE)
TRIAL(pingflood, "pingflood", ALL_FINE)

/* answers */
TRIAL(wrongid, "wrongid", .echo = LATE, .next = FINE)
TRIAL(strangeids, "strangeids", ALL_FINE)
TRIAL(stringid, "stringid", ALL_FINE)
TRIAL(nullid, "nullid", .echo = CODE(KILLICK_ERR_ANSWER), .next = FINE)
TRIAL(noresult, "noresult", .echo = BAD, .next = FINE)
TRIAL(both, "both", .echo = CODE(KILLICK_ERR_ANSWER), .next = FINE)
TRIAL(badshape, "badshape", .echo = BAD, .next = FINE)
TRIAL(shifting, "shifting", ALL_FINE)
TRIAL(cancels, "cancels", ALL_FINE)
TRIAL(lateprogress, "lateprogress", ALL_FINE)
TRIAL(samples, "samples", ALL_FINE)
TRIAL(askflood, "askflood", ALL_FINE)
TRIAL(asksall, "asksall", ALL_FINE)
TRIAL(closeout, "closeout", .echo = EXITED, .next = FINE)
TRIAL(closein, "closein", .echo = FINE, .next = FINE | LATE | CODE(KILLICK_ERR_BUSY))
TRIAL(stopread, "stopread", .echo = LATE, .next = LATE)

static void list_fails(const char *way)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", way }));
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = "zoo", .timeout_ms = LAB_MS);

	killick_result_free(lab_do(s, &rq, KILLICK_ERR_PROTOCOL));
	lab_pid(s, "zoo");
	lab_end(s);
	lab_close(k);
}

TEST(lists_that_never_end)
{
	list_fails("samecursor");
	list_fails("pages");
}

TEST(lists_of_the_wrong_shape)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", "badshape" }));
	static const enum killick_op ops[] = { KILLICK_TOOLS, KILLICK_RESOURCES };

	for (size_t i = 0; i < 2; i++) {
		struct killick_request rq = KILLICK_REQUEST(.op = ops[i], .server = "zoo");

		killick_result_free(lab_do(s, &rq, KILLICK_ERR_PROTOCOL));
	}
	lab_end(s);
	lab_close(k);
}

TEST(other_tools_each_time)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s;
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = "zoo");

	lab_events_init(&ev);
	s = lab_session_with(k, SERVERS({ "zoo", "shifting" }),
			     &KILLICK_SESSION_OPTIONS(.handlers = lab_handlers(&ev, 0)));
	for (int i = 1; i <= 20; i++) {
		struct killick_result *r;

		lab_call(s, "zoo", "echo", NULL, 0, NULL, 0);
		r = lab_do(s, &rq, 0);
		OK(strstr(killick_result_json(r, NULL), "\"tool_"));
		killick_result_free(r);
	}
	lab_await(&ev.count[KILLICK_EVENT_TOOLS], 1);
	lab_end(s);
	lab_close(k);
}

/* It says goodbye as soon as it is ready: whatever is asked of it ends, and so does the starting.
 */
TEST(dies_when_it_is_ready)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", "diesready" }, { "good" }));

	for (int i = 0; i < 3; i++) {
		struct killick_result *r = lab_try(s, "zoo", "pid", NULL, LAB_MS);
		int code = killick_result_code(r);

		/* BUSY: its stdin was found to be closed before its end was heard of */
		OK(code == KILLICK_ERR_EXITED || code == KILLICK_ERR_START ||
		   code == KILLICK_ERR_BUSY);
		killick_result_free(r);
		lab_pid(s, "good");
	}
	lab_end(s);
	lab_close(k);
}

/* What may come in great numbers is told at most so often. */
TEST(floods_are_bounded, .timeout_ms = 60000)
{
	static const char *const ways[] = { "chatty", "noteflood", "twice", "strangeids" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct lab_events ev;
		struct killick *k = LAB();
		struct killick_session *s;

		lab_events_init(&ev);
		s = lab_session_with(k, SERVERS({ "zoo", ways[i] }),
				     &KILLICK_SESSION_OPTIONS(.handlers = lab_handlers(&ev, 0)));
		for (int n = 0; n < (i == 1 ? 1 : 200); n++)
			lab_call(s, "zoo", "echo", NULL, 0, NULL, 0);
		lab_end(s);
		if (lab_value(&ev.count[KILLICK_EVENT_WARNING]) > 1000)
			FAIL("%s: %d warnings", ways[i],
			     lab_value(&ev.count[KILLICK_EVENT_WARNING]));
		lab_close(k);
	}
}

TEST(messages_after_the_end_are_ignored)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", "posthumous" }));
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;

	lab_end(s);
	EQ(killick_wait(c, &r), KILLICK_ERR_CLOSED);
	killick_result_free(r);
	killick_call_free(c);
	lab_close(k);
}

/* It has closed its stdin: that is noticed when something is written, and then it is started again.
 */
TEST(a_server_that_cannot_be_reached_is_replaced)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(k, SERVERS({ "zoo", "closein" }),
						     &KILLICK_SESSION_OPTIONS(.grace_ms = 100));
	pid_t pid = lab_pid(s, "zoo");
	int code = KILLICK_ERR_BUSY;

	lab_call(s, "zoo", "echo", NULL, 0, NULL, 0);
	for (double end = t_now_ms() + LAB_MS; code && t_now_ms() < end;) {
		struct killick_result *r = lab_try(s, "zoo", "pid", NULL, 500);

		code = killick_result_code(r);
		killick_result_free(r);
	}
	EQ(code, 0);
	OK(lab_pid(s, "zoo") != pid);
	OK(!lab_lives(pid));
	lab_end(s);
	lab_close(k);
}

/* It does not read, and we have much to say: the calls end, memory does not grow without end. */
TEST(a_server_that_does_not_read, .timeout_ms = 60000)
{
	enum { N = 64, SIZE = 4 << 20 };
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(k, SERVERS({ "zoo", "stopread" }, { "good" }),
						     &KILLICK_SESSION_OPTIONS(.grace_ms = 100));
	struct killick_call *c[N];
	char *args = malloc(SIZE + 32);
	int busy = 0, late = 0;

	OK(args);
	memcpy(args, "{\"text\":\"", 9);
	memset(args + 9, 'y', SIZE);
	memcpy(args + 9 + SIZE, "\"}", 3);
	for (int i = 0; i < N; i++) {
		struct killick_request rq =
			KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "echo",
					.args = args, .timeout_ms = 2000);

		EQ(killick_start(s, &rq, &c[i], NULL), 0);
	}
	lab_pid(s, "good");
	for (int i = 0; i < N; i++) {
		struct killick_result *r = NULL;
		int code = killick_wait(c[i], &r);

		busy += code == KILLICK_ERR_BUSY;
		late += code == KILLICK_ERR_TIMEOUT;
		killick_result_free(r);
		killick_call_free(c[i]);
	}
	EQ(busy + late, N);
	OK(busy > 0 && late > 0);
	free(args);
	lab_end(s);
	lab_close(k);
}
