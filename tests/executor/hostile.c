/* hostile.c - clients that are broken, slow, greedy or out of order: they get clear errors or lose
 * their connection, and nobody else notices.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"
#include "t.h"

#define ENV_ALL                                                                                    \
	"\"env\":{},\"envPolicy\":{\"inherit\":\"all\",\"ignoreDefaultExcludes\":true,"            \
	"\"exclude\":[],\"set\":{},\"includeOnly\":[]}"

/* Another client is served as if nothing were. */
static void others_are_well(const struct host *h)
{
	struct guest g;

	guest_open(&g, h);
	guest_start(&g, "well", PIPED, "read x; echo \"<$x>\"; exit 7");
	free(guest_ask(&g, "process/write",
		       "{\"processId\":\"well\",\"chunk\":\"aGkK\",\"writeId\":\"1\"}"));
	guest_await_output(&g, "well", "<hi>");
	free(guest_await(&g, "process/closed", "well"));
	guest_close(&g);
}

static void hung_up(struct guest *g)
{
	char *line;

	while ((line = guest_hear(g)) != NULL)
		free(line);
	guest_close(g);
}

TEST(a_message_that_is_not_json_is_answered_with_an_error)
{
	struct host h;
	struct guest g;
	char *line;

	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_say(&g, "{\"id\":1,");
	line = guest_hear(&g);
	EQ(guest_number(line, "id"), -1);
	EQ(guest_number(line, "error.code"), -32600);
	free(line);
	free(guest_ask(&g, "environment/status", "null"));
	guest_close(&g);
	host_stop(&h);
}

static void dropped(const char *first, const char *second)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	guest_connect(&g, &h);
	guest_say(&g, first);
	if (second)
		guest_say(&g, second);
	hung_up(&g);
	others_are_well(&h);
	host_stop(&h);
}

TEST(initialized_too_early)
{
	dropped("{\"method\":\"initialized\",\"params\":{}}", NULL);
}

TEST(an_answer_without_a_request_ends_the_connection)
{
	dropped("{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\"}}",
		"{\"id\":9,\"result\":{}}");
}

TEST(an_unexpected_notification_ends_the_connection)
{
	dropped("{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\"}}",
		"{\"method\":\"process/output\",\"params\":{}}");
}

TEST(out_of_order)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	guest_connect(&g, &h);
	guest_refused(&g, -32600, "process/start", "{}");
	guest_refused(&g, -32600, "environment/info", "null");
	guest_refused(&g, -32602, "initialize", "{}");
	free(guest_ask(&g, "initialize", "{\"clientName\":\"x\"}"));
	guest_refused(&g, -32600, "initialize", "{\"clientName\":\"x\"}");
	guest_refused(&g, -32600, "process/start", "{}");
	guest_say(&g, "{\"method\":\"initialized\",\"params\":{}}");
	guest_refused(&g, -32602, "process/start", "{}");
	guest_refused(&g, -32601, "process/closeStdin", "{\"processId\":\"p\"}");
	guest_refused(&g, -32601, "fs/copy", "{}");
	guest_refused(&g, -32600, "process/read", "{\"processId\":\"nobody\"}");
	guest_close(&g);
	guest_connect(&g, &h);
	guest_refused(&g, -32600, "initialize",
		      "{\"clientName\":\"x\",\"resumeSessionId\":\"no-such-session\"}");
	free(guest_ask(&g, "initialize", "{\"clientName\":\"x\"}"));
	guest_close(&g);
	host_stop(&h);
}

/* 20 MiB in one line, of which nobody waits for the end. */
TEST(a_message_that_is_too_long)
{
	const size_t size = 1 << 20;
	char *part = malloc(size);
	struct host h;
	struct guest g;

	memset(part, 'x', size);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	for (int i = 0; i < 20; i++) {
		size_t sent = 0;

		while (sent < size) {
			ssize_t n = write(g.out, part + sent, size - sent);

			if (n < 0)
				break;
			sent += (size_t)n;
		}
		if (sent < size)
			break;
	}
	hung_up(&g);
	free(part);
	others_are_well(&h);
	host_stop(&h);
}

