/* lifecycle.c - open, refresh and close: what stays, what is replaced, what fails. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "keeper/cell.h"
#include "lab.h"
#include "records.h"

static int try_open(struct killick *k, const char *config, struct killick_error *e)
{
	struct killick_session *s = NULL;
	int r = killick_session_open(k, &KILLICK_SESSION_OPTIONS(.config = config), &s, e);

	OK(r == 0 || !s);
	if (r == 0)
		lab_end(s);
	return r;
}

TEST(a_required_server_that_fails_fails_the_open)
{
	struct killick *k = LAB();
	struct killick_error e = { 0 };
	char *config =
		lab_config(SERVERS({ "zoo" }, { "bad", "dies", .more = "\"required\":true" }));

	EQ(try_open(k, config, &e), KILLICK_ERR_START);
	EQ(e.code, KILLICK_ERR_START);
	OK(strstr(e.text, "bad"));
	EQ(lab_living(), 0); /* before the error was told */
	free(config);
	lab_close(k);
}

TEST(another_server_that_fails_is_reported)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "bad", "diesnow" }, { "zoo" }));
	char error[600], tail[4200];
	struct killick_result *r;

	lab_pid(s, "zoo");
	EQ(lab_state(s, "bad"), KILLICK_GONE);
	lab_errors(s, "bad", error, sizeof(error), tail, sizeof(tail));
	OK(strstr(error, "5")); /* its exit status */
	OK(strstr(tail, "cannot open the database"));
	r = lab_try(s, "bad", "pid", NULL, 2000);
	OK(killick_result_code(r) == KILLICK_ERR_START ||
	   killick_result_code(r) == KILLICK_ERR_EXITED);
	killick_result_free(r);
	lab_end(s);
	lab_close(k);
}

TEST(a_command_that_is_not_found_is_reported)
{
	static const char *const programs[] = { "/nonexistent/server", "no-such-program-anywhere",
						"/etc/passwd", "/tmp" };
	struct killick *k = LAB();

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct killick_error e = { 0 };
		char config[256];

		snprintf(config, sizeof(config),
			 "{\"mcpServers\":{\"none\":{\"command\":\"%s\",\"required\":true}}}",
			 programs[i]);
		EQ(try_open(k, config, &e), KILLICK_ERR_START);
		OK(strstr(e.text, "none"));
	}
	lab_close(k);
}

TEST(one_slow_server_does_not_delay_the_others)
{
	struct lab_events ev;
	struct killick *k = LAB();
	struct killick_session *s;

	lab_events_init(&ev);
	s = lab_session_with(k,
			     SERVERS({ "slow", "mute", .more = "\"startupTimeoutSec\":60" },
				     { "zoo", .more = "\"required\":true" }),
			     &KILLICK_SESSION_OPTIONS(.wait = KILLICK_WAIT_REQUIRED));
	lab_pid(s, "zoo");
	OK(lab_state(s, "slow") != KILLICK_READY);
	lab_end(s);
	lab_close(k);
}

TEST(a_handshake_that_takes_too_long)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(
		k, SERVERS({ "mute", "mute", .more = "\"startupTimeoutSec\":0.3" }, { "zoo" }));
	char error[600];

	EQ(lab_state(s, "mute"), KILLICK_GONE);
	lab_errors(s, "mute", error, sizeof(error), NULL, 0);
	OK(*error);
	EQ(lab_living(), 1);
	lab_end(s);
	lab_close(k);
}

TEST(configs_that_are_refused)
{
	static const struct {
		const char *config, *names;
	} bad[] = {
		{ "", "config" },
		{ "{\"mcpServers\":{\"a\":{\"command\":7}}", "1" }, /* not JSON */
		{ "{\"mcpServers\":7}", "mcpServers" },
		{ "[]", "" },
	};
	struct killick *k = LAB();

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct killick_error e = { 0 };

		EQ(try_open(k, bad[i].config, &e), KILLICK_ERR_CONFIG);
		EQ(e.code, KILLICK_ERR_CONFIG);
		if (!strstr(e.text, bad[i].names))
			FAIL("'%s' does not name '%s'", e.text, bad[i].names);
	}
	lab_close(k);
}

