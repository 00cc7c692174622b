/* failures.c - the failures that users of other clients reported, which must not be able to happen.
 *
 *	failures [--rounds N] [--sessions N] [--at-once N] [NAME...]
 *
 * The defaults are for every run of the suite; the numbers of the reports are in the long one.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

static int rounds = 100, sessions = 50, at_once = 50;

#define LONG_MS 3600000 /* the suite has its own limit */

/* 1. A blocked call, and the client is shut down. */
TEST(a_blocked_call_and_the_end_of_the_session)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;
	pid_t pid = 0;

	EQ(lab_pids(&pid, 1), 1);
	OK(lab_lives(pid));
	lab_end(s);
	OK(!lab_lives(pid));
	EQ(killick_wait(c, &r), KILLICK_ERR_CLOSED);
	OK(*killick_result_error(r));
	killick_result_free(r);
	killick_call_free(c);
	lab_close(k);
}

static void *wait_for_call(void *arg)
{
	struct killick_result *r = NULL;
	int code = killick_wait(arg, &r);

	killick_result_free(r);
	return (void *)(intptr_t)code;
}

/* The same when the runtime is closed, with a thread that waits. */
TEST(a_blocked_call_and_the_end_of_the_runtime)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_call *c = lab_block(s, "zoo");
	pthread_t thread = lab_thread(wait_for_call, c);
	struct killick_report *report = NULL;
	void *code = NULL;

	EQ(killick_close(k, &report, NULL), 0);
	OK(report->count == 1 && report->proved);
	EQ(lab_living(), 0);
	killick_report_free(report);
	pthread_join(thread, &code);
	EQ((intptr_t)code, KILLICK_ERR_CLOSED);
	killick_call_free(c);
	killick_session_free(s);
	killick_free(k);
}

/* 2. Refresh for ever. */
struct caller { /* a thread that calls whatever there is, all the time */
	struct killick_session *s;
	bool stop;
	unsigned ok, closed;
};

static void *call_all_the_time(void *arg)
{
	struct caller *c = arg;

	for (unsigned i = 0; !__atomic_load_n(&c->stop, __ATOMIC_RELAXED); i++) {
		char server[8];
		struct killick_result *r;

		snprintf(server, sizeof(server), "s%u", i % 4);
		r = lab_try(c->s, server, "sleep", "{\"ms\":1}", LAB_MS);
		if (killick_result_code(r) == KILLICK_OK)
			c->ok++;
		else if (killick_result_code(r) == KILLICK_ERR_CLOSED)
			c->closed++;
		else
			FAIL("call %u: %s", i, killick_result_error(r));
		killick_result_free(r);
	}
	return NULL;
}

static void four(struct lab_server *list, char more[4][32], char names[4][16], int round)
{
	memset(list, 0, 5 * sizeof(*list));
	for (int i = 0; i < 4; i++) {
		snprintf(names[i], sizeof(names[i]), "s%d", i);
		snprintf(more[i], sizeof(more[i]), "\"env\":{\"ROUND\":\"%d\"}", round);
		list[i].name = names[i];
		list[i].more = more[i];
	}
}

static void pids_of(struct killick_session *s, pid_t *out)
{
	struct killick_status *st = NULL;

	EQ(killick_session_status(s, &st, NULL), 0);
	EQ(st->count, 4);
	for (int i = 0; i < 4; i++) {
		EQ(st->servers[i]->state, KILLICK_READY);
		out[i] = st->servers[i]->pid;
	}
	killick_status_free(st);
}

/* One refresh with a blocked call on each server; every earlier pid is gone when it is over. */
static void refresh_once(struct killick_session *s, const struct lab_server *list)
{
	struct killick_call *blocked[4];
	pid_t before[4], after[4];

	pids_of(s, before);
	for (int i = 0; i < 4; i++) {
		struct killick_request rq =
			KILLICK_REQUEST(.op = KILLICK_CALL, .server = list[i].name,
					.name = "block");

		EQ(killick_start(s, &rq, &blocked[i], NULL), 0);
	}
	lab_refresh(s, list);
	for (int i = 0; i < 4; i++) {
		struct killick_result *r = NULL;

		if (lab_lives(before[i]))
			FAIL("%d lives after the refresh", (int)before[i]);
		EQ(killick_wait(blocked[i], &r), KILLICK_ERR_CLOSED);
		killick_result_free(r);
		killick_call_free(blocked[i]);
	}
	pids_of(s, after);
	for (int i = 0; i < 4; i++)
		OK(after[i] != before[i]);
}

