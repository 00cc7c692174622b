/* environment_loss.c - the connection to an executor breaks, in every state, and comes back or not
 */
#include "t.h"

#include "base/auto.h"
#include "unit/fake_executor.h"

#define NOTHING_NEW(next)                                                                          \
	"{\"chunks\":[],\"nextSeq\":" #next                                                        \
	",\"exited\":false,\"exitCode\":null,\"closed\":false,\"failure\":null}"

static void lose(void)
{
	fake_break(-ECONNRESET, "connection reset");
}

/* The way back, up to the first request of a link. */
static void come_back(struct far *f)
{
	fake_pass(100);
	OK(fake.channel);
	far_connected();
	far_answer(far_asked(f, "initialize"), FAR_KILLICK);
	OK(far_says(f, "resumeSessionId", "S1"));
	far_asked(f, "initialized");
	OK(json_is(f->m.method, "initialized"));
}

TEST(lost_and_back)
{
	AUTO(user_done) struct user u = { .link = NULL };
	AUTO(user_done) struct user late = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_output("k1", 1, "stdout", "a");
	lose();
	EQ(u.lost, 1);
	STREQ(u.why_lost,
	      "the connection to environment 'far' (ws://10.0.0.1:9) was lost: connection reset");
	EQ(far_link(&f, &late), -ENOTCONN); /* at once */
	OK(strstr(f.e.text, "is lost (connection reset)"));
	EQ(environment_list(f.env, NULL, NULL, &f.e), -ENOTCONN);
	EQ(fake.connects, 1);
	fake_pass(100);
	EQ(fake.connects, 2);
	fake_break(-ECONNREFUSED, "Connection refused");
	EQ(far_link(&f, &late), -ENOTCONN);
	fake_pass(100);
	EQ(fake.connects, 3);
	far_connected();
	id = far_asked(&f, "initialize");
	OK(far_says(&f, "resumeSessionId", "S1"));
	far_refuse(id, -32010, "still attached");
	fake_pass(0);
	EQ(u.ended + u.back, 0);
	come_back(&f);
	id = far_asked(&f, "process/read");
	OK(strstr(f.line, "\"afterSeq\":1,"));
	EQ(u.back, 0);
	far_output("k1", 4, "stdout", "d"); /* what is new is pushed already */
	far_answer(id, "{\"chunks\":[{\"seq\":2,\"stream\":\"stdout\",\"chunk\":\"Yg==\"},"
		       "{\"seq\":3,\"stream\":\"stdout\",\"chunk\":\"Yw==\"}],\"nextSeq\":4,"
		       "\"exited\":false,\"exitCode\":null,\"closed\":false}");
	STREQ(user_out(&u), "abcd");
	EQ(u.back, 0); /* there may be more */
	far_answer(far_asked(&f, "process/read"), NOTHING_NEW(5));
	EQ(u.back, 1);
	STREQ(far_sent(&f), "");
	far_closed("k1", 5, FAR_REPORT);
	EQ(u.ended, 1);
	EQ(late.ended + late.lost, 0);
	far_close(&f);
}

