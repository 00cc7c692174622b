/* placement_loss.c - the way to servers on an executor is cut: for a moment, or for good.
 *
 * A request in flight that may wait is answered when the way is back; others fail at once, and so
 * does what is asked for later, until the way is back. And whatever happens, nothing is left there
 * in the end.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outpost.h"

#define CALLS 20

/* Wait until the error of the server has this in it; "": until it has none. */
static void await_error(struct killick_session *s, const char *server, const char *part)
{
	char error[600], words[600];

	for (double until = t_now_ms() + 4 * LAB_MS;;) {
		lab_errors(s, server, error, sizeof(error), words, sizeof(words));
		if (*part ? strstr(error, part) != NULL : !*error)
			return;
		if (t_now_ms() > until)
			FAIL("the error of '%s' is still '%s'", server, error);
		poll(NULL, 0, 5);
	}
}

static void must_be_lost(struct killick_call *c)
{
	struct killick_result *r = NULL;

	EQ(killick_wait(c, &r), KILLICK_ERR_LOST);
	OK(strstr(killick_result_error(r), "'a'"));
	OK(strstr(killick_result_error(r), "was lost: "));
	killick_result_free(r);
	killick_call_free(c);
}

TEST(calls_fail_at_once_while_the_connection_is_lost, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s;
	struct killick_call *calls[CALLS];
	struct lab_events ev;
	char *config, text[100];
	pid_t pid;
	struct killick_error e;

	outpost_open(&o, NULL);
	gate_open(&g, &o);
	lab_events_init(&ev);
	config = outpost_config(&o, true, SERVERS({ "a", .more = PLACED }));
	if (killick_session_open(
		    k, &KILLICK_SESSION_OPTIONS(.config = config, .handlers = lab_handlers(&ev, 0)),
		    &s, &e))
		FAIL("%s", e.text);
	pid = lab_pid(s, "a");
	for (int i = 0; i < CALLS; i++)
		calls[i] = lab_block(s, "a");
	gate_set(&g, GATE_SHUT);
	for (int i = 0; i < CALLS; i++)
		must_be_lost(calls[i]);
	EQ(lab_state(s, "a"), KILLICK_READY);
	await_error(s, "a", "was lost: ");
	for (enum killick_op op = KILLICK_TOOLS; op <= KILLICK_UNSUBSCRIBE; op++)
		killick_result_free(lab_do(
			s, &KILLICK_REQUEST(.op = op, .server = "a", .name = "echo", .args = "{}"),
			KILLICK_ERR_LOST));
	killick_result_free(lab_do(s, &KILLICK_REQUEST(.op = KILLICK_TOOLS), KILLICK_ERR_LOST));
	gate_set(&g, GATE_OPEN);
	await_error(s, "a", "");
	EQ(lab_pid(s, "a"), pid); /* the same process */
	lab_call(s, "a", "echo", "{\"text\":\"again\"}", 0, text, sizeof(text));
	STREQ(text, "again");
	lab_await(&ev.count[KILLICK_EVENT_WARNING], 2); /* lost, and back */
	outpost_await_log(&o, "event=start", 1);
	lab_end(s);
	gate_close(&g);
	lab_close(k);
	free(config);
	outpost_close(&o);
}

/* --- requests in flight that wait for the resume --- */

struct cut { /* a session with one server, `a`, behind a gate */
	struct killick *k;
	struct outpost o;
	struct gate g;
	struct killick_session *s;
};

static void cut_open(struct cut *c, const char *way, const char *more)
{
	c->k = LAB();
	outpost_open(&c->o, NULL);
	gate_open(&c->g, &c->o);
	c->s = outpost_session(c->k, &c->o, true, SERVERS({ "a", way, .more = more }));
	/* the session has seen the annotations of the tools */
	killick_result_free(lab_do(c->s, &KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = "a"), 0));
}

static void cut_close(struct cut *c)
{
	lab_end(c->s);
	gate_close(&c->g);
	lab_close(c->k);
	outpost_close(&c->o);
}

