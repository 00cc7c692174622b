/* burst.c - large answers, and readers that are slow or do not read at all.
 *
 * A reader that reads gets every answer. A reader that reads nothing loses its session after a
 * time, with the reason on both ends; other sessions live on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_lab.h"

#define ANSWERS  20
#define BYTES    5000000
#define BURST_MS (60000 * T_PATIENCE)

/* --- reading --- */

struct reader {
	int fd;
	char head[200]; /* of the line that is being read */
	size_t head_len, line_len;
	unsigned whole; /* answers of BYTES bytes or more */
	unsigned errors;
	char error[400]; /* the head of the last one */
	bool ended;
};

static void reader_end_line(struct reader *r)
{
	r->head[r->head_len] = '\0';
	if (strstr(r->head, "\"error\"")) {
		r->errors++;
		snprintf(r->error, sizeof(r->error), "%s", r->head);
	} else if (r->line_len >= BYTES) {
		r->whole++;
	}
	r->head_len = r->line_len = 0;
}

static void reader_take(struct reader *r, const char *bytes, size_t len)
{
	while (len > 0) {
		const char *nl = memchr(bytes, '\n', len);
		size_t n = nl ? (size_t)(nl - bytes) : len;
		size_t room = sizeof(r->head) - 1 - r->head_len;

		memcpy(r->head + r->head_len, bytes, n < room ? n : room);
		r->head_len += n < room ? n : room;
		r->line_len += n;
		if (nl)
			reader_end_line(r);
		bytes += n + (nl != NULL);
		len -= n + (nl != NULL);
	}
}

/* Read at most `max` bytes; false: nothing came within ms, or the end. */
static bool reader_read(struct reader *r, size_t max, int ms)
{
	static char chunk[1 << 18];
	ssize_t n;

	if (!t_wait_fd(r->fd, POLLIN, ms))
		return false;
	n = read(r->fd, chunk, max < sizeof(chunk) ? max : sizeof(chunk));
	r->ended = n <= 0;
	if (n > 0)
		reader_take(r, chunk, (size_t)n);
	return n > 0;
}

/* Read until so many answers or errors have come. */
static void reader_await(struct reader *r, unsigned count)
{
	double end = t_now_ms() + BURST_MS;

	while (r->whole + r->errors < count) {
		if (!reader_read(r, SIZE_MAX, 1000) && r->ended)
			FAIL("the end after %u answers, %u errors and %zu bytes of a line: %s",
			     r->whole, r->errors, r->line_len, r->error);
		if (t_now_ms() > end)
			FAIL("only %u answers and %u errors came: %s", r->whole, r->errors,
			     r->error);
	}
}

/* --- asking --- */

static void ask_big(struct control *c, const char *session)
{
	char params[200];

	snprintf(params, sizeof(params),
		 "\"session\":\"%s\",\"tool\":\"big\",\"arguments\":{\"bytes\":%d}", session,
		 BYTES);
	for (int i = 0; i < ANSWERS; i++)
		control_send(c, "tool.call", params);
}

static void call_big(struct mate *m)
{
	char arguments[40];

	snprintf(arguments, sizeof(arguments), "\"bytes\":%d", BYTES);
	for (int i = 0; i < ANSWERS; i++)
		mate_call(m, "big", arguments, NULL);
}

static void echo(struct control *c, const char *session)
{
	struct span s = with_session(c, "tool.call", session,
				     "\"tool\":\"echo\",\"arguments\":{\"text\":\"here\"}");

	HAS(s, "here");
}

#define SHARED(way_) servers(way_, "\"share\":\"identical\"")

static void create_shared(struct control *c, char *id, size_t size)
{
	scan_copy(scan_member(control_do(c, "session.create", SHARED("tagged")), "session"), id,
		  size);
}

static long hub_memory_kb(pid_t hub)
{
	char path[64], line[128];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)hub);
	f = fopen(path, "re");
	OK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld kB", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

/* The answers are there, nothing is read, and no session is lost. */
static void wait_unread(long sessions)
{
	for (double end = t_now_ms() + 1500; t_now_ms() < end; usleep(20000))
		EQ(hub_sessions(), sessions);
}

/* --- readers that read --- */

