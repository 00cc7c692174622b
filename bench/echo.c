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
 *
 *	mcp       itself, but speaks MCP: answers initialize and tools/list; answers every other
 *	          request with its text
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
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

struct piece {
	const char *at;
	size_t len;
};

/* What follows `key` in a line, up to the first of `ends`. The payload has no escapes. */
static struct piece value_of(const char *line, size_t len, const char *key, const char *ends)
{
	const char *at = memmem(line, len, key, strlen(key)), *stop;

	if (!at)
		return (struct piece){ "", 0 };
	at += strlen(key);
	if (!ends[1]) {
		stop = memchr(at, ends[0], (size_t)(line + len - at));
		return (struct piece){ at, stop ? (size_t)(stop - at) : 0 };
	}
	for (stop = at; stop < line + len && !strchr(ends, *stop); stop++)
		;
	return (struct piece){ at, (size_t)(stop - at) };
}

static size_t put_text(char *out, const char *text)
{
	size_t len = strlen(text);

	memcpy(out, text, len);
	return len;
}

/* The result of initialize: the version that was asked for. */
static size_t put_welcome(char *out, struct piece version)
{
	size_t n = put_text(out, "{\"protocolVersion\":\"");

	memcpy(out + n, version.at, version.len);
	n += version.len;
	return n + put_text(out + n, "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"
				     "{\"name\":\"echo\",\"version\":\"1\"}}}\n");
}

/* The answer to one line, into `out`; how long it is. Clients write the id first or last: the
 * payload is never searched for it. */
static size_t answer(const char *line, size_t len, char *out)
{
	size_t near = len < 96 ? len : 96, n;
	struct piece id = value_of(line, near, "\"id\":", ",}"), text;

	if (!id.len)
		id = value_of(line + len - near, near, "\"id\":", ",}");
	if (!id.len)
		return 0; /* a notification */
	n = put_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	memcpy(out + n, id.at, id.len);
	n += id.len;
	n += put_text(out + n, ",\"result\":");
	if (memmem(line, near, "\"initialize\"", 12))
		return n +
		       put_welcome(out + n, value_of(line, len, "\"protocolVersion\":\"", "\""));
	if (memmem(line, near, "\"tools/list\"", 12))
		return n + put_text(out + n, "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":"
					     "{\"type\":\"object\"}}]}}\n");
	text = value_of(line, len, "\"text\":\"", "\"");
	n += put_text(out + n, "{\"content\":[{\"type\":\"text\",\"text\":\"");
	memcpy(out + n, text.at, text.len);
	n += text.len;
	return n + put_text(out + n, "\"}]}}\n");
}

static bool answer_all(const char *p, const char *end)
{
	static char out[2 * sizeof(buf)]; /* an answer may be a little longer than its request */
	size_t n = 0;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (n + (size_t)(nl - p) + 256 > sizeof(out)) {
			if (!put(out, n))
				return false;
			n = 0;
		}
		n += answer(p, (size_t)(nl - p), out + n);
		p = nl + 1;
	}
	return put(out, n);
}

/* What any process between a client and its server costs: wait, read, write. */
static int relay(const char *self)
{
	int to[2], from[2], ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = 0 };

	if (ep < 0 || pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return 71;
	if (fork() == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(self, self, "mcp", (char *)NULL);
		_exit(127);
	}
	epoll_ctl(ep, EPOLL_CTL_ADD, 0, &ev);
	ev.data.fd = from[0];
	epoll_ctl(ep, EPOLL_CTL_ADD, from[0], &ev);
	close(from[1]);
	for (;;) {
		ssize_t n, done = 0;

		if (epoll_wait(ep, &ev, 1, -1) < 1)
			continue;
		n = read(ev.data.fd, buf, sizeof(buf));
		if (n <= 0)
			return 0;
		while (done < n) {
			ssize_t w = write(ev.data.fd ? 1 : to[1], buf + done, (size_t)(n - done));

			if (w <= 0)
				return 1;
			done += w;
		}
	}
}

int main(int argc, char **argv)
{
	const char *tree = argc > 1 ? argv[1] : "plain";
	bool mcp = !strcmp(tree, "mcp");
	size_t have = 0;

	if (!strcmp(tree, "relay"))
		return relay(argv[0]);
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
		if (!(mcp ? answer_all(buf, end) : put(buf, (size_t)(end - buf))))
			return 1;
		have -= (size_t)(end - buf);
		memmove(buf, end, have);
		if (!strcmp(tree, "busy"))
			idle();
	}
}
