/* lab.c - see lab.h */
#include "lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct lab lab;
static struct cond news;
static struct peer *peers[LAB_PEERS + 16]; /* all that were ever made */
static unsigned peer_count;
static nlink_t threads; /* before the loop's */

const char raw_request[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n"
			   "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
			   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

static nlink_t count_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 ? st.st_nlink : 0;
}

static void on_turn(void *ctx)
{
	(void)ctx;
	loop_lock(lab.loop);
	cond_broadcast(&news);
	loop_unlock(lab.loop);
}

void lab_open(void)
{
	struct err e = ERR_INIT;

	threads = count_threads();
	cond_init(&news);
	if (loop_open(&lab.loop, on_turn, NULL, &e) < 0)
		FAIL("%s", e.text);
}

void lab_wait(void)
{
	static int64_t until_us;

	if (!until_us)
		until_us = loop_now_us() + LAB_DEADLINE_S * 1000000;
	if (!cond_wait_until(&news, loop_mutex(lab.loop), until_us))
		FAIL("it did not happen");
}

const char *lab_dir(void)
{
	if (!lab.dir[0]) {
		snprintf(lab.dir, sizeof(lab.dir), "/tmp/killick-net.XXXXXX");
		OK(mkdtemp(lab.dir));
	}
	return lab.dir;
}

/* --- channels --- */

uint64_t lab_sum(uint64_t sum, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (sum ^ 256) * 0x100000001b3u;
}

static void on_open(void *ctx)
{
	struct peer *p = ctx;

	p->opens++;
	EQ(p->messages, 0);
}

static void on_message(void *ctx, const char *text, size_t len)
{
	struct peer *p = ctx;

	EQ(p->closes, 0);
	p->messages++;
	p->bytes += len;
	if (!p->count_only) {
		p->sum = lab_sum(p->sum, text, len);
		buf_add(&p->got, text, len);
		buf_add(&p->got, "\n", 1);
	}
	if (p->echo)
		EQ(channel_send(p->c, text, len), 0);
	if (p->close_at && len && text[0] == p->close_at)
		channel_close(p->c, false);
}

static void on_room(void *ctx)
{
	struct peer *p = ctx;

	p->rooms++;
	OK(channel_unsent(p->c) <= CHANNEL_LOW);
}

static void on_closed(void *ctx, const struct err *why)
{
	struct peer *p = ctx;

	EQ(p->closes, 0);
	p->closes++;
	p->why = *why;
	EQ(channel_send(p->c, "x", 1), -EPIPE);
}

const unsigned char lab_sesame[32] = { 0xd0, 0xc0, 0x4f, 0x4b, 0x19, 0x51, 0xe4, 0xae,
				       0xaa, 0xec, 0x82, 0x23, 0xed, 0x20, 0x39, 0xe5,
				       0x42, 0xf3, 0xaa, 0xe8, 0x05, 0xa6, 0xfa, 0x7f,
				       0x6d, 0x79, 0x4e, 0x5a, 0xff, 0xf5, 0xd2, 0x72 };

const struct channel_events lab_events = { .on_open = on_open,
					   .on_message = on_message,
					   .on_room = on_room,
					   .on_closed = on_closed };

void lab_remember(struct peer *p)
{
	p->got = (struct buf)BUF_INIT(1 << 20);
	peers[peer_count++] = p;
}

static void on_channel(void *ctx, struct channel *c)
{
	struct peer *p = &lab.accepted[lab.accepts++];

	(void)ctx;
	p->c = c;
	p->echo = lab.echo;
	p->close_at = lab.close_at;
	p->count_only = lab.count_only;
	lab_remember(p);
	channel_listen(c, &lab_events, p);
	if (!lab.silent && !channel_let_in(c, false))
		channel_close(c, false);
}

static void on_note(void *ctx, const char *text)
{
	(void)ctx;
	lab.notes++;
	snprintf(lab.note, sizeof(lab.note), "%s", text);
}

const char *lab_listen(const char *url, struct listen_spec spec)
{
	static const struct listen_events ev = { on_channel, on_note };
	struct err e = ERR_INIT;
	struct url u;

	if (url_parse(url, URL_LISTEN, &u, &e) < 0)
		FAIL("%s", e.text);
	spec.url = &u;
	spec.fd = spec.fd ? spec.fd : -1;
	if (!spec.seats.full)
		spec.seats = (struct seats_limits){ 1024, 30, 1024, spec.seats.max };
	spec.seats.max = spec.seats.max ? spec.seats.max : 1024;
	spec.send_limit = spec.send_limit ? spec.send_limit : LAB_LIMIT;
	loop_lock(lab.loop);
	if (listener_open(lab.loop, &spec, &ev, NULL, &lab.listener, &e) < 0)
		FAIL("%s", e.text);
	loop_unlock(lab.loop);
	return listener_url(lab.listener);
}

int lab_connect(struct peer *p, const char *url, const char *token, struct err *e)
{
	struct url u;
	struct channel_target to = {
		.url = &u, .token = token, .timeout_ms = 4000, .send_limit = LAB_LIMIT
	};
	char ca[128];
	int r = url_parse(url, URL_CONNECT, &u, e);

	if (r < 0)
		return r;
	if (u.kind == URL_WSS) {
		snprintf(ca, sizeof(ca), "%s/cert.pem", lab_dir());
		to.ca_file = ca;
	}
	loop_lock(lab.loop);
	r = channel_connect(lab.loop, &to, &lab_events, p, &p->c, e);
	if (r == 0)
		lab_remember(p);
	loop_unlock(lab.loop);
	return r;
}

