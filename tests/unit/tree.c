/* tree.c - what the subreaper sees: every child, however it was made. */
#include "keeper/linux/tree.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"

static pid_t clone_with(unsigned long exit_signal)
{
	pid_t pid = (pid_t)syscall(SYS_clone, exit_signal, 0UL, 0UL, 0UL, 0UL);

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void close_all(const struct tree *t)
{
	close(t->children_fd);
	close(t->mark.proc_fd);
}

/* A child whose end is no SIGCHLD is passed over by a plain wait: a tree with one would be called
 * empty. */
TEST(tree_sees_children_without_an_exit_signal)
{
	static const unsigned long exit_signals[] = { SIGCHLD, 0, SIGUSR1 };

	for (int i = 0; i < 3; i++) {
		struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE };
		pid_t pid = clone_with(exit_signals[i]);
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		OK(pid > 0);
		tree_ready(&t);
		OK(!tree_reap(&t));
		EQ(tree_kill(&t, 5000), 0);
		OK(t.proof_waitid && !t.proof_cgroup);
		EQ(t.killed, 1);
		EQ(kill(pid, 0), -1);
		close_all(&t);
	}
}

/* Without the kernel's list of children (no /proc, or no descriptor left to read it with) each pid
 * is asked for. */
TEST(tree_ends_children_without_proc_and_without_descriptors, .timeout_ms = 60000)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE };
	struct rlimit none = { 0, 0 };
	pid_t pids[3], found[8];
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 3; i++)
		OK((pids[i] = clone_with(SIGCHLD)) > 0);
	tree_ready(&t);
	close_all(&t);
	t.children_fd = -1;
	OK(!setrlimit(RLIMIT_NOFILE, &none));
	EQ(tree_survivors(&t, found, 8), 3);
	EQ(tree_kill(&t, 20000), 0);
	for (int i = 0; i < 3; i++)
		EQ(kill(pids[i], 0), -1);
}

TEST(tree_lists_more_children_than_one_read_holds)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE };
	static pid_t found[2000];
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 1500; i++)
		OK(clone_with(SIGCHLD) > 0);
	tree_ready(&t);
	EQ(tree_survivors(&t, found, 2000), 1500);
	EQ(tree_kill(&t, 20000), 0);
	EQ(t.killed, 1500);
	close_all(&t);
}

/* A process that is about to exit when the killing begins was not killed. */
TEST(tree_counts_only_killed_processes_as_killed)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE, .killing = true };
	pid_t exits = fork();

	if (exits == 0)
		_exit(0);
	OK(exits > 0 && clone_with(SIGCHLD) > 0);
	OK(!waitid(P_PID, (id_t)exits, &(siginfo_t){ 0 }, WEXITED | WNOWAIT));
	tree_ready(&t);
	EQ(tree_kill(&t, 5000), 0);
	EQ(t.killed, 1);
	close_all(&t);
}

TEST(tree_without_processes_is_empty)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE };

	tree_ready(&t);
	OK(tree_reap(&t));
	EQ(tree_kill(&t, 1000), 0);
	EQ(t.killed, 0);
	OK(!t.killing);
	close_all(&t);
}

TEST(tree_keeps_the_status_of_main)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	tree_ready(&t);
	t.main = fork();
	if (t.main == 0) {
		setpgid(0, 0);
		if (fork() == 0)
			pause();
		_exit(7);
	}
	while (!t.exited)
		tree_reap(&t);
	EQ(WEXITSTATUS(t.status), 7);
	EQ(tree_kill(&t, 5000),
	   0); /* the grandchild went to whoever is our subreaper: the harness's own test process */
	close_all(&t);
}

/* In a tree that lingers, a later process may get the number that the main process had. */
TEST(tree_keeps_the_status_of_main_when_its_pid_is_used_again)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE, .lingers = true };
	sigset_t all;
	pid_t again;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	tree_ready(&t);
	OK((t.main = fork()) >= 0);
	if (t.main == 0)
		_exit(7);
	while (!tree_reap(&t))
		usleep(1000);
	OK(t.exited);
	again = t_fork_as(t.main);
	if (again == 0)
		_exit(3);
	if (again < 0)
		SKIP("a process with a pid of our choice: %s", strerror(-again));
	EQ(again, t.main);
	while (!tree_reap(&t))
		usleep(1000);
	EQ(t.status, 7 << 8);
	close_all(&t);
}
