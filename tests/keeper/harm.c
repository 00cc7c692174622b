/* harm.c - killick must not harm others, and must not break its promise in silence.
 *
 * Innocents: children that a process had before it executed killick. Environments: system calls
 * that are refused, a missing /proc, few descriptors: either everything works, the owner's SIGKILL
 * included, or killick refuses in one line that names the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"
#include "lost.h"

/* --- children from before --- */

/* A helper in the background, then killick in the shell's place. The helper's pid is in "$H". */
#define HELPER "sleep 60 >/dev/null 2>&1 & echo $! >\"$H\"; exec \"$K\" run --report \"$R\" -- "

static const char *harm_file(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", t_audit.dir, name);
	return path;
}

static pid_t harm_start_with_helper(struct held *h, const char *script)
{
	setenv("H", harm_file("helper"), 1);
	held_start_script(h, "sh", script);
	return held_pid_from(harm_file("helper"));
}

/* The helper must still be there; then it has done its work. */
static void harm_helper_lives(pid_t helper)
{
	bool lives = held_lives(helper);

	kill(helper, SIGKILL);
	held_wait_gone(helper);
	held_reap_all();
	OK(lives);
}

static void harm_one_report(struct held *h, const char *why)
{
	char text[64];

	EQ(held_report_lines(h), 1);
	snprintf(text, sizeof(text), "\"why\":\"%s\"", why);
	OK(held_reported(h, text));
	OK(held_reported(h, "\"survivors\":[]"));
}

TEST(children_from_before_exec_live_on_after_the_server_exits)
{
	struct held h;
	pid_t helper = harm_start_with_helper(&h, HELPER "sh -c 'setsid sleep 600 & exit 7'");
	int status = held_status(&h);

	harm_helper_lives(helper);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 7);
	harm_one_report(&h, "exit");
	held_done(&h);
}

TEST(a_signals_death_is_mirrored_beside_children_from_before)
{
	struct held h;
	pid_t helper = harm_start_with_helper(&h, HELPER "sh -c 'kill -USR1 $$'");
	int status = held_status(&h);

	harm_helper_lives(helper);
	OK(WIFSIGNALED(status));
	EQ(WTERMSIG(status), SIGUSR1);
	harm_one_report(&h, "exit");
	held_done(&h);
}

TEST(sigterm_beside_children_from_before_ends_the_server_alone)
{
	struct held h;
	pid_t helper = harm_start_with_helper(&h, HELPER
					      "sh -c 'setsid sleep 600 & echo up; exec sleep 600'");

	held_expect(&h, "up");
	kill(h.watch, SIGTERM);
	int status = held_status(&h);
	harm_helper_lives(helper);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	harm_one_report(&h, "signal");
	held_done(&h);
}

TEST(sigkill_beside_children_from_before_ends_the_server_alone)
{
	struct held h;
	pid_t helper = harm_start_with_helper(&h, HELPER
					      "sh -c 'setsid sleep 600 & echo up; exec sleep 600'");

	held_expect(&h, "up");
	kill(h.watch, SIGKILL);
	int status = held_status(&h);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* all but the helper */
	for (double end = t_now_ms() + HELD_MS; audit_count(&t_audit) > 1 && t_now_ms() < end;)
		poll(NULL, 0, 1);
	EQ(audit_count(&t_audit), 1);
	harm_helper_lives(helper);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	held_reap_all();
	held_done(&h);
}

TEST(other_signals_reach_the_server_beside_children_from_before)
{
	struct held h;
	pid_t helper;

	setenv("P", t_program("PROBE", "build/tests/probe"), 1);
	helper = harm_start_with_helper(&h, HELPER "\"$P\" wait 10 12");
	held_expect(&h, "ready");
	kill(h.watch, SIGUSR1);
	held_expect(&h, "10");
	kill(h.watch, SIGUSR2);
	held_expect(&h, "12");
	held_eof(&h);
	EQ(held_status(&h), 0);
	harm_helper_lives(helper);
	held_done(&h);
}

TEST(a_killed_hold_beside_children_from_before_ends_the_server_alone)
{
	struct held h;
	char line[64];
	pid_t helper = harm_start_with_helper(
		&h, HELPER "sh -c 'setsid sleep 600 & echo $PPID; exec sleep 600'");

	OK(held_line(&h, line, sizeof(line)) && atoi(line) > 1);
	kill((pid_t)atoi(line), SIGKILL);
	int status = held_status(&h);
	harm_helper_lives(helper);
	/* 75: the hold was killed before it could say which process is the server */
	OK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || WEXITSTATUS(status) == 75);
	harm_one_report(&h, "hold");
	held_done(&h);
}

