/* hostile.c - a listener and whoever comes: what is refused, what is tolerated, what it costs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab.h"

static const struct listen_spec plain;
static const char *url;

static void begin(struct listen_spec spec)
{
	lab_open();
	url = lab_listen("ws://127.0.0.1:0", spec);
}

/* Send this, read until the end: the status. */
static int status_of(const char *request)
{
	char text[1024];
	int fd = raw_connect(url), status = 0;

	raw_write(fd, request, strlen(request));
	raw_read(fd, text, sizeof(text), NULL);
	sscanf(text, "HTTP/1.1 %d", &status);
	if (status) {
		OK(strstr(text, "\r\n\r\n"));
		OK(strstr(text, "Connection: close\r\n") && strstr(text, "Content-Length: "));
	}
	close(fd);
	return status;
}

#define UPGRADE                                                                                    \
	"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"               \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

TEST(requests_without_an_upgrade_are_refused)
{
	begin(plain);
	EQ(status_of("GET /readyz HTTP/1.1\r\n\r\n"), 200);
	EQ(status_of("GET /readyz?x HTTP/1.0\r\n\r\n"), 200);
	EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
	EQ(status_of("POST / HTTP/1.1\r\n" UPGRADE "\r\n"), 400);
	EQ(status_of("GET / HTTP/1.1\r\n" UPGRADE "Content-Length: 4\r\n\r\n"), 400);
	EQ(status_of("GET /x HTTP/1.1\r\n" UPGRADE "\r\n"), 404);
	EQ(status_of("GET /healthz HTTP/1.1\r\n\r\n"), 404);
	EQ(status_of("GET / HTTP/1.1\r\n" UPGRADE "Origin: http://x\r\n\r\n"), 403);
	EQ(status_of("GET /readyz HTTP/1.1\r\nOrigin: null\r\n\r\n"), 403);
	EQ(status_of("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		     "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		     "\r\n"),
	   426);
	EQ(status_of("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n"),
	   400);
	EQ(status_of("\x16\x03\x01\x02 whatever TLS says first"), 400);
	EQ(status_of("GET / HTTP/2.0\r\n\r\n"), 400);
	EQ(status_of("GET / HTTP/1.1\n\n"), 400);
	EQ(status_of("{\"id\":1}\n"), 400); /* lines are for unix sockets */
	EQ(lab.accepts, 0);
	OK(lab.notes > 5);
	t_note("%s", lab.note);
	lab_close();
}

TEST(a_missing_token_is_refused)
{
	static const unsigned char digest[32] = "no text has this digest, surely";

	begin((struct listen_spec){ .token_sha256 = digest });
	EQ(status_of("GET /readyz HTTP/1.1\r\n\r\n"), 200);
	EQ(status_of("GET / HTTP/1.1\r\n" UPGRADE "\r\n"), 401);
	EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 401);
	EQ(status_of("GET / HTTP/1.1\r\n" UPGRADE "Authorization: Bearer x\r\n\r\n"), 401);
	EQ(status_of("GET / HTTP/1.1\r\n" UPGRADE "Authorization: Bearer \r\n\r\n"), 401);
	EQ(status_of("GET / HTTP/1.1\r\n" UPGRADE "Authorization: Basic eDp5\r\n\r\n"), 401);
	EQ(lab.accepts, 0);
	lab_close();
}

TEST(a_head_has_a_limit)
{
	char *head = malloc(20000);
	int n = snprintf(head, 100, "GET / HTTP/1.1\r\nX: ");

	begin(plain);
	memset(head + n, 'x', (size_t)(19000 - n));
	head[19000] = '\0';
	EQ(status_of(head), 431);
	free(head);
	EQ(lab.accepts, 0);
	lab_close();
}

/* Somebody who has the descriptors of many connections, and says a byte now and then. */
TEST(a_slow_head_is_cut, .timeout_ms = 20000)
{
	double start = t_now_ms();
	char c;
	int fd;

	begin(plain);
	fd = raw_connect(url);
	raw_write(fd, "GET / HT", 8);
	while (!t_wait_fd(fd, POLLIN, 1000))
		(void)!send(fd, "x", 1, MSG_NOSIGNAL);
	OK(recv(fd, &c, 1, 0) <= 0);
	t_note("cut after %.0f ms", t_now_ms() - start);
	OK(t_now_ms() - start > 9000);
	close(fd);
	EQ(lab.accepts, 0);
	lab_close();
}

