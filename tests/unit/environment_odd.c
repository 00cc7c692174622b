/* environment_odd.c - executors that are not ours, and those that mean us harm */
#include "t.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "unit/fake_executor.h"

/* --- an executor that is not ours --- */

/* The server has exited, and the sweep was started: its processId. */
static uint64_t sweep_asked(struct far *f, char *tag, size_t size)
{
	uint64_t id = far_asked(f, "process/start");

	OK(far_says(f, "argv.0", "/bin/sh"));
	OK(far_says(f, "cwd", "file:///"));
	OK(json_find(f->m.params, "env.PATH").at);
	OK(!json_find(f->m.params, "env.KILLICK_TREE").at);
	OK(strstr(f->line, "\"pipeStdin\":false"));
	json_string_into(json_find(f->m.params, "argv.4"), tag, size);
	return id;
}

TEST(leftovers_are_swept)
{
	AUTO(user_done) struct user u = { .link = NULL };
	char tag[64] = "", swept[64];
	struct far f;
	uint64_t id;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	OK(far_attach(&f, FAR_CODEX));
	id = far_asked(&f, "process/start");
	json_string_into(json_find(f.m.params, "env.KILLICK_TREE"), tag, sizeof(tag));
	EQ(strlen(tag), 32);
	far_answer(id, "{\"processId\":\"k1\",\"sandboxType\":\"none\"}");
	EQ(u.pid, -1);
	STREQ(u.level, "group");
	link_stop(u.link, LINK_STOP_EOF);
	id = far_asked(&f, "process/terminate");
	OK(!strstr(f.line, "graceMs"));
	far_answer(id, "{\"running\":true}");
	far_exited("k1", 1, 137);
	far_closed("k1", 2, NULL);
	EQ(u.ended, 0);
	id = sweep_asked(&f, swept, sizeof(swept));
	STREQ(swept, tag);
	far_answer(id, "{\"processId\":\"k2\"}");
	far_output("k2", 1, "stdout", "found 12 daemon one\nfou");
	far_output("k2", 2, "stdout", "nd 13 x\ndone\n");
	far_exited("k2", 3, 0);
	far_closed("k2", 4, NULL);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_GROUP | LINK_PROOF_SWEEP);
	EQ(u.end.why, LINK_WHY_SIGNAL);
	EQ(u.end.step, LINK_STEP_KILL);
	EQ(u.end.exit_code, 137);
	EQ(u.end.survivors, 0);
	STREQ(u.report, "{\"executor\":\"codex\",\"exit\":{\"code\":137},\"proof\":[\"group\","
			"\"sweep\"],\"swept\":[{\"pid\":12,\"name\":\"daemon one\"},{\"pid\":13,"
			"\"name\":\"x\"}],\"survivors\":[]}");
	STREQ(u.end.text,
	      "2 processes had left its group and were killed: daemon one (12), x (13)");
	STREQ(far_sent(&f), "");
	far_close(&f);
}

TEST(survivors_of_the_sweep_are_named)
{
	AUTO(user_done) struct user u = { .link = NULL };
	char tag[64];
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_CODEX));
	far_exited("k1", 1, 0);
	far_closed("k1", 2, NULL);
	far_answer(sweep_asked(&f, tag, sizeof(tag)), "{\"processId\":\"k2\"}");
	far_output("k2", 1, "stdout", "found 12 a\nfound 13 b\nleft 13 b\ndone\n");
	far_exited("k2", 2, 0);
	far_closed("k2", 3, NULL);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_GROUP);
	EQ(u.end.why, LINK_WHY_EXIT);
	EQ(u.end.survivors, 1);
	OK(strstr(u.report, "\"survivors\":[{\"pid\":13,\"name\":\"b\"}]"));
	OK(strstr(u.end.text, "b (13, alive)"));
	far_close(&f);
}