static struct killick_call *cut_start(struct cut *c, const char *tool, const char *args, long ms)
{
	struct killick_call *call = NULL;

	EQ(killick_start(c->s,
			 &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "a", .name = tool,
					  .args = args, .timeout_ms = ms),
			 &call, NULL),
	   0);
	return call;
}

/* The connection is cut for 200 ms while calls are in flight. */
static void answered_after_a_cut(const char *way, const char *more)
{
	struct killick_call *calls[CALLS];
	struct killick_result *r;
	struct cut c;

	cut_open(&c, way, more);
	for (int i = 0; i < CALLS; i++)
		calls[i] = cut_start(&c, "sleep", i % 2 ? "{\"ms\":10}" : "{\"ms\":400}", LAB_MS);
	gate_set(&c.g, GATE_SHUT);
	await_error(c.s, "a", "was lost: ");
	poll(NULL, 0, 200);
	gate_set(&c.g, GATE_OPEN);
	for (int i = 0; i < CALLS; i++) {
		if (killick_wait(calls[i], &r) != 0)
			FAIL("call %d: %s", i, killick_result_error(r));
		killick_result_free(r);
		killick_call_free(calls[i]);
	}
	await_error(c.s, "a", "");
	cut_close(&c);
}

TEST(a_call_of_a_tool_that_only_reads_is_answered_after_a_short_cut, .timeout_ms = 60000)
{
	answered_after_a_cut("reads", PLACED);
}

TEST(with_lost_calls_wait_every_call_is_answered_after_a_short_cut, .timeout_ms = 60000)
{
	answered_after_a_cut(NULL, PLACED ",\"lostCalls\":\"wait\"");
}

TEST(with_lost_calls_fail_a_call_of_a_tool_that_only_reads_fails_at_once, .timeout_ms = 60000)
{
	struct killick_call *call;
	struct cut c;

	cut_open(&c, "reads", PLACED ",\"lostCalls\":\"fail\"");
	call = cut_start(&c, "block", NULL, -1);
	gate_set(&c.g, GATE_SHUT);
	must_be_lost(call); /* the gate stays shut until then */
	gate_set(&c.g, GATE_OPEN);
	await_error(c.s, "a", "");
	cut_close(&c);
}

TEST(a_call_waits_for_the_resume_no_longer_than_its_deadline, .timeout_ms = 60000)
{
	struct killick_result *r = NULL;
	struct killick_call *call;
	struct cut c;

	cut_open(&c, "reads", PLACED);
	call = cut_start(&c, "block", NULL, 1000);
	gate_set(&c.g, GATE_SHUT);
	EQ(killick_wait(call, &r), KILLICK_ERR_TIMEOUT);
	OK(strstr(killick_result_error(r), "was lost: "));
	OK(strstr(killick_result_error(r), "timed out before the connection was resumed"));
	killick_result_free(r);
	killick_call_free(call);
	gate_set(&c.g, GATE_OPEN);
	await_error(c.s, "a", "");
	cut_close(&c);
}

TEST(calls_that_wait_fail_with_the_reason_when_the_connection_is_given_up, .timeout_ms = 120000)
{
	struct killick_call *calls[CALLS];
	struct killick_result *r;
	double began;
	struct cut c;

	cut_open(&c, "reads", PLACED);
	for (int i = 0; i < CALLS; i++)
		calls[i] = cut_start(&c, "block", NULL, -1);
	gate_set(&c.g, GATE_SHUT);
	began = t_now_ms();
	for (int i = 0; i < CALLS; i++) {
		EQ(killick_wait(calls[i], &r), KILLICK_ERR_LOST);
		OK(strstr(killick_result_error(r), "could not be resumed"));
		killick_result_free(r);
		killick_call_free(calls[i]);
	}
	OK(t_now_ms() - began < 60000); /* 25 s */
	gate_set(&c.g, GATE_OPEN);
	outpost_await_nobody(); /* the lease of 30 s is over */
	lab_pid(c.s, "a");      /* used, and so started again */
	cut_close(&c);
}