TEST(errors_in_one_server_leave_the_others_running)
{
	static const struct {
		const char *members, *names;
	} bad[] = {
		{ "\"command\":7", "command" },
		{ "\"command\":\"x\",\n\"args\":[1]", "2: server 'bad': 'args'" },
		{ "\"command\":\"x\",\"era\":\"late\"", "era" },
		{ "\"command\":\"x\",\"args\":[\"${LAB_NONE}\"]", "'LAB_NONE' is not set" },
		{ "\"command\":\"x\",\"args\":[\"${input:key}\"]", "${input:key}" },
		{ "", "'command' is missing" },
	};
	const char *zoo = t_program("ZOO", "build/tests/zoo/killick-zoo");
	struct killick *k = LAB();

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct killick_status *st = NULL;
		struct killick_session *s = NULL;
		struct killick_error e = { 0 };
		char config[1024];

		snprintf(config, sizeof(config),
			 "{\"mcpServers\":{\"bad\":{%s},\"good\":{\"command\":\"%s\","
			 "\"args\":[\"mcp\"],\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\","
			 "\"ZOO_PIDS\",\"ZOO_LIFE_MS\"]}}}",
			 bad[i].members, zoo);
		EQ(killick_session_open(k, &KILLICK_SESSION_OPTIONS(.config = config), &s, &e), 0);
		lab_pid(s, "good");
		EQ(killick_session_status(s, &st, NULL), 0);
		EQ(st->count, 2);
		EQ(st->servers[0]->state, KILLICK_GONE);
		EQ(st->servers[0]->code, KILLICK_ERR_CONFIG);
		OK(st->servers[0]->settled && st->servers[1]->settled);
		EQ(st->servers[1]->code, KILLICK_OK);
		if (!strstr(st->servers[0]->error, bad[i].names))
			FAIL("'%s' does not name '%s'", st->servers[0]->error, bad[i].names);
		killick_status_free(st);
		lab_call(s, "bad", "pid", NULL, KILLICK_ERR_CONFIG, NULL, 0);
		lab_end(s);
	}
	lab_close(k);
}

TEST(errors_in_a_required_server_refuse_the_session)
{
	struct killick *k = LAB();
	struct killick_error e = { 0 };

	EQ(try_open(k, "{\"mcpServers\":{\"a\":{\"command\":7,\"required\":true}}}", &e),
	   KILLICK_ERR_START);
	OK(strstr(e.text, "'command' must be a string"));
	EQ(try_open(k, "{\"mcpServers\":{\"a\":{\"url\":\"https://x\",\"required\":true}}}", &e),
	   KILLICK_ERR_START);
	OK(strstr(e.text, "remote"));
	lab_close(k);
}

TEST(remote_servers_say_what_can_be_done)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_status *st = NULL;
	struct killick_error e = { 0 };
	char *text;

	EQ(killick_session_open(
		   k,
		   &KILLICK_SESSION_OPTIONS(
				   .config = "{\"mcpServers\":{\"far\":{\"type\":\"http\",\"url\":"
					     "\"https://h.example/mcp?key=s3cret\"}}}"),
		   &s, &e),
	   0);
	EQ(killick_session_status(s, &st, NULL), 0);
	EQ(st->servers[0]->state, KILLICK_REMOTE);
	STREQ(killick_state_name(KILLICK_REMOTE), "remote");
	OK(strstr(st->servers[0]->error, "https://h.example/mcp"));
	OK(strstr(st->servers[0]->error, "mcp-remote"));
	OK(!strstr(st->servers[0]->error, "s3cret"));
	text = killick_status_json(st);
	OK(strstr(text, "\"state\":\"remote\"") && strstr(text, "\"code\":\"no-server\""));
	killick_text_free(text);
	killick_status_free(st);
	lab_call(s, "far", "pid", NULL, KILLICK_ERR_NO_SERVER, NULL, 0);
	lab_end(s);
	lab_close(k);
}

TEST(startup_ms_replaces_the_time_of_a_config)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session_with(k, SERVERS({ "mute", "mute", .more = "\"startupTimeoutSec\":60" }),
				 &KILLICK_SESSION_OPTIONS(.startup_ms = 300));
	char error[600];

	lab_errors(s, "mute", error, sizeof(error), NULL, 0);
	OK(strstr(error, "within 0.3 s"));
	lab_end(s);
	lab_close(k);
}

/* The server is busy for more than twice as long as a tree may be silent. */
TEST(a_start_goes_on_while_the_tree_shows_signs_of_life)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "burns", "busystart", "5000", "\"startupIdleSec\":2" },
				       { "writes", "writestart", "5000", "\"startupIdleSec\":2" },
				       { "below", "childstart", "5000", "\"startupIdleSec\":2" }));

	lab_pid(s, "burns");
	lab_pid(s, "writes");
	lab_pid(s, "below");
	lab_end(s);
	lab_close(k);
}