/* The last of the answers of a listener that lets nobody in: an upgrade, and a close. */
static void is_let_out(void)
{
	char text[64];
	int fd = raw_connect(url);
	size_t len;

	raw_upgrade(fd);
	EQ(raw_receive(fd, text, sizeof(text), &len), 0x88);
	close(fd);
}

TEST(the_number_of_connections_is_limited)
{
	struct peer *last;
	int fds[5];

	begin((struct listen_spec){ .seats.max = 4 });
	for (int i = 0; i < 4; i++) {
		fds[i] = raw_connect(url);
		raw_upgrade(fds[i]);
	}
	is_let_out();
	is_let_out();
	lab.silent = true; /* one that must be let in is */
	fds[4] = raw_connect(url);
	raw_upgrade(fds[4]);
	UNTIL(lab.accepts == 7);
	last = &lab.accepted[6];
	OK(!LOCKED(channel_let_in(last->c, false)));
	OK(LOCKED(channel_let_in(last->c, true)));
	lab.silent = false;
	close(fds[3]);
	close(fds[4]);
	UNTIL(lab.accepted[3].closes && last->closes);
	fds[3] = raw_connect(url);
	raw_upgrade(fds[3]);
	is_let_out();
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	lab_close();
}

/* How many of these were hung up. */
static int count_dropped(const int *fds, int count)
{
	int dropped = 0;

	for (int i = 0; i < count; i++)
		dropped += t_wait_fd(fds[i], POLLIN, 0) != 0;
	return dropped;
}

/* Silent connections give way to each other, and to whoever has something to say. Those that are in
 * do not notice. */
TEST(silent_connections_do_not_keep_clients_out)
{
	int fds[100], first, next;
	char text[16];
	size_t len;

	lab.echo = true;
	begin((struct listen_spec){ .seats = { 20, 30, 20, 2 } });
	first = raw_connect(url);
	raw_upgrade(first);
	for (int i = 0; i < 100; i++)
		fds[i] = raw_connect(url);
	UNTIL(strstr(lab.note, "too many"));
	raw_send(first, 0x81, "still", 5);
	EQ(raw_receive(first, text, sizeof(text), &len), 0x81);
	next = raw_connect(url);
	raw_upgrade(next);
	raw_send(next, 0x81, "still", 5);
	EQ(raw_receive(next, text, sizeof(text), &len), 0x81);
	EQ(count_dropped(fds, 100), 81); /* one of the rest went for the one that is in */
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	close(first);
	close(next);
	lab_close();
}

/* From `start` on some are dropped, long before there are too many; which ones is a matter of luck.
 */
TEST(greetings_are_dropped_early_and_at_random)
{
	int fds[100], dropped, old = 0;

	begin((struct listen_spec){ .seats = { 20, 30, 100000, 2 } });
	for (int i = 0; i < 100; i++) {
		fds[i] = raw_connect(url);
		if (i < 20)
			continue;
		raw_write(fds[i], "GET ", 4); /* slow bytes are no better than none */
	}
	EQ(status_of("GET /readyz HTTP/1.1\r\n\r\n"), 200); /* all of them were taken before */
	dropped = count_dropped(fds, 100);
	old = count_dropped(fds, 20);
	t_note("%d of 100 were dropped, %d of them of the first 20", dropped, old);
	OK(dropped >= 5 && dropped <= 50); /* 24 of 80, and one in a million is outside */
	OK(old < 20);
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	lab_close();
}

/* Whoever has shown the token gives way last. */
TEST(clients_with_a_token_are_dropped_last)
{
	static struct peer client;
	struct err e = ERR_INIT;
	int fds[200];

	lab.silent = true;
	begin((struct listen_spec){ .seats = { 4, 100, 4, 2 }, .token_sha256 = lab_sesame });
	EQ(lab_connect(&client, url, "sesame", &e), 0);
	UNTIL(client.opens || client.closes);
	EQ(client.closes, 0);
	for (int i = 0; i < 200; i++)
		fds[i] = raw_connect(url);
	EQ(status_of("GET /readyz HTTP/1.1\r\n\r\n"), 200);
	EQ(count_dropped(fds, 200),
	   198); /* four places: two of these, the client's and the last's */
	EQ(LOCKED(client.closes), 0);
	EQ(lab.accepted[0].closes, 0);
	for (int i = 0; i < 200; i++)
		close(fds[i]);
	lab_close();
}

