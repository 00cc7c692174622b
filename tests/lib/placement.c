/* placement.c - servers on an executor: where they run, what crosses, and what must be impossible.
 *
 * Every test ends with the auditor: nothing of it is left, here or there.
 */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outpost.h"

/* The text of a server's error; with its environment. */
static void error_is(struct killick_session *s, const char *server, const char *part)
{
	char error[600], words[600];

	lab_errors(s, server, error, sizeof(error), words, sizeof(words));
	if (!strstr(error, part))
		FAIL("the error of '%s' is '%s', not '...%s...'", server, error, part);
}

static void placed_in(struct killick_session *s, const char *server, const char *environment)
{
	struct killick_status *st;

	EQ(killick_session_status(s, &st, NULL), 0);
	for (size_t i = 0; i < st->count; i++)
		if (strcmp(st->servers[i]->name, server) == 0)
			STREQ(st->servers[i]->environment, environment);
	killick_status_free(st);
}

/* Was it started by the executor? Its keepers have ended up as ours, so its own word counts. */
static void runs_there(const struct outpost *o, pid_t pid)
{
	char text[40];

	snprintf(text, sizeof(text), "pid=%d ", pid);
	outpost_await_log(o, text, 1);
}

/* --- where it runs --- */

TEST(a_server_runs_where_it_is_placed, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;
	struct killick_report *r = NULL;
	char text[100];

	outpost_open(&o, NULL);
	s = outpost_session(k, &o, false, SERVERS({ "a", .more = PLACED }, { "b" }));
	lab_call(s, "a", "echo", "{\"text\":\"over there\"}", 0, text, sizeof(text));
	STREQ(text, "over there");
	runs_there(&o, lab_pid(s, "a"));
	outpost_await_log(&o, "event=start", 1);
	placed_in(s, "a", "far");
	placed_in(s, "b", "");
	EQ(killick_session_close(s, &r, NULL), 0);
	EQ(r->count, 2);
	OK(r->proved);
	for (size_t i = 0; i < r->count; i++) {
		const struct killick_ending *e = r->endings[i];

		STREQ(e->environment, strcmp(e->server, "a") == 0 ? "far" : "");
		STREQ(e->why, "close");
		OK(strstr(e->proof, "waitid"));
		OK(strstr(e->json, "\"proof\""));
		STREQ(e->text, "");
	}
	killick_report_free(r);
	killick_session_free(s);
	EQ(lab_living(), 0);
	lab_close(k);
	outpost_close(&o);
}

TEST(only_named_variables_are_sent, .timeout_ms = 60000)
{
	struct killick *k;
	struct outpost o;
	struct killick_session *s;
	char text[4096];

	setenv("MARK_THERE", "1", 1);
	setenv("MARK_ELSE", "1", 1);
	outpost_open(&o, NULL);
	unsetenv("MARK_THERE");
	setenv("MARK_HERE", "1", 1);
	setenv("MARK_NOT", "1", 1);
	k = LAB();
	s = outpost_session(k, &o, false,
			    SERVERS({ "a", .more = PLACED ",\"env\":{\"MARK_SAID\":\"x\"}" }));
	lab_call(s, "a", "env", NULL, 0, text, sizeof(text));
	OK(strstr(text, "MARK_SAID") && strstr(text, "ZOO_AUDIT"));
	OK(!strstr(text, "MARK_NOT") && !strstr(text, "MARK_HERE"));
	OK(!strstr(text, "MARK_THERE") && !strstr(text, "MARK_ELSE"));
	lab_end(s);
	lab_close(k);
	outpost_close(&o);
}