TEST(a_sweep_that_does_not_run)
{
	for (int how = 0; how < 4; how++) {
		AUTO(user_done) struct user u = { .link = NULL };
		char tag[64];
		struct far f;
		uint64_t id;

		far_open(&f);
		OK(far_run(&f, &u, FAR_CODEX));
		far_exited("k1", 1, 0);
		far_closed("k1", 2, NULL);
		id = sweep_asked(&f, tag, sizeof(tag));
		switch (how) {
		case 0: /* no /bin/sh */
			far_refuse(id, -32603, "ENOENT");
			break;
		case 1: /* no /proc */
			far_answer(id, "{}");
			far_exited("k2", 1, 3);
			far_closed("k2", 2, NULL);
			break;
		case 2: /* it does not end */
			far_answer(id, "{}");
			fake_pass(3000);
			OK(far_asked(&f, "process/terminate"));
			OK(far_says(&f, "processId", "k2"));
			EQ(u.ended, 0);
			fake_pass(1000);
			break;
		default:
			fake_break(-ECONNRESET, "reset");
			EQ(u.lost, 1);
			fake_pass(10000);
			break;
		}
		EQ(u.ended, 1);
		EQ(u.end.proof, 0); /* it exited by itself: its executor ended no group */
		OK(how > 1 || strstr(u.report, "\"proof\":[],\"swept\":[]"));
		OK(strstr(u.end.text, "could not look for processes"));
		far_close(&f);
	}
}

/* There is no /bin/sh and no process group: nothing is started, and nothing is claimed. */
TEST(nothing_is_swept_on_windows)
{
	static const char *const cwds[] = { "C:\\x", "file:///C:/x", "\\\\server\\share" };

	for (size_t i = 0; i < sizeof(cwds) / sizeof(cwds[0]); i++) {
		AUTO(user_done) struct user u = { .link = NULL };
		struct far f;

		far_open(&f);
		EQ(far_link_in(&f, &u, cwds[i]), 0);
		OK(far_attach(&f, FAR_CODEX));
		far_answer(far_asked(&f, "process/start"), "{\"processId\":\"k1\"}");
		far_exited("k1", 1, 3);
		far_closed("k1", 2, NULL);
		STREQ(far_sent(&f), "");
		EQ(u.ended, 1);
		EQ(u.end.proof, 0);
		EQ(u.end.exit_code, 3);
		STREQ(u.report, "{\"executor\":\"codex\",\"exit\":{\"code\":3},\"proof\":[],"
				"\"swept\":[],\"survivors\":[]}");
		OK(strstr(u.end.text, "runs on Windows, where killick cannot look for processes"));
		far_close(&f);
	}
}

TEST(lost_while_it_is_swept)
{
	for (int back = 0; back < 2; back++) {
		AUTO(user_done) struct user u = { .link = NULL };
		char tag[64];
		struct far f;

		far_open(&f);
		OK(far_run(&f, &u, FAR_CODEX));
		link_stop(u.link, LINK_STOP_EOF);
		far_answer(far_asked(&f, "process/terminate"), "{\"running\":true}");
		far_exited("k1", 1, 137);
		far_closed("k1", 2, NULL);
		OK(sweep_asked(&f, tag, sizeof(tag)));
		fake_break(-ECONNRESET, "reset");
		fake_pass(100);
		if (back) { /* but the executor is another */
			far_connected();
			far_refuse(far_asked(&f, "initialize"), -32600, "unknown session");
		}
		fake_pass(2000);
		EQ(u.ended, 1);
		EQ(u.end.proof, LINK_PROOF_GROUP);
		OK(strstr(u.end.text, "could not look for processes"));
		far_close(&f);
	}
}

/* A grandchild holds the pipes, and `closed` never comes. */
TEST(exited_but_not_closed)
{
	AUTO(user_done) struct user u = { .link = NULL };
	char tag[64];
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_CODEX));
	far_exited("k1", 1, 0);
	far_output("k1", 2, "stdout", "last words");
	fake_pass(499);
	STREQ(far_sent(&f), "");
	fake_pass(1);
	far_answer(sweep_asked(&f, tag, sizeof(tag)), "{}");
	far_output("k1", 3, "stdout", " of all"); /* of those that were killed */
	far_closed("k1", 4, NULL);
	EQ(u.ended, 0);
	far_output("k2", 1, "stdout", "found 5 sleep\ndone\n");
	far_exited("k2", 2, 0);
	far_closed("k2", 3, NULL);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_GROUP | LINK_PROOF_SWEEP);
	STREQ(user_out(&u), "last words of all");
	far_close(&f);
}