TEST(a_start_ends_when_the_tree_shows_no_sign_of_life)
{
	double began = t_now_ms();
	struct killick *k = LAB();
	struct killick_session *s = lab_session(
		k, SERVERS({ "mute", "mute", .more = "\"startupIdleSec\":0.6" }, { "zoo" }));
	char error[600];

	EQ(lab_state(s, "mute"), KILLICK_GONE);
	OK(t_now_ms() - began < 15000); /* far from the 30 s of a start */
	lab_errors(s, "mute", error, sizeof(error), NULL, 0);
	OK(strstr(error, "showed no sign of life for 0.6 s"));
	lab_end(s);
	lab_close(k);
}

TEST(a_busy_start_ends_at_its_deadline)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "burns", "busystart", "30000",
					 "\"startupIdleSec\":2,\"startupTimeoutSec\":3" }));
	char error[600];

	EQ(lab_state(s, "burns"), KILLICK_GONE);
	lab_errors(s, "burns", error, sizeof(error), NULL, 0);
	OK(strstr(error, "within 3 s"));
	lab_end(s);
	lab_close(k);
}

TEST(config_from_a_file_and_from_a_command)
{
	const char *zoo = t_program("ZOO", "build/tests/zoo/killick-zoo");
	char *argv[] = { (char *)zoo, (char *)"mcp", NULL }, file[128];
	char *config = lab_config(SERVERS({ "zoo" }));
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.command = argv, .label = "by command");
	struct killick_error e = { 0 };
	struct killick_session *s = NULL;
	struct killick_report *report = NULL;
	struct killick *k = LAB();
	FILE *f;

	EQ(killick_session_open(k, &options, &s, &e), 0);
	lab_pid(s, "server");
	EQ(killick_session_close(s, &report, NULL), 0);
	EQ(report->count, 1);
	STREQ(report->endings[0]->session, "by command");
	killick_report_free(report);
	killick_session_free(s);

	snprintf(file, sizeof(file), "%s/mcp.json", t_audit.dir);
	f = fopen(file, "we");
	OK(f && fputs(config, f) >= 0);
	fclose(f);
	free(config);
	options = KILLICK_SESSION_OPTIONS(.config_file = file);
	EQ(killick_session_open(k, &options, &s, &e), 0);
	lab_pid(s, "zoo");
	lab_end(s);
	options.config_file = "/nonexistent/mcp.json";
	EQ(killick_session_open(k, &options, &s, &e), KILLICK_ERR_CONFIG);
	OK(strstr(e.text, "/nonexistent/mcp.json"));
	lab_close(k);
}

/* Does the server have this variable, and this directory? */
static void expect_environment(struct killick_session *s, const char *variable, const char *cwd)
{
	char path[64], text[8192], dir[256];
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", lab_pid(s, "zoo"));
	f = fopen(path, "re");
	OK(f);
	n = (ssize_t)fread(text, 1, sizeof(text), f);
	fclose(f);
	OK(n > 0 && memmem(text, (size_t)n, variable, strlen(variable) + 1));
	snprintf(path, sizeof(path), "/proc/%d/cwd", lab_pid(s, "zoo"));
	n = readlink(path, dir, sizeof(dir) - 1);
	OK(n > 0);
	dir[n] = '\0';
	STREQ(dir, cwd);
}

TEST(a_session_for_another_program_has_its_environment_and_directory)
{
	char *env[] = { (char *)"LAB_USER=1", (char *)"TZ=Asia/Tokyo", NULL };
	struct lab_server server = { "zoo", .more = "\"env\":{\"LAB_GIVEN\":\"${LAB_USER}\"}" };
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.user_env = env, .user_cwd = "/usr");
	struct killick_error e = { 0 };
	struct killick *k = LAB();
	struct killick_session *s;
	char *config;

	setenv("LAB_USER", "2", 1);
	s = lab_session_with(k, SERVERS(server), &options);
	expect_environment(s, "LAB_GIVEN=1", "/usr");
	expect_environment(s, "TZ=Asia/Tokyo", "/usr");
	server.more = "\"env\":{\"LAB_GIVEN\":\"${LAB_USER}0\"},\"cwd\":\"bin\"";
	config = lab_config(SERVERS(server));
	EQ(killick_session_refresh(s, config, NULL, NULL, &e), 0);
	expect_environment(s, "LAB_GIVEN=10", "/usr/bin");
	options.config = config;
	options.user_cwd = "usr";
	EQ(killick_session_open(k, &options, &s, &e), KILLICK_ERR_USAGE);
	OK(strstr(e.text, "user_cwd"));
	free(config);
	lab_end(s);
	lab_close(k);
}

