/* environment.c - an environment whose executor behaves: connection, start, data, input, end */
#include "t.h"

#include "base/auto.h"
#include "unit/fake_executor.h"

static void read_chunk(struct far *f, char *out, size_t size)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct json chunk = json_get(f->m.params, "chunk");

	EQ(base64_decode(&b, chunk.at + 1, chunk.len - 2), 0);
	snprintf(out, size, "%.*s", (int)b.len, b.data);
}

TEST(a_server_from_start_to_end)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	EQ(fake.connects, 0); /* not before it is needed */
	EQ(far_link(&f, &u), 0);
	EQ(fake.connects, 1);
	STREQ(fake.token, "t");
	STREQ(fake.url_host, "10.0.0.1");
	EQ(environment_users(f.env), 1);
	STREQ(far_sent(&f), "");
	far_connected();
	id = far_asked(&f, "initialize");
	OK(far_says(&f, "clientName", "killick"));
	OK(far_says(&f, "label", "me"));
	OK(json_type(json_get(f.m.params, "resumeSessionId")) == JSON_NULL);
	STREQ(far_sent(&f), "");
	far_answer(id, FAR_KILLICK);
	EQ(far_asked(&f, "initialized"), 0);
	id = far_asked(&f, "process/start");
	OK(far_says(&f, "processId", "k1"));
	OK(far_says(&f, "cwd", "file:///srv/a%20b"));
	OK(far_says(&f, "argv.1", "--x y"));
	OK(far_says(&f, "argv.2", ""));
	OK(far_says(&f, "env.B", "x=\"y\""));
	OK(!json_find(f.m.params, "env.KILLICK_TREE").at);
	OK(far_says(&f, "envPolicy.inherit", "core"));
	OK(far_says(&f, "name", "srv"));
	OK(strstr(f.line, "\"pipeStdin\":true"));
	EQ(u.started, 0);
	far_answer(id, "{\"processId\":\"k1\",\"pid\":77,\"level\":\"cgroup\"}");
	EQ(u.started, 1);
	EQ(u.pid, 77);
	STREQ(u.level, "cgroup");
	far_output("k1", 1, "stdout", "hello ");
	far_output("k1", 2, "stderr", "oh");
	far_output("k1", 3, "stdout", "world");
	STREQ(user_out(&u), "hello world");
	STREQ(u.err.data, "oh");
	link_stop(u.link, LINK_STOP_EOF);
	id = far_asked(&f, "process/terminate");
	OK(far_says(&f, "processId", "k1"));
	OK(strstr(f.line, "\"graceMs\":1500"));
	far_answer(id, "{\"running\":true}");
	far_exited("k1", 4, 0);
	EQ(u.ended, 0);
	far_closed("k1", 5, FAR_REPORT);
	EQ(u.ended, 1);
	EQ(u.exited, 0); /* nothing lingers */
	EQ(u.end.proof, LINK_PROOF_WAITID | LINK_PROOF_CGROUP);
	EQ(u.end.why, LINK_WHY_STDIN);
	EQ(u.end.step, LINK_STEP_EOF);
	EQ(u.end.exit_code, 0);
	EQ(u.end.pid, 77);
	STREQ(u.report, FAR_REPORT);
	EQ(environment_users(f.env), 0);
	OK(fake.channel);
	fake_pass(999);
	OK(fake.channel); /* the next may come soon */
	fake_pass(1);
	OK(!fake.channel);
	far_close(&f);
}

/* Start a server in cwd; the executor, which has this greeting, is sent this directory. */
static void start_in(const char *greeting, const char *cwd, const char *sent)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	EQ(far_link_in(&f, &u, cwd), 0);
	OK(far_attach(&f, greeting));
	id = far_asked(&f, "process/start");
	OK(far_says(&f, "cwd", sent));
	far_refuse(id, -32603, "no");
	EQ(u.ended, 1);
	fake_pass(1000);
	far_close(&f);
}

