#include "executor_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ROOM (4u << 20) /* more than any message: chunks are 64 KiB at most */

enum opcode { OP_TEXT = 1, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "bench: executor's connection: %s\n", what);
	exit(1);
}

static void put(struct wire *w, const char *p, size_t len)
{
	while (len) {
		ssize_t n = send(w->fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			die("cannot send");
		p += n;
		len -= (size_t)n;
	}
}

/* Take what there is, at least a byte. */
static void fill(struct wire *w)
{
	ssize_t n;

	if (w->at == w->have) {
		w->at = w->have = 0;
	} else if (ROOM - w->have < ROOM / 4) {
		memmove(w->buf, w->buf + w->at, w->have - w->at);
		w->have -= w->at;
		w->at = 0;
	}
	if (w->have == ROOM)
		die("a message is too long");
	if (w->heard && !w->patient) /* 2: what is owed is sent now, and nothing else is changed */
		setsockopt(w->fd, IPPROTO_TCP, TCP_QUICKACK, &(int){ 2 }, sizeof(int));
	n = recv(w->fd, w->buf + w->have, ROOM - w->have, 0);
	if (n <= 0)
		die(n ? "silent for too long" : "closed by the executor");
	w->have += (size_t)n;
	w->heard = true;
}

static void upgrade(struct wire *w, unsigned short port)
{
	char text[256], *end;
	int n = snprintf(text, sizeof(text),
			 "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: Upgrade\r\n"
			 "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
			 "Sec-WebSocket-Key: a2lsbGljayBiZW5jaGluZw==\r\n\r\n",
			 port);

	put(w, text, (size_t)n);
	do
		fill(w);
	while (!(end = memmem(w->buf, w->have, "\r\n\r\n", 4)));
	if (w->have < 12 || memcmp(w->buf, "HTTP/1.1 101", 12) != 0)
		die("no upgrade to a WebSocket");
	w->at = (size_t)(end + 4 - w->buf);
}

void wire_open(struct wire *w, unsigned short port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval patience = { .tv_sec = WIRE_PATIENCE_S };

	*w = (struct wire){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
			    .buf = malloc(ROOM) };
	if (w->fd < 0 || !w->buf || connect(w->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("cannot connect");
	setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	upgrade(w, port);
}

static void mask_into(char *out, const char *text, size_t len, const unsigned char mask[4])
{
	uint64_t wide, word;
	size_t i = 0;

	memcpy(&wide, mask, 4);
	memcpy((char *)&wide + 4, mask, 4);
	for (; i + 8 <= len; i += 8) {
		memcpy(&word, text + i, 8);
		word ^= wide;
		memcpy(out + i, &word, 8);
	}
	for (; i < len; i++)
		out[i] = (char)(text[i] ^ mask[i % 4]);
}

static void send_frame(struct wire *w, enum opcode op, const char *text, size_t len)
{
	static const unsigned char mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
	static char out[ROOM];
	size_t n = 2;

	if (len > ROOM - 16)
		die("a message is too long");
	out[0] = (char)(0x80 | op);
	if (len < 126) {
		out[1] = (char)(0x80 | len);
	} else if (len < 65536) {
		out[1] = (char)(0x80 | 126);
		out[n++] = (char)(len >> 8);
		out[n++] = (char)len;
	} else {
		out[1] = (char)(0x80 | 127);
		for (int shift = 56; shift >= 0; shift -= 8)
			out[n++] = (char)((uint64_t)len >> shift);
	}
	memcpy(out + n, mask, sizeof(mask));
	n += sizeof(mask);
	mask_into(out + n, text, len, mask);
	put(w, out, n + len);
	w->heard = false;
}

void wire_send(struct wire *w, const char *text, size_t len)
{
	send_frame(w, OP_TEXT, text, len);
}

/* The payload of the next frame, whatever it is; its first byte in *out_first. */
static struct wire_message next_frame(struct wire *w, unsigned *out_first)
{
	const unsigned char *p;
	size_t head = 2, len, more;

	while (w->have - w->at < head)
		fill(w);
	len = (unsigned char)w->buf[w->at + 1]; /* a server does not mask */
	more = len == 126 ? 2 : len == 127 ? 8 : 0;
	head += more;
	while (w->have - w->at < head)
		fill(w);
	p = (unsigned char *)w->buf + w->at;
	*out_first = p[0];
	if (more)
		len = 0;
	for (size_t i = 0; i < more; i++)
		len = len << 8 | p[2 + i];
	while (w->have - w->at < head + len)
		fill(w);
	w->at += head + len;
	return (struct wire_message){ w->buf + w->at - len, len };
}

struct wire_message wire_next(struct wire *w)
{
	for (;;) {
		unsigned first;
		struct wire_message m = next_frame(w, &first);

		if (first == (0x80 | OP_TEXT))
			return m;
		if (first == (0x80 | OP_PING))
			send_frame(w, OP_PONG, m.text, m.len);
		else if (first == (0x80 | OP_CLOSE))
			die("closed by the executor");
		else if (first != (0x80 | OP_PONG))
			die("a frame of a kind nobody has sent before");
	}
}

void wire_close(struct wire *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->buf);
	*w = (struct wire){ .fd = -1 };
}