TEST(one_write_at_a_time)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;
	uint64_t id;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	EQ(link_write(u.link, "a", 1), 0);
	OK(far_attach(&f, FAR_CODEX));
	id = far_asked(&f, "process/start");
	STREQ(far_sent(&f), ""); /* requests may be handled in any order */
	far_answer(id, "{}");
	id = far_asked(&f, "process/write");
	EQ(link_write(u.link, "b", 1), 0);
	EQ(link_write(u.link, "c", 1), 0);
	STREQ(far_sent(&f), "");
	far_answer(id, "{\"status\":\"starting\"}");
	STREQ(far_sent(&f), "");
	fake_pass(50);
	id = far_asked(&f, "process/write");
	OK(far_says(&f, "writeId", "1"));
	far_answer(id, "{\"status\":\"accepted\"}");
	id = far_asked(&f, "process/write");
	OK(far_says(&f, "writeId", "2"));
	OK(far_says(&f, "chunk", "YmM="));
	far_refuse(id, -32603, "failed to write to process stdin");
	EQ(link_write(u.link, "x", 1), -EPIPE);
	fake_break(-ECONNRESET, "reset");
	link_stop(u.link, LINK_STOP_KILL);
	fake_pass(2000);
	EQ(u.ended, 1);
	far_close(&f);
}

/* It handles one request after the other, and a write waits for a server that does not read. */
TEST(a_connection_that_is_stuck_is_made_anew)
{
	AUTO(user_done) struct user u = { .link = NULL };
	char tag[64];
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_CODEX));
	EQ(link_write(u.link, "a", 1), 0);
	OK(far_asked(&f, "process/write"));
	fake_pass(5000);
	EQ(fake.pings, 1); /* no request: it would wait as well */
	STREQ(far_sent(&f), "");
	fake.channel->heard_us = fake_now_us;
	EQ(u.lost, 0);
	link_stop(u.link, LINK_STOP_EOF);
	OK(far_asked(&f, "process/terminate"));
	fake_pass(2999);
	EQ(u.lost, 0);
	fake_pass(1);
	EQ(u.lost, 1);
	fake_pass(100);
	far_connected();
	far_answer(far_asked(&f, "initialize"), FAR_CODEX);
	far_asked(&f, "initialized");
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":true}");
	OK(far_asked(&f, "process/read"));
	STREQ(far_sent(&f), ""); /* what was written is not sent again */
	far_exited("k1", 1, 137);
	far_closed("k1", 2, NULL);
	far_refuse(sweep_asked(&f, tag, sizeof(tag)), -32603, "no");
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(limits_are_not_for_every_executor)
{
	static char *argv[] = { "srv", NULL }, *envp[] = { NULL };
	struct recipe spec = { .argv = argv, .envp = envp, .cwd = "/", .limits = { 3 } };
	AUTO(user_done) struct user u = { .link = NULL };
	struct user v = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(environment_open_link(f.env, &spec, &user_events, &u, &u.link, &f.e), 0);
	OK(far_attach(&f, FAR_CODEX));
	EQ(u.ended, 1);
	OK(u.end.refused);
	OK(strstr(u.end.text,
		  "its executor is not killick's and does not support what was requested: a "
		  "limit of processes"));
	spec.limits[LIMIT_PROCS] = 0;
	spec.contain = LEVEL_CGROUP;
	EQ(environment_open_link(f.env, &spec, &user_events, &v, &v.link, &f.e), -ENOTSUP);
	STREQ(far_sent(&f), "");
	far_close(&f);
}