TEST(directories_are_sent_as_file_urls)
{
	static const char *const cases[][2] = {
		{ "/50%/#1?", "file:///50%25/%231%3F" },
		{ "C:\\Users\\Ann Lee", "file:///C:/Users/Ann%20Lee" },
		{ "C:/x", "file:///C:/x" },
		{ "D:\\50%\\#1?\\\xc3\x84", "file:///D:/50%25/%231%3F/%C3%84" },
		{ "\\\\server\\share\\a b", "file://server/share/a%20b" },
		{ "file:///C:/a b%20c", "file:///C:/a%20b%20c" },
		{ "file://localhost/srv", "file:///srv" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start_in(FAR_KILLICK, cases[i][0], cases[i][1]);
		start_in(FAR_CODEX, cases[i][0], cases[i][1]);
	}
}

TEST(directories_that_are_not_absolute_are_not_sent)
{
	static const char *const cases[] = { "x", "C:x", "\\x", "\\\\?\\C:\\x", "file:///%0" };
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(far_link_in(&f, &u, cases[i]), -EINVAL);
		STREQ(f.e.text, "a server on an environment needs a cwd, an absolute path there");
	}
	EQ(far_link_in(&f, &u, "C:\\\xff"), -EILSEQ);
	STREQ(f.e.text, "the cwd is not UTF-8, which Windows paths must be");
	EQ(environment_users(f.env), 0);
	STREQ(far_sent(&f), "");
	far_close(&f);
}

TEST(two_links_share_a_connection)
{
	AUTO(user_done) struct user a = { .link = NULL };
	AUTO(user_done) struct user b = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &a, FAR_KILLICK));
	OK(far_run(&f, &b, FAR_KILLICK));
	EQ(fake.connects, 1);
	far_output("k2", 1, "stdout", "b");
	far_output("k1", 1, "stdout", "a");
	STREQ(user_out(&a), "a");
	STREQ(user_out(&b), "b");
	far_closed("k1", 2, FAR_REPORT);
	EQ(a.ended, 1);
	EQ(b.ended, 0);
	fake_pass(2000);
	OK(fake.channel);
	far_closed("k2", 2, FAR_REPORT);
	EQ(b.ended, 1);
	far_close(&f);
}

TEST(a_connection_that_is_refused)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	fake_break(-ECONNREFUSED, "Connection refused");
	EQ(u.ended, 1);
	EQ(u.lost, 0);
	OK(u.end.refused);
	EQ(u.end.pid, 0);
	EQ(u.end.proof, LINK_PROOF_NEVER);
	STREQ(u.end.text, "environment 'far' (ws://10.0.0.1:9) cannot be reached: Connection "
			  "refused; is `killick exec-server` running there?");
	EQ(far_link(&f, &u), 0); /* the next one tries again */
	EQ(fake.connects, 2);
	u.ended = 0;
	free(u.report);
	fake_break(-ECONNREFUSED, "Connection refused");
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(a_connection_that_cannot_be_started)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	fake.connect_error = -EMFILE;
	EQ(far_link(&f, &u), -EMFILE);
	OK(strstr(f.e.text, "environment 'far' (ws://10.0.0.1:9) cannot be reached: there are no"));
	EQ(environment_users(f.env), 0);
	far_close(&f);
}

TEST(an_invalid_address_is_reported)
{
	AUTO(user_done) struct user u = { .link = NULL };
	const struct environment_spec spec = { .name = "odd", .url = "http://x" };
	struct far f;

	far_open_with(&f, &spec);
	EQ(far_link(&f, &u), -EINVAL);
	OK(strstr(f.e.text, "environment 'odd': "));
	far_close(&f);
}

TEST(an_executor_that_does_not_answer)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	EQ(fake.timeout_ms, 10000);
	far_connected();
	fake_pass(9999);
	EQ(u.ended, 0);
	fake_pass(1);
	EQ(u.ended, 1);
	OK(strstr(u.end.text, "no answer within 10 s"));
	EQ(fake.connects, 1);
	far_close(&f);
}

