/* channel.c - our client and our server, over everything that carries a channel. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab.h"

static const struct listen_spec plain;

static void fill(char *text, size_t len, unsigned salt)
{
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + (i * 7 + salt * 13 + i / 251) % 26);
}

/* Messages of every kind of length, there and back. b NULL: somebody else says them back. */
static void exchange(struct peer *a, struct peer *b)
{
	static const size_t sizes[] = { 1,     2,     125,    126,   127,     65535,
					65536, 65537, 262144, 87000, 1000000, 3000000 };
	static char text[3000000];
	uint64_t sum = 0;
	size_t total = 0;

	if (b)
		b->echo = true;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct buf *out;

		fill(text, sizes[i], (unsigned)i);
		sum = lab_sum(sum, text, sizes[i]);
		total += sizes[i];
		loop_lock(lab.loop);
		if (i % 2) {
			EQ(channel_send(a->c, text, sizes[i]), 0);
		} else {
			out = channel_begin(a->c);
			OK(out);
			buf_add(out, text, sizes[i] / 2);
			buf_add(out, text + sizes[i] / 2, sizes[i] - sizes[i] / 2);
			EQ(channel_commit(a->c), 0);
		}
		while (a->bytes < total && !a->closes)
			lab_wait();
		loop_unlock(lab.loop);
		if (a->closes)
			FAIL("closed: %s", a->why.text);
	}
	OK(a->sum == sum && (!b || b->sum == sum));
	EQ(a->messages, sizeof(sizes) / sizeof(sizes[0]));
}

