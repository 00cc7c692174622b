/* edges.c - what an owner, a client or another process on the machine can do to keepers without
 * being the server: stopped keepers of an owner that is not their parent, leaked descriptors,
 * endless environments, pipes that nobody reads, full disks, pid 1, time namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"

/* An owner that is not the parent of its keepers but has a control socket to them, as libkillick.
 * The server stops both keepers; then the owner is killed. */
TEST(stopped_keepers_of_an_owner_that_is_not_their_parent_are_woken, .timeout_ms = 30000)
{
	const char *killick = t_program("KILLICK", "build/killick");
	char pid[16], number[16], file[160];
	pid_t owner, server;

	snprintf(file, sizeof(file), "%s/up", t_audit.dir);
	setenv("UP", file, 1);
	owner = fork();
	if (owner == 0) {
		int pair[2], in[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) || pipe(in))
			_exit(1);
		snprintf(number, sizeof(number), "%d", pair[1]);
		snprintf(pid, sizeof(pid), "%d", (int)getpid());
		if (fork() == 0) {
			close(pair[0]);
			close(in[1]);
			dup2(in[0], 0);
			if (fork() == 0)
				execl(killick, "killick", "run", "--sweep", "no", "--contain",
				      "keeper", "--control", number, "--owner", pid, "--", "sh",
				      "-c",
				      "w=$(ps -o ppid= -p $PPID); kill -STOP $w $PPID; "
				      "echo $$ >$UP; exec sleep 20",
				      (char *)NULL);
			_exit(0);
		}
		close(pair[1]);
		wait(NULL);
		pause();
		_exit(0);
	}
	server = held_pid_from(file);
	OK(kill(owner, SIGKILL) == 0 && waitpid(owner, NULL, 0) == owner);
	OK(held_wait_gone(server));
	double end = t_now_ms() + HELD_MS;
	while (waitpid(-1, NULL, WNOHANG) >= 0 && t_now_ms() < end) /* keepers came to us */
		usleep(1000);
}

/* A client that forgets O_CLOEXEC: keepers of one server must not hold the stdin of another open.
 */
TEST(keepers_close_descriptors_that_the_client_leaked)
{
	struct held a, b;
	int leak;

	HELD(&a, "--", "cat");
	leak = fcntl(a.in, F_DUPFD, 20); /* inherited by all that follows */
	HELD(&b, "--", "cat");
	OK(write(b.in, "up\n", 3) == 3);
	held_expect(&b, "up");
	close(leak);
	held_eof(&a);
	EQ(held_status(&a), 0);
	held_eof(&b);
	EQ(held_status(&b), 0);
	held_done(&a);
	held_done(&b);
}

/* The kernel's struct prctl_mm_map. */
struct mm_map {
	uint64_t start_code, end_code, start_data, end_data, start_brk, brk, start_stack, arg_start,
		arg_end, env_start, env_end;
	uint64_t *auxv;
	uint32_t auxv_size, exe_fd;
};