struct peer *lab_join(struct peer *p, const char *url)
{
	unsigned before = lab.accepts;
	struct err e = ERR_INIT;

	if (lab_connect(p, url, NULL, &e) < 0)
		FAIL("%s", e.text);
	UNTIL(p->opens || p->closes);
	if (p->closes)
		FAIL("%s", p->why.text);
	if (strncmp(url, "unix:", 5) != 0) /* lines are known by their first byte */
		UNTIL(lab.accepts > before);
	return &lab.accepted[before];
}

size_t lab_unsent(const struct peer *p)
{
	return LOCKED(channel_unsent(p->c));
}

void lab_send(struct peer *p, const char *text)
{
	EQ(LOCKED(channel_send(p->c, text, strlen(text))), 0);
}

/* A name that is looked up for nobody any more has a thread, which has files open. */
static void await_threads(void)
{
	double until = t_now_ms() + 2000; /* sanitizers have threads, too */

	while (count_threads() > threads && t_now_ms() < until)
		poll(NULL, 0, 5);
}

void lab_close(void)
{
	loop_lock(lab.loop);
	if (lab.listener)
		listener_close(lab.listener);
	for (unsigned i = 0; i < peer_count; i++)
		if (!peers[i]->closes)
			channel_close(peers[i]->c, true);
	for (unsigned i = 0; i < peer_count; i++) {
		while (!peers[i]->closes)
			lab_wait();
		channel_free(peers[i]->c);
		buf_done(&peers[i]->got);
	}
	loop_unlock(lab.loop);
	loop_close(lab.loop);
	await_threads();
	if (lab.dir[0]) {
		char *argv[] = { "rm", "-rf", lab.dir, NULL };

		EQ(t_wait_child(t_spawn(argv, NULL), 5000), 0);
	}
}

/* --- without our code --- */

int raw_connect(const char *url)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	bool is_local = strncmp(url, "unix:", 5) == 0;
	int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	if (is_local) {
		snprintf(local.sun_path, sizeof(local.sun_path), "%s", url + 5);
		r = connect(fd, (struct sockaddr *)&local, sizeof(local));
	} else {
		at.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
		r = connect(fd, (struct sockaddr *)&at, sizeof(at));
	}
	EQ(r, 0);
	return fd;
}

void raw_write(int fd, const void *bytes, size_t len)
{
	EQ(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

size_t raw_read(int fd, char *out, size_t size, const char *end)
{
	size_t got = 0;
	ssize_t n = 1;

	for (out[0] = '\0'; n > 0 && got + 1 < size && !(end && strstr(out, end));) {
		if (!t_wait_fd(fd, POLLIN, LAB_DEADLINE_S * 1000))
			FAIL("no answer behind '%s'", out);
		/* byte by byte, so that what follows stays */
		n = recv(fd, out + got, end ? 1 : size - got - 1, 0);
		got += n > 0 ? (size_t)n : 0;
		out[got] = '\0';
	}
	return got;
}

bool raw_exactly(int fd, void *out, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n;

		if (!t_wait_fd(fd, POLLIN, LAB_DEADLINE_S * 1000))
			FAIL("%zu of %zu bytes came", got, len);
		n = read(fd, (char *)out + got, len - got);
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

void raw_upgrade(int fd)
{
	char text[512];

	raw_write(fd, raw_request, strlen(raw_request));
	raw_read(fd, text, sizeof(text), "\r\n\r\n");
	OK(!strncmp(text, "HTTP/1.1 101 ", 13));
	OK(strstr(text, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")); /* of RFC 6455, 1.3 */
}

size_t raw_frame(unsigned char *out, unsigned first, const void *bytes, size_t len)
{
	static const unsigned char mask[4] = { 0x12, 0x00, 0xff, 0x7b };
	size_t at = 0;

	out[at++] = (unsigned char)first;
	out[at++] = (unsigned char)(0x80 | (len < 126 ? len : len < 65536 ? 126 : 127));
	for (int i = len < 126 ? 0 : len < 65536 ? 2 : 8; i > 0; i--)
		out[at++] = (unsigned char)((uint64_t)len >> 8 * (i - 1));
	memcpy(out + at, mask, 4);
	at += 4;
	for (size_t i = 0; i < len; i++)
		out[at++] = ((const unsigned char *)bytes)[i] ^ mask[i % 4];
	return at;
}

void raw_send(int fd, unsigned first, const void *bytes, size_t len)
{
	unsigned char *frame = malloc(len + 14);

	raw_write(fd, frame, raw_frame(frame, first, bytes, len));
	free(frame);
}

unsigned raw_receive(int fd, char *out, size_t size, size_t *len)
{
	unsigned char head[4] = { 0 };

	*len = 0;
	if (!raw_exactly(fd, head, 2))
		return 0;
	OK(!(head[1] & 0x80)); /* a server masks nothing */
	*len = head[1];
	if (head[1] == 126) {
		OK(raw_exactly(fd, head + 2, 2));
		*len = head[2] * 256u + head[3];
	}
	OK(*len < size && head[1] < 127);
	OK(raw_exactly(fd, out, *len));
	out[*len] = '\0';
	return head[0];
}