/* `exec killick run ... 2> >(logger)`: the logger is a child from before, and sees the end. */
TEST(a_loggers_process_substitution_sees_the_end_of_stderr)
{
	struct held h;
	char text[64] = "";
	int fd;

	if (access("/bin/bash", X_OK))
		SKIP("no bash here");
	setenv("H", harm_file("log"), 1);
	held_start_script(&h, "/bin/bash",
			  "exec \"$K\" run --report \"$R\" -- sh -c 'echo problem >&2; exit 3' "
			  "2> >(cat >\"$H\"; echo end >>\"$H\")");
	int status = held_status(&h);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 3);
	for (double end = t_now_ms() + HELD_MS; !strstr(text, "end") && t_now_ms() < end;) {
		fd = open(harm_file("log"), O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		poll(NULL, 0, 1);
	}
	STREQ(text, "problem\nend\n");
	harm_one_report(&h, "exit");
	held_reap_all(); /* the logger is our orphan */
	held_done(&h);
}

TEST(a_zombie_from_before_exec_makes_no_difference)
{
	const char *killick = t_program("KILLICK", "build/killick");
	struct held h = { .in = -1, .out = -1, .err = -1 };
	siginfo_t si;

	snprintf(h.report, sizeof(h.report), "%s", harm_file("report"));
	h.watch = fork();
	if (h.watch == 0) {
		pid_t zombie = fork();

		if (zombie == 0)
			_exit(9);
		waitid(P_PID, (id_t)zombie, &si, WEXITED | WNOWAIT);
		execl(killick, killick, "run", "--report", h.report, "--", "sh", "-c",
		      "setsid sleep 600 & exit 5", NULL);
		_exit(127);
	}
	int status = held_status(&h);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 5);
	harm_one_report(&h, "exit");
}

/* --- an owner that is killed, in an environment that refuses things --- */

#define HARM_MS                                                                                    \
	20000 /* without /proc every pid is asked, which a busy machine needs seconds for          \
	       */

struct harm {
	pid_t owner;
	int in, out, err, hear; /* the owner's death closes none of them: only its pid tells */
	int status;             /* of killick, when it ended by itself; else -1 */
};

typedef bool (*harm_setup_fn)(int a, int b);

static _Noreturn void harm_be_killick(const char *const *options, harm_setup_fn setup, int a, int b)
{
	const char *argv[16] = { t_program("KILLICK", "build/killick"), "run" };
	int n = 2;

	while (*options && n < 12)
		argv[n++] = *options++;
	argv[n++] = "--";
	argv[n++] = "sh";
	argv[n++] = "-c";
	argv[n++] = "setsid sleep 600 & echo up; read x";
	if (!setup(a, b))
		_exit(77);
	execv(argv[0], (char *const *)(void *)argv);
	_exit(127);
}

/* The owner: starts killick, tells how it ended, stays. */
static _Noreturn void harm_be_owner(const int *stdio, int say, const char *const *options,
				    harm_setup_fn setup, int a, int b)
{
	int status = 0;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test ends at once: not without us */
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			dup2(stdio[i], i);
		harm_be_killick(options, setup, a, b);
	}
	for (int i = 0; i < 3; i++)
		close(stdio[i]);
	waitpid(pid, &status, 0);
	(void)!write(say, &status, sizeof(status));
	for (;;)
		pause();
}

/* Start killick with a server that leaves a daemon; true when the server runs, else h->status. */
static bool harm_start(struct harm *h, const char *const *options, harm_setup_fn setup, int a,
		       int b)
{
	struct pollfd p[2];
	int in[2], out[2], err[2], hear[2];
	char byte;

	*h = (struct harm){ .status = -1 };
	OK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 &&
	   pipe2(hear, O_CLOEXEC) == 0);
	h->owner = fork();
	if (h->owner == 0) {
		close(in[1]);
		harm_be_owner((int[]){ in[0], out[1], err[1] }, hear[1], options, setup, a, b);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	close(hear[1]);
	h->in = in[1];
	h->out = out[0];
	h->err = err[0];
	h->hear = hear[0];
	p[0] = (struct pollfd){ .fd = h->out, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = h->hear, .events = POLLIN };
	OK(poll(p, 2, HELD_MS) > 0);
	if ((p[0].revents & POLLIN) && read(h->out, &byte, 1) == 1 && byte == 'u')
		return true;
	OK(t_wait_fd(h->hear, POLLIN, HELD_MS));
	OK(read(h->hear, &h->status, sizeof(h->status)) == (ssize_t)sizeof(h->status));
	return false;
}