TEST(an_executor_that_refuses_the_session)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	far_connected();
	far_refuse(far_asked(&f, "initialize"), -32600, "go away\\nplease");
	fake_pass(0);
	EQ(u.ended, 1);
	OK(u.end.refused);
	OK(strstr(u.end.text, "the executor refused the session: go away please"));
	far_close(&f);
}

TEST(a_start_that_fails)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	OK(far_attach(&f, FAR_KILLICK));
	far_refuse(far_asked(&f, "process/start"), -32603, "no such file: srv");
	EQ(u.ended, 1);
	EQ(u.started, 0);
	OK(u.end.refused);
	STREQ(u.end.text, "environment 'far' (ws://10.0.0.1:9): no such file: srv");
	far_close(&f);
}

TEST(what_cannot_be_placed)
{
	static char *argv[] = { "srv", NULL }, *bad[] = { "s\xff", NULL }, *none[] = { NULL };
	struct recipe spec = { .name = "s", .argv = argv, .envp = none };
	struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(environment_open_link(f.env, &spec, &user_events, &u, &u.link, &f.e), -EINVAL);
	OK(strstr(f.e.text, "cwd"));
	spec.cwd = "relative";
	EQ(environment_open_link(f.env, &spec, &user_events, &u, &u.link, &f.e), -EINVAL);
	spec.cwd = "/";
	spec.argv = bad;
	EQ(environment_open_link(f.env, &spec, &user_events, &u, &u.link, &f.e), -EILSEQ);
	OK(strstr(f.e.text, "argument 0 is not UTF-8"));
	spec.argv = none;
	EQ(environment_open_link(f.env, &spec, &user_events, &u, &u.link, &f.e), -EINVAL);
	EQ(environment_users(f.env), 0);
	fake_pass(2000);
	far_close(&f);
}

TEST(variables_of_the_executor)
{
	static char *names[] = { "DISPLAY", "X_Y", NULL };
	static char *argv[] = { "srv", NULL }, *envp[] = { "A=1", "A=2", "=x", "odd", NULL };
	struct recipe spec = { .argv = argv,
			       .envp = envp,
			       .cwd = "/",
			       .remote_names = names,
			       .contain = LEVEL_CGROUP,
			       .limits = { [LIMIT_PROCS] = 5, [LIMIT_MEMORY] = 1 << 20 },
			       .arg0 = "zero",
			       .linger_ms = 9,
			       .stdio = STDIO_TERMINAL };
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(environment_open_link(f.env, &spec, &user_events, &u, &u.link, &f.e), 0);
	OK(far_attach(&f, FAR_KILLICK));
	OK(far_asked(&f, "process/start"));
	OK(far_says(&f, "envPolicy.inherit", "all"));
	OK(far_says(&f, "envPolicy.includeOnly.0", "PATH"));
	OK(far_says(&f, "envPolicy.includeOnly.11", "DISPLAY"));
	OK(far_says(&f, "envPolicy.includeOnly.12", "X_Y"));
	EQ(json_count(json_find(f.m.params, "env")), 1);
	OK(far_says(&f, "env.A", "1"));
	OK(far_says(&f, "arg0", "zero"));
	OK(far_says(&f, "contain", "cgroup"));
	OK(strstr(f.line, "\"tty\":true,\"pipeStdin\":false"));
	OK(strstr(f.line, "\"lingerMs\":9"));
	OK(strstr(f.line, "\"maxProcs\":5,\"memory\":1048576"));
	fake_break(-ECONNRESET, "reset");
	link_stop(u.link, LINK_STOP_KILL);
	fake_pass(30000);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(output_before_the_answer_to_start)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	OK(far_attach(&f, FAR_KILLICK));
	id = far_asked(&f, "process/start");
	far_output("k1", 2, "stdout", "b");
	far_output("k1", 1, "stdout", "a");
	far_exited("k1", 3, 0);
	far_closed("k1", 4, FAR_REPORT);
	EQ(u.started + u.ended, 0);
	far_answer(id, "{\"pid\":5}");
	EQ(u.started, 1);
	STREQ(user_out(&u), "ab");
	EQ(u.ended, 1);
	STREQ(far_sent(&f), ""); /* nothing was missing */
	far_close(&f);
}

