/* demo_part.c - the other processes of the demo: client and stage, see demo_part.h */
#include "demo_part.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/demo.h"
#include "keeper/linux/clock.h"

enum { ANSWER_MS = 5000, ANSWER_MAX = 4096 };

extern char **environ;

/* Make an environment with the tag as its first entry, where a reader of /proc finds the tag
 * fastest. */
static char **tagged_environment(const char *tag, char *entry, size_t size)
{
	size_t n = 0, k = 0;
	char **env;

	snprintf(entry, size, DEMO_TAG "=%s", tag);
	while (environ[n])
		n++;
	env = mem_grow(NULL, n + 2, sizeof(*env));
	env[k++] = entry;
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], DEMO_TAG "=", sizeof(DEMO_TAG)) != 0)
			env[k++] = environ[i];
	env[k] = NULL;
	return env;
}

pid_t demo_spawn(char *const *argv, const char *tag, int in_fd, int out_fd)
{
	char entry[128];
	AUTO(mem_drop) char **env = tagged_environment(tag, entry, sizeof(entry));
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t signals;
	pid_t pid;
	int r;

	sigfillset(&signals);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &signals);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(&pid, argv[0], &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return r ? -r : pid;
}

static bool part_say(int fd, const char *text)
{
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Read up to the first newline. Times out after ANSWER_MS. */
static bool part_read_line(int fd, char *line, size_t size)
{
	long long end_us = clock_us() + ANSWER_MS * 1000LL;
	size_t len = 0;

	while (len < size - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		long long left_us = end_us - clock_us();
		ssize_t n;

		if (left_us <= 0 || poll(&p, 1, (int)(left_us / 1000) + 1) <= 0)
			return false;
		n = read(fd, line + len, size - 1 - len);
		if (n <= 0)
			return false;
		len += (size_t)n;
		line[len] = '\0';
		if (memchr(line, '\n', len))
			return true;
	}
	return false;
}

static int client(char **argv)
{
	AUTO(fd_drop) int to_server = -1;
	AUTO(fd_drop) int from_server = -1;
	const char *tag = getenv(DEMO_TAG);
	char line[ANSWER_MAX];
	int in[2], out[2];

	if (!tag || pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return EXIT_BUG;
	if (demo_spawn(argv, tag, in[0], out[1]) < 0)
		return EXIT_UNAVAILABLE;
	close(in[0]);
	close(out[1]);
	to_server = in[1];
	from_server = out[0];
	if (!part_say(to_server, DEMO_HELLO) || !part_read_line(from_server, line, sizeof(line)) ||
	    !strstr(line, "\"result\"") || !part_say(to_server, DEMO_INITIALIZED))
		return EXIT_UNAVAILABLE;
	part_say(STDOUT_FILENO, "ready\n");
	while (read(STDIN_FILENO, line, sizeof(line)) > 0)
		;
	return EXIT_SUCCESS;
}

struct stage {
	pid_t client;     /* 0: none */
	int client_stdin; /* the stage keeps it open, so that the client ends with the stage */
};

static void stage_kill(struct stage *s)
{
	if (s->client > 0) {
		kill(s->client, SIGKILL);
		waitpid(s->client, NULL, 0);
	}
	s->client = 0;
	fd_drop(&s->client_stdin);
}

/* Carry out "N MODE [INNER]": start client number N with that server, without killick. */
static void stage_start(struct stage *s, const char *self, const char *words)
{
	char number[8] = "", mode[32] = "", inner[32] = "", tag[64];
	char *argv[] = { (char *)self,
			 (char *)"demo-part",
			 (char *)"client",
			 (char *)self,
			 (char *)"zoo",
			 mode,
			 NULL,
			 NULL };
	const char *run = getenv(DEMO_TAG);
	int in[2], n = sscanf(words, "%7s %31s %31s", number, mode, inner);

	stage_kill(s);
	if (n < 2 || !run || pipe2(in, O_CLOEXEC) < 0)
		return;
	if (n == 3)
		argv[6] = inner;
	snprintf(tag, sizeof(tag), "%.*s.plain.%s", (int)strcspn(run, "."), run, number);
	s->client = demo_spawn(argv, tag, in[0], STDOUT_FILENO);
	close(in[0]);
	s->client_stdin = in[1];
}

static int stage(void)
{
	struct stage s = { .client_stdin = -1 };
	char self[4096], line[256];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len <= 0)
		return EXIT_BUG;
	self[len] = '\0';
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "start ", 6) == 0)
			stage_start(&s, self, line + 6);
		else if (strcmp(line, "kill") == 0)
			stage_kill(&s);
	}
	return EXIT_SUCCESS; /* the outer `killick run` then ends the remaining processes */
}

int demo_part(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "stage") == 0)
		return stage();
	if (argc > 2 && strcmp(argv[1], "client") == 0)
		return client(argv + 2);
	return EXIT_USAGE;
}
