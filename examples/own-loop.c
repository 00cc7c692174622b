/* own-loop.c - a host that has an event loop already: callbacks run in it and nowhere else.
 *
 *	./own-loop npx -y @modelcontextprotocol/server-everything
 *
 * Each line on stdin is a tool and its arguments: echo {"message": "hi"}. Calls run side by side;
 * answers are printed as they come. The program ends when stdin does and all is answered.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <killick/killick.h>

static struct killick_session *session;
static bool failed, no_more;
static int under_way;

static void on_open(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	(void)ctx;
	session = s;
	if (!s) {
		fprintf(stderr, "%s\n", e->text);
		failed = true;
	}
}

static void on_done(void *ctx, struct killick_result *r)
{
	printf("%s: %s\n", (char *)ctx,
	       killick_result_code(r) ? killick_result_error(r) : killick_result_text(r));
	killick_result_free(r);
	free(ctx);
	under_way--;
}

static void call(char *line)
{
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "server", .on_done = on_done);
	struct killick_error e;

	rq.name = strsep(&line, " ");
	rq.args = line; /* what follows; NULL: none */
	rq.ctx = strdup(rq.name);
	if (killick_start(session, &rq, NULL, &e) == 0) {
		under_way++;
	} else {
		fprintf(stderr, "%s: %s\n", rq.name, e.text);
		free(rq.ctx);
	}
}

/* Whole lines out of what came so far. */
static void on_input(void)
{
	static char text[65536];
	static size_t len;
	ssize_t n = read(STDIN_FILENO, text + len, sizeof(text) - 1 - len);
	char *nl;

	if (n <= 0) {
		no_more = true;
		return;
	}
	len += (size_t)n;
	while ((nl = memchr(text, '\n', len))) {
		*nl++ = '\0';
		if (*text)
			call(text);
		len -= (size_t)(nl - text);
		memmove(text, nl, len);
	}
}

int main(int argc, char **argv)
{
	struct killick_options options = KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST);
	struct killick_session_options server = KILLICK_SESSION_OPTIONS(.command = argv + 1);
	struct killick *k = NULL;
	struct killick_error e;

	if (argc < 2) {
		fprintf(stderr, "usage: %s COMMAND...\n", argv[0]);
		return 64;
	}
	if (killick_open(&options, &k, &e) ||
	    killick_session_open_start(k, &server, on_open, NULL, NULL, &e)) {
		fprintf(stderr, "%s\n", e.text);
		killick_free(k);
		return 1;
	}
	while (!failed && !(no_more && under_way == 0)) {
		struct pollfd fds[] = {
			{ .fd = killick_fd(k), .events = POLLIN },
			/* no calls before there is a session */
			{ .fd = session && !no_more ? STDIN_FILENO : -1, .events = POLLIN },
		};

		poll(fds, 2, -1);
		if (fds[0].revents)
			killick_dispatch(k, NULL);
		if (fds[1].revents)
			on_input();
	}
	killick_session_free(session);
	killick_free(k);
	return failed;
}