/* Kill the owner and everything that is left; true when the owner's death was enough. */
static bool harm_end(struct harm *h)
{
	bool gone;

	kill(h->owner, SIGKILL);
	t_wait_child(h->owner, HELD_MS);
	gone = audit_wait_empty(&t_audit, HARM_MS, NULL);
	if (!gone)
		audit_scrub(&t_audit);
	held_reap_all();
	close(h->in);
	close(h->out);
	close(h->err);
	close(h->hear);
	return gone;
}

/* One line on stderr, with each of the words; `never` must not be in it. */
static void harm_one_line(struct harm *h, const char *word, const char *never, const char *where)
{
	char text[2048];
	int len = 0;
	ssize_t n;

	fcntl(h->err, F_SETFL, O_NONBLOCK);
	while (len < (int)sizeof(text) - 1 &&
	       (n = read(h->err, text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += (int)n;
	text[len] = '\0';
	if (strncmp(text, "killick: ", 9) || strchr(text, '\n') != text + len - 1)
		FAIL("%s: not one line of killick's: '%s'", where, text);
	if (!strstr(text, word) || (never && strstr(text, never)))
		FAIL("%s: does not say %s: '%s'", where, word, text);
}

static bool harm_refuse(int nr, int error)
{
	return held_refuse_call(nr, error);
}

/* Either it holds or it says why not. */
static void harm_without_call(int nr, const char *name)
{
	static const char *const levels[] = { "auto", "keeper", "namespace" };
	static const int errors[] = { EPERM, ENOSYS };

	for (int i = 0; i < 6; i++) {
		const char *const options[] = { "--contain", levels[i / 2], NULL };
		char where[80];
		struct harm h;
		bool up = harm_start(&h, options, harm_refuse, nr, errors[i % 2]), gone;
		int status = h.status;

		snprintf(where, sizeof(where), "%s refused with %s, level %s", name,
			 strerror(errors[i % 2]), levels[i / 2]);
		if (!up && WIFEXITED(status) && WEXITSTATUS(status) == 77)
			SKIP("no seccomp filters here");
		if (!up && strcmp(levels[i / 2], "namespace"))
			harm_one_line(&h, name, NULL, where);
		gone = harm_end(&h);
		if (!gone)
			FAIL("%s: the tree outlived its owner", where);
		if (!up && !(WIFEXITED(status) && WEXITSTATUS(status) == 69))
			FAIL("%s: wait status %#x", where, status);
	}
}

TEST(without_pidfd_open_the_owners_end_is_seen, .timeout_ms = 60000)
{
	harm_without_call(SYS_pidfd_open, "pidfd_open");
}

TEST(without_prctl_it_holds_or_refuses, .timeout_ms = 60000)
{
	harm_without_call(SYS_prctl, "prctl");
}

TEST(without_signalfd_it_holds_or_refuses, .timeout_ms = 60000)
{
	harm_without_call(SYS_signalfd4, "signalfd");
}

TEST(without_clone3_it_holds_or_refuses, .timeout_ms = 60000)
{
	harm_without_call(SYS_clone3, "clone3");
}

TEST(without_close_range_it_holds_or_refuses, .timeout_ms = 60000)
{
	harm_without_call(SYS_close_range, "close_range");
}

TEST(without_pidfd_send_signal_it_holds_or_refuses, .timeout_ms = 60000)
{
	harm_without_call(SYS_pidfd_send_signal, "pidfd_send_signal");
}

/* --- Linux 4.18 --- */

static bool harm_old_kernel(int a, int b)
{
	(void)a, (void)b;
	return t_old_kernel();
}

TEST(on_linux_4_18_the_owners_end_is_seen, .timeout_ms = 60000)
{
	static const char *const levels[] = { "auto", "keeper" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		struct harm h;
		bool up = harm_start(&h, (const char *const[]){ "--contain", levels[i], NULL },
				     harm_old_kernel, 0, 0);

		if (!up && WIFEXITED(h.status) && WEXITSTATUS(h.status) == 77)
			SKIP("no seccomp filters here");
		if (!harm_end(&h) || !up)
			FAIL("level %s: %s", levels[i], up ? "outlived its owner" : "no start");
	}
}

/* An owner that is not the parent, and whose end no descriptor shows. */
static void harm_poll_owner(harm_setup_fn setup, int a, int b)
{
	const int stdio[] = { -1, -1, -1 };
	pid_t owner = t_spawn((char *const[]){ "/bin/sleep", "600", NULL }, stdio);
	char number[16];
	struct harm h;
	bool up;

	snprintf(number, sizeof(number), "%d", (int)owner);
	up = harm_start(&h, (const char *const[]){ "--owner", number, NULL }, setup, a, b);
	if (!up && WIFEXITED(h.status) && WEXITSTATUS(h.status) == 77)
		SKIP("no seccomp filters here");
	OK(up);
	kill(owner, SIGKILL);
	/* not yet reaped: a zombie has ended, too */
	OK(t_wait_fd(h.hear, POLLIN, HELD_MS));
	OK(t_wait_child(owner, HELD_MS) >= 0);
	OK(harm_end(&h));
}

TEST(an_owner_by_pid_is_polled_on_linux_4_18)
{
	harm_poll_owner(harm_old_kernel, 0, 0);
}

TEST(an_owner_by_pid_is_polled_without_pidfd_open)
{
	harm_poll_owner(harm_refuse, SYS_pidfd_open, EPERM);
}

TEST(ps_reap_and_tools_work_on_linux_4_18, .timeout_ms = 60000)
{
	double end = t_now_ms() + HELD_MS;
	char text[8192];
	pid_t daemon;
	struct held h;

	if (!t_old_kernel())
		SKIP("no seccomp filters here");
	lost_dir();
	HELD(&h, "--name", "old", "--", "cat");
	held_hold(&h);
	OK(write(h.in, "here\n", 5) == 5);
	held_expect(&h, "here");
	do /* the watch writes the name after the server has started */
		EQ(KILLICK_SAYS(text, "ps"), 0);
	while (!strstr(text, "old") && t_now_ms() < end);
	OK(strstr(text, "old"));
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
	daemon = lost_tree("keeper", "sleep 600; :");
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	lost_all_gone();
	EQ(lost_records(), 0);
	EQ(KILLICK_SAYS(text, "tools", "--", t_program("ZOO", "build/tests/zoo/killick-zoo"), "mcp",
			"good"),
	   0);
	OK(strstr(text, "echo"));
	held_reap_all(); /* the keeper of `tools`: orphans come to this test */
	EQ(KILLICK_SAYS(text, "doctor", "--json"), 0);
	OK(strstr(text, "\"keeper\":{\"works\":true"));
}

static bool harm_refuse_subreaper(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_CHILD_SUBREAPER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

TEST(without_a_subreaper_doctor_and_run_agree)
{
	char text[8192];
	struct held h;

	if (!harm_refuse_subreaper())
		SKIP("no seccomp filters here");
	HELD(&h, "--", "/bin/true");
	int status = held_status(&h);
	held_errors(&h, text, sizeof(text));
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 69);
	OK(strstr(text, "cannot hold a server without prctl"));
	EQ(held_report_lines(&h), 1);
	OK(held_reported(&h, "refused: cannot hold a server without prctl"));
	held_done(&h);
	EQ(KILLICK_SAYS(text, "doctor", "--json"), 0);
	OK(strstr(text, "\"level\":\"none\""));
	OK(strstr(text, "\"keeper\":{\"works\":false"));
}

/* --- no /proc --- */

static bool harm_hide_proc(int a, int b)
{
	(void)a, (void)b;
	return held_own_mounts() && mount("none", "/proc", "tmpfs", MS_RDONLY, NULL) == 0;
}

TEST(without_proc_it_holds_or_refuses, .timeout_ms = 60000)
{
	static const char *const levels[] = { "auto", "keeper", "namespace" };

#ifdef __SANITIZE_ADDRESS__
	SKIP("AddressSanitizer writes lines of its own where there is no /proc");
#endif
	for (int i = 0; i < 3; i++) {
		const char *report = harm_file("report");
		const char *const options[] = { "--contain", levels[i], "--report", report, NULL };
		struct held reported = { .in = -1 };
		struct harm h;
		bool up, gone;
		int status;

		unlink(report);
		snprintf(reported.report, sizeof(reported.report), "%s", report);
		up = harm_start(&h, options, harm_hide_proc, 0, 0);
		status = h.status;
		if (!up && WIFEXITED(status) && WEXITSTATUS(status) == 77)
			SKIP("no mount namespace here");
		if (!up)
			harm_one_line(&h, strcmp(levels[i], "namespace") ? "/proc" : "namespace",
				      NULL, levels[i]);
		gone = harm_end(&h);
		if (!gone && access(report, F_OK) == 0 &&
		    held_reported(&reported, "\"survivors\":[]"))
			FAIL("%s: a daemon lives, and the report denies it", levels[i]);
		if (!gone)
			FAIL("%s: the tree outlived its owner", levels[i]);
		if (!up && !(WIFEXITED(status) && WEXITSTATUS(status) == 69))
			FAIL("%s: wait status %#x", levels[i], status);
		if (up) {
			EQ(held_report_lines(&reported), 1);
			OK(held_reported(&reported, "\"survivors\":[]"));
		}
	}
}

/* --- no more watches of epoll --- */

/* Every epoll_ctl that would add descriptor `fd` (-1: any) fails, as it does when the user has used
 * up /proc/sys/fs/epoll/max_user_watches. False: no seccomp filters here. */
static bool harm_refuse_adding(int fd, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_CTL_ADD, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | (fd < 0 ? BPF_JGE : BPF_JEQ) | BPF_K, fd < 0 ? 0 : (unsigned)fd,
			 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

/* One descriptor after the other cannot be waited for, by number: each of those that a keeper waits
 * for is among them. */
TEST(without_room_in_epoll_it_holds_or_refuses, .timeout_ms = 120000)
{
	static const char *const levels[] = { "auto", "keeper", "namespace" };

	for (int i = 0; i < 3 * 26; i++) {
		const char *const options[] = { "--contain", levels[i % 3], NULL };
		int fd = i / 3 - 1, status;
		char where[80];
		struct harm h;
		bool up = harm_start(&h, options, harm_refuse_adding, fd, ENOSPC), gone;

		snprintf(where, sizeof(where), "epoll_ctl refuses descriptor %d, level %s", fd,
			 levels[i % 3]);
		status = h.status;
		if (!up && WIFEXITED(status) && WEXITSTATUS(status) == 77)
			SKIP("no seccomp filters here");
		if (!up)
			harm_one_line(&h, "epoll", NULL, where);
		gone = harm_end(&h);
		if (!gone)
			FAIL("%s: the tree outlived its owner", where);
		if (!up && !(WIFEXITED(status) && WEXITSTATUS(status) == 75))
			FAIL("%s: wait status %#x", where, status);
	}
}

/* --- few descriptors --- */

static bool harm_few_descriptors(int count, int unused)
{
	struct rlimit lim = { (rlim_t)count, (rlim_t)count };

	(void)unused;
	return setrlimit(RLIMIT_NOFILE, &lim) == 0;
}

/* From 4 on: with 3 the loader of the shell has no descriptor for the C library. */
TEST(with_few_descriptors_it_holds_or_names_ulimit_n, .timeout_ms = 120000)
{
	static const char *const levels[] = { "auto", "keeper", "namespace" };
	int worked = 0;

	for (int i = 0; i < 3 * 17; i++) {
		const char *const options[] = { "--contain", levels[i % 3], NULL };
		int count = 4 + i / 3, status;
		char where[80];
		struct harm h;
		bool up = harm_start(&h, options, harm_few_descriptors, count, 0), gone;

		snprintf(where, sizeof(where), "ulimit -n %d, level %s", count, levels[i % 3]);
		status = h.status;
		worked += up;
		if (!up)
			harm_one_line(&h, "ulimit -n", "ulimit -u", where);
		gone = harm_end(&h);
		if (!gone)
			FAIL("%s: the tree outlived its owner", where);
		if (!up && (!WIFEXITED(status) ||
			    (WEXITSTATUS(status) != 69 && WEXITSTATUS(status) != 75)))
			FAIL("%s: wait status %#x", where, status);
	}
	OK(worked > 0);
}

TEST(with_few_descriptors_the_error_does_not_name_a_limit, .timeout_ms = 120000)
{
	static const char *const options[] = { "--max-procs", "50", NULL };
	struct harm h;
	bool up = harm_start(&h, options, harm_few_descriptors, 64, 0);

	OK(harm_end(&h));
	if (!up)
		SKIP("--max-procs cannot be enforced here");
	for (int count = 20; count < 30; count++) {
		char where[80];

		snprintf(where, sizeof(where), "ulimit -n %d with --max-procs", count);
		if (!harm_start(&h, options, harm_few_descriptors, count, 0))
			harm_one_line(&h, "ulimit -n", "remove --max-procs", where);
		if (!harm_end(&h))
			FAIL("%s: the tree outlived its owner", where);
	}
}
