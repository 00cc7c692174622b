/* tls.c - wss://: certificates that openssl(1) makes for the occasion. */
#include "os/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab.h"

#define TLS_MS     60000 /* a busy machine: each message waits for many turns of the scheduler */
#define OPENSSL_MS 30000

static char cert[128], key[128];

/* Signed by itself, for these names. */
static void make_certificate(const char *names)
{
	char san[200];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int stdio[3] = { null, null, null };
	char *argv[] = { "openssl",
			 "req",
			 "-x509",
			 "-newkey",
			 "ec",
			 "-pkeyopt",
			 "ec_paramgen_curve:prime256v1",
			 "-nodes",
			 "-days",
			 "2",
			 "-subj",
			 "/CN=x",
			 "-addext",
			 san,
			 "-out",
			 cert,
			 "-keyout",
			 key,
			 NULL };
	char *probe[] = { "sh", "-c", "command -v openssl", NULL };
	struct tls_context *context;
	struct err e = ERR_INIT;
	int status;
	pid_t pid;

	if (t_wait_child(t_spawn(probe, stdio), OPENSSL_MS) != 0)
		SKIP("no openssl(1) to make a certificate with: nothing of wss:// was tested");
	if (tls_client(NULL, &context, &e) < 0)
		SKIP("%s: nothing of wss:// was tested", e.text);
	tls_context_free(context);
	snprintf(san, sizeof(san), "subjectAltName=%s", names);
	snprintf(cert, sizeof(cert), "%s/cert.pem", lab_dir());
	snprintf(key, sizeof(key), "%s/key.pem", lab_dir());
	pid = t_spawn(argv, stdio);
	status = t_wait_child(pid, OPENSSL_MS);
	if (status == -1) { /* it would be left behind */
		kill(pid, SIGKILL);
		t_wait_child(pid, OPENSSL_MS);
		FAIL("openssl(1) made no certificate within %d ms", OPENSSL_MS);
	}
	EQ(status, 0);
	close(null);
}

static const char *listen_tls_with(const char *names, struct seats_limits seats)
{
	lab_open();
	make_certificate(names);
	return lab_listen(
		"wss://127.0.0.1:0",
		(struct listen_spec){ .cert_file = cert, .key_file = key, .seats = seats });
}

static const char *listen_tls(const char *names)
{
	return listen_tls_with(names, (struct seats_limits){ .full = 0 });
}

TEST(messages_go_both_ways_over_tls, .timeout_ms = TLS_MS)
{
	static struct peer client;
	static char text[2000000];
	struct peer *server;
	uint64_t sum = 0;
	const char *url = listen_tls("IP:127.0.0.1");

	OK(!strncmp(url, "wss://127.0.0.1:", 16));
	server = lab_join(&client, url);
	server->echo = true;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	loop_lock(lab.loop);
	for (size_t len = 1; len < sizeof(text) / 2; len = len * 3 + 1) {
		sum = lab_sum(sum, text, len);
		EQ(channel_send(client.c, text, len), 0);
	}
	while (client.messages < 13 && !client.closes)
		lab_wait();
	loop_unlock(lab.loop);
	if (client.closes)
		FAIL("%s", client.why.text);
	OK(client.sum == sum);
	loop_lock(lab.loop);
	channel_close(client.c, false);
	loop_unlock(lab.loop);
	UNTIL(client.closes && server->closes);
	EQ(client.why.code, 0);
	EQ(server->why.code, 0);
	lab_close();
}

/* Each is full of the other's bytes, and goes on. */
TEST(both_sides_may_be_blocked, .timeout_ms = TLS_MS)
{
	static struct peer client;
	static char text[500000];
	struct peer *server = lab_join(&client, listen_tls("IP:127.0.0.1"));

	memset(text, 'x', sizeof(text));
	client.count_only = server->count_only = true;
	for (int i = 0; i < 10; i++) {
		loop_lock(lab.loop); /* under which nobody reads */
		while (channel_unsent(client.c) || channel_unsent(server->c))
			lab_wait();
		for (int k = 0; k < 4; k++) {
			EQ(channel_send(client.c, text, sizeof(text)), 0);
			EQ(channel_send(server->c, text, sizeof(text)), 0);
		}
		loop_unlock(lab.loop);
	}
	UNTIL(client.messages == 40 && server->messages == 40);
	EQ(client.bytes, 40 * sizeof(text));
	OK(server->rooms);
	lab_close();
}

TEST(a_name_is_checked, .timeout_ms = TLS_MS)
{
	static struct peer right, wrong;
	const char *port = strrchr(listen_tls("DNS:localhost"), ':');
	struct err e = ERR_INIT;
	char url[64];

	snprintf(url, sizeof(url), "wss://localhost%s", port);
	lab_join(&right, url);
	snprintf(url, sizeof(url), "wss://127.0.0.1%s", port);
	EQ(lab_connect(&wrong, url, NULL, &e), 0);
	UNTIL(wrong.closes);
	EQ(wrong.opens, 0);
	EQ(wrong.why.code, -EACCES);
	t_note("%s", wrong.why.text);
	lab_close();
}