/* Call a terabyte of untouched memory our environment. False: not possible here. */
static bool claim_endless_environment(void)
{
	const size_t size = 1UL << 40;
	char *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct mm_map map = { .exe_fd = (uint32_t)-1 };
	unsigned long v[9] = { 0 };
	char text[1024] = "", *p;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || room == MAP_FAILED || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	close(fd);
	/* fields 26 to 28 and 45 to 49 of /proc/self/stat */
	p = strrchr(text, ')') + 2;
	for (int field = 3; p && *p; field++, p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL) {
		if (field >= 26 && field <= 28)
			v[field - 26] = strtoul(p, NULL, 10);
		if (field >= 45 && field <= 49)
			v[field - 42] = strtoul(p, NULL, 10);
	}
	map.start_code = v[0], map.end_code = v[1], map.start_stack = v[2];
	map.start_data = v[3], map.end_data = v[4], map.start_brk = v[5];
	map.brk = (uint64_t)(uintptr_t)sbrk(0);
	map.arg_start = v[6], map.arg_end = v[7];
	map.env_start = (uint64_t)(uintptr_t)room;
	map.env_end = map.env_start + size;
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

/* Any process may do that, of another user as well when killick runs as root. */
TEST(an_endless_environment_of_another_process_delays_nothing, .timeout_ms = 30000)
{
	struct held h;
	int fds[2];
	char word;
	pid_t pid;

	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		word = claim_endless_environment() ? 'y' : 'n';
		OK(write(fds[1], &word, 1) == 1);
		pause();
	}
	OK(read(fds[0], &word, 1) == 1);
	close(fds[0]);
	close(fds[1]);
	if (word == 'y') {
		HELD(&h, "--", "true");
		EQ(held_status(&h), 0);
		OK(held_reported(&h, "\"mark\"") && held_report_lines(&h) == 1);
		held_done(&h);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (word != 'y')
		SKIP("no PR_SET_MM_MAP here");
}

/* A report that does not fit into its pipe costs a second, not the exit status. */
TEST(a_long_report_into_a_full_pipe_does_not_lose_the_status)
{
	static char filler[65536 - 4096], arg[901];
	char number[16];
	int fds[2], status;
	pid_t pid;

	memset(arg, 1, sizeof(arg) - 1);
	OK(pipe(fds) == 0 && fcntl(fds[1], F_SETPIPE_SZ, 65536) == 65536);
	OK(write(fds[1], filler, sizeof(filler)) == sizeof(filler));
	snprintf(number, sizeof(number), "%d", fds[1]);
	pid = fork();
	if (pid == 0) {
		execl(t_program("KILLICK", "build/killick"), "killick", "run", "--report", number,
		      "--", "sh", "-c", "exit 5", arg, (char *)NULL);
		_exit(127);
	}
	status = t_wait_child(pid, HELD_MS);
	EQ(WEXITSTATUS(status), 5);
	close(fds[0]);
	close(fds[1]);
}

/* A FIFO that is full. The answer is our end of it, which nobody reads. */
static int full_fifo(const char *path)
{
	static const char filler[65536];
	int fd;

	unlink(path);
	OK(mkfifo(path, 0600) == 0);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	OK(fd >= 0);
	while (write(fd, filler, sizeof(filler)) > 0)
		;
	EQ(errno, EAGAIN);
	return fd;
}

/* A report that nobody takes: by name or by a blocking descriptor, while we could read the FIFO and
 * do not, and when only the server and its daemon ever could. */
TEST(a_report_that_nobody_reads_does_not_stop_the_end, .timeout_ms = 60000)
{
	char path[160], number[16];

	snprintf(path, sizeof(path), "%s/unread", t_audit.dir);
	setenv("FIFO", path, 1);
	for (int i = 0; i < 4; i++) {
		bool by_number = i & 1, keep_reader = i & 2;
		int ours = full_fifo(path);
		int theirs = by_number ? open(path, O_WRONLY) : -1; /* inherited, and blocking */
		struct held h;

		snprintf(number, sizeof(number), "%d", theirs);
		HELD(&h, "--report", by_number ? number : path, "--", "sh", "-c",
		     "exec 9<\"$FIFO\"; setsid sleep 600 & echo up; read x; exit 5");
		held_expect(&h, "up");
		if (theirs >= 0)
			close(theirs);
		if (!keep_reader)
			close(ours);
		held_eof(&h);
		EQ(WEXITSTATUS(held_status(&h)), 5);
		held_done(&h);
		if (keep_reader)
			close(ours);
	}
}

TEST(owner_stdin_needs_a_stdin_that_can_hang_up)
{
	struct held h;
	char text[300];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	held_start_with(&h, (const char *const[]){ "--owner", "stdin", "--", "true", NULL }, null,
			-1);
	EQ(WEXITSTATUS(held_status(&h)), 64);
	held_errors(&h, text, sizeof(text));
	OK(strstr(text, "--owner stdin"));
	close(null);
	held_done(&h);
}

/* A stopped watch behind a relay: the relay stops with it, and must see the end. */
TEST(a_relay_that_stopped_sees_the_end)
{
	struct held h;
	char line[64];

	held_start_script(&h, "sh",
			  "sleep 20 & exec \"$K\" run --sweep no --report \"$R\" -- "
			  "sh -c 'echo $PPID; exec cat'");
	OK(held_line(&h, line, sizeof(line)));
	pid_t hold = (pid_t)atoi(line), watch = held_parent(hold);
	OK(watch != h.watch && kill(watch, SIGSTOP) == 0);
	held_await_stopped(h.watch);
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
	audit_scrub(&t_audit); /* killick leaves `sleep 20` alone: the test ends it */
	while (waitpid(-1, NULL, __WALL) > 0) /* it is killed, but may not have exited yet */
		;
}

/* --- pid 1 of a container --- */

static int count_children(pid_t pid)
{
	char path[64], text[256];
	int count = 0, fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	OK(fd >= 0);
	n = read(fd, text, sizeof(text));
	close(fd);
	for (ssize_t i = 0; i < n; i++)
		count += text[i] == ' '; /* each pid is followed by one */
	return count;
}

/* Somebody else's process in the pid namespace of `pid`, an orphan: pid 1 there is its parent. The
 * answer is a pipe which it holds open; `stays`: until it is killed, for 20 s at most. */
static int add_orphan(pid_t pid, bool stays)
{
	char path[40], byte;
	int fds[2], ns;
	pid_t enters;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	OK(pipe2(fds, O_CLOEXEC) == 0);
	enters = fork();
	if (enters == 0) {
		for (int fd = 3; fd < 64; fd++) { /* our end of killick's stdin as well */
			if (fd != fds[1])
				close(fd);
		}
		ns = open(path, O_RDONLY | O_CLOEXEC);
		if (ns < 0 || setns(ns, CLONE_NEWPID) < 0 || (enters = fork()) < 0)
			_exit(1);
		if (enters > 0) {
			waitpid(enters, NULL, 0);
			_exit(0);
		}
		if (fork() > 0) /* our child is the orphan */
			_exit(0);
		alarm(20);
		while (getppid() != 1)
			poll(NULL, 0, 1);
		(void)!write(fds[1], "o", 1);
		while (stays)
			pause();
		_exit(0);
	}
	close(fds[1]);
	OK(t_wait_child(enters, HELD_MS) == 0);
	OK(t_wait_fd(fds[0], POLLIN, HELD_MS) && read(fds[0], &byte, 1) == 1);
	return fds[0];
}

static void start_as_pid_1(struct held *h, const char *server)
{
	char script[400];

	if (geteuid() != 0)
		SKIP("a pid namespace needs root");
	snprintf(script, sizeof(script),
		 "exec unshare --pid --fork --kill-child --mount-proc \"$K\" run --sweep no "
		 "--contain keeper --report \"$R\" -- sh -c '%s'",
		 server);
	held_start_script(h, "sh", script);
}

/* Pid 1 gets the orphans of everybody in its pid namespace. They are no part of the tree: the watch
 * does not kill them, and nothing but the end of pid 1 ends them. */
TEST(pid_1_of_a_container_leaves_the_orphans_of_others_alone, .timeout_ms = 40000)
{
	struct held h;
	int lives, ended;
	pid_t pid1, watch = 0;

	start_as_pid_1(&h, "echo up; read x; exit 7");
	held_expect(&h, "up");
	pid1 = held_hold(&h); /* here the child of unshare */
	watch = held_hold(&(struct held){ .watch = pid1 });
	lives = add_orphan(pid1, true);
	ended = add_orphan(pid1, false);
	OK(t_wait_fd(ended, POLLHUP, HELD_MS) & POLLHUP);
	close(ended);
	/* the watch, and the orphan that lives: the other one is reaped */
	for (double end = t_now_ms() + HELD_MS; count_children(pid1) != 2 && t_now_ms() < end;)
		poll(NULL, 0, 1);
	EQ(count_children(pid1), 2);

	/* While a tracer holds pid 1, the watch ends all that it takes for its own. */
	OK(ptrace(PTRACE_SEIZE, pid1, NULL, NULL) == 0 &&
	   ptrace(PTRACE_INTERRUPT, pid1, NULL, NULL) == 0 && waitpid(pid1, NULL, __WALL) == pid1);
	held_eof(&h);
	OK(held_wait_gone(watch));
	OK(t_wait_fd(lives, POLLHUP, 0) == 0);
	OK(ptrace(PTRACE_DETACH, pid1, NULL, NULL) == 0);
	int status = held_status(&h);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 7);
	OK(t_wait_fd(lives, POLLHUP, HELD_MS) & POLLHUP); /* the kernel ends a namespace */
	close(lives);
	EQ(held_report_lines(&h), 1);
	OK(held_reported(&h, "\"why\":\"stdin\"") && held_reported(&h, "\"killed\":0,"));
	held_done(&h);
}

