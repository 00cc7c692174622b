/* misc.c - modes that are hostile by themselves: deaf, stopped, greedy, crashing, gone too early.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "zoo/zoo_internal.h"

int zoo_plain(int argc, char **argv)
{
	(void)argc, (void)argv;
	return zoo_serve(ZOO_LEAVE);
}

int zoo_ignorer(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_ignore_all();
	return zoo_serve(ZOO_STAY);
}

static void stop_self(long arg)
{
	(void)arg;
	setsid();
	raise(SIGSTOP);
}

int zoo_stopped(int argc, char **argv)
{
	siginfo_t si;

	(void)argc, (void)argv;
	waitid(P_PID, (id_t)zoo_child(stop_self, 0), &si, WSTOPPED);
	return zoo_serve(ZOO_LEAVE);
}

static void stop_now(void)
{
	raise(SIGSTOP);
}

int zoo_selfstop(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_on_initialized = stop_now;
	return zoo_serve(ZOO_LEAVE);
}

/* One turn of the loop: a short look at the world, then the same again under another name. */
int zoo_execstep(int argc, char **argv)
{
	char name[32];

	(void)argc, (void)argv;
	if (zoo_expired())
		return 0;
	zoo_nap_us(500);
	snprintf(name, sizeof(name), "not-a-server-%ld", (long)getpid() ^ (long)time(NULL));
	zoo_again(NULL, name, "+execstep", NULL);
	return 1;
}

static void exec_first(long arg)
{
	(void)arg;
	setsid();
	zoo_ready();
	zoo_again(NULL, "innocent", "+execstep", NULL);
}

int zoo_execloop(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_child(exec_first, 0);
	zoo_await(1);
	return zoo_serve(ZOO_LEAVE);
}

static void hold_stdout(long arg)
{
	(void)arg;
	setsid();
	if (zoo_fork() != 0)
		zoo_gone();
	close(0);
	zoo_ready(); /* stdout stays open here: its reader sees no end of file */
	zoo_linger();
}

int zoo_holdout(int argc, char **argv)
{
	(void)argc, (void)argv;
	waitpid(zoo_child(hold_stdout, 0), NULL, 0);
	zoo_await(1);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_hog(int argc, char **argv)
{
	long mib = argc > 0 && strtol(argv[0], NULL, 10) > 0 ? strtol(argv[0], NULL, 10) : 64;
	size_t size = (size_t)(mib < 256 ? mib : 256) << 20;
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; mem != MAP_FAILED && i < size; i += 4096)
		((volatile char *)mem)[i] = 1;
	return zoo_serve(ZOO_LEAVE);
}

int zoo_core(int argc, char **argv)
{
	(void)argc, (void)argv;
	setrlimit(RLIMIT_CORE,
		  &(struct rlimit){ 0, 0 }); /* the signal is the point, not the file */
	zoo_serve(ZOO_LEAVE);
	zoo_default(SIGSEGV);
	raise(SIGSEGV);
	return 1;
}

int zoo_exit0(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

int zoo_exitleft(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_make_daemon();
	return 0;
}

int zoo_noread(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	(void)argc, (void)argv;
	poll(&in, 1, -1);
	return 3;
}
