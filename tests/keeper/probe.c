/* probe.c - a server that says what it was given: the test of "exactly what the client gave".
 *
 *	probe fds | signals | umask | cwd | env NAME | stdio
 * prints one line. probe wait SIGNAL... prints "ready", then the name of each signal that arrives,
 * until EOF. probe lock FILE locks its own memory map until the file system of FILE answers.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int fds(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d ", fd);
	}
	puts("");
	return 0;
}

/* Every signal that is not at its default, and every blocked one. */
static int signals(void)
{
	sigset_t mask;
	int odd = 0;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction sa;
		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL)
			printf("%d:ignored ", sig), odd++;
		if (sigismember(&mask, sig) == 1)
			printf("%d:blocked ", sig), odd++;
	}
	puts(odd ? "" : "default");
	return 0;
}

static int stdio_flags(void)
{
	for (int fd = 0; fd <= 2; fd++)
		printf("%s ", fcntl(fd, F_GETFL) & O_NONBLOCK ? "nonblock" : "block");
	puts("");
	return 0;
}

static int wait_for(int argc, char **argv)
{
	struct pollfd fd[2] = { { .fd = 0, .events = POLLIN } };
	sigset_t set;
	char byte;

	sigemptyset(&set);
	for (int i = 0; i < argc; i++)
		sigaddset(&set, atoi(argv[i]));
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd[1] = (struct pollfd){ .fd = signalfd(-1, &set, 0), .events = POLLIN };
	puts("ready");
	for (;;) {
		struct signalfd_siginfo si;
		poll(fd, 2, -1);
		if (fd[1].revents && read(fd[1].fd, &si, sizeof(si)) == sizeof(si))
			printf("%u\n", si.ssi_signo);
		if (fd[0].revents && read(0, &byte, 1) <= 0)
			return 0;
	}
}

/* Join another process group and stay, whatever is asked. */
static _Noreturn void join(pid_t group)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	puts(setpgid(0, group) == 0 ? "joined" : strerror(errno));
	for (;;)
		pause();
}

/* Drown both keepers in signals, from two processes, and hear none. */
static _Noreturn void flood(void)
{
	char path[40], text[512] = "";
	pid_t hold = getppid(), watch = 0, aim;
	sigset_t all;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", hold);
	f = fopen(path, "r");
	if (f && fgets(text, sizeof(text), f) && strrchr(text, ')'))
		sscanf(strrchr(text, ')'), ") %*c %d", &watch);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	aim = fork() ? hold : watch;
	if (aim == hold)
		puts(watch > 1 ? "flooding" : "no watch");
	for (time_t end = time(NULL) + 12; time(NULL) < end;) {
		for (int i = 0; i < 1000; i++)
			kill(aim, i % 2 ? SIGUSR1 : SIGRTMIN + i % 8);
	}
	_exit(0);
}

/* A new mapping in place of a dirty one of the file: the kernel writes the page back, and waits for
 * the file system while it has our memory map locked. Then stay until EOF of stdin. */
static int lock(const char *file)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	struct stat st; /* tells the kernel how long the file is */
	char *page, byte;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 1;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return 1;
	*page = 1;
	if (mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
		return 1;
	puts("free");
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char text[4096];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "fds") == 0)
		return fds();
	if (strcmp(what, "signals") == 0)
		return signals();
	if (strcmp(what, "stdio") == 0)
		return stdio_flags();
	if (strcmp(what, "umask") == 0)
		return printf("%03o\n", umask(0)) < 0;
	if (strcmp(what, "cwd") == 0)
		return puts(getcwd(text, sizeof(text))) < 0;
	if (strcmp(what, "env") == 0 && argc > 2)
		return puts(getenv(argv[2]) ? getenv(argv[2]) : "(unset)") < 0;
	if (strcmp(what, "join") == 0 && argc > 2)
		join((pid_t)atoi(argv[2]));
	if (strcmp(what, "lock") == 0 && argc > 2)
		return lock(argv[2]);
	if (strcmp(what, "flood") == 0)
		flood();
	if (strcmp(what, "wait") == 0)
		return wait_for(argc - 2, argv + 2);
	fprintf(stderr, "probe: unknown question '%s'\n", what);
	return 64;
}