TEST(twice_lost)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	for (unsigned i = 1; i <= 3; i++) {
		lose();
		EQ(u.lost, i);
		fake_pass(20000); /* each time it has all the time again */
		while (fake.channel && fake.channel->open)
			fake_pass(100);
		if (!fake.channel)
			fake_pass(100);
		far_connected();
		far_answer(far_asked(&f, "initialize"), FAR_KILLICK);
		far_asked(&f, "initialized");
		if (i < 3) {
			far_answer(far_asked(&f, "process/read"), NOTHING_NEW(1));
			EQ(u.back, i);
		}
	}
	lose(); /* before it was read */
	EQ(u.lost, 4);
	EQ(u.back, 2);
	come_back(&f);
	far_answer(far_asked(&f, "process/read"), NOTHING_NEW(1));
	EQ(u.back, 3);
	far_closed("k1", 1, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(input_that_was_not_acknowledged)
{
	AUTO(user_done) struct user u = { .link = NULL };
	uint64_t a, b, c;
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	EQ(link_write(u.link, "aa", 2), 0);
	EQ(link_write(u.link, "bb", 2), 0);
	EQ(link_write(u.link, "cc", 2), 0);
	a = far_asked(&f, "process/write");
	b = far_asked(&f, "process/write");
	c = far_asked(&f, "process/write");
	far_answer(a, "{\"status\":\"accepted\"}");
	OK(b && c);
	lose();
	EQ(link_write(u.link, "dd", 2), 0); /* waits */
	EQ(link_unwritten(u.link), 6);
	come_back(&f);
	OK(far_asked(&f, "process/read"));
	b = far_asked(&f, "process/write");
	OK(far_says(&f, "writeId", "2"));
	OK(far_says(&f, "chunk", "YmI="));
	c = far_asked(&f, "process/write");
	OK(far_says(&f, "writeId", "3"));
	OK(far_says(&f, "chunk", "Y2M="));
	a = far_asked(&f, "process/write");
	OK(far_says(&f, "writeId", "4"));
	OK(far_says(&f, "chunk", "ZGQ="));
	EQ(u.rooms, 1);
	far_answer(b, "{\"status\":\"accepted\"}");
	far_answer(c, "{\"status\":\"accepted\"}");
	far_answer(a, "{\"status\":\"accepted\"}");
	STREQ(far_sent(&f), "");
	far_closed("k1", 1, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(the_session_is_not_known_any_more)
{
	AUTO(user_done) struct user a = { .link = NULL };
	AUTO(user_done) struct user b = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &a, FAR_KILLICK));
	OK(far_run(&f, &b, FAR_KILLICK));
	lose();
	fake_pass(100);
	far_connected();
	far_refuse(far_asked(&f, "initialize"), -32600, "unknown session id S1");
	fake_pass(0);
	EQ(a.ended, 1);
	EQ(b.ended, 1);
	EQ(a.end.proof, LINK_PROOF_LEASE);
	OK(!a.end.refused);
	EQ(a.end.pid, 77);
	OK(strstr(a.end.text, "the connection to environment 'far' (ws://10.0.0.1:9) was lost and "
			      "could not be resumed; its executor has ended the server or does so "
			      "within 30 s"));
	a.ended = b.ended = a.started = 0; /* and now a new one */
	free(a.report);
	OK(far_link(&f, &a) == 0);
	far_connected();
	OK(far_asked(&f, "initialize"));
	OK(json_type(json_get(f.m.params, "resumeSessionId")) == JSON_NULL);
	fake_break(0, "gone");
	EQ(a.ended, 1);
	EQ(a.end.proof, LINK_PROOF_NEVER);
	far_close(&f);
}

TEST(a_connection_that_stays_lost_ends_the_server)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	int64_t began;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	began = fake_now_us;
	while (!u.ended) {
		fake_pass(100);
		if (fake.channel)
			fake_break(-ECONNREFUSED, "Connection refused");
	}
	EQ((fake_now_us - began) / 1000, 25000);
	EQ(u.end.proof, LINK_PROOF_LEASE);
	OK(strstr(u.end.text, "or does so within 5 s"));
	EQ(u.lost, 1);
	EQ(u.back, 0);
	EQ(fake_timer_count(), 0);
	far_close(&f);
}

TEST(a_silent_executor_is_disconnected)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	fake_pass(100);
	EQ(fake.timeout_ms, 3000); /* shorter than the first time: there may be a way soon */
	far_connected();
	OK(far_asked(&f, "initialize"));
	fake_pass(24899);
	EQ(u.ended, 0);
	fake_pass(1);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_LEASE);
	/* it may have heard us say who we are, 100 ms after the loss */
	OK(strstr(u.end.text, "or does so within 6 s"));
	OK(!fake.channel);
	far_close(&f);
}