TEST(a_server_that_is_lost_does_not_spoil_the_list_of_the_others, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s;
	struct killick_result *r;
	char list[8192];

	outpost_open(&o, NULL);
	gate_open(&g, &o);
	s = outpost_session(k, &o, true, SERVERS({ "a", .more = PLACED }, { "b" }));
	gate_set(&g, GATE_SHUT);
	await_error(s, "a", "was lost: ");
	r = lab_do(s, &KILLICK_REQUEST(.op = KILLICK_TOOLS), 0);
	snprintf(list, sizeof(list), "%s", killick_result_json(r, NULL));
	OK(strstr(list, "b__echo") && !strstr(list, "a__echo"));
	killick_result_free(r);
	gate_set(&g, GATE_OPEN);
	await_error(s, "a", "");
	lab_end(s);
	gate_close(&g);
	lab_close(k);
	outpost_close(&o);
}

/* What cannot be started meanwhile has not failed: it is not given up, however often it is used. */
TEST(a_server_added_while_the_connection_is_lost_fails_at_once_and_works_later, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s, *late;
	char text[100];

	outpost_open(&o, NULL);
	gate_open(&g, &o);
	s = outpost_session(k, &o, true, SERVERS({ "a", .more = PLACED }));
	gate_set(&g, GATE_SHUT);
	await_error(s, "a", "was lost: ");
	late = outpost_session(
		k, &o, true,
		SERVERS({ "b", .more = PLACED }, { "c", .more = PLACED ",\"restart\":\"never\"" }));
	for (int i = 0; i < 8; i++) {
		lab_call(late, "b", "echo", "{}", KILLICK_ERR_LOST, NULL, 0);
		lab_call(late, "c", "echo", "{}", KILLICK_ERR_LOST, NULL, 0);
	}
	gate_set(&g, GATE_OPEN);
	await_error(s, "a", "");
	lab_call(late, "b", "echo", "{\"text\":\"b\"}", 0, text, sizeof(text));
	STREQ(text, "b");
	lab_call(late, "c", "echo", "{\"text\":\"c\"}", 0, text, sizeof(text));
	STREQ(text, "c");
	lab_end(late);
	lab_end(s);
	gate_close(&g);
	lab_close(k);
	outpost_close(&o);
}

/* A line that is silent and not cut is found out by the heartbeat. */
TEST(a_silent_connection_counts_as_lost, .timeout_ms = 90000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s;
	struct killick_call *c;

	outpost_open(&o, NULL);
	gate_open(&g, &o);
	s = outpost_session(k, &o, true, SERVERS({ "a", .more = PLACED }));
	c = lab_block(s, "a");
	gate_set(&g, GATE_STUCK);
	must_be_lost(c);
	gate_set(&g, GATE_SHUT);
	gate_set(&g, GATE_OPEN);
	await_error(s, "a", "");
	lab_call(s, "a", "echo", NULL, 0, NULL, 0);
	lab_end(s);
	gate_close(&g);
	lab_close(k);
	outpost_close(&o);
}

TEST(a_handshake_that_is_cut_fails_and_leaves_nothing, .timeout_ms = 90000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s = NULL;
	struct killick_error e;
	char *config;

	outpost_open(&o, "1s");
	gate_open(&g, &o);
	config = outpost_config(
		&o, true, SERVERS({ "a", "mute", .more = PLACED ",\"startupTimeoutSec\":30" }));
	if (killick_session_open(
		    k, &KILLICK_SESSION_OPTIONS(.config = config, .wait = KILLICK_WAIT_REQUIRED),
		    &s, &e))
		FAIL("%s", e.text);
	lab_await_pids(1);
	gate_set(&g, GATE_SHUT);
	await_error(s, "a", "the handshake with server 'a' failed: the connection to environment");
	lab_await_state(s, "a", KILLICK_GONE);
	outpost_await_nobody(); /* the lease */
	killick_session_close(s, NULL, NULL);
	killick_session_free(s);
	killick_free(k);
	gate_close(&g);
	free(config);
	outpost_close(&o);
}