TEST(output_out_of_order)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_output("k1", 1, "stdout", "a");
	far_output("k1", 4, "stdout", "d");
	id = far_asked(&f, "process/read");
	OK(strstr(f.line, "\"afterSeq\":1,"));
	far_output("k1", 3, "stdout", "c");
	far_output("k1", 3, "stdout", "X"); /* again */
	far_output("k1", 1, "stdout", "X");
	STREQ(user_out(&u), "a");
	far_output("k1", 2, "stdout", "b");
	STREQ(user_out(&u), "abcd");
	far_output("k1", 5, "stdout", "e");
	far_answer(id, "{\"chunks\":[{\"seq\":2,\"stream\":\"stdout\",\"chunk\":\"WA==\"},"
		       "{\"seq\":3,\"stream\":\"stdout\",\"chunk\":\"WA==\"}],\"nextSeq\":4,"
		       "\"exited\":false,\"exitCode\":null,\"closed\":false}");
	STREQ(user_out(&u), "abcde");
	STREQ(far_sent(&f), "");
	far_closed("k1", 6, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(a_gap_in_the_output_is_read_again)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_output("k1", 3, "stdout", "c");
	id = far_asked(&f, "process/read");
	OK(strstr(f.line, "\"afterSeq\":0,"));
	far_answer(id, "{\"chunks\":[{\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"YQ==\"},"
		       "{\"seq\":2,\"stream\":\"stderr\",\"chunk\":\"Yg==\"},"
		       "{\"seq\":3,\"stream\":\"stdout\",\"chunk\":\"Yw==\"}],\"nextSeq\":4,"
		       "\"exited\":false,\"exitCode\":null,\"closed\":false}");
	STREQ(user_out(&u), "ac");
	STREQ(u.err.data, "b");
	STREQ(far_sent(&f), "");
	far_output("k1", 6, "stdout", "f");
	id = far_asked(&f, "process/read");
	/* the exit was in the middle, as a terminal does it, and the end is known, too */
	far_answer(id, "{\"chunks\":[{\"seq\":5,\"stream\":\"stdout\",\"chunk\":\"ZQ==\"},"
		       "{\"seq\":6,\"stream\":\"stdout\",\"chunk\":\"Zg==\"}],\"nextSeq\":8,"
		       "\"exited\":true,\"exitCode\":3,\"closed\":true,\"report\":" FAR_REPORT "}");
	STREQ(user_out(&u), "acef");
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_WAITID | LINK_PROOF_CGROUP);
	far_close(&f);
}

TEST(output_that_is_lost_ends_the_server)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_output("k1", 9, "stdout", "c");
	id = far_asked(&f, "process/read");
	far_answer(id, "{\"chunks\":[{\"seq\":8,\"stream\":\"stdout\",\"chunk\":\"YQ==\"},"
		       "{\"seq\":9,\"stream\":\"stdout\",\"chunk\":\"Yw==\"}],\"nextSeq\":10,"
		       "\"exited\":false,\"exitCode\":null,\"closed\":false}");
	STREQ(user_out(&u), "");
	EQ(u.ended, 0);
	OK(far_asked(&f, "process/terminate"));
	OK(!strstr(f.line, "graceMs"));
	EQ(link_write(u.link, "x", 1), -EPIPE);
	for (int i = 0; i < 4; i++) { /* it is there, and says so */
		fake_pass((2 * 1500 + 7000) / 4);
		far_say("{\"method\":\"x\"}");
	}
	EQ(u.ended, 1);
	EQ(u.end.proof, 0);
	OK(strstr(u.end.text, "has lost output of the server"));
	far_close(&f);
}

