/* link.c - links to real keepers: what comes and goes, and how it ends. */
#include "link/link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "t.h"

#define DEADLINE_S 8

struct seen {
	struct loop *loop;
	struct link *link;
	pthread_cond_t news;
	pid_t pid;
	char level[16];
	struct buf out, err;
	bool eof, ended, err_eof, exited;
	int exit_code;
	unsigned rooms;
	bool pauses; /* whenever bytes come */
	struct link_end end;
	char report[4096];
};

static void on_started(void *ctx, pid_t pid, const char *level)
{
	struct seen *s = ctx;

	s->pid = pid;
	snprintf(s->level, sizeof(s->level), "%s", level);
	pthread_cond_broadcast(&s->news);
}

static void on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct seen *s = ctx;

	buf_add(&s->out, bytes, len);
	if (s->pauses)
		link_pause(s->link, true);
	pthread_cond_broadcast(&s->news);
}

static void on_stderr(void *ctx, const char *bytes, size_t len)
{
	struct seen *s = ctx;

	buf_add(&s->err, bytes, len);
}

static void on_eof(void *ctx)
{
	((struct seen *)ctx)->eof = true;
	pthread_cond_broadcast(&((struct seen *)ctx)->news);
}

static void on_ended(void *ctx, const struct link_end *end)
{
	struct seen *s = ctx;

	OK(!s->ended);
	s->ended = true;
	s->end = *end;
	snprintf(s->report, sizeof(s->report), "%s", end->report);
	pthread_cond_broadcast(&s->news);
}

static void on_stderr_eof(void *ctx)
{
	((struct seen *)ctx)->err_eof = true;
}

static void on_exited(void *ctx, int exit_code, int exit_signal)
{
	struct seen *s = ctx;

	EQ(exit_signal, 0);
	OK(!s->ended);
	s->exited = true;
	s->exit_code = exit_code;
	pthread_cond_broadcast(&s->news);
}

static void on_room(void *ctx)
{
	struct seen *s = ctx;

	s->rooms++;
	pthread_cond_broadcast(&s->news);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static const struct link_events events = {
	.on_started = on_started,
	.on_bytes = on_bytes,
	.on_stderr = on_stderr,
	.on_eof = on_eof,
	.on_ended = on_ended,
	.on_stderr_eof = on_stderr_eof,
	.on_exited = on_exited,
	.on_room = on_room,
};

extern char **environ;

static void begin(struct seen *s)
{
	pthread_condattr_t attr;
	struct err e;

	memset(s, 0, sizeof(*s));
	s->out.max = s->err.max = 64 << 20;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->news, &attr);
	EQ(loop_open(&s->loop, nothing, NULL, &e), 0);
}

static int start_as(struct seen *s, char *const *argv, const struct link_spec *as, struct err *e)
{
	struct link_spec spec = { .keeper = t_program("KILLICK", "build/killick"),
				  .name = as->name ? as->name : "test",
				  .session = as->session,
				  .arg0 = as->arg0,
				  .argv = argv,
				  .envp = environ,
				  .cwd = as->cwd,
				  .grace_ms = 2000,
				  .write_limit = 16 << 20,
				  .stdio = as->stdio,
				  .linger_ms = as->linger_ms };
	int r;

	loop_lock(s->loop);
	r = link_open(s->loop, &spec, &events, s, &s->link, e);
	loop_unlock(s->loop);
	return r;
}

static int start(struct seen *s, char *const *argv, const char *cwd, struct err *e)
{
	return start_as(s, argv, &(struct link_spec){ .cwd = cwd }, e);
}

static void start_shell_as(struct seen *s, const char *script, const struct link_spec *as)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	struct err e;

	begin(s);
	if (start_as(s, argv, as, &e) < 0)
		FAIL("%s", e.text);
}

static void start_shell(struct seen *s, const char *script)
{
	start_shell_as(s, script, &(struct link_spec){ .cwd = NULL });
}

/* With the lock: wait for the next news. */
static void await(struct seen *s)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += DEADLINE_S;
	EQ(pthread_cond_timedwait(&s->news, loop_mutex(s->loop), &until), 0);
}

