/* proc.c - what /proc says, also of processes that are called to confuse. */
#include "keeper/linux/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"

#define REST                                                                                       \
	" 0 -1 4194304 10 20 30 40 5 6 7 8 20 0 3 0 987654 1000000 42 18446744073709551615 1 1 0 " \
	"0"

TEST(proc_stat_of_an_ordinary_process)
{
	struct proc_stat st;

	EQ(proc_stat_parse("77 (node) S 1 76 75" REST, &st), 0);
	EQ(st.pid, 77);
	EQ(st.ppid, 1);
	EQ(st.pgrp, 76);
	EQ(st.session, 75);
	EQ(st.state, 'S');
	STREQ(st.comm, "node");
	EQ(st.cpu_ticks, 11);
	EQ(st.threads, 3);
	EQ(st.start, 987654);
	EQ(st.rss_pages, 42);
	OK(!st.exiting);
}

TEST(a_process_that_has_ended_is_exiting)
{
	struct proc_stat st;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	OK(waitid(P_PID, (id_t)pid, &(siginfo_t){ .si_pid = 0 }, WEXITED | WNOWAIT) == 0);
	EQ(proc_stat_get(pid, &st), 0);
	OK(st.exiting && !proc_is_alive(&st));
	EQ(proc_stat_get(0, &st), 0);
	OK(!st.exiting);
	t_wait_child(pid, 8000);
}

TEST(proc_stat_of_a_name_made_to_confuse)
{
	struct proc_stat st;

	EQ(proc_stat_parse("77 (a) R 9 9 9) Z 5 6 7" REST, &st), 0);
	STREQ(st.comm, "a) R 9 9 9");
	EQ(st.state, 'Z');
	EQ(st.ppid, 5);
	EQ(proc_stat_parse("77 (a\nb) S 1 2 3" REST, &st), 0);
	STREQ(st.comm, "a\nb");
}

TEST(proc_stat_refuses_other_text)
{
	struct proc_stat st = { .pid = 5 };

	EQ(proc_stat_parse("", &st), -EINVAL);
	EQ(proc_stat_parse(")(", &st), -EINVAL);
	EQ(proc_stat_parse("77 (x) S 1 2", &st), -EINVAL);
	EQ(proc_stat_parse("x (x) S 1 2 3" REST, &st), -EINVAL);
	EQ(st.pid, 5);
}

TEST(proc_stat_of_this_process)
{
	struct proc_stat st, again;

	prctl(PR_SET_NAME, ") R 1 (");
	EQ(proc_stat_get(0, &st), 0);
	EQ(st.pid, getpid());
	EQ(st.ppid, getppid());
	EQ(st.session, getsid(0));
	STREQ(st.comm, ") R 1 (");
	EQ(proc_stat_get(getpid(), &again), 0);
	OK(st.start == again.start);
	EQ(proc_stat_get(4194304, &st), -ESRCH); /* above any pid_max */
}

static pid_t sleeper(char **envp)
{
	int fds[2];
	char byte;

	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		execve("/bin/sleep", (char *[]){ "sleep", "600", NULL }, envp);
		_exit(127);
	}
	close(fds[1]);
	OK(read(fds[0], &byte, 1) == 0); /* closed by exec: its environment is the new one */
	close(fds[0]);
	return pid;
}