TEST(notes_are_limited)
{
	begin(plain);
	for (int i = 0; i < 60; i++)
		EQ(status_of("GET /x HTTP/1.1\r\n\r\n"), 404);
	OK(lab.notes <= 20);
	lab_close();
}

/* --- pieces --- */

/* An upgrade, text in two frames with a ping between, a long text, and a close: cut at every byte.
 */
static size_t compose(unsigned char *out)
{
	size_t len = strlen(raw_request);
	char text[300];

	memcpy(out, raw_request, len);
	memset(text, 'z', sizeof(text));
	len += raw_frame(out + len, 0x01, "mes", 3);
	len += raw_frame(out + len, 0x89, "ping", 4);
	len += raw_frame(out + len, 0x80, "sage", 4);
	len += raw_frame(out + len, 0x82, text, sizeof(text));
	len += raw_frame(out + len, 0x8a, "", 0);
	len += raw_frame(out + len, 0x81, "end", 3);
	len += raw_frame(out + len, 0x88, "\x03\xe8", 2);
	return len;
}

static void expect_all(int fd, const struct peer *p)
{
	char text[512];
	size_t len;

	raw_read(fd, text, sizeof(text), "\r\n\r\n");
	OK(!strncmp(text, "HTTP/1.1 101", 12));
	EQ(raw_receive(fd, text, sizeof(text), &len), 0x8a);
	STREQ(text, "ping");
	EQ(raw_receive(fd, text, sizeof(text), &len), 0x88);
	EQ(len, 2);
	EQ(raw_receive(fd, text, sizeof(text), &len), 0);
	UNTIL(p->closes);
	EQ(p->messages, 3);
	EQ(p->why.code, 0);
	OK(!strncmp(p->got.data, "message\nzzz", 11));
	close(fd);
}

TEST(bytes_may_be_cut_anywhere, .timeout_ms = 30000)
{
	unsigned char bytes[1024];
	size_t len = compose(bytes);

	begin(plain);
	for (size_t cut = 1; cut < len; cut++) {
		int fd = raw_connect(url);

		raw_write(fd, bytes, cut);
		if (cut % 8 == 0) /* let it see the first part alone */
			poll(NULL, 0, 1);
		raw_write(fd, bytes + cut, len - cut);
		UNTIL(lab.accepts == cut);
		expect_all(fd, &lab.accepted[cut - 1]);
	}
	lab_close();
}

TEST(bytes_may_come_one_by_one)
{
	unsigned char bytes[1024];
	size_t len = compose(bytes);
	int fd;

	begin(plain);
	fd = raw_connect(url);
	for (size_t i = 0; i < len; i++) {
		raw_write(fd, bytes + i, 1);
		if (i % 16 == 0)
			poll(NULL, 0, 1);
	}
	UNTIL(lab.accepts);
	expect_all(fd, &lab.accepted[0]);
	lab_close();
}

/* --- frames that make no sense --- */

static void refused(const void *bytes, size_t len, int code, unsigned ws_code)
{
	unsigned before = lab.accepts;
	char text[200];
	int fd = raw_connect(url);
	size_t n;

	raw_upgrade(fd);
	raw_write(fd, bytes, len);
	EQ(raw_receive(fd, text, sizeof(text), &n), 0x88);
	EQ(n, 2);
	EQ((unsigned char)text[0] * 256u + (unsigned char)text[1], ws_code);
	close(fd);
	UNTIL(lab.accepted[before].closes);
	EQ(lab.accepted[before].why.code, code);
	EQ(lab.accepted[before].messages, 0);
}