TEST(a_different_session_is_refused)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	fake_pass(100);
	far_connected();
	far_answer(far_asked(&f, "initialize"), "{\"sessionId\":\"S2\"}");
	fake_pass(0);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_LEASE);
	far_close(&f);
}

TEST(a_different_executor_is_refused)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	fake_pass(100);
	far_connected();
	far_answer(far_asked(&f, "initialize"), FAR_CODEX); /* it knows the session, it says */
	fake_pass(0);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_LEASE);
	OK(strstr(u.end.text, "a different executor answered"));
	far_close(&f);
}

TEST(a_token_that_is_refused_ends_the_attempts)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	fake_pass(100);
	fake_break(-EACCES, "the token was refused (401)");
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(stop_while_it_is_lost)
{
	AUTO(user_done) struct user u = { .stop_on_lost = true };
	AUTO(user_done) struct user other = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	EQ(u.ended, 0);
	fake_pass(1999);
	EQ(u.ended, 0);
	fake_pass(1);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_LEASE);
	STREQ(u.end.text, "environment 'far' cannot be reached (connection reset); its executor "
			  "ends the server by itself within 28 s");
	EQ(environment_users(f.env), 0);
	EQ(far_link(&f, &other), -ENOTCONN);
	/* but the process is not forgotten */
	OK(fake.channel);
	far_connected();
	far_answer(far_asked(&f, "initialize"), FAR_KILLICK);
	OK(far_says(&f, "resumeSessionId", "S1"));
	far_asked(&f, "initialized");
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":true}");
	OK(far_says(&f, "processId", "k1"));
	far_answer(far_asked(&f, "process/read"),
		   "{\"chunks\":[{\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"YQ==\"}],"
		   "\"nextSeq\":2,\"exited\":false,\"exitCode\":null,\"closed\":false}");
	STREQ(user_out(&u), ""); /* nobody listens */
	fake_pass(1500);
	OK(fake.channel); /* it is not over */
	far_closed("k1", 2, FAR_REPORT);
	fake_pass(1000);
	OK(!fake.channel);
	far_close(&f);
}

TEST(stop_while_it_is_lost_and_it_comes_back_soon)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	link_stop(u.link, LINK_STOP_TERM);
	come_back(&f);
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":true}");
	OK(strstr(f.line, "graceMs"));
	far_answer(far_asked(&f, "process/read"), NOTHING_NEW(1));
	EQ(u.back, 1);
	fake_pass(2500);
	EQ(u.ended, 0); /* the time counts anew */
	far_exited("k1", 1, 0);
	far_closed("k1", 2, FAR_REPORT);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_WAITID | LINK_PROOF_CGROUP);
	far_close(&f);
}

TEST(stop_while_the_connection_flaps)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	int64_t began;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	link_stop(u.link, LINK_STOP_EOF);
	began = fake_now_us;
	while (!u.ended) {
		lose();
		come_back(&f);
		far_answer(far_asked(&f, "process/terminate"), "{\"running\":true}");
		fake_pass(500);
	}
	OK(fake_now_us - began <= 2 * (2 * 1500 + 7000) * 1000 + 600000);
	EQ(u.end.proof, 0);
	far_close(&f);
}

TEST(lost_while_it_is_being_stopped)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	link_stop(u.link, LINK_STOP_EOF);
	OK(far_asked(&f, "process/terminate"));
	lose();
	come_back(&f);
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":false}");
	far_answer(far_asked(&f, "process/read"),
		   "{\"chunks\":[],\"nextSeq\":3,\"exited\":true,\"exitCode\":0,\"closed\":true,"
		   "\"report\":" FAR_REPORT "}");
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_WAITID | LINK_PROOF_CGROUP);
	far_close(&f);
}