TEST(refresh_for_ever, .timeout_ms = LONG_MS)
{
	struct lab_server list[5];
	char more[4][32], names[4][16];
	struct killick *k = LAB();
	struct caller caller = { 0 };
	struct killick_call *kept;
	struct killick_result *r = NULL;
	int fds = 0, warm = rounds / 4;
	long memory = 0;
	pthread_t thread;

	four(list, more, names, 0);
	caller.s = lab_session(k, list);
	kept = lab_block(caller.s, "s0"); /* never released while the test looks */
	thread = lab_thread(call_all_the_time, &caller);
	for (int round = 1; round <= rounds; round++) {
		four(list, more, names, round);
		refresh_once(caller.s, list);
		if (round == warm) {
			fds = lab_fds();
			memory = lab_memory_kib();
		}
	}
	__atomic_store_n(&caller.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EQ(lab_living(), 4);
	EQ(lab_fds(), fds);
	t_note("%d refreshes, %u calls done, %u closed, memory %ld to %ld KiB", rounds, caller.ok,
	       caller.closed, memory, lab_memory_kib());
	if (lab_memory_kib() > memory + 64)
		FAIL("memory grew from %ld to %ld KiB", memory, lab_memory_kib());
	OK(caller.ok > 0);
	lab_end(caller.s);
	EQ(killick_wait(kept, &r), KILLICK_ERR_CLOSED);
	killick_result_free(r);
	killick_call_free(kept);
	lab_close(k);
}

/* 3. A manager made to list tools, and dropped. */
TEST(listed_and_dropped)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }, { "two" }));
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_TOOLS);
	double end = t_now_ms() + LAB_MS;

	killick_result_free(lab_do(s, &rq, 0));
	killick_session_free(s); /* nobody closes it */
	while (audit_count(&t_audit) > 0 && t_now_ms() < end)
		t_wait_fd(-1, 0, 5);
	EQ(audit_count(&t_audit), 0);
	killick_free(k);
}

static void never_opened(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	OK(!s && e->code < 0);
	lab_add(ctx);
}

TEST(dropped_during_the_handshake)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick *k = LAB();
	char *config = lab_config(SERVERS({ "mute", "mute" }, { "two", "mute" }));
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.config = config);
	struct killick_error e = { 0 };

	EQ(killick_session_open_start(k, &options, never_opened, &n, NULL, &e), 0);
	lab_await_pids(2); /* they run, and are silent */
	killick_free(k);
	EQ(lab_value(&n), 1);
	EQ(audit_count(&t_audit), 0);
	free(config);
}

TEST(dropped_before_the_handshake)
{
	/* mute: a handshake that could succeed sometimes does, on a machine that is busy enough */
	char *config = lab_config(
		SERVERS({ "a", "mute" }, { "b", "mute" }, { "c", "mute" }, { "d", "mute" }));
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.config = config);
	struct killick_error e = { 0 };

	for (int i = 0; i < 20; i++) {
		struct lab_count n = LAB_COUNT_INIT;
		struct killick *k = LAB();

		EQ(killick_session_open_start(k, &options, never_opened, &n, NULL, &e), 0);
		killick_free(k);
		EQ(lab_value(&n), 1);
		EQ(audit_count(&t_audit), 0);
	}
	free(config);
}

/* 4. Sessions one after another and at once: all comes back to where it was. */
static void one_session(struct killick *k, int i)
{
	struct killick_session *s = lab_session(k, SERVERS({ "a" }, { "b" }, { "c" }, { "d" }));

	if (i % 2)
		lab_call(s, "c", "echo", "{\"text\":\"x\"}", 0, NULL, 0);
	lab_end(s);
}