TEST(proc_environment_is_matched_whole)
{
	static char big[5000] = "BIG=";

	memset(big + 4, 'x', sizeof(big) - 5);
	memcpy(big + 2000, "KILLICK_TREE=inside", 19); /* inside of another value: no match */
	char *envp[] = {
		"A=1", big, "XKILLICK_TREE=1", "KILLICK_TREE=0123456789abcdef", "Z=2", NULL
	};
	pid_t pid = sleeper(envp);

	OK(proc_has_env(pid, "KILLICK_TREE=0123456789abcdef"));
	OK(proc_has_env(pid, "A=1"));
	OK(proc_has_env(pid, "Z=2"));
	OK(!proc_has_env(pid, "KILLICK_TREE=0123456789abcde"));
	OK(!proc_has_env(pid, "KILLICK_TREE=0123456789abcdeff"));
	OK(!proc_has_env(pid, "KILLICK_TREE=1"));
	OK(!proc_has_env(pid, "KILLICK_TREE=inside"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	OK(!proc_has_env(pid, "A=1"));
}

static bool take_value(void *ctx, const char *value)
{
	const char **wanted = ctx;

	return strcmp(value, *wanted) == 0;
}

TEST(proc_environment_is_searched_by_name)
{
	char *envp[] = { "A=1", "KILLICK_TREE=first", "KILLICK_TREE=second", "XA=3", NULL };
	char *none[] = { NULL };
	const char *wanted = "second";
	pid_t pid = sleeper(envp);

	EQ(proc_find_env(pid, "KILLICK_TREE", take_value, &wanted), 1);
	EQ(proc_find_env(pid, "KILLICK_TRE", take_value, &wanted), 0);
	wanted = "3";
	EQ(proc_find_env(pid, "A", take_value, &wanted), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EQ(proc_find_env(pid, "A", take_value, &wanted), 0);
	pid = sleeper(none);
	EQ(proc_find_env(pid, "A", take_value, &wanted), -ENODATA);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* An open that waited for the holder of a lease would take 45 s. */
TEST(proc_does_not_wait_for_a_lease)
{
	char path[64], text[64];
	pid_t pid = sleeper((char *[]){ "A=1", NULL });
	int fds[2];

	sigaction(SIGIO, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fds[0] = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/environ", pid, pid);
	fds[1] = open(path, O_RDONLY | O_CLOEXEC);
	OK(fds[0] >= 0 && fds[1] >= 0);
	for (int i = 0; i < 2; i++) {
		if (fcntl(fds[i], F_SETLEASE, F_WRLCK) < 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			SKIP("no leases on files of /proc");
		}
	}
	EQ(proc_has_env(pid, "A=1"), 0);
	EQ(proc_read_file(AT_FDCWD, path, text, sizeof(text)), -EWOULDBLOCK);
	close(fds[0]);
	close(fds[1]);
	EQ(proc_has_env(pid, "A=1"), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(proc_does_not_wait_for_a_fifo)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), "%s/fifo", t_audit.dir);
	unlink(path);
	OK(mkfifo(path, 0600) == 0);
	EQ(proc_read_file(AT_FDCWD, path, text, sizeof(text)), 0);
	EQ(proc_write_file(AT_FDCWD, path, "1"), -ENXIO);
	unlink(path);
}

TEST(proc_holds_a_process_by_its_start)
{
	struct proc_stat st;
	pid_t pid = sleeper((char *[]){ NULL });
	int fd;

	EQ(proc_stat_get(pid, &st), 0);
	OK(proc_is_alive(&st));
	EQ(proc_hold(pid, st.start + 1), -ESRCH);
	fd = proc_hold(pid, st.start);
	OK(fd >= 0);
	kill(pid, SIGKILL);
	siginfo_t si;
	OK(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) == 0);
	OK(proc_is_held(fd)); /* a zombie keeps its pid */
	EQ(proc_stat_get(pid, &st), 0);
	OK(!proc_is_alive(&st));
	waitpid(pid, NULL, 0);
	OK(!proc_is_held(fd));
	close(fd);
	EQ(proc_hold(pid, st.start), -ESRCH);
}

TEST(ignored_signals_are_told_from_heeded_ones)
{
	const uint64_t hup = 1ULL << (SIGHUP - 1), usr1 = 1ULL << (SIGUSR1 - 1),
		       last = 1ULL << (SIGRTMAX - 1);
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	uint64_t heeded = 0;

	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGRTMAX, &ignore, NULL);
	OK(proc_is_own(&heeded));
	OK(!(heeded & (hup | last)));
	OK(heeded & usr1);
}

/* Is /proc seen as ours by a process in a pid namespace that has none mounted? */
TEST(proc_of_another_pid_namespace_is_detected)
{
	unsigned long long ours = proc_pid_namespace();
	int status;

	OK(ours != 0);
	OK(proc_is_own(NULL));
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0)) < 0)
			_exit(77);
		pid_t inner = fork();
		if (inner == 0)
			_exit(!proc_is_own(NULL) && proc_pid_namespace() != ours ? 0 : 1);
		_exit(inner > 0 && waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
	}
	status = t_wait_child(pid, 5000);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no pid namespace can be made here");
	EQ(status, 0);
}