TEST(another_name_is_refused, .timeout_ms = TLS_MS)
{
	static struct peer client;
	const char *port = strrchr(listen_tls("DNS:elsewhere.example,IP:127.0.0.2"), ':');
	struct err e = ERR_INIT;
	char url[64];

	snprintf(url, sizeof(url), "wss://localhost%s", port);
	EQ(lab_connect(&client, url, NULL, &e), 0);
	UNTIL(client.closes);
	EQ(client.why.code, -EACCES);
	t_note("%s", client.why.text);
	OK(strstr(client.why.text, "a name or address that is in the certificate"));
	OK(!strstr(client.why.text, "caFile"));
	UNTIL(strstr(lab.note, "refuses this server's certificate"));
	lab_close();
}

/* Without our certificate among those that are trusted. */
TEST(an_unknown_ca_is_not_trusted, .timeout_ms = TLS_MS)
{
	struct peer client = { .opens = 0 };
	struct url u;
	struct channel_target to = { .url = &u, .timeout_ms = 4000, .send_limit = LAB_LIMIT };
	struct err e = ERR_INIT;

	EQ(url_parse(listen_tls("IP:127.0.0.1"), URL_CONNECT, &u, &e), 0);
	EQ(LOCKED(channel_connect(lab.loop, &to, &lab_events, &client, &client.c, &e)), 0);
	UNTIL(client.closes);
	EQ(client.opens, 0);
	EQ(client.why.code, -EACCES);
	/* both sides name the option that takes a CA */
	OK(strstr(client.why.text, "its CA by 'caFile' in a config, or by SSL_CERT_FILE"));
	UNTIL(strstr(lab.note, "does not trust the CA of this server's certificate"));
	OK(strstr(lab.note, "'caFile' in a config, or by SSL_CERT_FILE"));
	OK(!strstr(lab.note, "ws://"));
	t_note("%s; %s", client.why.text, lab.note);
	loop_lock(lab.loop);
	channel_free(client.c);
	loop_unlock(lab.loop);
	lab_close();
}

TEST(a_client_without_tls_is_disconnected, .timeout_ms = TLS_MS)
{
	static struct peer plain;
	const char *url = listen_tls("IP:127.0.0.1");
	struct err e = ERR_INIT;
	char text[600], other[64];
	int fd = raw_connect(url);

	raw_write(fd, raw_request, strlen(raw_request));
	raw_read(fd, text, sizeof(text), NULL);
	OK(!strstr(text, "101"));
	close(fd);
	snprintf(other, sizeof(other), "ws%s", url + 3);
	EQ(lab_connect(&plain, other, NULL, &e), 0);
	UNTIL(plain.closes);
	OK(plain.why.code < 0);
	OK(strstr(lab.note, "does the peer use ws://?"));
	t_note("%s; %s", plain.why.text, lab.note);
	lab_close();
}

/* A server that speaks no TLS. */
TEST(a_client_wants_tls, .timeout_ms = TLS_MS)
{
	static struct peer client;
	struct err e = ERR_INIT;
	char url[64];

	lab_open();
	make_certificate("IP:127.0.0.1");
	snprintf(url, sizeof(url), "wss%s",
		 lab_listen("ws://127.0.0.1:0", (struct listen_spec){ .fd = 0 }) + 2);
	EQ(lab_connect(&client, url, NULL, &e), 0);
	UNTIL(client.closes);
	OK(client.why.code < 0);
	t_note("%s", client.why.text);
	lab_close();
}

TEST(a_cut_is_noticed_under_tls, .timeout_ms = TLS_MS)
{
	static struct peer client;
	struct peer *server = lab_join(&client, listen_tls("IP:127.0.0.1"));

	loop_lock(lab.loop);
	EQ(channel_send(client.c, "last", 4), 0);
	channel_close(client.c, true);
	loop_unlock(lab.loop);
	UNTIL(server->closes);
	EQ(server->why.code, -ECONNRESET);
	lab_close();
}

TEST(invalid_certificate_files_are_refused)
{
	struct tls_context *context = NULL;
	struct err e = ERR_INIT;

	lab_open();
	make_certificate("IP:127.0.0.1");
	EQ(tls_server("/dev/null", key, &context, &e), -EINVAL);
	t_note("%s", e.text);
	EQ(tls_server(cert, "/no/such/file", &context, &e), -EINVAL);
	t_note("%s", e.text);
	EQ(tls_client("/dev/null", &context, &e), -EINVAL);
	OK(!context);
	lab_close();
}

/* Handshakes that were begun and never go on: who has something to say comes in. */
TEST(half_open_handshakes_do_not_keep_clients_out, .timeout_ms = TLS_MS)
{
	static const unsigned char hello[] = { 0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3 };
	static struct peer clients[10];
	const char *url = listen_tls_with("IP:127.0.0.1", (struct seats_limits){ 16, 30, 16, 100 });
	char plain[64];
	int fds[100];

	snprintf(plain, sizeof(plain), "ws%s", url + 3);
	for (int i = 0; i < 100; i++) {
		fds[i] = raw_connect(plain);
		raw_write(fds[i], hello, (size_t)i % sizeof(hello));
	}
	for (int i = 0; i < 10; i++)
		lab_join(&clients[i], url);
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	lab_close();
}