TEST(a_variable_may_be_the_executors, .timeout_ms = 60000)
{
	char config[1200];
	struct killick *k;
	struct outpost o;
	struct killick_session *s = NULL;
	struct killick_error e;
	char text[4096];

	setenv("MARK_THERE", "1", 1);
	setenv("MARK_ELSE", "1", 1);
	outpost_open(&o, NULL);
	unsetenv("MARK_THERE");
	k = LAB();
	snprintf(config, sizeof(config),
		 "{\"environments\":{\"far\":{\"url\":\"unix:%s\"}},\"mcpServers\":{\"a\":{"
		 "\"command\":\"%s\",\"args\":[\"mcp\"]," PLACED
		 ",\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\",{\"name\":\"MARK_THERE\",\"source\":"
		 "\"remote\"}]}}}",
		 o.socket, t_program("ZOO", "build/tests/zoo/killick-zoo"));
	if (outpost_try(k, config, &s, &e))
		FAIL("%s", e.text);
	lab_call(s, "a", "env", NULL, 0, text, sizeof(text));
	OK(strstr(text, "MARK_THERE") && !strstr(text, "MARK_ELSE"));
	lab_end(s);
	lab_close(k);
	outpost_close(&o);
}

TEST(status_and_lists_are_of_the_process_that_is_called, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;
	struct killick_status *st;
	pid_t pid, pids[8];

	outpost_open(&o, NULL);
	s = outpost_session(k, &o, false, SERVERS({ "a", .more = PLACED }));
	for (enum killick_op op = KILLICK_TOOLS; op <= KILLICK_PROMPTS; op++)
		killick_result_free(lab_do(s, &KILLICK_REQUEST(.op = op, .server = "a"), 0));
	killick_result_free(lab_do(s, &KILLICK_REQUEST(.op = KILLICK_TOOLS), 0));
	pid = lab_pid(s, "a");
	EQ(killick_session_status(s, &st, NULL), 0);
	EQ(st->servers[0]->pid, pid);
	OK(st->servers[0]->tools > 0);
	killick_status_free(st);
	EQ(lab_pids(pids, 8), 1); /* one process for all of it */
	EQ(pids[0], pid);
	lab_end(s);
	lab_close(k);
	outpost_close(&o);
}

TEST(one_connection_for_all_servers_and_sessions, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s[3];

	outpost_open(&o, NULL);
	for (int i = 0; i < 3; i++)
		s[i] = outpost_session(k, &o, false,
				       SERVERS({ "a", .more = PLACED },
					       { "b", .more = PLACED ",\"share\":\"identical\"" }));
	outpost_await_log(&o, "event=attached", 1);
	outpost_await_log(&o, "event=start", 4); /* three of a, one of b */
	for (int i = 0; i < 3; i++) {
		lab_call(s[i], "a", "echo", NULL, 0, NULL, 0);
		lab_call(s[i], "b", "echo", NULL, 0, NULL, 0);
	}
	for (int i = 0; i < 3; i++)
		lab_end(s[i]);
	lab_close(k);
	outpost_close(&o);
}

/* The way may be a program, and that is a process of ours. */
TEST(a_program_connects_and_ends_with_the_runtime, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;
	char environments[300], *config, text[100];

	snprintf(
		environments, sizeof(environments),
		"{\"far\":{\"program\":[\"%s\",\"exec-server\",\"--listen\",\"stdio\",\"--quiet\"],"
		"\"env\":{\"ZOO_AUDIT\":\"%s\"}}}",
		t_program("KILLICK", "build/killick"), t_audit.tag);
	config = outpost_config_of(environments, SERVERS({ "a", .more = PLACED }));
	if (outpost_try(k, config, &s, &e))
		FAIL("%s", e.text);
	lab_call(s, "a", "echo", "{\"text\":\"x\"}", 0, text, sizeof(text));
	STREQ(text, "x");
	OK(audit_count(&t_audit) >= 2); /* the server, the program, keepers */
	lab_end(s);
	EQ(lab_living(), 0);
	lab_close(k);
	lab_reap();
	EQ(audit_count(&t_audit), 0); /* at once */
	free(config);
}

