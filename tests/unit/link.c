/* link.c - links to real keepers: what comes and goes, and how it ends. */
#include "unit/link_seen.h"

#include <dirent.h>

TEST(bytes_go_and_come)
{
	struct seen s;

	start_shell(&s, "exec cat");
	EQ(put(&s, "hello\n", 6), 0);
	await_bytes(&s, 6);
	STREQ(s.out.data, "hello\n");
	OK(s.pid > 0 && *s.level);
	stop(&s, LINK_STOP_EOF);
	await_end(&s);
	EQ(s.end.pid, s.pid);
	EQ(s.end.exit_code, 0);
	EQ(s.end.survivors, 0);
	EQ(s.end.step, LINK_STEP_EOF);
	OK(s.end.proof & LINK_PROOF_WAITID);
	OK(strstr(s.report, "\"why\":\"stdin\""));
	finish(&s);
}

TEST(everything_a_server_said_comes_before_its_end)
{
	struct seen s;

	start_shell(&s, "head -c 100000 /dev/zero | tr '\\0' x; echo bad >&2; exit 3");
	await_end(&s);
	EQ(s.out.len, 100000);
	STREQ(s.err.data, "bad\n");
	EQ(s.end.exit_code, 3);
	EQ(s.end.why, LINK_WHY_EXIT);
	EQ(s.end.step, LINK_STEP_NONE);
	finish(&s);
}

TEST(a_server_that_ignores_sigterm_is_killed)
{
	struct seen s;

	start_shell(&s, "trap '' TERM; echo up; while :; do sleep 100; done");
	await_bytes(&s, 3);
	stop(&s, LINK_STOP_KILL);
	await_end(&s);
	EQ(s.end.exit_signal, SIGKILL);
	EQ(s.end.step, LINK_STEP_KILL);
	finish(&s);
}

TEST(stop_asks_with_a_signal)
{
	struct seen s;

	start_shell(&s, "trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done");
	await_bytes(&s, 3);
	stop(&s, LINK_STOP_TERM);
	await_end(&s);
	EQ(s.end.exit_code, 7);
	EQ(s.end.step, LINK_STEP_TERM);
	finish(&s);
}

TEST(a_command_that_cannot_run_is_refused_with_a_sentence)
{
	char *argv[] = { "/no/such/program", NULL };
	struct seen s;
	struct err e;

	begin(&s);
	EQ(start(&s, argv, NULL, &e), 0);
	await_end(&s);
	OK(s.end.refused);
	EQ(s.end.pid, 0);
	OK(strstr(s.end.text, "/no/such/program"));
	finish(&s);
}

TEST(what_the_server_does_not_read_waits_up_to_a_limit)
{
	static char block[1 << 20];
	struct seen s;
	int r = 0, taken = 0;

	memset(block, 'x', sizeof(block));
	start_shell(&s, "read line; exec cat");
	while (taken < 64 && (r = put(&s, block, sizeof(block))) == 0)
		taken++;
	EQ(r, -ENOBUFS);
	OK(taken >= 16 && taken <= 18);
	loop_lock(s.loop);
	OK(link_unwritten(s.link) > 15 << 20);
	loop_unlock(s.loop);
	stop(&s, LINK_STOP_KILL);
	await_end(&s);
	finish(&s);
}

TEST(a_large_message_comes_back_whole)
{
	static char block[8 << 20];
	struct seen s;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 7 + i / 251);
	start_shell(&s, "exec cat");
	EQ(put(&s, block, sizeof(block)), 0);
	await_bytes(&s, sizeof(block));
	OK(memcmp(s.out.data, block, sizeof(block)) == 0);
	stop(&s, LINK_STOP_EOF);
	await_end(&s);
	finish(&s);
}

TEST(writing_to_a_closed_stdin_is_an_error_and_no_signal)
{
	struct seen s;
	int r = 0;

	start_shell(&s, "exec <&-; echo closed; exec sleep 100");
	await_bytes(&s, 7);
	/* the keeper's copy of the reading end goes once the server runs, a moment later */
	for (int i = 0; i < 2000 && (r = put(&s, "x", 1)) == 0; i++)
		poll(NULL, 0, 1);
	EQ(r, -EPIPE);
	stop(&s, LINK_STOP_TERM);
	await_end(&s);
	finish(&s);
}

static volatile sig_atomic_t children;

static void on_child(int sig)
{
	(void)sig;
	children = children + 1;
}

TEST(the_host_has_no_children)
{
	struct sigaction sa = { .sa_handler = on_child };
	struct seen s;

	prctl(PR_SET_CHILD_SUBREAPER, 0); /* as any host */
	sigaction(SIGCHLD, &sa, NULL);
	start_shell(&s, "exec cat");
	EQ(put(&s, "x", 1), 0);
	await_bytes(&s, 1);
	EQ(waitpid(-1, NULL, WNOHANG), -1);
	EQ(errno, ECHILD);
	stop(&s, LINK_STOP_EOF);
	await_end(&s);
	EQ(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	EQ(children, 0);
	finish(&s);
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	OK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

TEST(a_server_costs_its_host_four_descriptors)
{
	struct seen s;
	int before;

	prctl(PR_SET_CHILD_SUBREAPER, 0); /* as any host */
	begin(&s);
	before = count_descriptors();
	EQ(start(&s, (char *[]){ "cat", NULL }, NULL, NULL), 0);
	EQ(put(&s, "x", 1), 0);
	await_bytes(&s, 1);
	EQ(count_descriptors() - before, 4); /* stdin, stdout, stderr, control */
	stop(&s, LINK_STOP_EOF);
	await_end(&s);
	EQ(count_descriptors(), before);
	finish(&s);
}

TEST(a_host_that_is_a_subreaper_is_left_no_zombie)
{
	struct seen s;

	start_shell(&s, "exec cat");
	EQ(put(&s, "x", 1), 0);
	await_bytes(&s, 1);
	stop(&s, LINK_STOP_EOF);
	await_end(&s);
	EQ(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	EQ(errno, ECHILD);
	finish(&s);
}

TEST(both_keepers_killed)
{
	struct seen s;
	pid_t hold, watch;

	start_shell(&s, "setsid sleep 60 >/dev/null 2>&1 & exec cat");
	EQ(put(&s, "x", 1), 0);
	await_bytes(&s, 1);
	hold = parent_of(s.pid);
	watch = parent_of(hold);
	OK(hold > 1 && watch > 1);
	/* Neither may act for the other. The hold dies first: a stopped watch stays stopped when
	 * its child dies, and a stopped hold is continued when the watch dies. */
	kill(watch, SIGSTOP);
	kill(hold, SIGKILL);
	kill(watch, SIGKILL);
	await_end(&s);
	EQ(s.end.why, LINK_WHY_KEEPER);
	EQ(s.end.proof, 0);
	/* the janitor was here: not even what had left the server's group is there any more */
	OK(audit_wait_empty(&t_audit, 8000, NULL));
	finish(&s);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

/* What was written before the end is read before it. */
TEST(eof_comes_after_what_was_written)
{
	const size_t size = 4 << 20;
	char *zeros = calloc(1, size);
	struct seen s;

	start_shell(&s, "echo up; exec wc -c");
	await_bytes(&s, 3);
	EQ(put(&s, zeros, size), 0);
	stop(&s, LINK_STOP_EOF);
	EQ(put(&s, "x", 1), -EPIPE);
	await_end(&s);
	STREQ(s.out.data, "up\n4194304\n");
	free(zeros);
	finish(&s);
}