/* Many small ones at once: they must stay in order and whole. */
static void burst(struct peer *a, struct peer *b)
{
	unsigned before = a->messages;
	char text[300];

	b->echo = true;
	loop_lock(lab.loop);
	for (unsigned i = 0; i < 2000; i++) {
		int n = snprintf(
			text, sizeof(text), "{\"n\":%u,\"pad\":\"%.*s\"}", i, (int)(i % 200),
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxx");
		EQ(channel_send(a->c, text, (size_t)n), 0);
	}
	while (a->messages < before + 2000)
		lab_wait();
	loop_unlock(lab.loop);
	OK(a->sum == b->sum);
}

static void close_in_good_order(struct peer *first, struct peer *second)
{
	loop_lock(lab.loop);
	EQ(channel_send(first->c, "last", 4), 0);
	channel_close(first->c, false);
	EQ(channel_send(first->c, "x", 1), -EPIPE);
	OK(!channel_begin(first->c));
	loop_unlock(lab.loop);
	UNTIL(first->closes && second->closes);
	EQ(first->why.code, 0);
	EQ(second->why.code, 0);
	OK(second->got.len >= 5 && !strcmp(second->got.data + second->got.len - 5, "last\n"));
}

static void both_ways(const char *url)
{
	static struct peer client;
	struct peer *server = lab_join(&client, url);

	if (!server->c) { /* lines */
		lab_send(&client, "{}");
		UNTIL(server->messages);
		client.sum = server->sum = 0;
		server->messages = 0;
		server->got.len = 0;
	}
	exchange(&client, server);
	server->got.len = client.got.len = 0;
	burst(&client, server);
	server->got.len = client.got.len = 0;
	server->echo = false;
	t_note("%s %s", channel_peer(client.c), channel_peer(server->c));
	close_in_good_order(&client, server);
}

TEST(messages_go_both_ways_over_tcp)
{
	lab_open();
	both_ways(lab_listen("ws://127.0.0.1:0", plain));
	lab_close();
}

TEST(messages_go_both_ways_over_tcp_6)
{
	int probe = socket(AF_INET6, SOCK_STREAM, 0);

	if (probe < 0)
		SKIP("no IPv6 here");
	close(probe);
	lab_open();
	both_ways(lab_listen("ws://[::1]:0", plain));
	lab_close();
}

TEST(messages_go_both_ways_over_a_unix_socket)
{
	char url[128];

	lab_open();
	snprintf(url, sizeof(url), "unix:%s/socket", lab_dir());
	STREQ(lab_listen(url, plain), url);
	both_ways(url);
	lab_close();
}

TEST(the_server_may_close_first)
{
	struct peer client = { .opens = 0 }, *server;

	lab_open();
	server = lab_join(&client, lab_listen("ws://127.0.0.1:0", plain));
	close_in_good_order(server, &client);
	lab_close();
}

TEST(a_name_is_looked_up)
{
	struct peer client = { .opens = 0 };
	char url[64];

	lab_open();
	snprintf(url, sizeof(url), "ws://localhost:%s",
		 strrchr(lab_listen("ws://127.0.0.1:0", plain), ':') + 1);
	lab_join(&client, url);
	lab_send(&client, "hello");
	UNTIL(lab.accepted[0].messages);
	lab_close();
}

TEST(an_unknown_host_name_is_reported)
{
	struct peer client = { .opens = 0 };
	struct err e = ERR_INIT;

	lab_open();
	EQ(lab_connect(&client, "ws://no-such-host.invalid:1", NULL, &e), 0);
	UNTIL(client.closes);
	EQ(client.opens, 0);
	OK(client.why.code < 0 && strstr(client.why.text, "no-such-host.invalid"));
	lab_close();
}

TEST(a_channel_may_be_closed_while_it_connects)
{
	struct peer clients[3] = { { .opens = 0 } };
	struct err e = ERR_INIT;

	lab_open();
	EQ(lab_connect(&clients[0], "ws://no-such-host.invalid:1", NULL, &e), 0);
	EQ(lab_connect(&clients[1], "ws://192.0.2.1:1", NULL, &e), 0);
	EQ(lab_connect(&clients[2], lab_listen("ws://127.0.0.1:0", plain), NULL, &e), 0);
	loop_lock(lab.loop);
	for (int i = 0; i < 3; i++) {
		unsigned before = clients[i].closes; /* where there is no network it may be over */

		channel_close(clients[i].c, i == 2);
		EQ(clients[i].closes, before); /* events come from the loop */
	}
	loop_unlock(lab.loop);
	UNTIL(clients[0].closes && clients[1].closes && clients[2].closes);
	lab_close();
}

/* The thread that looks up the name may end just then. The moments are spread over the first
 * 400 us. */
TEST(a_lookup_may_be_given_up_at_any_moment)
{
	static struct peer clients[LAB_PEERS];
	struct err e = ERR_INIT;

	lab_open();
	for (int i = 0; i < LAB_PEERS; i++) {
		int64_t until_us;

		EQ(lab_connect(&clients[i], "ws://localhost:1", NULL, &e), 0);
		until_us = loop_now_us() + 400 * i / LAB_PEERS;
		while (loop_now_us() < until_us)
			;
		loop_lock(lab.loop);
		channel_close(clients[i].c, true);
		loop_unlock(lab.loop);
	}
	lab_close();
}

TEST(connecting_to_a_closed_port_fails)
{
	struct peer tcp = { .opens = 0 }, local = { .opens = 0 };
	struct err e = ERR_INIT;
	char url[128];

	lab_open();
	snprintf(url, sizeof(url), "unix:%s/none", lab_dir());
	EQ(lab_connect(&tcp, "ws://127.0.0.1:1", NULL, &e), 0);
	EQ(lab_connect(&local, url, NULL, &e), 0);
	UNTIL(tcp.closes && local.closes);
	EQ(tcp.why.code, -ECONNREFUSED);
	EQ(local.why.code, -ENOENT);
	t_note("%s", tcp.why.text);
	lab_close();
}

/* The kernel takes the connection, and nobody says anything. */
TEST(connecting_times_out)
{
	struct peer client = { .opens = 0 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t len = sizeof(at);
	struct url u = { .kind = URL_WS, .host = "127.0.0.1", .path = "/" };
	struct channel_target to = { .url = &u, .timeout_ms = 50, .send_limit = 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct err e = ERR_INIT;

	lab_open();
	EQ(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	EQ(listen(fd, 5), 0);
	EQ(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	u.port = ntohs(at.sin_port);
	EQ(LOCKED(channel_connect(lab.loop, &to, &lab_events, &client, &client.c, &e)), 0);
	UNTIL(client.closes);
	EQ(client.why.code, -ETIMEDOUT);
	t_note("%s", client.why.text);
	loop_lock(lab.loop);
	channel_free(client.c);
	loop_unlock(lab.loop);
	close(fd);
	lab_close();
}

/* --- tokens --- */

static void try_tokens(const char *url)
{
	static struct peer right, wrong, none;
	struct err e = ERR_INIT;

	EQ(lab_connect(&right, url, "sesame", &e), 0);
	EQ(lab_connect(&wrong, url, "sesam", &e), 0);
	EQ(lab_connect(&none, url, NULL, &e), 0);
	UNTIL((right.opens || right.closes) && wrong.closes);
	if (right.closes)
		FAIL("%s", right.why.text);
	EQ(wrong.opens, 0);
	EQ(wrong.why.code, -EACCES);
	OK(!strstr(wrong.why.text, "sesam"));
	UNTIL(none.opens || none.closes);
	LOCKED(channel_send(none.c, "{}", 2)); /* lines: the first byte is too much */
	UNTIL(none.closes);
	EQ(lab.accepts, 1);
	EQ(lab_connect(&none, url, "new\nline", &e), -EINVAL);
}

TEST(a_valid_token_is_accepted)
{
	lab_open();
	try_tokens(
		lab_listen("ws://127.0.0.1:0", (struct listen_spec){ .token_sha256 = lab_sesame }));
	lab_close();
}

TEST(a_valid_token_is_accepted_on_a_unix_socket)
{
	char url[128];

	lab_open();
	snprintf(url, sizeof(url), "unix:%s/socket", lab_dir());
	lab_listen(url, (struct listen_spec){ .token_sha256 = lab_sesame });
	try_tokens(url);
	lab_close();
}

/* --- limits --- */

/* The receiver's loop is the sender's: so the other end is a socket that nobody reads. */
TEST(unsent_bytes_are_limited)
{
	static char text[100000];
	struct peer *server = &lab.accepted[0];
	int fd, r, n = 0;
	size_t got = 0;

	lab_open();
	fill(text, sizeof(text), 1);
	fd = raw_connect(
		lab_listen("ws://127.0.0.1:0", (struct listen_spec){ .send_limit = 1 << 20 }));
	raw_upgrade(fd);
	UNTIL(lab.accepts);
	while ((r = LOCKED(channel_send(server->c, text, sizeof(text)))) == 0 && n < 1000)
		n++;
	EQ(r, -ENOBUFS);
	OK(n > 10);
	OK(lab_unsent(server) <= 1 << 20);
	OK(lab_unsent(server) > CHANNEL_HIGH);
	EQ(LOCKED(server->rooms), 0);
	while (got < (size_t)n * (sizeof(text) + 10)) {
		static char chunk[1 << 16];
		ssize_t k = recv(fd, chunk, sizeof(chunk), 0);

		OK(k > 0);
		got += (size_t)k;
	}
	UNTIL(server->rooms);
	EQ(server->rooms, 1);
	EQ(lab_unsent(server), 0);
	EQ(LOCKED(channel_send(server->c, "again", 5)), 0);
	close(fd);
	UNTIL(server->closes);
	lab_close();
}

TEST(a_message_past_the_limit_is_refused)
{
	struct peer client = { .opens = 0 }, *server;
	static char text[1001];

	lab_open();
	server = lab_join(&client, lab_listen("ws://127.0.0.1:0", plain));
	loop_lock(lab.loop);
	channel_set_limit(server->c, 1000);
	fill(text, sizeof(text), 1);
	EQ(channel_send(client.c, text, 1000), 0);
	EQ(channel_send(client.c, text, 1001), 0);
	EQ(channel_send(client.c, "behind", 6), 0);
	loop_unlock(lab.loop);
	UNTIL(server->closes && client.closes);
	EQ(server->messages, 1);
	EQ(server->why.code, -EMSGSIZE);
	EQ(client.why.code, -EMSGSIZE); /* it was told why: 1009 */
	lab_close();
}

TEST(closing_now_is_at_once)
{
	struct peer client = { .opens = 0 }, *server;

	lab_open();
	server = lab_join(&client, lab_listen("ws://127.0.0.1:0", plain));
	loop_lock(lab.loop);
	channel_close(client.c, true);
	channel_close(client.c, true);
	channel_close(client.c, false);
	EQ(client.closes, 0);
	loop_unlock(lab.loop);
	UNTIL(client.closes && server->closes);
	EQ(server->why.code, -ECONNRESET);
	lab_close();
}

TEST(a_handler_may_close)
{
	struct peer client = { .opens = 0 }, *server;

	lab_open();
	lab.close_at = 'q';
	server = lab_join(&client, lab_listen("ws://127.0.0.1:0", plain));
	loop_lock(lab.loop);
	channel_send(client.c, "a", 1);
	channel_send(client.c, "quit", 4);
	channel_send(client.c, "b", 1);
	loop_unlock(lab.loop);
	UNTIL(client.closes && server->closes);
	STREQ(server->got.data, "a\nquit\n");
	lab_close();
}

TEST(a_ping_is_answered_and_counts)
{
	struct peer client = { .opens = 0 }, *server;
	int64_t before;

	lab_open();
	server = lab_join(&client, lab_listen("ws://127.0.0.1:0", plain));
	before = LOCKED(channel_heard_us(server->c));
	loop_lock(lab.loop);
	channel_ping(server->c);
	loop_unlock(lab.loop);
	UNTIL(channel_heard_us(server->c) > before);
	before = LOCKED(channel_heard_us(client.c));
	loop_lock(lab.loop);
	channel_ping(client.c);
	loop_unlock(lab.loop);
	UNTIL(channel_heard_us(client.c) > before);
	EQ(client.messages + server->messages, 0);
	lab_close();
}

/* --- many threads --- */

static void *sender(void *arg)
{
	struct peer *p = arg;

	for (int i = 0; i < 500; i++) {
		loop_lock(lab.loop);
		if (channel_send(p->c, "{\"from\":\"a thread\"}", 19) < 0)
			arg = NULL;
		loop_unlock(lab.loop);
	}
	return arg;
}

TEST(any_thread_may_send)
{
	struct peer client = { .opens = 0 }, *server;
	pthread_t threads[4];
	void *ok;

	lab_open();
	server = lab_join(&client, lab_listen("ws://127.0.0.1:0", plain));
	server->echo = true;
	for (int i = 0; i < 4; i++)
		EQ(pthread_create(&threads[i], NULL, sender, &client), 0);
	for (int i = 0; i < 4; i++) {
		EQ(pthread_join(threads[i], &ok), 0);
		OK(ok);
	}
	UNTIL(client.messages == 2000);
	EQ(client.bytes, 2000 * 19);
	lab_close();
}

/* --- lines over descriptors --- */

static void over_fds(struct peer *p, int in, int out)
{
	struct err e = ERR_INIT;

	loop_lock(lab.loop);
	EQ(channel_over_fds(lab.loop, in, out, LAB_LIMIT, &lab_events, p, &p->c, &e), 0);
	lab_remember(p);
	EQ(p->opens, 0);
	loop_unlock(lab.loop);
}

TEST(lines_over_pipes)
{
	static struct peer a, b;
	int there[2], back[2];

	lab_open();
	EQ(pipe2(there, O_CLOEXEC), 0);
	EQ(pipe2(back, O_CLOEXEC), 0);
	over_fds(&a, back[0], there[1]);
	over_fds(&b, there[0], back[1]);
	UNTIL(a.opens && b.opens);
	STREQ(channel_peer(a.c), "stdio");
	exchange(&a, &b);
	burst(&a, &b);
	b.echo = false;
	close_in_good_order(&a, &b);
	lab_close();
}

TEST(lines_over_one_socket)
{
	static struct peer a, b;
	int pair[2];

	lab_open();
	EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	over_fds(&a, pair[0], pair[0]);
	over_fds(&b, pair[1], pair[1]);
	UNTIL(a.opens && b.opens);
	exchange(&a, &b);
	close_in_good_order(&b, &a);
	lab_close();
}

/* Whoever gave us the pipe has its other uses of it. */
TEST(a_shared_pipe_stays_blocking)
{
	static struct peer a;
	int there[2], back[2], copy;

	lab_open();
	EQ(pipe2(there, O_CLOEXEC), 0);
	EQ(pipe2(back, O_CLOEXEC), 0);
	copy = dup(there[1]);
	over_fds(&a, back[0], there[1]);
	UNTIL(a.opens);
	OK(!(fcntl(copy, F_GETFL) & O_NONBLOCK));
	close(copy);
	close(back[1]);
	close(there[0]);
	lab_close();
}

/* The answers to what was asked before the end are written, whatever happens to stdin. */
TEST(answers_are_sent_after_the_end_of_stdin)
{
	static struct peer p;
	static char text[300000], got[310000];
	int there[2], back[2];

	lab_open();
	EQ(pipe2(there, O_CLOEXEC), 0);
	EQ(pipe2(back, O_CLOEXEC), 0);
	p.echo = true;
	fill(text, sizeof(text), 3);
	text[sizeof(text) - 1] = '\n';
	fcntl(there[1], F_SETPIPE_SZ, 1 << 19);
	EQ(write(there[1], text, sizeof(text)), sizeof(text));
	close(there[1]);
	over_fds(&p, there[0], back[1]);
	UNTIL(p.messages == 1);
	OK(raw_exactly(back[0], got, sizeof(text)));
	OK(!memcmp(got, text, sizeof(text)));
	UNTIL(p.closes);
	EQ(p.why.code, 0);
	close(back[0]);
	lab_close();
}

TEST(a_channel_works_over_regular_files)
{
	static struct peer p;
	char path[128], got[100] = "";
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC), out, fd;

	lab_open();
	snprintf(path, sizeof(path), "%s/in", lab_dir());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	EQ(write(fd, "one\ntwo\n", 8), 8);
	EQ(lseek(fd, 0, SEEK_SET), 0);
	close(in);
	snprintf(path, sizeof(path), "%s/out", lab_dir());
	out = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	p.echo = true;
	over_fds(&p, fd, dup(out));
	UNTIL(p.closes);
	EQ(p.why.code, 0);
	EQ(pread(out, got, sizeof(got) - 1, 0), 8);
	STREQ(got, "one\ntwo\n");
	close(out);
	lab_close();
}

TEST(a_channel_over_dev_null_closes)
{
	static struct peer p;

	lab_open();
	over_fds(&p, open("/dev/null", O_RDONLY | O_CLOEXEC),
		 open("/dev/null", O_WRONLY | O_CLOEXEC));
	UNTIL(p.closes);
	EQ(p.opens, 1);
	lab_close();
}

TEST(a_closed_stdout_ends_the_channel)
{
	static struct peer p;
	int there[2], back[2];

	lab_open();
	EQ(pipe2(there, O_CLOEXEC), 0);
	EQ(pipe2(back, O_CLOEXEC), 0);
	over_fds(&p, there[0], back[1]);
	UNTIL(p.opens);
	EQ(write(there[1], "last words\n", 11), 11);
	close(back[0]);
	LOCKED(channel_send(p.c, "x", 1)); /* from this thread: no SIGPIPE */
	UNTIL(p.closes);
	EQ(p.why.code, -EPIPE);
	STREQ(p.got.data, "last words\n");
	close(there[1]);
	lab_close();
}

/* --- over a program --- */

static void over_program(struct peer *p, char **argv)
{
	extern char **environ;
	char *keeper = NULL;
	struct err e = ERR_INIT;
	struct recipe spec = { .name = "way",
			       .argv = argv,
			       .envp = environ,
			       .grace_ms = 500,
			       .write_limit = LAB_LIMIT };

	if (link_keeper_path(getenv("KILLICK"), &keeper, &e) < 0)
		SKIP("%s", e.text);
	spec.keeper = keeper;
	loop_lock(lab.loop);
	EQ(channel_over_program(lab.loop, &spec, &lab_events, p, &p->c, &e), 0);
	lab_remember(p);
	loop_unlock(lab.loop);
	free(keeper);
}

TEST(lines_over_a_program)
{
	static struct peer p;

	lab_open();
	over_program(&p, (char *[]){ "cat", NULL });
	UNTIL(p.opens);
	t_note("%s", channel_peer(p.c));
	exchange(&p, NULL);
	LOCKED(channel_send(p.c, "last", 4));
	UNTIL(p.got.len > 5 && !strcmp(p.got.data + p.got.len - 5, "last\n"));
	loop_lock(lab.loop);
	channel_close(p.c, false);
	loop_unlock(lab.loop);
	UNTIL(p.closes);
	EQ(p.why.code, 0);
	lab_close();
}

/* The keeper tells of the start on another descriptor, which may be read later than stdout. */
TEST(what_a_program_writes_at_once_is_not_lost, .timeout_ms = 60000)
{
	enum { ROUNDS = 30 };
	static struct peer p[ROUNDS];
	unsigned whole = 0;

	lab_open();
	for (int i = 0; i < ROUNDS; i++) {
		over_program(&p[i], (char *[]){ "sh", "-c", "echo one; echo two; exec cat", NULL });
		UNTIL(p[i].opens);
		LOCKED(channel_send(p[i].c, "three", 5));
		UNTIL(p[i].got.len > 6 && !strcmp(p[i].got.data + p[i].got.len - 6, "three\n"));
		whole += strcmp(p[i].got.data, "one\ntwo\nthree\n") == 0;
		LOCKED((channel_close(p[i].c, true), 0));
		UNTIL(p[i].closes);
	}
	lab_close();
	EQ(whole, ROUNDS);
}

TEST(a_program_that_fails_says_why)
{
	static struct peer p, q;

	lab_open();
	over_program(&p, (char *[]){ "sh", "-c", "echo no route >&2; exit 3", NULL });
	over_program(&q, (char *[]){ "/no/such/program", NULL });
	UNTIL(p.closes && q.closes);
	EQ(p.why.code, -ECONNRESET);
	STREQ(p.why.text, "sh exited with 3: no route");
	EQ(q.opens, 0);
	EQ(q.why.code, -ENOENT);
	t_note("%s", q.why.text);
	lab_close();
}

TEST(a_program_that_does_not_end_is_ended)
{
	static struct peer p;

	lab_open();
	over_program(&p, (char *[]){ "sh", "-c", "trap '' TERM; while :; do sleep 1; done", NULL });
	UNTIL(p.opens);
	loop_lock(lab.loop);
	channel_close(p.c, true);
	loop_unlock(lab.loop);
	UNTIL(p.closes);
	lab_close();
}

/* --- pausing --- */

/* With the lock. */
static void pause_and_fill(struct peer *from, struct peer *to)
{
	static char text[100000];
	unsigned sent = 0;

	fill(text, sizeof(text), 5);
	channel_pause(to->c, true);
	while (channel_send(from->c, text, sizeof(text)) == 0)
		sent++;
	OK(channel_unsent(from->c) > CHANNEL_HIGH);
	for (int i = 0; i < 3; i++) { /* turns of the loop */
		loop_wake(lab.loop);
		lab_wait();
	}
	EQ(to->messages, 0);
	channel_pause(to->c, false);
	while (to->messages < sent)
		lab_wait();
	to->messages = 0;
}

TEST(a_paused_channel_reads_nothing)
{
	static struct peer client, a, b;
	struct peer *server;
	int there[2], back[2];

	lab_open();
	server = lab_join(&client, lab_listen("ws://127.0.0.1:0", plain));
	OK(channel_can_ping(client.c));
	client.count_only = server->count_only = a.count_only = b.count_only = true;
	EQ(pipe2(there, O_CLOEXEC), 0);
	EQ(pipe2(back, O_CLOEXEC), 0);
	over_fds(&a, back[0], there[1]);
	over_fds(&b, there[0], back[1]);
	UNTIL(a.opens && b.opens);
	OK(!channel_can_ping(a.c));
	loop_lock(lab.loop);
	pause_and_fill(&client, server);
	pause_and_fill(server, &client);
	pause_and_fill(&a, &b);
	loop_unlock(lab.loop);
	lab_close();
}

/* Its end is told when it is read again, and costs nothing meanwhile. */
TEST(the_end_of_a_paused_channel)
{
	static struct peer a, b;
	struct peer *server = &lab.accepted[0];
	int pair[2], pipes[2], fd;

	lab_open();
	EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	EQ(pipe2(pipes, O_CLOEXEC), 0);
	over_fds(&a, pair[0], pair[0]);
	over_fds(&b, pipes[0], open("/dev/null", O_WRONLY | O_CLOEXEC));
	fd = raw_connect(lab_listen("ws://127.0.0.1:0", plain));
	raw_upgrade(fd);
	UNTIL(a.opens && b.opens && lab.accepts);
	loop_lock(lab.loop);
	channel_pause(a.c, true);
	channel_pause(b.c, true);
	channel_pause(server->c, true);
	EQ(write(pair[1], "last\n", 5), 5);
	EQ(write(pipes[1], "last\n", 5), 5);
	raw_send(fd, 0x81, "last", 4);
	close(pair[1]);
	close(pipes[1]);
	close(fd);
	for (int i = 0; i < 3; i++) {
		loop_wake(lab.loop);
		lab_wait();
	}
	EQ(a.closes + b.closes + server->closes, 0);
	EQ(a.messages + b.messages + server->messages, 0);
	channel_pause(a.c, false);
	channel_pause(b.c, false);
	channel_pause(server->c, false);
	while (!a.closes || !b.closes || !server->closes)
		lab_wait();
	EQ(a.messages, 1);
	EQ(b.messages, 1);
	EQ(server->messages, 1);
	loop_unlock(lab.loop);
	lab_close();
}

TEST(a_begun_message_may_be_dropped)
{
	static struct peer client, other;
	struct peer *server;
	const char *url;
	struct buf *out;

	lab_open();
	url = lab_listen("ws://127.0.0.1:0", plain);
	server = lab_join(&client, url);
	lab_join(&other, url);
	loop_lock(lab.loop);
	channel_send(client.c, "whole", 5);
	out = channel_begin(client.c);
	buf_adds(out, "half");
	channel_close(client.c, false);
	out = channel_begin(other.c);
	buf_adds(out, "half");
	channel_close(other.c, true);
	loop_unlock(lab.loop);
	UNTIL(client.closes && other.closes && server->closes);
	STREQ(server->got.data, "whole\n");
	EQ(server->why.code, 0);
	lab_close();
}