TEST(lost_before_the_start_is_answered)
{
	for (int arrived = 0; arrived < 2; arrived++) {
		AUTO(user_done) struct user u = { .link = NULL };
		struct far f;

		far_open(&f);
		EQ(far_link(&f, &u), 0);
		EQ(link_write(u.link, "hello", 5), 0);
		OK(far_attach(&f, FAR_KILLICK));
		OK(far_asked(&f, "process/start"));
		OK(far_asked(&f, "process/write"));
		lose();
		EQ(u.lost, 1);
		come_back(&f);
		far_answer(far_asked(&f, "process/terminate"),
			   arrived ? "{\"running\":true}" : "{\"running\":false}");
		OK(!strstr(f.line, "graceMs"));
		EQ(u.ended, 0);
		if (arrived) {
			far_answer(far_asked(&f, "process/read"), NOTHING_NEW(1));
			far_closed("k1", 1, FAR_REPORT);
		} else {
			far_refuse(far_asked(&f, "process/read"), -32600, "unknown process id k1");
		}
		EQ(u.ended, 1);
		EQ(u.started, 0);
		OK(u.end.refused);
		EQ(u.end.proof, arrived ? LINK_PROOF_WAITID | LINK_PROOF_CGROUP : LINK_PROOF_NEVER);
		OK(strstr(u.end.text, "was lost while the server was being started"));
		STREQ(far_sent(&f), ""); /* it was not sent again */
		far_close(&f);
	}
}

TEST(lost_when_all_is_over)
{
	AUTO(user_done) struct user u = { .keep = true };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_closed("k1", 1, FAR_REPORT);
	lose();
	EQ(u.lost, 0);
	fake_pass(1000);
	EQ(fake.connects, 1); /* there is nothing to come back to */
	link_free(u.link);
	far_close(&f);
}

TEST(the_last_process_ends_while_it_is_lost)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	lose();
	link_stop(u.link, LINK_STOP_KILL);
	fake_pass(2000);
	EQ(u.ended, 1);
	far_close(&f); /* does not wait for the way back */
}

TEST(freed_with_a_connection_that_is_being_made)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	link_stop(u.link, LINK_STOP_EOF);
	fake_pass(0);
	far_close(&f);
}

TEST(an_executor_that_does_not_read_is_disconnected)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	fake.commit_error = -ENOBUFS;
	EQ(link_write(u.link, "a", 1), 0);
	EQ(u.lost, 0); /* not from inside */
	EQ(link_write(u.link, "b", 1), 0);
	link_interrupt(u.link);
	fake_pass(0);
	EQ(u.lost, 1);
	fake.commit_error = 0;
	come_back(&f);
	far_answer(far_asked(&f, "process/read"), NOTHING_NEW(1));
	OK(far_asked(&f, "process/write"));
	OK(far_says(&f, "writeId", "1"));
	OK(far_asked(&f, "process/write"));
	OK(far_says(&f, "chunk", "Yg=="));
	far_closed("k1", 1, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(the_executor_dies_during_initialize)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	fake.commit_error = -ENOBUFS;
	far_connected();
	fake.commit_error = 0;
	fake_pass(0);
	EQ(u.ended, 1);
	OK(u.end.refused);
	far_close(&f);
}

TEST(a_program_cannot_be_resumed)
{
	static char *argv[] = { "ssh", "host", "killick", NULL }, *envp[] = { NULL };
	const struct environment_spec spec = {
		.name = "far", .program = argv, .program_env = envp, .keeper = "/k"
	};
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open_with(&f, &spec);
	OK(far_run(&f, &u, FAR_KILLICK));
	STREQ(fake.program, "ssh");
	fake_break(-ECONNRESET, "ssh exited with status 255: Connection closed by host");
	EQ(u.lost, 0);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_LEASE);
	/* the far side of a line that was cut has not heard of it yet */
	STREQ(u.end.text, "the connection to environment 'far' (ssh host killick) was lost; its "
			  "executor has ended the server or does so within 30 s (ssh exited with "
			  "status 255: Connection closed by host)");
	fake_pass(30000);
	EQ(fake.connects, 1);
	far_close(&f);
}

