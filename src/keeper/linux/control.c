/* control.c - see control.h */
#include "control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "keeper.h"
#include "line_fd.h"

#define OFFER_MS 1000 /* how long we wait for an owner that does not read */

static int opened = -1; /* the socket for keeper_say, which has no struct keeper */

int control_open(int fd)
{
	int ours = fcntl(fd, F_DUPFD_CLOEXEC, 3), type = 0;
	socklen_t len = sizeof(type);

	if (ours < 0 || getsockopt(ours, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET) {
		keeper_say("--control %d: not an open SOCK_SEQPACKET socket", fd);
		return -1;
	}
	fcntl(ours, F_SETFL, O_NONBLOCK);
	assert(opened < 0 && ours > STDERR_FILENO);
	close(fd);
	opened = ours;
	return ours;
}

enum control_word control_read(int fd, unsigned *grace_ms, bool *asks)
{
	char word[CONTROL_WORD_MAX];
	ssize_t n = recv(fd, word, sizeof(word) - 1, MSG_DONTWAIT);

	assert(fd >= 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return CONTROL_NOTHING;
	if (n <= 0)
		return CONTROL_GONE;
	word[n] = '\0';
	return control_word_read(word, grace_ms, asks);
}

/* By select: poll(2) fails once the server has lowered our RLIMIT_NOFILE to 0. */
static bool control_has_news(int fd, int timeout_ms)
{
	struct timeval wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	fd_set set;

	if (fd >= FD_SETSIZE)
		return false;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &wait) == 1;
}

bool control_ask(int fd, const char *who)
{
	long long end_us = clock_us() + CONTROL_ANSWER_MS * 1000LL;
	static const char clear[] = "clear ";
	char word[CONTROL_WORD_MAX];
	struct line l;
	ssize_t n;

	/* a word from before the question is no answer to it */
	while (recv(fd, word, sizeof(word), MSG_DONTWAIT) > 0)
		;
	line_init(&l);
	line_add(&l, "{\"event\":\"empty\"}\n");
	line_offer(&l, fd, CONTROL_ANSWER_MS);
	while (control_has_news(fd, clock_left_ms(end_us))) {
		n = recv(fd, word, sizeof(word) - 1, MSG_DONTWAIT);
		if (n <= 0)
			return false;
		word[n] = '\0';
		if (strncmp(word, clear, sizeof(clear) - 1) == 0)
			return strcmp(word + sizeof(clear) - 1, who) == 0;
		if (strcmp(word, "look") == 0)
			return false;
	}
	return false;
}

void control_clear(int fd, const char *who)
{
	struct line l;

	line_init(&l);
	line_add(&l, "{\"event\":\"clear\",\"for\":");
	line_json(&l, who);
	line_add(&l, "}\n");
	line_offer(&l, fd, OFFER_MS);
}

void control_started(int fd, pid_t server, const char *level, const char *tree)
{
	struct line l;

	if (fd < 0)
		return;
	assert(level);
	line_init(&l);
	line_add(&l, "{\"event\":\"started\",\"pid\":%d,\"level\":\"%s\",\"tree\":\"%s\"}\n",
		 server, level, tree);
	line_offer(&l, fd, OFFER_MS);
}

void control_exited(int fd, int status)
{
	struct line l;

	if (fd < 0)
		return;
	line_init(&l);
	line_add(&l, "{\"event\":\"exited\",\"status\":%d}\n", status);
	line_offer(&l, fd, OFFER_MS);
}

void control_refused(const char *text)
{
	struct line l;

	if (opened < 0)
		return;
	line_init(&l);
	line_add(&l, "{\"event\":\"refused\",\"text\":");
	line_json(&l, text);
	line_add(&l, "}\n");
	line_offer(&l, opened, OFFER_MS);
}

void control_refused_as(int status)
{
	struct line l;

	if (opened < 0)
		return;
	line_init(&l);
	line_add(&l, "{\"event\":\"refused\",\"status\":%d}\n", status);
	line_offer(&l, opened, OFFER_MS);
}

void control_close(int fd)
{
	if (fd >= 0)
		close(fd);
}