/* No signal of its own ends pid 1: a death by signal becomes an exit status. */
TEST(pid_1_of_a_container_passes_a_signals_death_on)
{
	struct held h;

	start_as_pid_1(&h, "kill -KILL $$");
	int status = held_status(&h);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 128 + SIGKILL);
	EQ(held_report_lines(&h), 1);
	held_done(&h);
}

/* Once the end has begun a word cannot make it more patient: records say until when it takes. */
TEST(a_second_request_does_not_lengthen_the_grace, .timeout_ms = 30000)
{
	const char *killick = t_program("KILLICK", "build/killick");
	char number[16], text[600];
	int pair[2], status;
	double start;
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	pid = fork();
	if (pid == 0) {
		int fd = dup(pair[1]);

		snprintf(number, sizeof(number), "%d", fd);
		execl(killick, "killick", "run", "--sweep", "no", "--control", number, "--", "sh",
		      "-c", "trap '' TERM; while :; do sleep 1; done", (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	OK(recv(pair[0], text, sizeof(text), 0) > 0); /* started */
	start = t_now_ms();
	OK(send(pair[0], "eof 100", 7, 0) == 7 && send(pair[0], "stop 20000", 10, 0) == 10);
	status = t_wait_child(pid, HELD_MS);
	OK(status >= 0 && t_now_ms() - start < 6000);
	close(pair[0]);
}

/* Start times differ between time namespaces: a janitor in another one must not act. */
TEST(a_janitor_in_another_time_namespace_leaves_trees_alone)
{
	char dir[160];
	struct held h;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("a time namespace needs root");
	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
	HELD(&h, "--", "cat");
	OK(write(h.in, "up\n", 3) == 3);
	held_expect(&h, "up");
	pid = fork();
	if (pid == 0) {
		int fd;

		if (unshare(CLONE_NEWTIME) ||
		    (fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC)) < 0 ||
		    write(fd, "boottime 100000 0\n", 18) != 18)
			_exit(77);
		close(fd);
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(fd, 1);
		if (fork() == 0)
			execl(t_program("KILLICK", "build/killick"), "killick", "reap", "--no-wait",
			      (char *)NULL);
		wait(NULL);
		_exit(0);
	}
	int status = t_wait_child(pid, HELD_MS);
	OK(write(h.in, "here\n", 5) == 5);
	held_expect(&h, "here");
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
	if (WEXITSTATUS(status) == 77)
		SKIP("no time namespaces here");
}

/* --- the report --- */

/* With the step at which the hold dies; NULL: the hold lives. */
static void die_and_count_reports(const char *step, const char *level)
{
	struct held h;

	if (step)
		setenv("KILLICK_DIE_AT", step, 1);
	else
		unsetenv("KILLICK_DIE_AT");
	HELD(&h, "--contain", level, "--", "/bin/sh", "-c", "exit 3");
	int status = held_status(&h);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 69) {
		t_note("no level %s here", level);
	} else {
		if (held_report_lines(&h) != 1)
			FAIL("death at %s, %s: %d reports", step, level, held_report_lines(&h));
		OK(held_reported(&h, "\"survivors\":[]"));
	}
	held_done(&h);
	unlink(h.report);
}

TEST(a_tree_has_one_report_wherever_its_hold_dies, .timeout_ms = 60000)
{
	static const char *const steps[] = { "hold:begin",   "hold:ready",     "hold:cloned",
					     "hold:started", "hold:stopping",  "hold:killed",
					     "hold:proved",  "hold:reporting", "hold:reported",
					     "hold:clean",   "hold:done",      NULL };

	setenv("KILLICK", t_program("KILLICK_STEPS", "build/tests/killick-steps"), 1);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		die_and_count_reports(steps[i], "keeper");
		die_and_count_reports(steps[i], "cgroup");
		die_and_count_reports(steps[i], "namespace");
	}
}

