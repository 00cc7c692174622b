/* restart.c - servers that end by themselves, and what becomes of their calls. */
#include <fcntl.h>
#include <signal.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

static unsigned restarts_of(struct killick_session *s)
{
	struct killick_status *st = NULL;
	unsigned n;

	EQ(killick_session_status(s, &st, NULL), 0);
	n = st->servers[0]->restarts;
	killick_status_free(st);
	return n;
}

static void crash(struct killick_session *s, const char *args, const char *says)
{
	struct killick_result *r = lab_try(s, "zoo", "crash", args, LAB_MS);

	EQ(killick_result_code(r), KILLICK_ERR_EXITED);
	if (!strstr(killick_result_error(r), says))
		FAIL("'%s' does not say '%s'", killick_result_error(r), says);
	killick_result_free(r);
}

TEST(calls_of_a_server_that_exits)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;
	pid_t pid = lab_pid(s, "zoo");

	crash(s, "{\"code\":7}", "7");
	EQ(killick_wait(c, &r), KILLICK_ERR_EXITED);           /* at once, not at its deadline */
	OK(strstr(killick_result_error(r), "about to crash")); /* its last words */
	killick_result_free(r);
	killick_call_free(c);
	OK(!lab_lives(pid));
	OK(lab_pid(s, "zoo") != pid); /* the next use starts it again */
	EQ(restarts_of(s), 1);
	lab_end(s);
	lab_close(k);
}

TEST(calls_of_a_server_that_is_killed)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;

	kill(lab_pid(s, "zoo"), SIGKILL);
	EQ(killick_wait(c, &r), KILLICK_ERR_EXITED);
	OK(strstr(killick_result_error(r), "9") || strstr(killick_result_error(r), "KILL"));
	killick_result_free(r);
	killick_call_free(c);
	crash(s, "{\"signal\":15}", "signal");
	lab_end(s);
	lab_close(k);
}

TEST(restart_now)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "zoo", .more = "\"restart\":\"now\"" }));

	crash(s, "{\"code\":1}", "1");
	lab_await_pids(2); /* nobody asked for anything */
	lab_await_state(s, "zoo", KILLICK_READY);
	EQ(restarts_of(s), 1);
	lab_end(s);
	lab_close(k);
}

TEST(restart_never)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "zoo", .more = "\"restart\":\"never\"" }));
	pid_t pids[4];

	crash(s, "{\"code\":1}", "1");
	lab_call(s, "zoo", "pid", NULL, KILLICK_ERR_EXITED, NULL, 0);
	EQ(lab_state(s, "zoo"), KILLICK_GONE);
	EQ(lab_pids(pids, 4), 1);
	lab_end(s);
	lab_close(k);
}

/* It dies again and again: at some point nobody starts it any more, and that is said. */
TEST(a_crash_loop_ends, .timeout_ms = 120000)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }, { "good" }));
	char error[600] = "";
	pid_t pids[64];
	size_t n, before = 0;
	int calls = 0;

	for (;; calls++) {
		struct killick_result *r = lab_try(s, "zoo", "crash", NULL, LAB_MS);
		int code = killick_result_code(r);

		OK(code == KILLICK_ERR_EXITED || code == KILLICK_ERR_START);
		snprintf(error, sizeof(error), "%s", killick_result_error(r));
		killick_result_free(r);
		n = lab_pids(pids, 64);
		OK(n < 32); /* far below what a loop would make of it */
		if (n == before)
			break; /* this call started none */
		before = n;
		lab_pid(s, "good");
	}
	t_note("given up after %zu starts: %s", n, error);
	OK(calls >= 2);
	OK(strstr(error, "in a row"));
	lab_end(s);
	EQ(lab_living(), 0);
	lab_close(k);
}

/* On a slow machine a pause may be over before the next call. */
static void crash_until_refused(struct killick_session *s)
{
	for (int i = 0; i < 12; i++) {
		struct killick_result *r = lab_try(s, "zoo", "crash", NULL, LAB_MS);
		bool refused = strstr(killick_result_error(r), "times in a row") != NULL;

		EQ(killick_result_code(r), KILLICK_ERR_EXITED);
		OK(strstr(killick_result_error(r), "during call 'crash'"));
		killick_result_free(r);
		if (refused)
			return;
	}
	FAIL("the session is not refused");
}

/* Call `tool` until the call is accepted. */
static int call_after_the_pause(struct killick_session *s, const char *tool)
{
	for (double end = t_now_ms() + LAB_MS;;) {
		struct killick_result *r = lab_try(s, "zoo", tool, NULL, LAB_MS);
		bool refused = killick_result_code(r) < 0 &&
			       strstr(killick_result_error(r), "times in a row") != NULL;
		int code = killick_result_code(r);

		killick_result_free(r);
		if (!refused)
			return code;
		OK(t_now_ms() < end);
		t_wait_fd(-1, 0, 20);
	}
}

/* After the pause one call is the trial: a crash begins the next pause, a success ends the row. */
TEST(a_server_that_failed_too_often_is_tried_again_after_a_pause, .timeout_ms = 120000)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	char error[600];

	crash_until_refused(s);
	EQ(call_after_the_pause(s, "crash"), KILLICK_ERR_EXITED);
	crash_until_refused(s);
	EQ(call_after_the_pause(s, "pid"), 0);
	lab_errors(s, "zoo", error, sizeof(error), NULL, 0);
	STREQ(error, ""); /* the server is ready */
	crash(s, NULL, "during call 'crash'");
	lab_end(s);
	lab_close(k);
}