static void await_bytes(struct seen *s, size_t len)
{
	loop_lock(s->loop);
	while (s->out.len < len || !s->pid) /* a server may be faster than its keeper */
		await(s);
	loop_unlock(s->loop);
}

static void await_end(struct seen *s)
{
	loop_lock(s->loop);
	while (!s->ended)
		await(s);
	loop_unlock(s->loop);
}

static void stop(struct seen *s, enum link_stop how)
{
	loop_lock(s->loop);
	link_stop(s->link, how);
	loop_unlock(s->loop);
}

static void finish(struct seen *s)
{
	loop_lock(s->loop);
	if (s->link)
		link_free(s->link);
	loop_unlock(s->loop);
	loop_close(s->loop);
	buf_done(&s->out);
	buf_done(&s->err);
}

static int put(struct seen *s, const char *bytes, size_t len)
{
	int r;

	loop_lock(s->loop);
	r = link_write(s->link, bytes, len);
	loop_unlock(s->loop);
	return r;
}

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
	STREQ(s.end.step, "eof");
	OK(!strncmp(s.end.proof, "waitid", 6));
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
	STREQ(s.end.why, "exit");
	STREQ(s.end.step, "none");
	finish(&s);
}

TEST(a_server_that_does_not_want_to_go)
{
	struct seen s;

	start_shell(&s, "trap '' TERM; echo up; while :; do sleep 100; done");
	await_bytes(&s, 3);
	stop(&s, LINK_STOP_KILL);
	await_end(&s);
	EQ(s.end.exit_signal, SIGKILL);
	STREQ(s.end.step, "kill");
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
	STREQ(s.end.step, "term");
	finish(&s);
}

TEST(what_cannot_be_run_is_refused_with_a_sentence)
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

static pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "PPid: %d", &parent);
	if (f)
		fclose(f);
	return parent;
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
	kill(watch, SIGSTOP); /* neither may act for the other; the watch would wake the hold */
	kill(hold, SIGSTOP);
	kill(watch, SIGKILL);
	kill(hold, SIGKILL);
	await_end(&s);
	STREQ(s.end.why, "keeper");
	STREQ(s.end.proof, "none");
	/* the janitor was here: not even what had left the server's group is there any more */
	OK(audit_wait_empty(&t_audit, 1000, NULL));
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

/* --- what executors ask for --- */

TEST(without_a_stdin)
{
	struct seen s;

	start_shell_as(&s, "wc -c; readlink /proc/self/fd/0",
		       &(struct link_spec){ .stdio = LINK_NO_STDIN });
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
			       &(struct link_spec){
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

	start_shell_as(&s, "echo up", &(struct link_spec){ .cwd = "/no/such/directory" });
	await_end(&s);
	OK(s.end.refused && !s.end.pid && !s.out.len);
	STREQ(s.end.text, "cannot enter its directory '/no/such/directory': "
			  "No such file or directory");
	finish(&s);
}

TEST(a_terminal)
{
	struct seen s;

	start_shell_as(&s,
		       "test -t 0 && test -t 1 && test -t 2 && stty size && stty -echo && "
		       "echo ready >/dev/tty && read x && echo \"<$x>\" && exit 6",
		       &(struct link_spec){ .stdio = LINK_TERMINAL, .linger_ms = 60000 });
	await_bytes(&s, strlen("24 80\r\nready\r\n"));
	EQ(put(&s, "hello\n", 6), 0);
	await_end(&s);
	STREQ(s.out.data, "24 80\r\nready\r\n<hello>\r\n");
	OK(s.eof && s.exited && !s.err.len);
	EQ(s.exit_code, 6);
	STREQ(s.end.proof[0] ? "proved" : "", "proved");
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
TEST(the_last_word_is_not_lost)
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
		       &(struct link_spec){ .linger_ms = 60000 });
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

	start_shell(&s, "echo; head -c 3145727 /dev/zero");
	await_bytes(&s, 1);
	loop_lock(s.loop);
	link_pause(s.link, true);
	link_pause(s.link, true);
	loop_unlock(s.loop);
	EQ(t_wait_fd(-1, 0, 100), 0);
	loop_lock(s.loop);
	OK(s.out.len < size && !s.ended);
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