TEST(the_environment_of_a_server)
{
	struct killick *k;
	struct killick_session *s;
	char names[4096];

	setenv("LAB_SECRET", "1", 1);
	setenv("LAB_WANTED", "1", 1);
	k = LAB();
	s = lab_session(
		k, SERVERS({ "zoo", .more = "\"env\":{\"LAB_GIVEN\":\"${LAB_WANTED:-none}\"}" }));
	lab_call(s, "zoo", "env", NULL, 0, names, sizeof(names));
	OK(strstr(names, "LAB_GIVEN"));
	OK(strstr(names, "PATH"));
	OK(!strstr(names, "LAB_SECRET"));
	OK(!strstr(names, "LAB_WANTED"));
	lab_end(s);
	lab_close(k);
}

/* `killick ps` and `killick reap` look where the owner's records are. */
TEST(a_variable_of_a_server_does_not_move_its_record)
{
	char own[160], other[160], more[300], text[4096];
	struct killick_session *s;
	struct killick *k;

	snprintf(own, sizeof(own), "%s/own", t_audit.dir);
	snprintf(other, sizeof(other), "%s/other", t_audit.dir);
	EQ(mkdir(own, 0700), 0);
	EQ(mkdir(other, 0700), 0);
	snprintf(more, sizeof(more), "\"env\":{\"KILLICK_RUNTIME_DIR\":\"%s\"}", other);
	for (int named = 1; named >= 0; named--) {
		if (named)
			setenv("KILLICK_RUNTIME_DIR", own, 1);
		else
			unsetenv("KILLICK_RUNTIME_DIR");
		k = LAB();
		s = lab_session(k, SERVERS({ "zoo", .more = more }, { "plain" }));
		EQ(records_count(own), named ? 2 : 0);
		EQ(records_count(other), 0);
		/* for a killick that the server starts */
		lab_call(s, "zoo", "env", NULL, 0, text, sizeof(text));
		OK(strstr(text, "KILLICK_RUNTIME_DIR"));
		lab_call(s, "plain", "env", NULL, 0, text, sizeof(text));
		OK(!strstr(text, "KILLICK_RUNTIME_DIR"));
		lab_end(s);
		lab_close(k);
	}
}

TEST(a_refresh_keeps_what_did_not_change)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(
		k, SERVERS({ "same" }, { "other", .more = "\"env\":{\"N\":\"1\"}" }, { "gone" }));
	pid_t same = lab_pid(s, "same"), other = lab_pid(s, "other"), gone = lab_pid(s, "gone");

	lab_refresh(s,
		    SERVERS({ "new" }, { "same" }, { "other", .more = "\"env\":{\"N\":\"2\"}" }));
	EQ(lab_pid(s, "same"), same);
	OK(lab_pid(s, "other") != other);
	OK(!lab_lives(other));
	OK(!lab_lives(gone));
	OK(lab_lives(lab_pid(s, "new")));
	lab_call(s, "gone", "pid", NULL, KILLICK_ERR_NO_SERVER, NULL, 0);
	EQ(lab_living(), 3);
	lab_end(s);
	lab_close(k);
}

TEST(a_refused_refresh_changes_nothing)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	pid_t pid = lab_pid(s, "zoo");
	struct killick_report *report = NULL;
	struct killick_error e = { 0 };

	EQ(killick_session_refresh(s, "{\"mcpServers\":{\"zoo\":{\"command\":1}}", NULL, &report,
				   &e),
	   KILLICK_ERR_CONFIG);
	OK(!report && *e.text);
	EQ(lab_pid(s, "zoo"), pid);
	/* a definition with an error does not end the server that runs */
	EQ(killick_session_refresh(s, "{\"mcpServers\":{\"zoo\":{\"command\":1}}}", NULL, NULL, &e),
	   0);
	EQ(lab_pid(s, "zoo"), pid);
	lab_end(s);
	lab_close(k);
}

/* A new server that fails takes its place all the same, and the old one is gone. */
TEST(a_refresh_to_a_server_that_fails)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	pid_t old = lab_pid(s, "zoo");

	lab_refresh(s, SERVERS({ "zoo", "dies" }));
	EQ(lab_state(s, "zoo"), KILLICK_GONE);
	OK(!lab_lives(old));
	lab_refresh(s, SERVERS({ "zoo" }));
	lab_pid(s, "zoo");
	lab_end(s);
	lab_close(k);
}