/* A server that does not read, and a client that writes and writes: terminate is answered at once,
 * and so is everything else. */
TEST(a_blocked_stdin, .timeout_ms = 30000)
{
	char *chunk = malloc(87384 + 1);
	struct host h;
	struct guest g;
	long last = 0;

	memset(chunk, 'A', 87384); /* 64 KiB of zeros, and two bytes */
	chunk[87384] = '\0';
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "exec sleep 120");
	for (int i = 0; i < 160; i++)
		last = guest_send(&g, "process/write",
				  "{\"processId\":\"p\",\"chunk\":\"%s\",\"writeId\":\"%d\"}",
				  chunk, i);
	free(guest_ask(&g, "environment/status", "null"));
	free(guest_ask(&g, "process/read", "{\"processId\":\"p\",\"afterSeq\":0}"));
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"p\"}"));
	free(guest_await(&g, "process/closed", "p"));
	free(guest_answer(&g, last));
	guest_close(&g);
	free(chunk);
	others_are_well(&h);
	host_stop(&h);
}

/* A long poll, and everything else goes on beside it. */
TEST(a_long_poll_blocks_nothing)
{
	struct host h;
	struct guest g;
	char *line;
	long poll_id;

	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "read x; echo \"$x\"; exec cat");
	poll_id = guest_send(&g, "process/read", "{\"processId\":\"p\",\"waitMs\":60000}");
	free(guest_ask(&g, "environment/status", "null"));
	free(guest_ask(&g, "process/write",
		       "{\"processId\":\"p\",\"chunk\":\"aGkK\",\"writeId\":\"1\"}"));
	line = guest_answer(&g, poll_id);
	EQ(json_count(guest_find(line, "result.chunks")), 1);
	free(line);
	guest_close(&g);
	host_stop(&h);
}

/* Nobody takes a stream without end: it waits, in bounded memory, and others are served. */
TEST(a_client_that_does_not_read)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_start(&g, "p", SHELL, "exec cat /dev/zero");
	for (int i = 0; i < 3; i++)
		others_are_well(&h);
	guest_close(&g);
	host_stop(&h);
}

TEST(too_many_requests_at_once)
{
	struct host h;
	struct guest g;
	int refused = 0;
	long first, last = 0;

	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "exec cat");
	first = g.last_id + 1;
	for (int i = 0; i < 1500; i++)
		last = guest_send(&g, "process/read", "{\"processId\":\"p\",\"waitMs\":3600000}");
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"p\"}"));
	for (long id = first; id <= last; id++) {
		char *line = guest_answer(&g, id);

		refused += guest_find(line, "error").at != NULL;
		free(line);
	}
	OK(refused >= 1500 - 1024 && refused < 1500);
	guest_close(&g);
	host_stop(&h);
}

/* More interrupts than the keeper has room for, and then the word that counts. */
TEST(a_flood_of_interrupts, .timeout_ms = 30000)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "trap '' INT; echo up; exec sleep 120");
	guest_await_output(&g, "p", "up");
	for (int i = 0; i < 3000; i++)
		guest_send(&g, "process/signal", "{\"processId\":\"p\",\"signal\":\"interrupt\"}");
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"p\"}"));
	free(guest_await(&g, "process/closed", "p"));
	guest_close(&g);
	host_stop(&h);
}

TEST(too_many_processes)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet", "--max-processes", "3");
	guest_open(&g, &h);
	guest_start(&g, "1", PIPED, "exec cat");
	guest_start(&g, "2", PIPED, "exec cat");
	guest_start(&g, "3", PIPED, "exec cat");
	guest_refused(&g, -32600, "process/start",
		      "{\"processId\":\"4\",\"argv\":[\"cat\"],\"cwd\":\"file:///\"," ENV_ALL
		      "," PIPED "}");
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"1\"}"));
	free(guest_await(&g, "process/closed", "1"));
	guest_start(&g, "4", PIPED, "exec cat");
	guest_close(&g);
	host_stop(&h);
}

