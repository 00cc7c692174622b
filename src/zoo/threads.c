/* threads.c - modes made of threads: a main thread that has exited looks like a zombie and is none.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zoo/zoo_internal.h"

/* Wait until the kernel shows our main thread as a zombie. */
static void await_dead_leader(void)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	for (int i = 0; i < 1000; i++) {
		FILE *f = fopen(path, "re");
		bool dead = f && fgets(text, sizeof(text), f) && strstr(text, ") Z");

		if (f)
			fclose(f);
		if (dead)
			return;
		zoo_nap_us(1000);
	}
}

static void *survivor(void *arg)
{
	(void)arg;
	await_dead_leader();
	zoo_ready();
	zoo_linger();
}

static void leader(long arg)
{
	pthread_t thread;

	(void)arg;
	setsid();
	if (pthread_create(&thread, NULL, survivor, NULL))
		_exit(1);
	syscall(SYS_exit, 0); /* this thread alone */
}

int zoo_deadlead(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_child(leader, 0);
	zoo_await(1);
	return zoo_serve(ZOO_LEAVE);
}

static void *server(void *arg)
{
	(void)arg;
	await_dead_leader();
	_exit(zoo_serve(ZOO_LEAVE));
}

int zoo_deadmain(int argc, char **argv)
{
	pthread_t thread;

	(void)argc, (void)argv;
	if (pthread_create(&thread, NULL, server, NULL))
		return 1;
	syscall(SYS_exit, 0);
	return 1;
}

static void *sleeper(void *arg)
{
	(void)arg;
	zoo_linger();
}

int zoo_threads(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;
	int made = 0;

	(void)argc, (void)argv;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 2 * (size_t)PTHREAD_STACK_MIN);
	while (made < 1000 && !pthread_create(&thread, &attr, sleeper, NULL))
		made++;
	if (made < 1000)
		fprintf(stderr, "killick-zoo: threads: only %d could be made\n", made);
	return zoo_serve(ZOO_LEAVE);
}