TEST(calls_in_flight_end_or_finish_in_time)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session_with(k, SERVERS({ "zoo", .more = "\"env\":{\"N\":\"1\"}" }),
				 &KILLICK_SESSION_OPTIONS(.drain_ms = 2000));
	struct killick_call *block = lab_block(s, "zoo"), *nap = NULL;
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
						    .name = "sleep", .args = "{\"ms\":300}");
	struct killick_result *r = NULL;

	EQ(killick_start(s, &rq, &nap, NULL), 0);
	lab_pid(s, "zoo");
	lab_refresh(s, SERVERS({ "zoo", .more = "\"env\":{\"N\":\"2\"}" }));
	EQ(killick_wait(nap, &r), 0); /* within the drain time */
	killick_result_free(r);
	EQ(killick_wait(block, &r), KILLICK_ERR_CLOSED);
	OK(*killick_result_error(r));
	killick_result_free(r);
	killick_call_free(nap);
	killick_call_free(block);
	lab_end(s);
	lab_close(k);
}

static struct killick_report *close_report(struct killick_session *s)
{
	struct killick_report *r = NULL;

	EQ(killick_session_close(s, &r, NULL), 0);
	OK(r);
	OK(r->proved);
	return r;
}

TEST(a_server_that_has_to_be_killed)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session_with(k, SERVERS({ "stays", "stays" }, { "zoo" }),
				 &KILLICK_SESSION_OPTIONS(.grace_ms = 100, .label = "L"));
	pid_t pid = lab_pid(s, "stays");
	struct killick_report *r = close_report(s);

	EQ(r->count, 2);
	for (size_t i = 0; i < r->count; i++) {
		const struct killick_ending *end = r->endings[i];
		bool stays = !strcmp(end->server, "stays");

		STREQ(end->session, "L");
		STREQ(end->why, "close");
		STREQ(end->step, stays ? "kill" : "eof");
		EQ(end->exit_signal, stays ? SIGKILL : 0);
		EQ(end->exit_code, stays ? -1 : 0);
		OK(!strncmp(end->proof, "waitid", 6));
		OK(*end->json == '{');
		if (stays)
			EQ(end->pid, pid);
	}
	OK(!lab_lives(pid));
	killick_report_free(r);
	killick_session_free(s);
	lab_close(k);
}

TEST(what_a_server_started_ends_with_it)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }, { "two" }));

	lab_call(s, "zoo", "spawn", NULL, 0, NULL, 0);
	lab_call(s, "two", "spawn", NULL, 0, NULL, 0);
	OK(audit_count(&t_audit) >= 4);
	lab_end(s);
	EQ(audit_count(&t_audit), 0);
	lab_close(k);
}

/* The harness makes this process the parent of orphans, and fails a test that leaves a zombie. */
TEST(a_host_that_adopts_orphans_reaps_its_keepers_on_linux_4_18)
{
	struct killick_session *s;
	struct killick *k;

	if (!t_old_kernel())
		SKIP("no seccomp filters here");
	k = LAB();
	s = lab_session(k, SERVERS({ "zoo" }, { "two" }));
	lab_call(s, "zoo", "spawn", NULL, 0, NULL, 0);
	lab_end(s);
	EQ(audit_count(&t_audit), 0);
	lab_close(k);
}

/* The process zoo behind the library: every one of them is gone after the close. */
TEST(servers_that_escape, .timeout_ms = 60000)
{
	static const char *const modes[] = { "ignore",   "bg",        "daemon",  "stopped",
					     "selfstop", "chainsid8", "nestsub", "deadlead",
					     "holdout",  "npxterm" };
	struct killick *k = LAB();

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct killick_session *s =
			lab_session_with(k, SERVERS({ "zoo", .mode = modes[i] }),
					 &KILLICK_SESSION_OPTIONS(.grace_ms = 100));

		lab_end(s);
		if (audit_count(&t_audit) > 0)
			FAIL("%s has left something", modes[i]);
	}
	lab_close(k);
}

/* Servers that end together share a look for processes which left into another pid namespace. One
 * of these has such a process, and it is found. */