TEST(a_program_that_does_not_start)
{
	static char *argv[] = { "ssh", "host", NULL }, *envp[] = { NULL };
	const struct environment_spec spec = {
		.name = "far", .program = argv, .program_env = envp, .keeper = "/k"
	};
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open_with(&f, &spec);
	EQ(far_link(&f, &u), 0);
	fake_break(-ENOENT, "cannot start ssh: No such file or directory");
	EQ(u.ended, 1);
	OK(u.end.refused);
	STREQ(u.end.text, "environment 'far' (ssh host) cannot be reached: cannot start ssh: No "
			  "such file or directory");
	far_close(&f);
}

/* --- lines before the first message --- */

static char *ssh_argv[] = { "ssh", "host", NULL }, *ssh_envp[] = { NULL };
static const struct environment_spec ssh_spec = {
	.name = "far", .program = ssh_argv, .program_env = ssh_envp, .keeper = "/k"
};

TEST(lines_before_the_first_message_of_a_program_are_skipped_and_told_once)
{
	AUTO(user_done) struct user u = { .link = NULL }, v = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open_with(&f, &ssh_spec);
	EQ(far_link(&f, &u), 0);
	far_connected();
	id = far_asked(&f, "initialize");
	far_say("Welcome to host");
	far_say("{\"motd\":[1,2]}");
	far_say("\"\x1b[1mNews\xff\"");
	far_answer(id, FAR_KILLICK);
	OK(!far_asked(&f, "initialized"));
	far_answer(far_asked(&f, "process/start"), "{\"pid\":77,\"level\":\"cgroup\"}");
	EQ(u.started, 1);
	OK(far_run(&f, &v, FAR_KILLICK));
	STREQ(u.err.data, "killick: skipped 3 lines that environment 'far' (ssh host) printed "
			  "before its first message; the last: '\"?[1mNews?\"'\n");
	EQ(v.err.len, 0);
	far_say("Welcome again"); /* not after the first message */
	fake_pass(0);
	EQ(u.ended + v.ended, 2);
	OK(strstr(u.end.text, "the executor sent an invalid message"));
	far_close(&f);
}

TEST(lines_before_the_first_message_are_quoted_when_the_program_fails)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open_with(&f, &ssh_spec);
	EQ(far_link(&f, &u), 0);
	far_connected();
	far_say("Welcome to host");
	far_say("Your password has expired.");
	fake_break(-ECONNRESET, "ssh exited with 1");
	EQ(u.ended, 1);
	STREQ(u.end.text, "environment 'far' (ssh host) cannot be reached (it printed 'Your "
			  "password has expired.', which is no message): ssh exited with 1");
	far_close(&f);
}

static void skips_no_more_than(unsigned lines, size_t bytes)
{
	AUTO(user_done) struct user u = { .link = NULL };
	char *line = mem_grow(NULL, bytes + 1, 1);
	struct far f;

	memset(line, 'x', bytes);
	line[bytes] = '\0';
	far_open_with(&f, &ssh_spec);
	EQ(far_link(&f, &u), 0);
	far_connected();
	for (unsigned i = 0; i < lines; i++) {
		far_say("%s", line);
		OK(!fake.channel->closing);
	}
	far_say("%s", line);
	fake_pass(0);
	EQ(u.ended, 1);
	OK(u.end.refused);
	OK(strstr(u.end.text, "which is no message): no message within its first "));
	free(line);
	far_close(&f);
}

TEST(a_program_that_prints_no_message_is_given_up_after_64_lines_or_16_KiB)
{
	skips_no_more_than(64, 10);
	skips_no_more_than(1, 16 << 10);
}

TEST(a_websocket_may_not_begin_with_a_text_that_is_no_message)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	far_connected();
	far_say("Welcome to host");
	fake_pass(0);
	EQ(u.ended, 1);
	OK(strstr(u.end.text, "the executor sent an invalid message"));
	far_close(&f);
}