/* The executor has no descriptors left: starts are refused with a sentence, who connects waits, and
 * when there are some again both go on. */
TEST(no_descriptors_left)
{
	const struct rlimit few = { 64, 64 };
	struct guest g, late;
	char *line = NULL;
	struct host h;
	int started = 0;

	setrlimit(RLIMIT_NOFILE, &few);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	for (;; started++) {
		free(line);
		line = guest_answer(&g, guest_send(&g, "process/start",
						   "{\"processId\":\"p%d\",\"argv\":[\"cat\"],"
						   "\"cwd\":\"file:///\"," ENV_ALL "," PIPED "}",
						   started));
		if (guest_find(line, "error").at)
			break;
		OK(started < 64);
	}
	EQ(guest_number(line, "error.code"), -32603);
	OK(strstr(line, "no descriptors") || strstr(line, "Too many open files"));
	free(line);
	OK(started > 3);
	for (int i = 0; i < 6; i++) { /* those that are left */
		guest_connect(&late, &h);
		guest_say(&late, "{\"id\":1,\"method\":\"initialize\",\"params\":{"
				 "\"clientName\":\"x\"}}");
		if (i < 5)
			guest_close(&late);
	}
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"p0\"}"));
	free(guest_await(&g, "process/closed", "p0"));
	free(guest_hear(&late));
	guest_close(&late);
	guest_start(&g, "again", PIPED, "exec cat");
	guest_close(&g);
	host_stop(&h);
}

TEST(invalid_starts_are_refused)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_refused(&g, -32602, "process/start",
		      "{\"processId\":\"p\",\"argv\":[],\"cwd\":\"file:///\"," ENV_ALL "," PIPED
		      "}");
	guest_refused(&g, -32602, "process/start",
		      "{\"processId\":\"p\",\"argv\":[\"cat\"],\"cwd\":\"/\"," ENV_ALL "," PIPED
		      "}");
	guest_refused(
		&g, -32603, "process/start",
		"{\"processId\":\"p\",\"argv\":[\"cat\"],\"cwd\":\"file:///no/such/dir\"," ENV_ALL
		"," PIPED "}");
	guest_refused(
		&g, -32603, "process/start",
		"{\"processId\":\"p\",\"argv\":[\"/no/such/program\"],\"cwd\":\"file:///\"," ENV_ALL
		"," PIPED "}");
	guest_start(&g, "p", PIPED, "exec cat"); /* the id is free */
	guest_refused(&g, -32600, "process/start",
		      "{\"processId\":\"p\",\"argv\":[\"cat\"],\"cwd\":\"file:///\"," ENV_ALL
		      "," PIPED "}");
	guest_close(&g);
	host_stop(&h);
}

/* Ten MiB in one message: every byte arrives, in order, and calls behind it are answered. */
static void write_long(const char *where)
{
	static const char head[] = "{\"processId\":\"p\",\"writeId\":\"1\",\"chunk\":\"";
	const size_t size = 10u << 20, base64 = size / 3 * 4;
	char *params = malloc(sizeof(head) + base64 + 8);
	struct host h;
	struct guest g;

	memcpy(params, head, sizeof(head));
	for (size_t i = 0; i < base64; i += 4)
		memcpy(params + sizeof(head) - 1 + i, i / 4 % 1000 ? "QUJD" : "eHkK", 4);
	memcpy(params + sizeof(head) - 1 + base64, "\"}", 3);
	HOST(&h, where, "--quiet", "--insecure");
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "head -c 10485759 | cksum");
	guest_send(&g, "process/write", "%s", params);
	free(guest_ask(&g, "environment/status", "null"));
	guest_await_output(&g, "p", "1475735754 10485759");
	guest_close(&g);
	free(params);
	host_stop(&h);
}

TEST(a_long_message_arrives_whole_over_a_websocket, .timeout_ms = 30000)
{
	write_long("ws://127.0.0.1:0");
}

TEST(a_long_message_arrives_whole_as_a_line, .timeout_ms = 30000)
{
	write_long(NULL);
}