TEST(a_process_that_left_is_found_when_several_servers_end_together, .timeout_ms = 60000)
{
	static const char *const modes[] = { "setns", "setnsout" };
	pid_t foreign = cell_foreign_pidns();
	struct killick *k = LAB();

	if (!getenv("ZOO_PIDNS"))
		SKIP("no pid namespace is to be had");
	for (int i = 0; i < 2; i++) {
		struct killick_session *s = lab_session(
			k, SERVERS({ "a" }, { "b" }, { "zoo", .mode = modes[i] }, { "c" }));

		OK(audit_count(&t_audit) >= 5);
		lab_end(s);
		if (audit_count(&t_audit) > 0)
			FAIL("%s has left something", modes[i]);
	}
	lab_close(k);
	kill(foreign, SIGKILL);
	lab_reap();
}

/* All of them have a proof, though one keeper alone has looked, and no time is lost. */
TEST(ten_servers_that_end_together_are_all_proved)
{
	struct killick *k = LAB();
	struct lab_server list[11] = { 0 };
	struct killick_report *r = NULL;
	struct killick_session *s;
	char names[10][4];

	for (int i = 0; i < 10; i++) {
		snprintf(names[i], sizeof(names[i]), "s%d", i);
		list[i].name = names[i];
	}
	s = lab_session(k, list);
	EQ(killick_session_close(s, &r, NULL), 0);
	EQ(r->count, 10);
	for (size_t i = 0; i < r->count; i++)
		OK(strstr(r->endings[i]->proof, "mark"));
	killick_report_free(r);
	killick_session_free(s);
	lab_close(k);
}

static void opened(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	struct killick_session **out = ctx;

	OK(s && e->code == 0);
	__atomic_store_n(out, s, __ATOMIC_RELEASE);
}

static void ended(void *ctx, struct killick_report *r, const struct killick_error *e)
{
	OK(r && e->code == 0 && r->proved);
	killick_report_free(r);
	lab_add(ctx);
}

TEST(the_same_with_callbacks)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick *k = LAB();
	char *one = lab_config(SERVERS({ "zoo" })), *two = lab_config(SERVERS({ "zoo", "dual" }));
	struct killick_session *s = NULL;
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.config = one);
	struct killick_error e = { 0 };
	double end = t_now_ms() + LAB_MS;
	pid_t pid;

	EQ(killick_session_open_start(k, &options, opened, &s, NULL, &e), 0);
	while (!__atomic_load_n(&s, __ATOMIC_ACQUIRE) && t_now_ms() < end)
		t_wait_fd(-1, 0, 1);
	OK(s);
	pid = lab_pid(s, "zoo");
	EQ(killick_session_refresh_start(s, two, NULL, ended, &n, &e), 0);
	lab_await(&n, 1);
	OK(!lab_lives(pid));
	lab_pid(s, "zoo");
	EQ(killick_session_close_start(s, ended, &n, NULL), 0);
	lab_await(&n, 2);
	EQ(lab_living(), 0);
	killick_session_free(s);
	free(one);
	free(two);
	lab_close(k);
}

/* --- a session is given up while it opens --- */

struct given_up {
	struct lab_count told;
	int code;
	bool empty; /* no process was left when `done` was called */
};

static void gave_up(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	struct given_up *g = ctx;

	OK(!s);
	g->code = e->code;
	g->empty = lab_living() == 0;
	lab_add(&g->told);
}

/* Begin to open a session with a server that never answers initialize, and wait until it runs. */
static struct killick_session *open_mute(struct killick *k, struct given_up *g)
{
	char *config = lab_config(SERVERS({ "good" }, { "mute", "mute" }));
	struct killick_session *s = NULL;
	struct killick_error e;

	*g = (struct given_up){ .told = LAB_COUNT_INIT };
	EQ(killick_session_open_start(
		   k, &KILLICK_SESSION_OPTIONS(.config = config, .startup_ms = 600000), gave_up, g,
		   &s, &e),
	   0);
	OK(s);
	lab_await_pids(2);
	free(config);
	return s;
}

TEST(a_close_gives_an_open_up_and_proves_the_end)
{
	struct killick *k = LAB();
	struct given_up g;
	struct killick_session *s = open_mute(k, &g);
	struct killick_error e;
	struct killick_report *r;

	lab_await_state(s, "mute", KILLICK_HANDSHAKING);
	EQ(killick_session_refresh(s, "{\"mcpServers\":{}}", NULL, NULL, &e), KILLICK_ERR_USAGE);
	OK(strstr(e.text, "not open yet"));
	lab_call(s, "good", "pid", NULL, KILLICK_ERR_USAGE, NULL, 0);
	r = close_report(s);
	EQ(r->count, 2);
	OK(r->proved);
	STREQ(r->endings[0]->why, "close");
	killick_report_free(r);
	EQ(lab_living(), 0);
	EQ(audit_count(&t_audit), 0);
	lab_await(&g.told, 1);
	EQ(g.code, KILLICK_ERR_CANCELLED);
	OK(g.empty);
	killick_session_free(s);
	lab_close(k);
}