TEST(a_report_that_cannot_be_written_is_said_on_stderr)
{
	char text[1024];
	struct held h;

	HELD(&h, "--report", "/dev/full", "--", "/bin/sh", "-c", "exit 3");
	int status = held_status(&h);
	held_errors(&h, text, sizeof(text));
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 3); /* as the server exited */
	STREQ(text, "killick: --report: cannot write to '/dev/full': No space left on device; the "
		    "tree has ended\n");
	held_done(&h);
}

/* Nothing reads stderr either, and its pipe is full. */
TEST(a_report_that_cannot_be_written_does_not_block_the_end)
{
	struct held h;

	HELD(&h, "--report", "/dev/full", "--", "/bin/sh", "-c",
	     "dd if=/dev/zero bs=4096 count=1000 oflag=nonblock 2>/dev/null >&2; exit 3");
	int status = held_status(&h);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 3);
	held_done(&h);
}

TEST(a_full_disk_is_refused_before_the_server_starts)
{
	char dir[96], file[128], text[1024], full[4096] = { 0 };
	struct held h;
	int fd;

	if (!held_own_mounts())
		SKIP("no mount namespace here");
	snprintf(dir, sizeof(dir), "%s/disk", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	if (mount("none", dir, "tmpfs", 0, "size=16k") < 0)
		SKIP("no tmpfs here");
	snprintf(file, sizeof(file), "%s/data", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, full, sizeof(full)) > 0)
		;
	EQ(errno, ENOSPC);
	close(fd);
	snprintf(file, sizeof(file), "%s/report", dir);
	HELD(&h, "--report", file, "--", "/bin/sh", "-c", "exit 3");
	int status = held_status(&h);
	held_errors(&h, text, sizeof(text));
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 75);
	OK(strstr(text, "cannot write to") && strstr(text, "No space left on device"));
	OK(strchr(text, '\n') == text + strlen(text) - 1);
	OK(access(file, F_OK) < 0); /* an empty file would look like success */
	held_done(&h);
	OK(umount(dir) == 0);
}