/* --- for good --- */

TEST(beyond_the_lease_the_server_is_gone_and_restarted_on_use, .timeout_ms = 90000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s;
	pid_t pid;

	outpost_open(&o, "1s");
	gate_open(&g, &o);
	s = outpost_session(k, &o, true, SERVERS({ "a", "stays", .more = PLACED }));
	pid = lab_pid(s, "a");
	lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
	gate_set(&g, GATE_SHUT);
	await_error(s, "a", "was lost: ");
	outpost_await_nobody();
	gate_set(&g, GATE_OPEN);
	lab_await_state(s, "a", KILLICK_GONE);
	await_error(s, "a", "server 'a' is lost");
	OK(lab_pid(s, "a") != pid); /* used, and so started */
	lab_end(s);
	gate_close(&g);
	lab_close(k);
	outpost_close(&o);
	EQ(audit_count(&t_audit), 0);
}

TEST(close_while_lost_is_bounded_and_says_until_when, .timeout_ms = 90000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s;
	struct killick_report *r = NULL;

	outpost_open(&o, "2s");
	gate_open(&g, &o);
	s = outpost_session(k, &o, true, SERVERS({ "a", "stays", .more = PLACED }, { "b" }));
	gate_set(&g, GATE_SHUT);
	await_error(s, "a", "was lost: ");
	EQ(killick_session_close(s, &r, NULL), 0);
	EQ(r->count, 2);
	OK(!r->proved);
	for (size_t i = 0; i < 2; i++) {
		const struct killick_ending *e = r->endings[i];

		STREQ(e->why, "close");
		if (strcmp(e->server, "b") == 0) {
			OK(strstr(e->proof, "waitid"));
			continue;
		}
		STREQ(e->proof, "lease");
		STREQ(e->environment, "far");
		OK(strstr(e->text, "'far'") && strstr(e->text, " s"));
	}
	killick_report_free(r);
	killick_session_free(s);
	outpost_await_nobody(); /* as was said */
	killick_free(k);
	gate_close(&g);
	outpost_close(&o);
}

TEST(refresh_while_lost_is_bounded_and_says_until_when, .timeout_ms = 90000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct gate g;
	struct killick_session *s;
	struct killick_report *r = NULL;
	struct killick_error e;
	char *config;

	outpost_open(&o, "2s");
	gate_open(&g, &o);
	s = outpost_session(k, &o, true, SERVERS({ "a", "stays", .more = PLACED }));
	gate_set(&g, GATE_SHUT);
	await_error(s, "a", "was lost: ");
	config = lab_config(SERVERS({ "a" }));
	EQ(killick_session_refresh(s, config, NULL, &r, &e), 0);
	EQ(r->count, 1);
	OK(!r->proved);
	STREQ(r->endings[0]->proof, "lease");
	killick_report_free(r);
	lab_call(s, "a", "echo", NULL, 0, NULL, 0); /* the one here */
	lab_end(s);
	outpost_await_nobody();
	killick_free(k);
	gate_close(&g);
	free(config);
	outpost_close(&o);
}

TEST(the_executor_is_killed, .timeout_ms = 90000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;
	struct killick_call *c;

	outpost_open(&o, NULL);
	s = outpost_session(k, &o, false, SERVERS({ "a", "stays", .more = PLACED }));
	lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
	c = lab_block(s, "a");
	outpost_kill(&o);
	must_be_lost(c);
	outpost_await_nobody(); /* its keepers saw to that */
	killick_session_close(s, NULL, NULL);
	killick_session_free(s);
	killick_free(k);
	lab_reap();
	EQ(audit_count(&t_audit), 0);
}