TEST(a_freed_handle_gives_an_open_up)
{
	struct killick *k = LAB();
	struct given_up g;

	killick_session_free(open_mute(k, &g));
	lab_await(&g.told, 1);
	EQ(g.code, KILLICK_ERR_CANCELLED);
	OK(g.empty);
	EQ(audit_count(&t_audit), 0);
	lab_close(k);
}

TEST(an_open_is_given_up_at_any_moment, .timeout_ms = 60000)
{
	char *config = lab_config(SERVERS({ "a" }, { "b", "mute" }, { "c", "stays" }));
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.config = config, .startup_ms = 600000, .grace_ms = 50);
	struct killick *k = LAB();

	for (int i = 0; i < 30; i++) {
		struct given_up g = { .told = LAB_COUNT_INIT };
		struct killick_session *s = NULL;

		EQ(killick_session_open_start(k, &options, gave_up, &g, &s, NULL), 0);
		t_wait_fd(-1, 0, (int)(t_random() % 25));
		killick_session_free(s);
		lab_await(&g.told, 1);
		EQ(g.code, KILLICK_ERR_CANCELLED);
		OK(g.empty);
	}
	EQ(audit_count(&t_audit), 0);
	free(config);
	lab_close(k);
}

TEST(a_handle_that_is_freed_before_done_is_called_is_not_handed_out)
{
	struct given_up g = { .told = LAB_COUNT_INIT };
	struct killick *k = lab_open(&KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST));
	char *config = lab_config(SERVERS({ "zoo" }));
	struct killick_session *s = NULL;

	EQ(killick_session_open_start(k, &KILLICK_SESSION_OPTIONS(.config = config), gave_up, &g,
				      &s, NULL),
	   0);
	lab_await_state(s, "zoo", KILLICK_READY);
	killick_session_free(s);
	while (killick_dispatch(k, NULL) == 0)
		OK(t_wait_fd(killick_fd(k), POLLIN, LAB_MS));
	EQ(g.code, KILLICK_ERR_CANCELLED);
	free(config);
	lab_close(k);
}

TEST(a_session_that_failed_to_open_is_still_freed_by_the_host)
{
	struct given_up g = { .told = LAB_COUNT_INIT };
	struct killick *k = LAB();
	char *config = lab_config(SERVERS({ "zoo", "refuses", .more = "\"required\":true" }));
	struct killick_session *s = NULL;

	EQ(killick_session_open_start(k, &KILLICK_SESSION_OPTIONS(.config = config), gave_up, &g,
				      &s, NULL),
	   0);
	lab_await(&g.told, 1);
	EQ(g.code, KILLICK_ERR_START);
	lab_call(s, "zoo", "pid", NULL, KILLICK_ERR_CLOSED, NULL, 0);
	killick_session_free(s);
	free(config);
	lab_close(k);
}

TEST(closing_twice_and_using_what_is_closed)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_report *r = close_report(s);
	struct killick_error e = { 0 };

	EQ(r->count, 1);
	killick_report_free(r);
	r = close_report(s);
	EQ(r->count, 0);
	killick_report_free(r);
	lab_call(s, "zoo", "pid", NULL, KILLICK_ERR_CLOSED, NULL, 0);
	EQ(killick_session_refresh(s, "{\"mcpServers\":{}}", NULL, NULL, &e), KILLICK_ERR_CLOSED);
	killick_session_free(s);
	lab_close(k);
}

/* A list that comes when its server is about to leave has no names for the session. */
TEST(tool_names_are_removed_with_their_server)
{
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = "zoo");
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.drain_ms = LAB_MS);
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(k, SERVERS({ "zoo", "drip" }), &options);
	struct killick_result *r = NULL;
	struct killick_call *c = NULL;
	char *server = NULL, *tool = NULL;

	EQ(killick_start(s, &rq, &c, NULL), 0);
	lab_refresh(s, SERVERS({ "other" }));
	EQ(killick_wait(c, &r), 0); /* it was let finish */
	killick_result_free(r);
	killick_call_free(c);
	EQ(killick_tool_find(s, "zoo__echo", &server, &tool, NULL), KILLICK_ERR_NO_SERVER);
	lab_end(s);
	lab_close(k);
}