TEST(a_start_that_was_cancelled)
{
	AUTO(user_done) struct user u = { .link = NULL };
	char tag[64];
	uint64_t start;
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	OK(far_attach(&f, FAR_CODEX));
	start = far_asked(&f, "process/start");
	link_stop(u.link, LINK_STOP_EOF);
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":false}");
	far_refuse(start, -32600, "process k1 start was cancelled");
	far_answer(sweep_asked(&f, tag, sizeof(tag)), "{}"); /* perhaps not early enough */
	far_output("k2", 1, "stdout", "done\n");
	far_exited("k2", 2, 0);
	far_closed("k2", 3, NULL);
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_GROUP | LINK_PROOF_SWEEP);
	far_close(&f);
}

/* --- the script, for real --- */

static char *script_of(struct far *f, char *tag, size_t size)
{
	char *script = NULL;

	sweep_asked(f, tag, size);
	OK(json_string(json_find(f->m.params, "argv.2"), &script));
	return script;
}

static size_t run_script(const char *script, const char *tag, char *out, size_t size)
{
	int pipes[2];
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	EQ(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		close(pipes[0]);
		close(pipes[1]);
		execl("/bin/sh", "/bin/sh", "-c", script, "sh", tag, NULL);
		_exit(127);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], out + used, size - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = '\0';
	close(pipes[0]);
	OK(t_wait_child(pid, 5000) == 0);
	return used;
}

TEST(the_script_finds_and_kills)
{
	AUTO(user_done) struct user u = { .link = NULL };
	AUTO(mem_drop) char *script = NULL;
	char tag[64], out[1000], want[80], variable[80];
	int ready[2];
	struct far f;
	pid_t pid;

	far_open(&f);
	OK(far_run(&f, &u, FAR_CODEX));
	far_exited("k1", 1, 0);
	far_closed("k1", 2, NULL);
	script = script_of(&f, tag, sizeof(tag));
	run_script(script, tag, out, sizeof(out));
	STREQ(out, "done\n");
	snprintf(variable, sizeof(variable), "KILLICK_TREE=%s", tag);
	EQ(pipe(ready), 0);
	pid = fork();
	if (pid == 0) { /* a daemon that has the tag in its environment, and says when */
		char *env[] = { variable, (char *)"PATH=/usr/bin:/bin", NULL };

		setsid();
		close(ready[0]);
		dup2(ready[1], 1);
		execle("/bin/sh", "sh", "-c", "echo; exec sleep 1000", NULL, env);
		_exit(127);
	}
	close(ready[1]);
	OK(t_wait_fd(ready[0], 1, 5000));
	run_script(script, tag, out, sizeof(out));
	snprintf(want, sizeof(want), "found %d ", (int)pid);
	OK(strstr(out, want));
	OK(strstr(out, "\ndone\n"));
	OK(!strstr(out, "left"));
	EQ(t_wait_child(pid, 5000), 9);
	close(ready[0]);
	fake_break(-ECONNRESET, "reset");
	fake_pass(30000);
	EQ(u.ended, 1);
	far_close(&f);
}

/* --- an executor that means us harm --- */

static const char *const nonsense[] = {
	"",
	"[]",
	"{",
	"{}",
	"\xff",
	"{\"id\":1}",
	"{\"result\":{}}",
	"{\"id\":999,\"result\":{}}",
	"{\"id\":\"x\",\"result\":{}}",
	"{\"error\":{\"code\":-32600,\"message\":\"what\"},\"id\":-1}",
	"{\"method\":\"process/output\"}",
	"{\"method\":\"process/output\",\"params\":[]}",
	"{\"method\":\"process/output\",\"params\":{\"processId\":7}}",
	"{\"method\":\"process/output\",\"params\":{\"processId\":\"k1\"}}",
	"{\"method\":\"process/output\",\"params\":{\"processId\":\"k1\",\"seq\":-1}}",
	"{\"method\":\"process/output\",\"params\":{\"processId\":\"k1\",\"seq\":\"1\"}}",
	"{\"method\":\"process/output\",\"params\":{\"processId\":\"k1\",\"seq\":1.5}}",
	"{\"method\":\"process/"
	"output\",\"params\":{\"processId\":\"k1\",\"seq\":9223372036854775807,"
	"\"stream\":\"stdout\",\"chunk\":\"YQ==\"}}",
	"{\"method\":\"process/"
	"output\",\"params\":{\"processId\":\"k1\",\"seq\":1,\"stream\":\"x\","
	"\"chunk\":\"YQ==\"}}",
	"{\"method\":\"process/output\",\"params\":{\"processId\":\"k1\",\"seq\":1,\"stream\":"
	"\"stdout\",\"chunk\":\"Y\"}}",
	"{\"method\":\"process/output\",\"params\":{\"processId\":\"k1\",\"seq\":1,\"stream\":"
	"\"stdout\",\"chunk\":7}}",
	"{\"method\":\"process/exited\",\"params\":{\"processId\":\"k1\"}}",
	"{\"method\":\"process/closed\",\"params\":{\"processId\":\"k1\",\"seq\":0}}",
};