TEST(frames_that_make_no_sense_are_refused)
{
	unsigned char frame[400];

	begin(plain);
	refused("\x81\x03one", 5, -EPROTO, 1002); /* not masked */
	refused(frame, raw_frame(frame, 0xc1, "x", 1), -EPROTO, 1002);
	refused(frame, raw_frame(frame, 0x83, "x", 1), -EPROTO, 1002);
	refused(frame, raw_frame(frame, 0x80, "x", 1), -EPROTO, 1002);
	refused(frame, raw_frame(frame, 0x09, "x", 1), -EPROTO, 1002);
	refused(frame, raw_frame(frame, 0x89, frame, 126), -EPROTO, 1002);
	refused("\x82\xff\x00\x00\x00\x7f\xff\xff\xff\xff\x00\x00\x00\x00", 14, -EMSGSIZE, 1009);
	refused("\x82\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 14, -EPROTO, 1002);
	refused("\x82\xff\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00", 14, -EMSGSIZE, 1009);
	lab_close();
}

/* --- endings --- */

TEST(a_cut_connection_is_noticed)
{
	struct linger hard = { 1, 0 };
	int fd;

	begin(plain);
	for (unsigned i = 0; i < 3; i++) {
		fd = raw_connect(url);
		raw_upgrade(fd);
		raw_send(fd, 0x81, "last", 4);
		UNTIL(lab.accepts == i + 1 && lab.accepted[i].messages);
		if (i == 0)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		if (i == 2)
			shutdown(fd, SHUT_WR); /* of no use for a WebSocket */
		else
			close(fd);
		UNTIL(lab.accepted[i].closes);
		EQ(lab.accepted[i].why.code, -ECONNRESET);
	}
	close(fd);
	lab_close();
}

/* A client that says what it wants last and goes, while we are writing to it: it is heard. */
TEST(messages_before_a_reset_are_delivered)
{
	static char text[1000];
	int fd, r = 0;

	lab.count_only = true;
	begin(plain);
	fd = raw_connect(url);
	raw_upgrade(fd);
	UNTIL(lab.accepts);
	loop_lock(lab.loop);
	EQ(channel_send(lab.accepted[0].c, text, sizeof(text)), 0);
	loop_unlock(lab.loop);
	loop_lock(lab.loop); /* the loop sees nothing of this before we have written again */
	t_wait_fd(fd, POLLIN, 1000);
	raw_send(fd, 0x81, "end it", 6);
	close(fd); /* unread bytes: a reset */
	for (int i = 0; i < 100 && r == 0; i++)
		r = channel_send(lab.accepted[0].c, text, sizeof(text));
	EQ(r, -EPIPE);
	EQ(lab.accepted[0].closes, 0);
	loop_unlock(lab.loop);
	UNTIL(lab.accepted[0].closes);
	EQ(lab.accepted[0].messages, 1);
	lab_close();
}

/* Somebody who pings and reads nothing: what is kept for it is limited. */
TEST(pings_do_not_fill_memory, .timeout_ms = 30000)
{
	static unsigned char frames[131 * 500];
	char pad[125] = "";
	size_t len = 0;
	int fd, stuck = 0;

	for (int i = 0; i < 500; i++)
		len += raw_frame(frames + len, 0x89, pad, sizeof(pad));
	begin((struct listen_spec){ .send_limit = 100000 });
	fd = raw_connect(url);
	raw_upgrade(fd);
	UNTIL(lab.accepts);
	for (int i = 0; i < 400 && stuck < 20; i++) { /* 26 MB, more than any socket holds */
		ssize_t n = send(fd, frames, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < (ssize_t)len) {
			stuck++;
			poll(NULL, 0, 2);
		}
		OK(lab_unsent(&lab.accepted[0]) <= 100000 + 131);
	}
	close(fd);
	UNTIL(lab.accepted[0].closes);
	lab_close();
}

/* --- unix sockets --- */

static void listen_unix(struct listen_spec spec)
{
	static char path[128];

	lab_open();
	snprintf(path, sizeof(path), "unix:%s/socket", lab_dir());
	url = lab_listen(path, spec);
}

TEST(a_unix_socket_speaks_both)
{
	static char text[512];
	struct stat st;
	int lines, web;
	size_t len;

	lab.echo = true;
	listen_unix(plain);
	EQ(stat(url + 5, &st), 0);
	EQ(st.st_mode & 0777, 0600);
	lines = raw_connect(url);
	raw_write(lines, "{\"a\":1}\r\n\n{\"b\"", 14);
	raw_write(lines, ":2}\n", 4);
	raw_read(lines, text, sizeof(text), "2}\n");
	STREQ(text, "{\"a\":1}\n{\"b\":2}\n");
	t_note("%s", channel_peer(lab.accepted[0].c));
	web = raw_connect(url);
	raw_upgrade(web);
	raw_send(web, 0x81, "hello", 5);
	EQ(raw_receive(web, text, sizeof(text), &len), 0x81);
	STREQ(text, "hello");
	EQ(status_of("GET /readyz HTTP/1.1\r\n\r\n"), 200);
	close(lines);
	UNTIL(lab.accepted[0].closes);
	EQ(lab.accepted[0].why.code, 0);
	close(web);
	lab_close();
}

TEST(a_line_has_a_limit)
{
	int fd;

	listen_unix(plain);
	fd = raw_connect(url);
	raw_write(fd, "{}\n", 3);
	UNTIL(lab.accepts && lab.accepted[0].messages);
	loop_lock(lab.loop);
	channel_set_limit(lab.accepted[0].c, 100);
	loop_unlock(lab.loop);
	for (int i = 0; i < 20; i++)
		(void)!send(fd, "123456789", 9, MSG_NOSIGNAL);
	UNTIL(lab.accepted[0].closes);
	EQ(lab.accepted[0].why.code, -EMSGSIZE);
	EQ(lab.accepted[0].messages, 1);
	close(fd);
	lab_close();
}

/* A file that a dead listener left is replaced, a living one's and other files are not. */
TEST(the_file_of_a_socket)
{
	struct listener *second = NULL;
	struct url u = { .kind = URL_UNIX };
	struct listen_spec spec = {
		.url = &u, .fd = -1, .seats = { 1, 30, 1, 1 }, .send_limit = 1
	};
	static const struct listen_events ev;
	struct err e = ERR_INIT;
	struct stat st;
	char copy[128];

	listen_unix(plain);
	snprintf(u.path, sizeof(u.path), "%s", url + 5);
	EQ(LOCKED(listener_open(lab.loop, &spec, &ev, NULL, &second, &e)), -EADDRINUSE);
	t_note("%s", e.text);
	snprintf(copy, sizeof(copy), "%s", url + 5);
	snprintf(u.path, sizeof(u.path), "%s/dead", lab_dir());
	EQ(link(copy, u.path), 0); /* of the same socket: refused when that is closed */
	loop_lock(lab.loop);
	listener_close(lab.listener);
	lab.listener = NULL;
	loop_unlock(lab.loop);
	OK(stat(copy, &st) < 0);
	EQ(LOCKED(listener_open(lab.loop, &spec, &ev, NULL, &second, &e)), 0);
	loop_lock(lab.loop);
	listener_close(second);
	loop_unlock(lab.loop);
	OK(stat(u.path, &st) < 0);
	close(open(u.path, O_CREAT | O_WRONLY, 0600));
	EQ(LOCKED(listener_open(lab.loop, &spec, &ev, NULL, &second, &e)), -EADDRINUSE);
	EQ(stat(u.path, &st), 0);
	lab_close();
}

TEST(a_socket_may_be_given)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), client;

	EQ(listen(fd, 5), 0); /* bound to a port by that */
	begin((struct listen_spec){ .fd = fd });
	client = raw_connect(url);
	raw_upgrade(client);
	close(client);
	lab_close();
}

