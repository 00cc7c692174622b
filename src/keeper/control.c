/* control.c - see control.h */
#include "control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keeper.h"
#include "line.h"

#define OFFER_MS 1000 /* how long we wait for an owner that does not read */

static int opened = -1; /* whom keeper_say, which knows no keeper, tells as well */

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

/* "eof 500": the word, and what stands behind it. */
static bool is_word(const char *text, const char *word, unsigned *grace_ms)
{
	size_t len = strlen(word);
	unsigned ms;

	if (strncmp(text, word, len) != 0)
		return false;
	if (text[len] == ' ' && options_milliseconds(text + len + 1, &ms) == 0) {
		*grace_ms = ms;
		return true;
	}
	return text[len] == '\0';
}

enum control_word control_read(int fd, unsigned *grace_ms)
{
	char word[24];
	ssize_t n = recv(fd, word, sizeof(word) - 1, MSG_DONTWAIT);

	assert(fd >= 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return CONTROL_NOTHING;
	if (n <= 0)
		return CONTROL_GONE;
	word[n] = '\0';
	if (is_word(word, "eof", grace_ms))
		return CONTROL_EOF;
	if (is_word(word, "stop", grace_ms))
		return CONTROL_STOP;
	if (strcmp(word, "int") == 0)
		return CONTROL_INT;
	return strcmp(word, "kill") == 0 ? CONTROL_KILL : CONTROL_NOTHING;
}

void control_started(int fd, pid_t server, const char *level)
{
	struct line l;

	if (fd < 0)
		return;
	assert(level);
	line_init(&l);
	line_add(&l, "{\"event\":\"started\",\"pid\":%d,\"level\":\"%s\"}\n", server, level);
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