TEST(invalid_messages_end_the_connection)
{
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		AUTO(user_done) struct user u = { .link = NULL };
		struct far f;

		far_open(&f);
		OK(far_run(&f, &u, FAR_KILLICK));
		far_say("%s", nonsense[i]);
		fake_pass(0);
		EQ(u.ended, 1);
		EQ(u.lost, 0); /* no attempts to come back */
		EQ(u.end.proof, LINK_PROOF_LEASE);
		OK(strstr(u.end.text, "environment 'far'"));
		OK(!fake.channel);
		far_close(&f);
	}
}

TEST(unknown_notifications_are_ignored)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_say("{\"method\":\"news\",\"params\":{\"x\":1}}");
	far_say("{\"id\":1,\"result\":{}}"); /* initialize, again */
	far_output("k2", 1, "stdout", "x");
	far_output("", 1, "stdout", "x");
	far_closed("k11", 1, NULL);
	far_say("{\"id\":\"q\",\"method\":\"network/policyRequest\",\"params\":{}}");
	OK(strstr(far_sent(&f), "\"code\":-32601"));
	OK(strstr(f.line, "\"id\":\"q\""));
	far_output("k1", 1, "stdout", "a");
	far_output("k1", 1, "stdout", "b");
	STREQ(user_out(&u), "a");
	far_closed("k1", 2, "\"no report\"");
	EQ(u.ended, 1);
	EQ(u.end.proof, 0);
	STREQ(u.report, "");
	far_close(&f);
}

/* The report of an executor becomes part of a larger JSON text of this program. */
TEST(the_report_of_an_executor_that_would_break_our_own_report_is_not_used)
{
	static const char *const times[] = { "1e999", "-1e999", "-1.5", "1e300" };
	char deep[1200];
	struct far f;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		AUTO(user_done) struct user u = { .link = NULL };
		char report[64];

		snprintf(report, sizeof(report), "{\"stop_ms\":%s,\"proof\":[\"waitid\"]}",
			 times[i]);
		far_open(&f);
		OK(far_run(&f, &u, FAR_KILLICK));
		far_closed("k1", 1, report);
		EQ(u.ended, 1);
		OK(u.end.stop_ms == 0);
		EQ(u.end.proof, LINK_PROOF_WAITID);
		far_close(&f);
	}
	for (int depth = 10; depth <= 500; depth += 490) {
		AUTO(user_done) struct user u = { .link = NULL };
		int n = snprintf(deep, sizeof(deep), "{\"proof\":[\"waitid\"],\"x\":");

		memset(deep + n, '[', (size_t)depth);
		memset(deep + n + depth, ']', (size_t)depth);
		memcpy(deep + n + 2 * depth, "}", 2);
		far_open(&f);
		OK(far_run(&f, &u, FAR_KILLICK));
		far_closed("k1", 1, deep);
		EQ(u.ended, 1);
		STREQ(u.report, "");
		EQ(u.end.proof, 0);
		far_close(&f);
	}
}