/* A disk that becomes full while the server runs. */
TEST(the_report_has_its_room_before_the_disk_is_full)
{
	char dir[96], data[128], full[4096] = { 0 };
	struct held h;
	int fd;

	if (!held_own_mounts())
		SKIP("no mount namespace here");
	snprintf(dir, sizeof(dir), "%s/disk", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	if (mount("none", dir, "tmpfs", 0, "size=16k") < 0)
		SKIP("no tmpfs here");
	snprintf(data, sizeof(data), "%s/report", dir);
	HELD(&h, "--report", data, "--", "/bin/sh", "-c", "echo up; read line; exit 3");
	held_expect(&h, "up");
	snprintf(data, sizeof(data), "%s/data", dir);
	fd = open(data, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, full, sizeof(full)) > 0)
		;
	EQ(errno, ENOSPC);
	close(fd);
	held_eof(&h);
	int status = held_status(&h);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 3);
	snprintf(h.report, sizeof(h.report), "%s/report", dir);
	EQ(held_report_lines(&h), 1);
	held_done(&h);
	OK(umount(dir) == 0);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	OK(stat(path, &st) == 0);
	return st.st_mode & 07777;
}

TEST(a_new_report_and_a_new_log_are_for_their_user_alone)
{
	char log[96];
	struct held h;

	umask(0);
	snprintf(log, sizeof(log), "%s/log", t_audit.dir);
	for (int round = 0; round < 2; round++) {
		HELD(&h, "--log", log, "--", "/bin/true");
		OK(held_status(&h) == 0);
		held_done(&h);
		EQ(mode_of(h.report), round == 0 ? 0600 : 0644);
		EQ(mode_of(log), round == 0 ? 0600 : 0644);
		/* an existing file keeps its mode */
		OK(chmod(h.report, 0644) == 0 && chmod(log, 0644) == 0);
	}
}

TEST(a_refusal_has_a_report)
{
	char text[1024];
	struct held h;

	HELD(&h, "--contain", "job", "--", "/bin/true");
	int status = held_status(&h);
	held_errors(&h, text, sizeof(text));
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 69);
	EQ(held_report_lines(&h), 1);
	OK(held_reported(&h, "\"why\":\"failed\"") && held_reported(&h, "\"proof\":[]"));
	OK(held_reported(&h, "\"notes\":[\"refused: --contain job is not possible here"));
	held_done(&h);
}