TEST(input)
{
	AUTO(user_done) struct user u = { .link = NULL };
	char text[64];
	struct far f;
	uint64_t first, second;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	EQ(link_write(u.link, "early\n", 6), 0);
	EQ(link_unwritten(u.link), 6);
	OK(far_attach(&f, FAR_KILLICK));
	OK(far_asked(&f, "process/start"));
	first = far_asked(&f, "process/write"); /* ours takes it in order */
	OK(far_says(&f, "processId", "k1"));
	OK(far_says(&f, "writeId", "1"));
	read_chunk(&f, text, sizeof(text));
	STREQ(text, "early\n");
	EQ(link_unwritten(u.link), 6); /* it may not have arrived */
	EQ(link_write(u.link, "more\n", 5), 0);
	second = far_asked(&f, "process/write");
	OK(far_says(&f, "writeId", "2"));
	far_answer(second, "{\"status\":\"accepted\"}");
	EQ(link_unwritten(u.link), 11);
	far_answer(first, "{\"status\":\"accepted\"}");
	EQ(link_unwritten(u.link), 0);
	EQ(link_write(u.link, "last\n", 5), 0);
	first = far_asked(&f, "process/write");
	OK(far_says(&f, "writeId", "3"));
	far_answer(first, "{\"status\":\"stdinClosed\"}");
	EQ(link_write(u.link, "x", 1), -EPIPE);
	fake_break(-ECONNRESET, "reset");
	link_stop(u.link, LINK_STOP_KILL);
	fake_pass(2000);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(large_input_goes_in_pieces)
{
	AUTO(user_done) struct user u = { .link = NULL };
	AUTO(mem_drop) char *bytes = mem_grow(NULL, 1, 4u << 20);
	uint64_t ids[4], id;
	struct far f;

	memset(bytes, 'x', 4u << 20);
	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	EQ(link_write(u.link, bytes, (1u << 20) + (4u << 20) - 1), -ENOBUFS);
	EQ(link_write(u.link, bytes, (1u << 20) + 5), 0);
	for (int i = 0; i < 4; i++) {
		ids[i] = far_asked(&f, "process/write");
		EQ(json_get(f.m.params, "chunk").len, 2 + base64_size(256 << 10));
	}
	STREQ(far_sent(&f), ""); /* 1 MiB is under way */
	EQ(link_unwritten(u.link), (1u << 20) + 5);
	EQ(link_write(u.link, bytes, (4u << 20) - 5), 0);
	EQ(link_write(u.link, bytes, 1), -ENOBUFS);
	EQ(u.rooms, 0);
	for (int i = 0; i < 4; i++)
		far_answer(ids[i], "{\"status\":\"accepted\"}");
	for (int i = 0; (id = far_asked(&f, "process/write")) != 0; i++) {
		far_answer(id, "{\"status\":\"accepted\"}");
		OK(i < 17);
		if (i == 15)
			break;
	}
	EQ(u.rooms, 1);
	EQ(link_unwritten(u.link), 0);
	/* the channel is full */
	fake.unsent = CHANNEL_HIGH;
	EQ(link_write(u.link, "x", 1), 0);
	STREQ(far_sent(&f), "");
	EQ(link_unwritten(u.link), 1);
	fake.unsent = 0;
	fake.channel->ev->on_room(fake.channel->ctx);
	OK(far_asked(&f, "process/write"));
	EQ(u.rooms, 2);
	far_closed("k1", 1, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(heartbeats)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	fake_pass(4999);
	STREQ(far_sent(&f), "");
	fake_pass(1);
	id = far_asked(&f, "environment/status");
	far_answer(id, "{\"status\":\"ready\"}");
	fake_pass(3000);
	EQ(link_write(u.link, "x", 1), 0); /* says as much */
	far_answer(far_asked(&f, "process/write"), "{\"status\":\"accepted\"}");
	fake_pass(4999);
	STREQ(far_sent(&f), "");
	fake_pass(1);
	OK(far_asked(&f, "environment/status"));
	far_output("k1", 1, "stdout", "a"); /* is as good as its answer */
	fake_pass(4999);
	EQ(u.lost, 0);
	fake_pass(1);
	OK(far_asked(&f, "environment/status"));
	fake_pass(5000);
	EQ(u.lost, 1);
	OK(strstr(u.why_lost, "the connection to environment 'far' (ws://10.0.0.1:9) was lost: "
			      "no message for 10 s"));
	link_stop(u.link, LINK_STOP_EOF);
	fake_pass(2000);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(a_silent_executor_is_probed_while_input_is_sent)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	for (int i = 0; i < 6 && !u.lost; i++) {
		EQ(link_write(u.link, "x", 1), 0);
		fake_pass(2000);
	}
	EQ(u.lost, 1);
	link_stop(u.link, LINK_STOP_EOF);
	fake_pass(2000);
	far_close(&f);
}

struct listed {
	unsigned count;
	char text[300];
};

static void on_list(void *ctx, const char *result, size_t len, const struct err *e)
{
	struct listed *l = ctx;

	l->count++;
	snprintf(l->text, sizeof(l->text), "%.*s", result ? (int)len : 240,
		 result ? result : e->text);
}

TEST(lists_that_are_not_answered_can_be_ended)
{
	struct listed l = { .count = 0 };
	struct far f;
	uint64_t id;

	far_open(&f);
	EQ(environment_list(f.env, on_list, &l, &f.e), 0);
	OK(far_attach(&f, FAR_KILLICK));
	id = far_asked(&f, "process/list");
	err_set(&f.e, -ETIMEDOUT, "too late");
	environment_end_lists(f.env, &f.e);
	EQ(l.count, 1);
	STREQ(l.text, "too late");
	EQ(environment_users(f.env), 0);
	far_answer(id, "{\"processes\":[]}");
	EQ(l.count, 1);
	far_close(&f);
}

TEST(lists)
{
	struct listed l = { .count = 0 };
	struct far f;
	uint64_t id;

	far_open(&f);
	EQ(environment_list(f.env, on_list, &l, &f.e), 0);
	EQ(environment_users(f.env), 1);
	OK(far_attach(&f, FAR_KILLICK));
	far_answer(far_asked(&f, "process/list"), "{\"processes\":[]}");
	EQ(l.count, 1);
	STREQ(l.text, "{\"processes\":[]}");
	EQ(environment_list(f.env, on_list, &l, &f.e), 0);
	far_refuse(far_asked(&f, "process/list"), -32601, "unknown");
	EQ(l.count, 2);
	OK(strstr(l.text, "its executor is not killick's"));
	EQ(environment_list(f.env, on_list, &l, &f.e), 0);
	id = far_asked(&f, "process/list");
	fake_break(0, "the other side is gone");
	EQ(l.count, 3);
	OK(strstr(l.text, "the other side is gone"));
	OK(id);
	EQ(environment_users(f.env), 0);
	EQ(environment_list(f.env, on_list, &l, &f.e), 0);
	fake_break(-ECONNREFUSED, "Connection refused");
	EQ(l.count, 4);
	OK(strstr(l.text, "cannot be reached"));
	far_close(&f);
}

TEST(paused_links_get_no_output)
{
	AUTO(user_done) struct user a = { .link = NULL };
	AUTO(user_done) struct user b = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &a, FAR_KILLICK));
	OK(far_run(&f, &b, FAR_KILLICK));
	link_pause(a.link, true);
	OK(fake.paused);
	link_pause(b.link, true);
	link_pause(b.link, true);
	link_pause(a.link, false);
	OK(fake.paused);
	fake_pass(20000); /* nothing is heard, and nothing said about it */
	EQ(a.lost, 0);
	link_stop(b.link, LINK_STOP_KILL); /* its end must be heard */
	OK(!fake.paused);
	link_pause(b.link, true);
	OK(!fake.paused);
	far_closed("k1", 1, FAR_REPORT);
	far_closed("k2", 1, FAR_REPORT);
	EQ(a.ended, 1);
	EQ(b.ended, 1);
	far_close(&f);
}
