/* engine_call.c - see engine_call.h */
#include "engine_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "keeper/linux/clock.h"
#include "keeper/linux/signals.h"

#define KILL_US  1000000 /* time limit for the exit of a command that was killed */
#define PAUSE_MS 5 /* interval of the checks whether a command that closed its output has ended */

static _Noreturn void engine_exec(const char *program, char **argv, int out)
{
	dup2(out, STDOUT_FILENO);
	stdio_drop(STDIN_FILENO);
	stdio_drop(STDERR_FILENO);
	stdio_only(true);
	if (program)
		execv(program, argv);
	else
		execvp(argv[0], argv);
	_exit(127);
}

/* Read the output up to its end. */
static int engine_hear(int fd, long long deadline_us, struct buf *out)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char text[1024];
		ssize_t n;
		int r;

		if (poll(&p, 1, clock_left_ms(deadline_us)) == 0)
			return -ETIMEDOUT;
		n = read(fd, text, sizeof(text));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		r = n > 0 ? buf_add(out, text, (size_t)n) : 0;
		if (r < 0)
			return r;
	}
}

static int engine_wait(pid_t pid, long long deadline_us)
{
	int status;

	while (waitpid(pid, &status, WNOHANG | __WALL) == 0) {
		if (clock_left_ms(deadline_us) == 0)
			return -ETIMEDOUT;
		poll(NULL, 0, PAUSE_MS);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int engine_call(const char *program, char *const *engine, const char *const *words,
		long long deadline_us, struct buf *out)
{
	AUTO(mem_drop) char **argv = NULL;
	size_t count = strings_count(engine), more = 0;
	int fds[2], r;
	pid_t pid;

	while (words[more])
		more++;
	argv = mem_grow(NULL, count + more + 1, sizeof(char *));
	memcpy(argv, engine, count * sizeof(char *));
	memcpy(argv + count, words, (more + 1) * sizeof(char *));
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		engine_exec(program, argv, fds[1]);
	r = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (r == 0)
		r = engine_hear(fds[0], deadline_us, out);
	if (r == 0)
		r = engine_wait(pid, deadline_us);
	close(fds[0]);
	if (r < 0 && pid > 0) {
		kill(pid, SIGKILL);
		engine_wait(pid, clock_us() + KILL_US); /* execv would pass a zombie on */
	}
	return r;
}