/* The host that owned the session is killed: a child of ours plays it. */
TEST(the_host_is_killed, .timeout_ms = 90000)
{
	struct outpost o;
	pid_t host;
	int status;

	outpost_open(&o, "1s");
	killick_free(LAB()); /* sets what servers look for in the environment */
	host = fork();
	if (host == 0) {
		struct killick_session *s = outpost_session(
			LAB(), &o, false,
			SERVERS({ "a", "stays", .more = PLACED }, { "b", .more = PLACED }));

		lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
		raise(SIGKILL);
	}
	OK(host > 0);
	status = t_wait_child(host, LAB_MS);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EQ(outpost_started() >= 2, 1);
	outpost_await_nobody();
	outpost_close(&o);
	EQ(audit_count(&t_audit), 0);
}

TEST(the_host_is_killed_and_its_program_with_it, .timeout_ms = 90000)
{
	pid_t host;
	int status;

	killick_free(LAB());
	host = fork();
	if (host == 0) {
		struct killick *k = LAB();
		struct killick_session *s = NULL;
		struct killick_error e;
		char environments[300];

		snprintf(environments, sizeof(environments),
			 "{\"far\":{\"program\":[\"%s\",\"exec-server\",\"--listen\",\"stdio\"],"
			 "\"env\":{\"ZOO_AUDIT\":\"%s\"}}}",
			 t_program("KILLICK", "build/killick"), t_audit.tag);
		if (outpost_try(k,
				outpost_config_of(environments,
						  SERVERS({ "a", "stays", .more = PLACED })),
				&s, &e))
			FAIL("%s", e.text);
		lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
		raise(SIGKILL);
	}
	OK(host > 0);
	status = t_wait_child(host, LAB_MS);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	outpost_await_nobody();
	lab_reap();
	OK(audit_wait_empty(&t_audit, LAB_MS, NULL));
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[400], *at;
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	OK(f && fgets(line, sizeof(line), f));
	fclose(f);
	at = strrchr(line, ')');
	OK(at && sscanf(at + 1, " %*c %d", &parent) == 1);
	return parent;
}

/* The program is held like a server; a close does not wait for ever for its keepers either. */
TEST(a_program_whose_keepers_hang_does_not_hang_the_close, .timeout_ms = 90000)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_report *r = NULL;
	struct killick_error e;
	char environments[600], path[200], text[20] = "", *config;
	pid_t hold, watch;
	FILE *f;

	snprintf(path, sizeof(path), "%s/hold", t_audit.dir);
	snprintf(environments, sizeof(environments),
		 "{\"far\":{\"program\":[\"/bin/sh\",\"-c\",\"echo $PPID > %s; exec %s exec-server "
		 "--listen stdio --quiet\"],\"env\":{\"ZOO_AUDIT\":\"%s\"}}}",
		 path, t_program("KILLICK", "build/killick"), t_audit.tag);
	config = outpost_config_of(environments, SERVERS({ "a", .more = PLACED }));
	if (outpost_try(k, config, &s, &e))
		FAIL("%s", e.text);
	f = fopen(path, "re");
	OK(f && fgets(text, sizeof(text), f));
	fclose(f);
	hold = atoi(text);
	watch = parent_of(hold);
	OK(hold > 1 && watch > 1);
	OK(kill(watch, SIGSTOP) == 0 && kill(hold, SIGSTOP) == 0);
	EQ(killick_close(k, &r, NULL), 0);
	EQ(r->count, 1);
	OK(r->proved); /* of the server */
	killick_report_free(r);
	EQ(lab_living(), 0);
	/* The hang-up of the control socket has woken the watch, and the watch the hold: nothing
	 * more is to be done here. */
	for (double until = t_now_ms() + 3 * LAB_MS; audit_count(&t_audit) > 0;) {
		char left[400];

		audit_describe(&t_audit, left, sizeof(left));
		if (t_now_ms() > until)
			FAIL("still there: %s", left);
		lab_reap();
		poll(NULL, 0, 5);
	}
	lab_close(k);
	free(config);
}