TEST(early_output_is_bounded)
{
	AUTO(user_done) struct user u = { .link = NULL };
	AUTO(mem_drop) char *big = mem_grow(NULL, 1, (300u << 10) + 1);
	struct far f;
	uint64_t id;

	memset(big, 'x', 300u << 10);
	big[300u << 10] = '\0';
	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	for (int i = 0; i < 10; i++)
		far_output("k1", 2 + i, "stdout", big);
	for (int i = 0; i < 1000; i++)
		far_output("k1", 100 + i, "stdout", "x");
	id = far_asked(&f, "process/read");
	STREQ(far_sent(&f), "");
	far_answer(id, "{\"chunks\":[{\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"YQ==\"}],"
		       "\"nextSeq\":2,\"exited\":false,\"exitCode\":null,\"closed\":false}");
	EQ(u.out.len, 1 + 3 * (300 << 10)); /* the rest was not kept */
	id = far_asked(&f, "process/read");
	OK(strstr(f.line, "\"afterSeq\":4,"));
	/* it never says what is missing */
	for (int i = 0; i < 300 && !u.ended && id; i++) {
		far_answer(id, "{\"chunks\":[],\"nextSeq\":5,\"exited\":false,\"closed\":false}");
		fake_pass(20);
		far_sent(&f);
		id = 0;
		if (json_is(f.m.method, "process/read"))
			json_int(f.m.id, (int64_t *)&id);
	}
	OK(json_is(f.m.method, "process/terminate"));
	link_stop(u.link, LINK_STOP_KILL);
	far_closed("k1", 5, FAR_REPORT);
	EQ(u.ended, 1);
	OK(strstr(u.end.text, "does not send the output of the server"));
	far_close(&f);
}

TEST(invalid_answers_to_read_end_the_connection)
{
	static const char *const answers[] = {
		"{}",
		"[]",
		"{\"chunks\":[],\"nextSeq\":0}",
		"{\"chunks\":[],\"nextSeq\":-5}",
		"{\"chunks\":[7],\"nextSeq\":3}",
		"{\"chunks\":[{\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"?\"}],\"nextSeq\":3}",
		"{\"chunks\":{},\"nextSeq\":3}",
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		AUTO(user_done) struct user u = { .link = NULL };
		struct far f;

		far_open(&f);
		OK(far_run(&f, &u, FAR_KILLICK));
		far_output("k1", 2, "stdout", "x");
		far_answer(far_asked(&f, "process/read"), answers[i]);
		fake_pass(0);
		EQ(u.ended, 1);
		EQ(u.end.proof, LINK_PROOF_LEASE);
		far_close(&f);
	}
}

TEST(invalid_answers_to_initialize_end_the_connection)
{
	static const char *const answers[] = { "{}",
					       "null",
					       "7",
					       "{\"sessionId\":\"\"}",
					       "{\"sessionId\":7}",
					       "{\"sessionId\":null}" };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		AUTO(user_done) struct user u = { .link = NULL };
		struct far f;

		far_open(&f);
		EQ(far_link(&f, &u), 0);
		far_connected();
		far_answer(far_asked(&f, "initialize"), answers[i]);
		fake_pass(0);
		EQ(u.ended, 1);
		OK(u.end.refused);
		OK(strstr(u.end.text, "the executor's answer has no session"));
		far_close(&f);
	}
}

TEST(invalid_answers_end_the_connection)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	OK(far_attach(&f, "{\"sessionId\":\"S1\",\"killick\":{\"leaseMs\":-7}}"));
	far_answer(far_asked(&f, "process/start"), "null");
	EQ(u.started, 1);
	EQ(u.pid, -1);
	EQ(link_write(u.link, "x", 1), 0);
	far_answer(far_asked(&f, "process/write"), "[]");
	EQ(link_write(u.link, "x", 1), -EPIPE);
	link_stop(u.link, LINK_STOP_EOF);
	far_answer(far_asked(&f, "process/terminate"), "7");
	far_refuse(far_asked(&f, "process/read"), 0, "");
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(an_end_that_comes_twice)
{
	AUTO(user_done) struct user u = { .keep = true };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_exited("k1", 1, 1);
	far_exited("k1", 2, 2);
	far_closed("k1", 3, FAR_REPORT);
	far_closed("k1", 3, FAR_REPORT);
	far_closed("k1", 4, NULL);
	far_output("k1", 5, "stdout", "x");
	EQ(u.ended, 1);
	STREQ(user_out(&u), "");
	link_free(u.link);
	far_close(&f);
}