/* Call a server on an executor whose program runs this script first. */
static void works_behind(const char *script)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;
	char environments[400], *config, text[100];

	snprintf(environments, sizeof(environments),
		 "{\"far\":{\"program\":[\"/bin/sh\",\"-c\",\"%s exec \\\"$0\\\" exec-server "
		 "--listen stdio --quiet\",\"%s\"]}}",
		 script, t_program("KILLICK", "build/killick"));
	config = outpost_config_of(environments, SERVERS({ "a", .more = PLACED }));
	if (outpost_try(k, config, &s, &e))
		FAIL("%s", e.text);
	lab_call(s, "a", "echo", "{\"text\":\"x\"}", 0, text, sizeof(text));
	STREQ(text, "x");
	lab_end(s);
	lab_close(k);
	free(config);
}

TEST(a_program_may_print_lines_before_the_executor_runs, .timeout_ms = 120000)
{
	for (int i = 0; i < 10; i++) {
		works_behind("echo Welcome;");
		works_behind("printf 'Wel'; echo come; printf '\\\\r\\\\n\\\\n'; sleep 0.05; "
			     "printf 'to '; sleep 0.05; "
			     "echo host;");
	}
}

TEST(a_program_that_fails_is_reported_with_its_stderr, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;
	char *config = outpost_config_of("{\"far\":{\"program\":[\"/bin/sh\",\"-c\",\"echo no "
					 "route >&2; exit 3\"]}}",
					 SERVERS({ "a", .more = PLACED }, { "b" }));

	if (outpost_try(k, config, &s, &e))
		FAIL("%s", e.text);
	EQ(lab_state(s, "a"), KILLICK_GONE);
	error_is(s, "a", "server 'a' could not be started: environment 'far'");
	error_is(s, "a", "no route");
	lab_call(s, "b", "echo", NULL, 0, NULL, 0);
	lab_end(s);
	lab_close(k);
	free(config);
}

/* --- never here instead --- */

static void fails_alone(const char *environments, const char *more, const char *why)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;
	struct killick_result *r;
	char *config = outpost_config_of(environments, SERVERS({ "a", .more = more })), text[200];

	if (outpost_try(k, config, &s, &e))
		FAIL("%s", e.text);
	snprintf(text, sizeof(text),
		 "server 'a' is placed in environment 'far' and cannot be started: %s", why);
	error_is(s, "a", text);
	EQ(lab_state(s, "a"), KILLICK_GONE);
	r = lab_do(s, &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "a", .name = "pid"),
		   KILLICK_ERR_START);
	OK(strstr(killick_result_error(r), text));
	killick_result_free(r);
	r = lab_do(s, &KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = "a"), KILLICK_ERR_START);
	killick_result_free(r);
	EQ(killick_session_refresh(s, config, NULL, NULL, &e), 0);
	error_is(s, "a", text);
	EQ(outpost_started(), 0); /* nothing was started, anywhere */
	EQ(audit_count(&t_audit), 0);
	lab_end(s);
	lab_close(k);
	free(config);
}

TEST(an_unknown_environment_does_not_start_the_server_here)
{
	fails_alone("{\"near\":{\"url\":\"unix:/nowhere\"}}", PLACED,
		    "the config does not define this environment; it defines 'near'");
}

TEST(a_config_without_environments_does_not_start_the_server_here)
{
	fails_alone("null", PLACED, "the config has no 'environments'");
}

TEST(an_empty_environment_does_not_start_the_server_here)
{
	fails_alone("{\"far\":{}}", PLACED,
		    "'url', 'ssh' and 'program' are missing; give one of them");
}

TEST(a_placed_server_needs_a_directory)
{
	fails_alone("{\"far\":{\"url\":\"unix:/nowhere\"}}", "\"environment\":\"far\"",
		    "'cwd' is missing");
}

TEST(an_unreachable_executor_does_not_start_the_server_here, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;
	char *config = outpost_config_of("{\"far\":{\"url\":\"unix:/nowhere/at/all\"}}",
					 SERVERS({ "a", .more = PLACED }));

	if (outpost_try(k, config, &s, &e))
		FAIL("%s", e.text);
	error_is(s, "a", "server 'a' could not be started: environment 'far'");
	EQ(outpost_started(), 0);
	lab_end(s);
	lab_close(k);
	free(config);
}

