/* line.c - see line.h */
#include "line.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

void line_vadd(struct line *l, const char *fmt, va_list ap)
{
	size_t room = sizeof(l->text) - l->len;
	int n = vsnprintf(l->text + l->len, room, fmt, ap);

	assert(l->len < sizeof(l->text));
	if (n < 0) {
		l->text[l->len] = '\0';
		l->cut = true;
	} else if ((size_t)n >= room) {
		l->len = sizeof(l->text) - 1;
		l->cut = true;
	} else {
		l->len += (size_t)n;
	}
}

void line_add(struct line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line_vadd(l, fmt, ap);
	va_end(ap);
}

/* Length of the well-formed UTF-8 sequence at s, or 0. Overlong forms and surrogates are not
 * well-formed. */
static size_t utf8_len(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead, len;
		unsigned min;
	} forms[] = {
		{ 0x80, 0x00, 1, 0 },
		{ 0xe0, 0xc0, 2, 0x80 },
		{ 0xf0, 0xe0, 3, 0x800 },
		{ 0xf8, 0xf0, 4, 0x10000 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((s[0] & forms[i].mask) != forms[i].lead)
			continue;
		unsigned code = s[0] & (unsigned char)~forms[i].mask;
		for (size_t k = 1; k < forms[i].len; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[k] & 0x3f);
		}
		if (code < forms[i].min || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return 0;
		return forms[i].len;
	}
	return 0;
}

/* How many bytes at s go into a JSON string as they are. */
static size_t line_plain_len(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

void line_json(struct line *l, const char *s)
{
	if (!s) {
		line_add(l, "null");
		return;
	}
	line_add(l, "\"");
	while (*s) {
		const unsigned char *c = (const unsigned char *)s;
		size_t plain = line_plain_len(s), n = plain ? plain : utf8_len(c);

		if (n == 0)
			line_add(l, "\\ufffd");
		else if (*c == '"' || *c == '\\')
			line_add(l, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			line_add(l, "\\u%04x", *c);
		else
			line_add(l, "%.*s", (int)n, s);
		s += n ? n : 1;
	}
	line_add(l, "\"");
}

void line_flatten(struct line *l)
{
	for (size_t i = 0; i < l->len; i++) {
		if ((unsigned char)l->text[i] < 0x20 || l->text[i] == 0x7f)
			l->text[i] = ' ';
	}
}

/* select, because poll(2) fails after a server lowered RLIMIT_NOFILE of the keeper to 0. */
static bool line_has_room(int fd, int timeout_ms)
{
	struct timeval wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	fd_set set;

	assert(fd >= 0);
	if (fd >= FD_SETSIZE)
		return true;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, NULL, &set, NULL, &wait) == 1;
}

/* A writable pipe has room for PIPE_BUF bytes; a client's pipe may be blocking. */
static void line_offer_pieces(const struct line *l, int fd, int timeout_ms)
{
	long long end_us = clock_us() + timeout_ms * 1000LL;
	size_t done = 0;

	while (done < l->len && line_has_room(fd, clock_left_ms(end_us))) {
		size_t piece = l->len - done < PIPE_BUF ? l->len - done : PIPE_BUF;
		ssize_t n = write(fd, l->text + done, piece);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
}

void line_offer(const struct line *l, int fd, int timeout_ms)
{
	struct stat st;

	if (l->len > PIPE_BUF && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) {
		line_offer_pieces(l, fd, timeout_ms);
		return;
	}

	/* a writable pipe takes PIPE_BUF bytes without blocking; a pipe of killick is O_NONBLOCK as
	 * well */
	if (line_has_room(fd, timeout_ms))
		line_write(l, fd);
}

int line_write(const struct line *l, int fd)
{
	size_t done = 0;

	while (done < l->len) {
		ssize_t n = write(fd, l->text + done, l->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}
