/* events.c - what servers say and ask by themselves: progress, logs, changes, questions. */
#include <unistd.h>
#include <sys/stat.h>
#include <poll.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

struct steps { /* callbacks of one session come one at a time */
	int count;
	double last, total;
	char message[64];
	bool in_order;
	struct lab_count over;
};

static void on_progress(void *ctx, const struct killick_progress *p)
{
	struct steps *st = ctx;

	st->in_order = st->in_order && p->progress > st->last;
	st->last = p->progress;
	st->total = p->total;
	snprintf(st->message, sizeof(st->message), "%s", p->message);
	st->count++;
}

static void on_done(void *ctx, struct killick_result *r)
{
	struct steps *st = ctx;

	EQ(killick_result_code(r), 0);
	killick_result_free(r);
	lab_add(&st->over);
}

static struct killick_request progress_call(struct steps *st, const char *args)
{
	*st = (struct steps){ .over = LAB_COUNT_INIT, .in_order = true };
	return KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "progress",
			       .args = args, .timeout_ms = LAB_MS, .ctx = st,
			       .on_progress = on_progress);
}

static void expect_progress(const char *way, const char *more)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", way, .more = more }));
	struct steps st;
	struct killick_request rq = progress_call(&st, "{\"n\":5}");

	rq.on_done = on_done;
	EQ(killick_start(s, &rq, NULL, NULL), 0);
	lab_await(&st.over, 1);
	EQ(st.count, 5); /* all of them before the result */
	OK(st.in_order && st.total == 5);
	STREQ(st.message, "step 5");
	lab_end(s);
	lab_close(k);
}

TEST(progress_of_a_call)
{
	expect_progress("good", NULL);
}

TEST(progress_in_the_modern_era)
{
	expect_progress("modern", "\"era\":\"modern\"");
}

TEST(progress_extends_the_time)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct steps st;
	struct killick_request rq = progress_call(&st, "{\"n\":10,\"ms\":150}");

	rq.timeout_ms = 700;
	rq.progress_extends = true;
	killick_result_free(lab_do(s, &rq, 0));
	rq = progress_call(&st, "{\"n\":10,\"ms\":150}");
	rq.timeout_ms = 700;
	killick_result_free(lab_do(s, &rq, KILLICK_ERR_TIMEOUT));
	lab_end(s);
	lab_close(k);
}

static struct killick_session *with_events(struct killick *k, struct lab_events *ev,
					   const struct lab_server *list, unsigned answers)
{
	lab_events_init(ev);
	return lab_session_with(k, list,
				&KILLICK_SESSION_OPTIONS(.handlers = lab_handlers(ev, answers)));
}

static void set_level(struct killick_session *s, const char *level)
{
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_LOG_LEVEL, .server = "zoo", .name = level);

	killick_result_free(lab_do(s, &rq, 0));
}

static void expect_logs(const char *way, const char *more)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s = with_events(k, &ev, SERVERS({ "zoo", way, .more = more }), 0);

	set_level(s, "debug");
	lab_call(s, "zoo", "log", "{\"n\":3,\"text\":\"hello\"}", 0, NULL, 0);
	lab_await(&ev.count[KILLICK_EVENT_LOG], 3);
	STREQ(ev.last[KILLICK_EVENT_LOG].server, "zoo");
	OK(strstr(ev.last[KILLICK_EVENT_LOG].json, "\"data\":\"hello\""));
	lab_end(s);
	EQ(lab_value(&ev.count[KILLICK_EVENT_LOG]), 3);
	lab_close(k);
}

TEST(logs)
{
	expect_logs("good", NULL);
}

TEST(logs_in_the_modern_era)
{
	expect_logs("modern", "\"era\":\"modern\"");
}

TEST(log_level_is_told)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	char level[32];

	set_level(s, "warning");
	lab_seen(s, "zoo", "level", level, sizeof(level));
	STREQ(level, "\"warning\"");
	lab_end(s);
	lab_close(k);
}