TEST(a_program_gets_a_burst_of_large_answers_and_keeps_its_sessions, .timeout_ms = 120000)
{
	struct reader r = { .fd = -1 };
	char other[32], id[32];
	struct control c;

	mate_hub_start();
	control_open(&c);
	snprintf(other, sizeof(other), "%s", create(&c, "good", NULL));
	snprintf(id, sizeof(id), "%s", create(&c, "tagged", NULL));
	ask_big(&c, id);
	wait_unread(2);
	r.fd = c.fd;
	reader_await(&r, ANSWERS);
	EQ(r.whole, ANSWERS);
	echo(&c, id);
	echo(&c, other);
	control_close(&c);
	mate_hub_stop();
}

/* The server is held meanwhile, as it is for answers. */
TEST(a_program_gets_a_burst_of_large_log_messages, .timeout_ms = 120000)
{
	struct reader r = { .fd = -1 };
	char params[200];
	struct control c;

	mate_hub_start();
	control_open(&c);
	STREQ(create(&c, "good", "\"notifications\":true"), "s1");
	snprintf(params, sizeof(params),
		 "\"session\":\"s1\",\"tool\":\"log\",\"arguments\":{\"n\":%d,\"bytes\":%d}",
		 ANSWERS, BYTES);
	control_send(&c, "tool.call", params);
	wait_unread(1);
	r.fd = c.fd;
	reader_await(&r, ANSWERS);
	EQ(r.whole, ANSWERS);
	echo(&c, "s1");
	control_close(&c);
	mate_hub_stop();
}