/* --- many --- */

static long resident_kb(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return atol(strstr(text, "VmRSS:") + 6);
}

TEST(a_thousand_idle_connections, .timeout_ms = 60000)
{
	struct rlimit files = { 4096, 4096 };
	static int fds[1000];
	char text[64];
	size_t len;
	long before;

	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		SKIP("no 2,000 descriptors: %s", strerror(errno));
	lab.echo = true;
	begin((struct listen_spec){ .seats.max = 1000 });
	before = resident_kb();
	for (int i = 0; i < 1000; i++) {
		fds[i] = raw_connect(url);
		raw_upgrade(fds[i]);
		raw_send(fds[i], 0x81, "{\"id\":1}", 8); /* each was used once */
		EQ(raw_receive(fds[i], text, sizeof(text), &len), 0x81);
	}
	EQ(lab.accepts, 1000);
	poll(NULL, 0, 2200); /* memory is given back when nothing happened for a while */
	t_note("%ld bytes for each, as the kernel counts ours",
	       (resident_kb() - before) * 1024 / 1000);
	for (int i = 0; i < 1000; i += 111) { /* they live */
		raw_send(fds[i], 0x81, "again", 5);
		EQ(raw_receive(fds[i], text, sizeof(text), &len), 0x81);
	}
	for (int i = 0; i < 1000; i++)
		close(fds[i]);
	for (int i = 0; i < 1000; i++)
		UNTIL(lab.accepted[i].closes);
	lab_close();
}
