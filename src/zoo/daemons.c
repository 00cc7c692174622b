/* daemons.c - modes whose processes leave the session: a daemon, and a subreaper that has its own.
 */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zoo/zoo_internal.h"

static void daemon_half(long arg)
{
	(void)arg;
	setsid();
	if (zoo_fork() != 0)
		zoo_gone();
	zoo_close_all();
	zoo_ready();
	zoo_linger();
}

void zoo_make_daemon(void)
{
	waitpid(zoo_child(daemon_half, 0), NULL, 0);
	zoo_await(1);
}

int zoo_daemon(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_make_daemon();
	return zoo_serve(ZOO_LEAVE);
}

/* A subreaper in the tree: its orphans come to it and not to the keeper, until it dies itself. */
static void subreaper(long arg)
{
	(void)arg;
	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	zoo_ignore_all();
	for (int i = 0; i < 5; i++)
		zoo_child(daemon_half, 0);
	zoo_ready();
	while (!zoo_expired())
		if (wait(NULL) < 0)
			zoo_nap_us(10000);
}

int zoo_nestsub(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_child(subreaper, 0);
	zoo_await(6);
	return zoo_serve(ZOO_LEAVE);
}