TEST(a_client_gets_a_burst_of_large_answers, .timeout_ms = 120000)
{
	struct reader r = { .fd = -1 };
	struct mate m;
	struct mate_spec spec = { .config = NULL };

	mate_hub_start();
	spec.config = MATE_CONFIG("c.json", { "one", NULL, NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	call_big(&m);
	wait_unread(1);
	r.fd = m.out;
	reader_await(&r, ANSWERS);
	EQ(r.whole, ANSWERS);
	mate_settle(&m);
	mate_close(&m);
	mate_hub_stop();
}

/* A third of a megabyte at a time, and a pause that is longer than the hub would wait without a
 * byte in between. */
static void read_slowly(struct reader *r, unsigned until)
{
	double end = t_now_ms() + BURST_MS;

	for (int i = 0; r->whole + r->errors < until; i++) {
		reader_read(r, 1 << 15, 1000);
		if (i < 40)
			usleep(60000);
		if (r->ended || t_now_ms() > end)
			FAIL("%u answers, %u errors, ended %d: %s", r->whole, r->errors, r->ended,
			     r->error);
	}
}

static const char *const short_stall[] = { "--stall", "1500ms", NULL };

TEST(readers_that_are_slow_get_everything, .timeout_ms = 180000)
{
	struct reader r = { .fd = -1 }, p = { .fd = -1 };
	struct mate_spec spec = { .config = NULL };
	struct control c;
	struct mate m;
	pid_t hub = mate_hub_start_with(short_stall);
	const char *id;
	long kb;

	spec.config = MATE_CONFIG("c.json", { "one", NULL, NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	call_big(&m);
	r.fd = m.out;
	read_slowly(&r, ANSWERS);
	EQ(r.whole, ANSWERS);
	mate_close(&m);
	control_open(&c);
	id = create(&c, "tagged", NULL);
	ask_big(&c, id);
	p.fd = c.fd;
	read_slowly(&p, ANSWERS);
	EQ(p.whole, ANSWERS);
	control_close(&c);
	kb = hub_memory_kb(hub);
	t_note("the hub had %ld KiB at most", kb);
	/* the queue: 32 MiB and a message, in a buffer that doubles; and the parts of a line */
	OK(T_PATIENCE > 1 || kb < 160 * 1024);
	mate_hub_stop();
}

/* The client writes all requests, closes its stdin, and then reads. */
TEST(a_client_that_closes_its_stdin_gets_all_answers, .timeout_ms = 120000)
{
	struct reader r = { .fd = -1 };
	struct mate_spec spec = { .config = NULL };
	struct mate m;

	mate_hub_start();
	spec.config = MATE_CONFIG("c.json", { "one", NULL, NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	call_big(&m);
	close(m.in);
	m.in = -1;
	r.fd = m.out;
	read_slowly(&r, ANSWERS);
	EQ(r.whole, ANSWERS);
	EQ(t_wait_child(m.pid, MATE_MS), 0);
	mate_done(&m);
	mate_hub_stop();
}

/* --- readers that do not read --- */

/* `killick connect` with its stderr in a file. */
static void open_with_stderr(struct mate *m, const struct mate_spec *spec, const char *path)
{
	int kept = dup(2), to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	OK(kept >= 0 && to >= 0);
	dup2(to, 2);
	mate_open(m, spec);
	dup2(kept, 2);
	close(kept);
	close(to);
	mate_hello(m, spec);
}

static void expect_text(const char *path, const char *text)
{
	char all[1000] = "";
	FILE *f = fopen(path, "re");

	OK(f);
	all[fread(all, 1, sizeof(all) - 1, f)] = '\0';
	fclose(f);
	if (!strstr(all, text))
		FAIL("'%s' is not in '%s'", text, all);
}

TEST(a_client_that_reads_nothing_loses_its_session_and_learns_why, .timeout_ms = 120000)
{
	struct mate_spec spec = { .config = NULL };
	struct mate m, other;
	char path[96];
	int status;

	mate_hub_start_with(short_stall);
	spec.config = MATE_CONFIG("c.json", { "one", NULL, NULL, "\"share\":\"identical\"" });
	mate_open(&other, &spec);
	mate_hello(&other, &spec);
	snprintf(path, sizeof(path), "%s/stderr", t_audit.dir);
	open_with_stderr(&m, &spec, path);
	call_big(&m);
	status = t_wait_child(m.pid, BURST_MS);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 69);
	expect_text(path, "the session was ended: the client read nothing for ");
	mate_done(&m);
	mate_settle(&other);
	EQ(mate_servers(), 1);
	mate_close(&other);
	mate_hub_stop();
}

/* The session whose answers fill the connection is closed; another session of the same connection
 * and another session of the same server live on. */
TEST(a_program_that_reads_nothing_loses_only_the_session_with_large_answers, .timeout_ms = 120000)
{
	struct reader r = { .fd = -1 };
	char id[32], same[32], shared[32];
	struct control c, other;

	mate_hub_start_with(short_stall);
	control_open(&c);
	control_open(&other);
	create_shared(&other, shared, sizeof(shared));
	snprintf(same, sizeof(same), "%s", create(&c, "good", NULL));
	create_shared(&c, id, sizeof(id));
	ask_big(&c, id);
	await_sessions(2);
	echo(&other, shared); /* nothing is read from c meanwhile */
	r.fd = c.fd;
	reader_await(&r, ANSWERS);
	OK(r.whole > 0 && r.errors > 0);
	if (!strstr(r.error, "the client read nothing for "))
		FAIL("the reason is missing: %s", r.error);
	echo(&c, same);
	EQ(error_code(with_session(&c, "session.renew", id, NULL)), -32001);
	control_close(&c);
	control_close(&other);
	mate_hub_stop();
}

/* The answers to a are in the pipe of the shared server before those to b. */
TEST(a_client_that_reads_nothing_delays_other_sessions_of_its_server_for_a_moment,
     .timeout_ms = 120000)
{
	struct reader r = { .fd = -1 };
	struct mate_spec spec = { .config = NULL };
	struct mate a, b;
	pid_t hub = mate_hub_start();
	double began, ms;
	long kb;

	spec.config = MATE_CONFIG("c.json", { "one", NULL, NULL, "\"share\":\"identical\"" });
	mate_open(&b, &spec);
	mate_hello(&b, &spec);
	mate_open(&a, &spec);
	mate_hello(&a, &spec);
	call_big(&a);
	began = t_now_ms();
	for (int i = 0; i < 10; i++)
		mate_settle(&b);
	ms = t_now_ms() - began;
	t_note("ten calls of the other session took %.0f ms", ms);
	OK(T_PATIENCE > 1 || ms < 20000); /* 1 s is promised; the cut would come after 30 s */
	kb = hub_memory_kb(hub);
	t_note("the hub had %ld KiB at most", kb);
	OK(T_PATIENCE > 1 || kb < 300 * 1024); /* 64 MiB and a message, in a buffer that doubles */
	r.fd = a.out;
	reader_await(&r, ANSWERS);
	t_note("%u answers and %u errors", r.whole, r.errors);
	OK(r.whole >= (64 << 20) / BYTES && r.whole + r.errors == ANSWERS);
	OK(strstr(r.error, "more than 64 MiB of answers wait"));
	mate_settle(&a);
	EQ(mate_servers(), 1);
	mate_close(&a);
	mate_close(&b);
	mate_hub_stop();
}

/* A page at a time, and always before the hub would say that nothing was read for a second. */
TEST(a_client_that_reads_a_page_at_a_time_delays_other_sessions_of_its_server_for_a_moment,
     .timeout_ms = 120000)
{
	struct mate_spec spec = { .config = NULL };
	struct reader r = { .fd = -1 };
	struct mate a, b;
	double began, first = 0;

	mate_hub_start();
	spec.config = MATE_CONFIG("c.json", { "one", NULL, NULL, "\"share\":\"identical\"" });
	mate_open(&b, &spec);
	mate_hello(&b, &spec);
	mate_open(&a, &spec);
	mate_hello(&a, &spec);
	call_big(&a);
	r.fd = a.out;
	began = t_now_ms();
	for (int i = 0; i < 10; i++) {
		long id = mate_call(&b, "echo", "\"text\":\"of b\"", NULL);

		while (!t_wait_fd(b.out, POLLIN, 900) && t_now_ms() - began < BURST_MS)
			reader_read(&r, 4096, 0);
		mate_result(&b, id);
		if (i == 0)
			first = t_now_ms() - began;
	}
	t_note("the first call of the other session took %.0f ms, ten took %.0f ms", first,
	       t_now_ms() - began);
	OK(T_PATIENCE > 1 || t_now_ms() - began < 20000); /* 5 s is promised */
	/* the session lives, and its answers become errors when 64 MiB wait */
	reader_await(&r, ANSWERS);
	OK(r.whole >= (64 << 20) / BYTES && r.whole + r.errors == ANSWERS);
	mate_settle(&a);
	mate_close(&a);
	mate_close(&b);
	mate_hub_stop();
}

/* Requests whose answers the hub makes itself are not read either. */
TEST(a_program_that_floods_the_hub_and_reads_nothing_costs_bounded_memory, .timeout_ms = 120000)
{
	static const char request[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.list\",\"params\":{\"detail\":"
		"true}}\n";
	pid_t hub = mate_hub_start();
	struct control c, other;
	double until = 0;
	long kb;

	control_open(&c);
	create(&c, "good", NULL);
	/* until the hub has read nothing for a second */
	while (until == 0 || t_now_ms() < until) {
		ssize_t n = send(c.fd, request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);

		OK(n > 0 || errno == EAGAIN);
		if (n > 0)
			until = t_now_ms() + 1000;
		else
			usleep(1000);
	}
	kb = hub_memory_kb(hub);
	t_note("the hub had %ld KiB at most", kb);
	OK(T_PATIENCE > 1 || kb < 200 * 1024);
	control_open(&other);
	control_do(&other, "hub.status", "");
	EQ(hub_sessions(), 1); /* the session of c lives on */
	control_close(&other);
	control_close(&c);
	await_sessions(0);
	mate_hub_stop();
}

/* Questions have no limit of their own: the server cancels each one and asks again. */
TEST(questions_to_a_program_that_reads_nothing_cost_bounded_memory, .timeout_ms = 120000)
{
	pid_t hub = mate_hub_start();
	struct control c;
	long kb, id;

	control_open(&c);
	STREQ(create(&c, "askflood", "\"features\":[\"sampling\"]"), "s1");
	id = control_send(&c, "tool.call",
			  "\"session\":\"s1\",\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}");
	wait_unread(1);
	kb = hub_memory_kb(hub);
	t_note("the hub had %ld KiB at most", kb);
	OK(T_PATIENCE > 1 || kb < 200 * 1024);
	HAS(control_wait(&c, id), "\"result\"");
	control_close(&c);
	mate_hub_stop();
}