static void notify(struct killick_session *s, const char *what)
{
	char args[64];

	snprintf(args, sizeof(args), "{\"what\":\"%s\"}", what);
	lab_call(s, "zoo", "notify", args, 0, NULL, 0);
}

static void expect_changes(const char *way, const char *more)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s = with_events(k, &ev, SERVERS({ "zoo", way, .more = more }), 0);
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_SUBSCRIBE, .server = "zoo", .name = "zoo://a");

	notify(s, "tools");
	lab_await(&ev.count[KILLICK_EVENT_TOOLS], 1);
	notify(s, "resources");
	lab_await(&ev.count[KILLICK_EVENT_RESOURCES], 1);
	notify(s, "prompts");
	lab_await(&ev.count[KILLICK_EVENT_PROMPTS], 1);

	killick_result_free(lab_do(s, &rq, 0));
	lab_call(s, "zoo", "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}", 0, NULL, 0);
	lab_await(&ev.count[KILLICK_EVENT_UPDATED], 1);
	STREQ(ev.last[KILLICK_EVENT_UPDATED].text, "zoo://a");
	rq.op = KILLICK_UNSUBSCRIBE;
	killick_result_free(lab_do(s, &rq, 0));
	lab_call(s, "zoo", "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}", 0, NULL, 0);
	lab_end(s);
	EQ(lab_value(&ev.count[KILLICK_EVENT_UPDATED]), 1);
	lab_close(k);
}

TEST(changes_and_subscriptions)
{
	expect_changes("good", NULL);
}

TEST(changes_and_subscriptions_in_the_modern_era)
{
	expect_changes("modern", "\"era\":\"modern\"");
}

static const struct {
	const char *method, *params, *answer;
	unsigned kind;
} questions[] = {
	{ "sampling/createMessage", "{\"messages\":[],\"maxTokens\":7}",
	  "{\"model\":\"m\",\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"s\"}}",
	  KILLICK_SAMPLING },
	{ "elicitation/create",
	  "{\"message\":\"who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}",
	  "{\"action\":\"accept\",\"content\":{\"name\":\"me\"}}", KILLICK_ELICITATION },
	{ "roots/list", "{}", "{\"roots\":[{\"uri\":\"file:///tmp\",\"name\":\"tmp\"}]}",
	  KILLICK_ROOTS },
};
#define ALL (KILLICK_SAMPLING | KILLICK_ELICITATION | KILLICK_ROOTS)

/* What the tool `ask` was answered, from its structured content. */
static void ask(struct killick_session *s, size_t i, const char *path, char *out, size_t size)
{
	struct killick_result *r;
	const char *json, *at;
	size_t len, value_len = 0;
	char args[512];

	snprintf(args, sizeof(args), "{\"method\":\"%s\",\"params\":%s}", questions[i].method,
		 questions[i].params);
	r = lab_try(s, "zoo", "ask", args, LAB_MS);
	if (killick_result_code(r))
		FAIL("ask %s: %s", questions[i].method, killick_result_error(r));
	json = killick_result_json(r, &len);
	at = killick_json_find(json, len, path, &value_len);
	snprintf(out, size, "%.*s", (int)value_len, at ? at : "");
	killick_result_free(r);
}

static void expect_answers(const char *way, const char *more)
{
	struct killick *k = LAB();
	char got[512];

	for (size_t i = 0; i < 3; i++) {
		struct lab_events ev;
		struct killick_session *s =
			with_events(k, &ev, SERVERS({ "zoo", way, .more = more }), ALL);

		ev.answer = questions[i].answer;
		ask(s, i, "structuredContent.answer.result", got, sizeof(got));
		STREQ(got, questions[i].answer);
		STREQ(ev.ask_method, questions[i].method);
		if (i == 0)
			OK(strstr(ev.ask_params, "\"maxTokens\":7"));
		EQ(lab_value(&ev.asks), 1);
		lab_end(s);
	}
	lab_close(k);
}

