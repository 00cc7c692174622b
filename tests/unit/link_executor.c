/* link_executor.c - links to real keepers: what executors ask of them. */
#include "unit/link_seen.h"

TEST(without_a_stdin)
{
	struct seen s;

	start_shell_as(&s, "wc -c; readlink /proc/self/fd/0",
		       &(struct recipe){ .stdio = STDIO_NULL });
	EQ(put(&s, "x", 1), -EPIPE);
	await_end(&s);
	STREQ(s.out.data, "0\n/dev/null\n");
	finish(&s);
}

/* What others call things is no option of the keeper's. */
TEST(names_like_options)
{
	static const char *const names[] = { "--on", "--on=ssh:nowhere", "--", "--help" };
	struct seen s;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		start_shell_as(&s, "echo up; exec cat",
			       &(struct recipe){
				       .name = names[i], .session = names[i], .arg0 = names[i] });
		await_bytes(&s, 3);
		stop(&s, LINK_STOP_EOF);
		await_end(&s);
		finish(&s);
	}
}

TEST(a_directory_that_is_not_there)
{
	struct seen s;

	start_shell_as(&s, "echo up", &(struct recipe){ .cwd = "/no/such/directory" });
	await_end(&s);
	OK(s.end.refused && !s.end.pid && !s.out.len);
	STREQ(s.end.text, "cannot enter the directory '/no/such/directory' for the server: No "
			  "such file or directory; give another directory (--cwd, or cwd in the "
			  "config)");
	finish(&s);
}

TEST(a_terminal)
{
	struct seen s;

	start_shell_as(&s,
		       "test -t 0 && test -t 1 && test -t 2 && stty size && stty -echo && "
		       "echo ready >/dev/tty && read x && echo \"<$x>\" && exit 6",
		       &(struct recipe){ .stdio = STDIO_TERMINAL, .linger_ms = 60000 });
	await_bytes(&s, strlen("24 80\r\nready\r\n"));
	EQ(put(&s, "hello\n", 6), 0);
	await_end(&s);
	STREQ(s.out.data, "24 80\r\nready\r\n<hello>\r\n");
	OK(s.exited && !s.err.len);
	EQ(s.exit_code, 6);
	OK(s.end.proof);
	finish(&s);
}

TEST(interrupted)
{
	struct seen s;

	start_shell(&s, "trap 'echo int; exit 5' INT; echo up; while :; do read x || exit 9; done");
	await_bytes(&s, 3);
	loop_lock(s.loop);
	link_interrupt(s.link);
	loop_unlock(s.loop);
	await_end(&s);
	EQ(s.end.exit_code, 5);
	finish(&s);
}

/* The keeper has not read what it was told before, and there is no room for more words. */
TEST(the_last_output_is_not_lost)
{
	struct seen s;
	pid_t hold, watch;

	start_shell(&s, "trap '' INT; echo up; exec sleep 60");
	await_bytes(&s, 3);
	hold = parent_of(s.pid);
	watch = parent_of(hold);
	OK(hold > 1 && watch > 1);
	kill(watch, SIGSTOP); /* it would wake the hold */
	kill(hold, SIGSTOP);
	loop_lock(s.loop);
	for (int i = 0; i < 5000; i++)
		link_interrupt(s.link);
	link_stop(s.link, LINK_STOP_KILL);
	link_stop(s.link, LINK_STOP_TERM); /* comes too late */
	loop_unlock(s.loop);
	kill(hold, SIGCONT);
	kill(watch, SIGCONT);
	await_end(&s);
	EQ(s.end.exit_signal, SIGKILL);
	finish(&s);
}

TEST(leftovers_that_linger)
{
	struct seen s;

	start_shell_as(&s, "exec 5<&0; (read x; echo late) <&5 & exit 3",
		       &(struct recipe){ .linger_ms = 60000 });
	loop_lock(s.loop);
	while (!s.exited)
		await(&s);
	EQ(s.exit_code, 3);
	OK(!s.eof && !s.err_eof && !s.ended);
	loop_unlock(s.loop);
	EQ(put(&s, "x\n", 2), 0);
	await_end(&s);
	STREQ(s.out.data, "late\n");
	EQ(s.end.exit_code, 3);
	finish(&s);
}

/* A writer waits while we do not read, and loses nothing; the end is told although nobody reads. */
TEST(paused)
{
	const size_t size = 3 << 20;
	struct seen s;

	start_shell(&s, "echo; read x; head -c 3145727 /dev/zero");
	await_bytes(&s, 1);
	loop_lock(s.loop);
	link_pause(s.link, true);
	link_pause(s.link, true);
	loop_unlock(s.loop);
	EQ(put(&s, "\n", 1), 0);
	EQ(t_wait_fd(-1, 0, 100), 0);
	loop_lock(s.loop);
	OK(s.out.len == 1 && !s.ended);
	link_pause(s.link, false);
	link_pause(s.link, false);
	loop_unlock(s.loop);
	await_end(&s);
	EQ(s.out.len, size);
	finish(&s);
}

TEST(ended_while_paused)
{
	struct seen s;

	start_shell(&s, "echo up; read x; head -c 65536 /dev/zero; echo err >&2; exit 2");
	await_bytes(&s, 3);
	loop_lock(s.loop);
	link_pause(s.link, true);
	s.pauses = true;
	loop_unlock(s.loop);
	EQ(put(&s, "x\n", 2), 0);
	await_end(&s);
	EQ(s.out.len, 3 + 65536);
	STREQ(s.err.data, "err\n");
	finish(&s);
}

TEST(room_again)
{
	const size_t size = 4 << 20;
	char *zeros = calloc(1, size);
	struct seen s;

	start_shell(&s, "echo up; read x; exec wc -c");
	await_bytes(&s, 3);
	EQ(put(&s, "\n", 1), 0);
	EQ(put(&s, zeros, size), 0);
	loop_lock(s.loop);
	while (link_unwritten(s.link))
		await(&s);
	OK(s.rooms > 0);
	loop_unlock(s.loop);
	stop(&s, LINK_STOP_EOF);
	await_end(&s);
	STREQ(s.out.data, "up\n4194304\n");
	free(zeros);
	finish(&s);
}