TEST(a_required_server_that_cannot_be_placed_fails_the_session)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;
	char *config =
		outpost_config_of("{}", SERVERS({ "a", .more = PLACED ",\"required\":true" }));

	EQ(outpost_try(k, config, &s, &e), KILLICK_ERR_START);
	OK(strstr(e.text, "'a'") && strstr(e.text, "'far'"));
	EQ(outpost_started(), 0);
	lab_close(k);
	free(config);
}

TEST(a_failed_start_is_reported_with_the_executors_reason, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;

	outpost_open(&o, NULL);
	s = outpost_session(
		k, &o, false,
		SERVERS({ "a", .more = "\"environment\":\"far\",\"cwd\":\"/no/such/place\"" }));
	error_is(s, "a", "/no/such/place");
	EQ(outpost_started(), 0);
	lab_end(s);
	lab_close(k);
	outpost_close(&o);
}

/* --- nothing lives on --- */

TEST(a_handshake_that_times_out_leaves_nothing_there, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;

	outpost_open(&o, NULL);
	s = outpost_session(k, &o, false,
			    SERVERS({ "a", "mute", .more = PLACED ",\"startupTimeoutSec\":0.4" }));
	EQ(lab_state(s, "a"), KILLICK_GONE);
	error_is(s, "a", "did not complete its handshake within 0.4 s");
	EQ(outpost_started(), 1);
	EQ(lab_living(), 0); /* before it was told */
	lab_end(s);
	lab_close(k);
	outpost_close(&o);
}

TEST(a_handshake_that_fails_leaves_nothing_there, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;

	outpost_open(&o, NULL);
	s = outpost_session(k, &o, false,
			    SERVERS({ "a", "refuses", .more = PLACED },
				    { "b", "stays", .more = PLACED },
				    { "c", "dies", .more = PLACED }));
	EQ(lab_state(s, "a"), KILLICK_GONE);
	EQ(lab_state(s, "b"), KILLICK_READY);
	error_is(s, "c", "exited with status 3 during its handshake");
	EQ(outpost_started(), 3);
	EQ(lab_living(), 1);
	lab_end(s);
	EQ(lab_living(), 0);
	lab_close(k);
	outpost_close(&o);
}

static void on_opened(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	(void)s;
	(void)e;
	lab_add(ctx);
}

TEST(a_handshake_that_is_cancelled_leaves_nothing_there, .timeout_ms = 60000)
{
	struct lab_count told = LAB_COUNT_INIT;
	struct killick *k = LAB();
	struct outpost o;
	struct killick_error e;
	char *config;

	outpost_open(&o, NULL);
	config = outpost_config(&o, false, SERVERS({ "a", "mute", .more = PLACED }));
	EQ(killick_session_open_start(k, &KILLICK_SESSION_OPTIONS(.config = config), on_opened,
				      &told, NULL, &e),
	   0);
	lab_await_pids(1);
	lab_close(k); /* in the middle of it */
	EQ(lab_value(&told), 1);
	EQ(lab_living(), 0);
	free(config);
	outpost_close(&o);
}

static void on_given_up(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	OK(!s);
	EQ(e->code, KILLICK_ERR_CANCELLED);
	EQ(lab_living(), 0);
	lab_add(ctx);
}

/* The runtime stays open, and its connection to the executor as well. */
TEST(an_open_that_is_given_up_leaves_nothing_there, .timeout_ms = 120000)
{
	struct killick *k = LAB();
	struct outpost o;
	char *config;

	outpost_open(&o, NULL);
	config = outpost_config(&o, false,
				SERVERS({ "a", "mute", .more = PLACED }, { "b", .more = PLACED }));
	for (int i = 0; i < 20; i++) {
		struct lab_count told = LAB_COUNT_INIT;
		struct killick_session *s = NULL;
		struct killick_report *r = NULL;

		EQ(killick_session_open_start(
			   k, &KILLICK_SESSION_OPTIONS(.config = config, .startup_ms = 600000),
			   on_given_up, &told, &s, NULL),
		   0);
		if (i == 0)
			lab_await_pids(2);
		else
			t_wait_fd(-1, 0, (int)(t_random() % 25));
		EQ(killick_session_close(s, &r, NULL), 0);
		OK(r->proved);
		killick_report_free(r);
		lab_await(&told, 1);
		killick_session_free(s);
	}
	free(config);
	lab_close(k);
	outpost_close(&o);
}