TEST(questions_are_answered)
{
	expect_answers("good", NULL);
}

TEST(questions_are_answered_in_the_modern_era)
{
	expect_answers("modern", "\"era\":\"modern\"");
}

TEST(questions_without_a_handler_are_declined)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	char got[512];

	for (size_t i = 0; i < 3; i++) {
		ask(s, i, "structuredContent.answer.error.code", got, sizeof(got));
		OK(*got == '-');
	}
	lab_end(s);
	lab_close(k);
}

TEST(questions_of_a_kind_that_is_not_set_are_declined)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s = with_events(k, &ev, SERVERS({ "zoo" }), KILLICK_ROOTS);
	char got[512];

	ev.answer = questions[2].answer;
	ask(s, 0, "structuredContent.answer.error.code", got, sizeof(got));
	OK(*got == '-');
	EQ(lab_value(&ev.asks), 0);
	ask(s, 2, "structuredContent.answer.result", got, sizeof(got));
	STREQ(got, questions[2].answer);
	lab_end(s);
	lab_close(k);
}

TEST(a_handler_may_decline)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s = with_events(k, &ev, SERVERS({ "zoo" }), ALL);
	char got[512];

	ask(s, 0, "structuredContent.answer.error", got, sizeof(got));
	OK(strstr(got, "the test says no"));
	lab_end(s);
	lab_close(k);
}

struct later {
	struct killick_ask *ask;
	struct lab_count came;
};

static void keep_ask(void *ctx, struct killick_ask *a)
{
	struct later *l = ctx;

	l->ask = a;
	lab_add(&l->came);
}

static void *answer_later(void *arg)
{
	struct later *l = arg;

	lab_await(&l->came, 1);
	STREQ(killick_ask_server(l->ask), "zoo");
	killick_answer(l->ask, questions[0].answer, NULL);
	return NULL;
}

TEST(an_answer_later_from_another_thread)
{
	struct later l = { .came = LAB_COUNT_INIT };
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(
		k, SERVERS({ "zoo" }),
		&KILLICK_SESSION_OPTIONS(.handlers =
						 &KILLICK_HANDLERS(.ctx = &l, .on_ask = keep_ask,
								   .answers = ALL)));
	pthread_t thread = lab_thread(answer_later, &l);
	char got[512];

	ask(s, 0, "structuredContent.answer.result", got, sizeof(got));
	STREQ(got, questions[0].answer);
	pthread_join(thread, NULL);
	lab_end(s);
	lab_close(k);
}

/* The request it belonged to is over, then even the session: the answer goes nowhere, harmlessly.
 */
TEST(an_answer_that_comes_too_late)
{
	struct later l = { .came = LAB_COUNT_INIT };
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(
		k, SERVERS({ "zoo" }),
		&KILLICK_SESSION_OPTIONS(.handlers =
						 &KILLICK_HANDLERS(.ctx = &l, .on_ask = keep_ask,
								   .answers = ALL)));
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "ask",
				.args = "{\"method\":\"roots/list\"}");
	struct killick_call *c = NULL;
	struct killick_result *r = NULL;

	EQ(killick_start(s, &rq, &c, NULL), 0);
	lab_await(&l.came, 1);
	killick_cancel(c);
	EQ(killick_wait(c, &r), KILLICK_ERR_CANCELLED);
	killick_result_free(r);
	killick_call_free(c);
	lab_end(s);
	killick_answer(l.ask, questions[2].answer, NULL);
	lab_close(k);
}

