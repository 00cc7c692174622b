/* echo - the smallest stdio server: answers every line with that line, and leaves at end of input.
 *
 * Dynamically linked on purpose, like the servers people run: what a wrapper adds is measured
 * against a start that is as cheap as a real program's can be.
 *
 *	echo [TREE]
 *
 * TREE is what the server is besides itself; every process of it holds the FIFO named by ZOO_FIFO
 * open for writing, so that a reader sees a hang-up when the last of them is gone, however it went,
 * and lives 12 s at most:
 *
 *	plain     nothing more
 *
 *	children  two children in its own process group
 *
 *	daemon    one child that forked twice and has its own session
 *
 *	busy      itself, but stuck in a call: after the first answer it reads no more
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIFE_S 12

static char buf[1 << 20];

static void idle(void)
{
	alarm(LIFE_S);
	for (;;)
		pause();
}

static void add_child(bool daemonise)
{
	switch (fork()) {
	case -1:
		perror("echo: fork");
		exit(71);
	case 0:
		break;
	default:
		return;
	}
	if (daemonise) {
		setsid();
		if (fork())
			_exit(0);
		close(0);
		close(1);
		close(2);
	}
	idle();
}

static void grow_tree(const char *tree)
{
	const char *fifo = getenv("ZOO_FIFO");

	if (fifo) {
		/* kept open for life, by us and by whoever we fork: that is the sign of being alive
		 */
		if (open(fifo, O_WRONLY) < 0) {
			perror(fifo);
			exit(71);
		}
		alarm(LIFE_S);
	}
	if (!strcmp(tree, "children")) {
		add_child(false);
		add_child(false);
	} else if (!strcmp(tree, "daemon")) {
		add_child(true);
	}
}

static bool put(const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(1, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

int main(int argc, char **argv)
{
	const char *tree = argc > 1 ? argv[1] : "plain";
	size_t have = 0;

	grow_tree(tree);
	for (;;) {
		ssize_t n = read(0, buf + have, sizeof(buf) - have);
		char *end;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0;
		have += (size_t)n;
		end = memrchr(buf, '\n', have);
		if (!end) {
			if (have == sizeof(buf))
				return 1;
			continue;
		}
		end++;
		if (!put(buf, (size_t)(end - buf)))
			return 1;
		have -= (size_t)(end - buf);
		memmove(buf, end, have);
		if (!strcmp(tree, "busy"))
			idle();
	}
}
