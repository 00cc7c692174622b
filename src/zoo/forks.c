/* forks.c - modes that win by forking: background children, chains, bombs, siblings. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "zoo/zoo_internal.h"

static void in_place(long arg)
{
	(void)arg;
	zoo_ready();
}

int zoo_bg(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_child(in_place, 0);
	zoo_await(1);
	return zoo_serve(ZOO_LEAVE);
}

/* Fork, exit, go on in the child: no pid lives long enough to be looked up and killed. When the
 * bounds say no, the last one lingers, so that an escape remains visible. */
static void chain(long new_sessions)
{
	bool told = false;

	zoo_ignore(SIGCHLD);
	for (;;) {
		pid_t pid;

		if (new_sessions)
			setsid();
		if (!told)
			zoo_ready();
		told = true;
		pid = zoo_fork();
		if (pid < 0)
			zoo_linger();
		if (pid > 0)
			zoo_gone();
	}
}

static int chains(int count, bool new_sessions)
{
	for (int i = 0; i < count; i++)
		zoo_child(chain, new_sessions);
	zoo_await(count);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_chain(int argc, char **argv)
{
	(void)argc, (void)argv;
	return chains(1, false);
}

int zoo_chainsid(int argc, char **argv)
{
	(void)argc, (void)argv;
	return chains(1, true);
}

int zoo_chainsid8(int argc, char **argv)
{
	(void)argc, (void)argv;
	return chains(8, true);
}

/* Everybody forks whenever there is room, and leaves after a while of finding none: the faces
 * change, the number does not. */
static void bomb(long new_sessions)
{
	zoo_ignore(SIGCHLD);
	for (;;) {
		pid_t pid;

		if (new_sessions)
			setsid();
		zoo_ready();
		for (unsigned turn = 1; (pid = zoo_fork()) != 0; turn++) {
			if (pid > 0)
				continue;
			if (zoo_expired() || ((unsigned)getpid() + turn) % 64 == 0)
				zoo_gone();
			zoo_nap_us(10000);
		}
	}
}

static int bombs(bool new_sessions)
{
	zoo_child(bomb, new_sessions);
	zoo_await(ZOO_MAX_LIVE);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_bomb(int argc, char **argv)
{
	(void)argc, (void)argv;
	return bombs(false);
}

int zoo_bombsid(int argc, char **argv)
{
	(void)argc, (void)argv;
	return bombs(true);
}

/* Our sibling: whoever started us is its parent, without having started it, and gets no signal at
 * its end. A plain wait() does not see it (it needs __WALL). */
int zoo_cloneparent(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (zoo_clone(CLONE_PARENT) == 0) {
		setsid();
		zoo_ready();
		zoo_linger();
	}
	zoo_await(1);
	return zoo_serve(ZOO_LEAVE);
}
