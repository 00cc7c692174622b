/* tree.c - what the subreaper sees: every child, however it was made. */
#include "keeper/tree.h"

#include <sched.h>
#include <signal.h>
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
		OK(!tree_reap(&t));
		EQ(tree_kill(&t, 5000), 0);
		OK(t.proof_waitid && !t.proof_cgroup);
		EQ(t.killed, 1);
		EQ(kill(pid, 0), -1);
	}
}

TEST(tree_of_nothing_is_empty)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE };

	OK(tree_reap(&t));
	EQ(tree_kill(&t, 1000), 0);
	EQ(t.killed, 0);
	OK(!t.killing);
}

TEST(tree_keeps_the_status_of_main)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
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
}