TEST(sessions_one_after_another, .timeout_ms = LONG_MS)
{
	struct killick *k = LAB();
	int fds = 0;
	long memory = 0;

	for (int i = 0; i < sessions; i++) {
		one_session(k, i);
		if (i == sessions / 4) {
			fds = lab_fds();
			memory = lab_memory_kib();
		}
		EQ(lab_living(), 0);
	}
	EQ(lab_fds(), fds);
	t_note("%d sessions, memory %ld to %ld KiB", sessions, memory, lab_memory_kib());
	OK(lab_memory_kib() <= memory + 64);
	lab_close(k);
}

static void *open_and_close(void *arg)
{
	for (int i = 0; i < 2; i++)
		one_session(arg, i);
	return NULL;
}

TEST(sessions_at_once, .timeout_ms = LONG_MS)
{
	struct killick *k = LAB();
	pthread_t *threads = calloc((size_t)at_once, sizeof(*threads));
	int fds;
	long memory;

	OK(threads);
	one_session(k, 0);
	fds = lab_fds();
	for (int turn = 0; turn < 2; turn++) {
		memory = lab_memory_kib(); /* of the second turn: threads have arenas by then */
		for (int i = 0; i < at_once; i++)
			threads[i] = lab_thread(open_and_close, k);
		for (int i = 0; i < at_once; i++)
			pthread_join(threads[i], NULL);
	}
	EQ(lab_living(), 0);
	EQ(lab_fds(), fds);
	t_note("%d sessions at once, memory %ld to %ld KiB", at_once, memory, lab_memory_kib());
	OK(lab_memory_kib() <= memory + 256);
	free(threads);
	lab_close(k);
}

/* 5. Agent turns: three servers each, exactly as many processes as there should be. */
static const struct lab_server *three(bool shared)
{
	static const struct lab_server own[] = { { "a" }, { "b" }, { "c" }, { 0 } };
	static const struct lab_server identical[] = {
		{ "a", .more = "\"share\":\"identical\"" },
		{ "b", .argument = "b", .more = "\"share\":\"identical\"" },
		{ "c", .argument = "c", .more = "\"share\":\"identical\"" },
		{ 0 }
	};

	return shared ? identical : own;
}

static void turns(bool shared)
{
	struct killick *k = LAB();

	for (int turn = 0; turn < 24; turn++) {
		struct killick_session *s = lab_session(k, three(shared));

		lab_call(s, "a", "echo", NULL, 0, NULL, 0);
		EQ(lab_living(), 3);
		lab_end(s);
		EQ(lab_living(), 0);
	}
	lab_close(k);
}

static void all_live(bool shared)
{
	struct killick_session **s = calloc((size_t)at_once, sizeof(struct killick_session *));
	struct killick *k = LAB();

	OK(s);
	for (int i = 0; i < at_once; i++) {
		s[i] = lab_session(k, three(shared));
		EQ(lab_living(), shared ? 3 : 3 * (i + 1));
	}
	for (int i = 0; i < at_once; i++)
		lab_call(s[i], "b", "echo", NULL, 0, NULL, 0);
	EQ(lab_living(), shared ? 3 : 3 * at_once);
	for (int i = 0; i < at_once; i++) {
		int left = at_once - i - 1;

		lab_end(s[i]);
		EQ(lab_living(), shared ? (left > 0 ? 3 : 0) : 3 * left);
	}
	lab_close(k);
	free(s);
}

TEST(agent_turns, .timeout_ms = 60000)
{
	turns(false);
}

TEST(agent_turns_that_share, .timeout_ms = 60000)
{
	turns(true);
}

TEST(live_sessions, .timeout_ms = LONG_MS)
{
	all_live(false);
}

TEST(live_sessions_that_share, .timeout_ms = LONG_MS)
{
	all_live(true);
}

int main(int argc, char **argv)
{
	struct {
		const char *name;
		int *value;
	} numbers[] = { { "--rounds", &rounds },
			{ "--sessions", &sessions },
			{ "--at-once", &at_once } };
	int from = 1;

	while (from + 1 < argc && !strncmp(argv[from], "--", 2)) {
		int *value = NULL;

		for (size_t i = 0; i < 3; i++)
			if (!strcmp(argv[from], numbers[i].name))
				value = numbers[i].value;
		if (!value)
			break;
		*value = atoi(argv[from + 1]);
		from += 2;
	}
	argv[from - 1] = argv[0];
	return t_main(argc - from + 1, argv + from - 1);
}
