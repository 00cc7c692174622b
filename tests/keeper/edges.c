/* edges.c - what an owner, a client or another process on the machine can do to keepers without
 * being the server: stopped keepers of an owner that is not their parent, leaked descriptors,
 * endless environments, pipes that nobody reads, pid 1, time namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"

/* An owner that is not the parent of its keepers, as libkillick is none: it keeps a control socket.
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
TEST(keepers_close_what_the_client_leaked)
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
TEST(an_endless_environment_of_somebody_else_delays_nothing, .timeout_ms = 30000)
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
	audit_scrub(&t_audit); /* the helper, which is none of ours to end */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Once the end has begun a word cannot make it more patient: records say until when it takes. */
TEST(a_later_word_does_not_lengthen_the_grace, .timeout_ms = 30000)
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