/* The same for a server that does not get ready. */
TEST(a_server_that_does_not_start_is_tried_again_after_a_pause, .timeout_ms = 120000)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", "diesnow" }));
	char error[600];
	pid_t pids[64];
	size_t n;

	for (double end = t_now_ms() + LAB_MS; (n = lab_pids(pids, 64)) < 7;) {
		lab_call(s, "zoo", "pid", NULL, KILLICK_ERR_START, NULL, 0);
		lab_errors(s, "zoo", error, sizeof(error), NULL, 0);
		EQ(strstr(error, "times in a row") != NULL, lab_pids(pids, 64) >= 5);
		OK(t_now_ms() < end + 20000);
		t_wait_fd(-1, 0, 20);
	}
	EQ(n, 7);
	lab_end(s);
	lab_close(k);
}

TEST(a_crash_loop_without_anybody_calling, .timeout_ms = 120000)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "zoo", "diesready", .more = "\"restart\":\"now\"" }));
	char error[600];
	pid_t pids[64];
	size_t n;

	lab_await_pids(2);
	for (double end = t_now_ms() + 60000; t_now_ms() < end;) {
		lab_errors(s, "zoo", error, sizeof(error), NULL, 0);
		if (lab_state(s, "zoo") == KILLICK_GONE)
			break;
		t_wait_fd(-1, 0, 20);
	}
	EQ(lab_state(s, "zoo"), KILLICK_GONE);
	n = lab_pids(pids, 64);
	t_note("given up after %zu starts: %s", n, error);
	OK(n < 32);
	if (!strstr(error, "in a row"))
		FAIL("'%s' does not say that it was given up", error);
	lab_end(s);
	lab_close(k);
}

TEST(what_it_started_ends_with_it)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "zoo", .more = "\"restart\":\"never\"" }));
	double end = t_now_ms() + LAB_MS;

	lab_call(s, "zoo", "spawn", NULL, 0, NULL, 0);
	crash(s, NULL, "1");
	while (audit_count(&t_audit) > 0 && t_now_ms() < end) /* the keeper may still be leaving */
		t_wait_fd(-1, 0, 2);
	EQ(audit_count(&t_audit), 0);
	lab_end(s);
	lab_close(k);
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512] = "";
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	p = n > 0 ? strrchr(text, ')') : NULL;
	return p ? (pid_t)atoi(p + 4) : 0;
}

/* A keeper is killed: the other ends the tree, the calls are told, the next use works. */
static void kill_keeper(int generation)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session_with(k, SERVERS({ "zoo" }), &KILLICK_SESSION_OPTIONS(.grace_ms = 200));
	pid_t pid = lab_pid(s, "zoo"), victim = pid;
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;

	for (int i = 0; i < generation; i++)
		victim = parent_of(victim);
	OK(victim > 1 && victim != getpid());
	kill(victim, SIGKILL);
	EQ(killick_wait(c, &r), KILLICK_ERR_EXITED);
	killick_result_free(r);
	killick_call_free(c);
	OK(lab_pid(s, "zoo") != pid);
	OK(!lab_lives(pid));
	lab_end(s);
	lab_close(k);
	lab_reap(); /* the orphan of a keeper comes to the harness, which is a subreaper */
}

TEST(the_hold_is_killed)
{
	kill_keeper(1);
}

TEST(the_watch_is_killed)
{
	kill_keeper(2);
}

/* Closing a session whose server has just died, or is dying, is an ordinary close. */
TEST(closed_while_it_dies)
{
	struct killick *k = LAB();

	for (int i = 0; i < 20; i++) {
		struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
		struct killick_request rq =
			KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "crash");
		struct killick_call *c = NULL;
		struct killick_result *r = NULL;
		int code;

		EQ(killick_start(s, &rq, &c, NULL), 0);
		lab_end(s);
		code = killick_wait(c, &r);
		OK(code == KILLICK_ERR_EXITED || code == KILLICK_ERR_CLOSED);
		killick_result_free(r);
		killick_call_free(c);
	}
	lab_close(k);
}

/* However long it may wait. */
TEST(a_call_without_end_while_it_starts_again)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));

	crash(s, NULL, "1");
	killick_result_free(lab_do(s,
				   &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
						    .name = "pid", .timeout_ms = LONG_MAX),
				   0));
	lab_end(s);
	lab_close(k);
}

/* A call made while it starts again waits for it. */
TEST(calls_while_it_starts_again)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", "slowstart", "200" }));
	struct killick_call *c[16];

	crash(s, NULL, "1");
	for (int i = 0; i < 16; i++) {
		struct killick_request rq =
			KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "pid");

		EQ(killick_start(s, &rq, &c[i], NULL), 0);
	}
	for (int i = 0; i < 16; i++) {
		struct killick_result *r = NULL;

		EQ(killick_wait(c[i], &r), 0);
		killick_result_free(r);
		killick_call_free(c[i]);
	}
	EQ(restarts_of(s), 1);
	lab_end(s);
	lab_close(k);
}