TEST(stderr_is_kept_and_told)
{
	struct lab_events ev;
	struct killick *k = LAB();
	char file[128], more[256], tail[8192], text[64] = "";
	FILE *f;
	struct killick_session *s;

	snprintf(file, sizeof(file), "%s/stderr", t_audit.dir);
	snprintf(more, sizeof(more), "\"stderr\":\"%s\"", file);
	s = with_events(k, &ev, SERVERS({ "zoo", .more = more }), 0);
	lab_call(s, "zoo", "stderr", "{\"lines\":1000}", 0, NULL, 0);
	for (double end = t_now_ms() + LAB_MS;
	     ;) { /* stderr is another pipe: it comes when it comes */
		lab_errors(s, "zoo", NULL, 0, tail, sizeof(tail));
		if (strstr(tail, "stderr line 1000\n") || t_now_ms() > end)
			break;
		lab_await(&ev.count[KILLICK_EVENT_STDERR], 1);
	}
	OK(strstr(tail, "stderr line 1000\n"));
	OK(strlen(tail) <= 4096);
	OK(!strncmp(tail, "stderr line", 11)); /* whole lines */
	lab_end(s);
	f = fopen(file, "re");
	OK(f && fgets(text, sizeof(text), f));
	STREQ(text, "stderr line 1\n");
	fclose(f);
	lab_close(k);
}

/* A pipe that nobody reads any more is no reason for a signal to the host. */
TEST(stderr_into_a_pipe_that_is_closed)
{
	struct killick *k = LAB();
	struct killick_session *s;
	char file[128], more[256];
	int reader;

	snprintf(file, sizeof(file), "%s/stderr-pipe", t_audit.dir);
	snprintf(more, sizeof(more), "\"stderr\":\"%s\"", file);
	EQ(mkfifo(file, 0600), 0);
	reader = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	s = lab_session(k, SERVERS({ "zoo", .more = more }));
	lab_call(s, "zoo", "stderr", "{\"lines\":1}", 0, NULL, 0);
	t_wait_fd(reader, POLLIN, LAB_MS);
	close(reader);
	for (int i = 0; i < 20; i++) /* this thread reads what the server writes */
		lab_call(s, "zoo", "stderr", "{\"lines\":10}", 0, NULL, 0);
	lab_end(s);
	lab_close(k);
}

TEST(warnings_name_unknown_keys)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s =
		with_events(k, &ev, SERVERS({ "zoo", .more = "\"colour\":\"red\"" }), 0);

	lab_await(&ev.count[KILLICK_EVENT_WARNING], 1);
	OK(strstr(ev.last[KILLICK_EVENT_WARNING].text, "colour"));
	lab_end(s);
	lab_close(k);
}

TEST(a_session_of_one_remote_server_has_its_warning)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;

	lab_events_init(&ev);
	EQ(killick_session_open(
		   k,
		   &KILLICK_SESSION_OPTIONS(.config = "{\"mcpServers\":{"
						      "\"a\":{\"url\":\"https://a\"},"
						      "\"b\":{\"url\":\"https://b\"}}}",
					    .only = "b", .handlers = lab_handlers(&ev, 0)),
		   &s, &e),
	   0);
	lab_await(&ev.count[KILLICK_EVENT_WARNING], 1);
	OK(strstr(ev.last[KILLICK_EVENT_WARNING].text, "server 'b' is remote"));
	lab_end(s);
	lab_close(k);
}

/* With a loop of the host's own: callbacks come when it says so, on its thread. */
static pthread_t dispatcher;

static void on_its_thread(void *ctx, struct killick_result *r)
{
	OK(pthread_equal(pthread_self(), dispatcher));
	EQ(killick_result_code(r), 0);
	killick_result_free(r);
	lab_add(ctx);
}

TEST(callbacks_in_the_hosts_loop)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick *k = lab_open(&KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST));
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "pid", .ctx = &n,
				.on_done = on_its_thread);
	double end = t_now_ms() + LAB_MS;

	dispatcher = pthread_self();
	for (int i = 0; i < 10; i++)
		EQ(killick_start(s, &rq, NULL, NULL), 0);
	while (lab_value(&n) < 10 && t_now_ms() < end)
		if (t_wait_fd(killick_fd(k), 1 /* POLLIN */, 1000))
			killick_dispatch(k, NULL);
	EQ(lab_value(&n), 10);
	lab_end(s);
	lab_close(k);
}