/* As soon as possible, and so before, while and after the process is made. */
TEST(a_session_that_is_closed_at_any_moment_leaves_nothing_there, .timeout_ms = 120000)
{
	struct outpost o;

	outpost_open(&o, NULL);
	for (int i = 0; i < 30; i++) {
		struct lab_count told = LAB_COUNT_INIT;
		struct killick *k = LAB();
		struct killick_error e;
		char *config = outpost_config(&o, false, SERVERS({ "a", "mute", .more = PLACED }));

		EQ(killick_session_open_start(k, &KILLICK_SESSION_OPTIONS(.config = config),
					      on_opened, &told, NULL, &e),
		   0);
		poll(NULL, 0, (int)(t_random() % 25));
		lab_close(k);
		EQ(lab_living(), 0);
		free(config);
	}
	outpost_close(&o);
}

TEST(a_storm_of_retries_leaves_nothing_there, .timeout_ms = 120000)
{
	enum { ROUNDS = 40, SERVERS_AT_ONCE = 6 };
	struct killick *k = LAB();
	struct outpost o;

	outpost_open(&o, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct killick_session *s = outpost_session(
			k, &o, false,
			SERVERS({ "a", "diesnow", .more = PLACED }, { "b", "dies", .more = PLACED },
				{ "c", "refuses", .more = PLACED },
				{ "d", "badinit", .more = PLACED },
				{ "e", "diesready", .more = PLACED ",\"restart\":\"now\"" },
				{ "f", "noversion", .more = PLACED }));

		lab_end(s);
		EQ(lab_living(), 0);
	}
	OK(outpost_started() >= ROUNDS * SERVERS_AT_ONCE);
	lab_close(k);
	outpost_close(&o);
}

TEST(close_and_refresh_prove_trees_that_spread, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;
	struct killick_report *r = NULL;
	struct killick_error e;
	char *config;

	outpost_open(&o, NULL);
	s = outpost_session(
		k, &o, false,
		SERVERS({ "a", "stays", .more = PLACED }, { "b", "stays", .more = PLACED }));
	lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
	lab_call(s, "b", "spawn", NULL, 0, NULL, 0);
	config = outpost_config(&o, false, SERVERS({ "b", "stays", .more = PLACED }));
	if (killick_session_refresh(s, config, NULL, &r, &e))
		FAIL("%s", e.text);
	EQ(r->count, 1);
	OK(r->proved);
	STREQ(r->endings[0]->server, "a");
	killick_report_free(r);
	lab_call(s, "b", "echo", NULL, 0, NULL, 0);
	lab_end(s);
	EQ(lab_living(), 0);
	lab_close(k);
	free(config);
	outpost_close(&o);
	EQ(audit_count(&t_audit), 0);
}

TEST(a_server_moves_there_and_back_by_a_refresh, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;
	pid_t here, there;

	outpost_open(&o, NULL);
	s = lab_session(k, SERVERS({ "a" }));
	here = lab_pid(s, "a");
	for (int i = 0; i < 2; i++) {
		char *config =
			outpost_config(&o, false, SERVERS({ "a", .more = i ? NULL : PLACED }));
		struct killick_error e;

		if (killick_session_refresh(s, config, NULL, NULL, &e))
			FAIL("%s", e.text);
		placed_in(s, "a", i ? "" : "far");
		there = lab_pid(s, "a");
		OK(there != here && !lab_lives(here));
		here = there;
		free(config);
	}
	outpost_await_log(&o, "event=start", 1);
	lab_end(s);
	lab_close(k);
	outpost_close(&o);
}