TEST(eras)
{
	static const struct {
		const char *way, *argument, *era, *got, *protocol;
	} cases[] = {
		{ "good", NULL, "legacy", "legacy", "2025-11-25" },
		{ "old", "2024-11-05", "legacy", "legacy", "2024-11-05" },
		{ "old", "2025-03-26", "legacy", "legacy", "2025-03-26" },
		{ "old", "2025-06-18", "legacy", "legacy", "2025-06-18" },
		{ "modern", NULL, "modern", "modern", "2026-07-28" },
		{ "modern", NULL, "auto", "modern", "2026-07-28" },
		{ "dual", NULL, "legacy", "legacy", "2025-11-25" },
		{ "dual", NULL, "modern", "modern", "2026-07-28" },
		{ "dual", NULL, "auto", "modern", "2026-07-28" },
		{ "good", NULL, "auto", "legacy", "2025-11-25" },
		{ "probedeath", NULL, "auto", "legacy", "2025-11-25" },
		{ "probesilent", NULL, "auto", "legacy", "2025-11-25" },
	};
	struct killick *k = LAB();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct killick_status *st = NULL;
		struct killick_session *s;
		char more[64];

		snprintf(more, sizeof(more), "\"era\":\"%s\"", cases[i].era);
		s = lab_session(k, SERVERS({ "zoo", cases[i].way, cases[i].argument, more }));
		EQ(killick_session_status(s, &st, NULL), 0);
		if (st->servers[0]->state != KILLICK_READY)
			FAIL("%s as %s: %s", cases[i].way, cases[i].era, st->servers[0]->error);
		STREQ(st->servers[0]->era, cases[i].got);
		STREQ(st->servers[0]->protocol, cases[i].protocol);
		killick_status_free(st);
		lab_call(s, "zoo", "echo", "{\"text\":\"x\"}", 0, NULL, 0);
		lab_end(s);
	}
	lab_close(k);
}

/* Another version of a server may have the same fingerprint. What is remembered of the old one must
 * not keep the new one from starting. */
TEST(a_wrong_remembered_era_is_corrected)
{
	static const struct {
		const char *way, *remembered, *is;
	} cases[] = {
		{ "modern", "legacy", "modern" },
		{ "good", "modern", "legacy" },
		{ "probedeath", "modern", "legacy" },
	};
	struct killick_options options = KILLICK_OPTIONS(.cache_dir = t_audit.dir);
	char file[128], text[256] = "";

	snprintf(file, sizeof(file), "%s/eras", t_audit.dir);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct lab_server *list = SERVERS(
			{ "zoo", cases[i].way, .more = "\"era\":\"auto\",\"required\":true" });
		struct killick *k = lab_open(&options);
		FILE *f;

		lab_end(lab_session(k, list));
		lab_close(k);
		f = fopen(file, "r+e");
		OK(f && fgets(text, sizeof(text), f) && strlen(text) == 64 + 1 + 6 + 1);
		memcpy(text + 65, cases[i].remembered, 6);
		rewind(f);
		fputs(text, f);
		fclose(f);
		k = lab_open(&options);
		lab_end(lab_session(k, list));
		lab_close(k);
		f = fopen(file, "re");
		OK(f && fgets(text, sizeof(text), f));
		EQ(strncmp(text + 65, cases[i].is, 6), 0);
		fclose(f);
		unlink(file);
	}
}

/* The verdict is remembered: a server that dies of the question is asked once. */
TEST(the_era_is_remembered)
{
	static const struct lab_server list[] = {
		{ "zoo", "probedeath", .more = "\"era\":\"auto\"" }, { 0 }
	};
	struct killick_options options = KILLICK_OPTIONS(.cache_dir = t_audit.dir);
	struct killick *k = lab_open(&options);
	struct killick_session *s = lab_session(k, list);
	pid_t pids[16];

	lab_end(s);
	EQ(lab_pids(pids, 16), 2); /* one that died, one that served */
	s = lab_session(k, list);
	lab_end(s);
	EQ(lab_pids(pids, 16), 3);
	lab_close(k);
	k = lab_open(&options); /* and on disk */
	s = lab_session(k, list);
	lab_end(s);
	EQ(lab_pids(pids, 16), 4);
	lab_close(k);
}
