/* descriptors.c - a host that closes the library's descriptors, and opens its own under the
 * numbers.
 *
 * Each test is a host of its own: a child of the test's process, whose descriptors nobody else
 * needs.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab.h"

#define BOUND_MS 12000 /* a keeper ends its tree far sooner */
#define FILES    64

static struct killick *k;
static struct killick_session *s;

static void as_host(void (*fn)(void))
{
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer ends a program that closes what another thread uses");
#endif
	pid = fork();
	if (pid == 0) {
		fn();
		EQ(lab_living(), 0);
		_exit(0);
	}
	EQ(t_wait_child(pid, 60000), 0);
	lab_reap();
}

static void close_everything(void)
{
	EQ(syscall(SYS_close_range, 3u, ~0u, 0u), 0);
}

static void free_in_time(void)
{
	double began = t_now_ms();

	killick_free(k);
	OK(t_now_ms() - began < BOUND_MS);
}

/* What a host may have there instead. */
static struct {
	int fd;
	ino_t ino;
} files[FILES];

static void open_files(void)
{
	struct stat st;
	char path[128];

	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/file-%d", t_audit.dir, i);
		files[i].fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		OK(files[i].fd >= 0 && fstat(files[i].fd, &st) == 0);
		files[i].ino = st.st_ino;
	}
}

/* They are open, they are what they were, and nothing was written into them. */
static void expect_files(void)
{
	struct stat st;

	for (int i = 0; i < FILES; i++) {
		if (fstat(files[i].fd, &st) < 0 || st.st_ino != files[i].ino)
			FAIL("the host's descriptor %d was closed", files[i].fd);
		if (st.st_size > 0)
			FAIL("%lld bytes were written into the host's file %d",
			     (long long)st.st_size, files[i].fd);
	}
}

static void close_then_free(void)
{
	k = LAB();
	s = lab_session(k, SERVERS({ "a" }, { "b", "stays" }));
	lab_pid(s, "a");
	lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
	close_everything();
	free_in_time();
}

TEST(free_returns_after_the_host_closed_all_descriptors, .timeout_ms = 60000)
{
	as_host(close_then_free);
}

static void close_then_free_idle(void)
{
	k = LAB();
	close_everything();
	free_in_time();
}

TEST(free_returns_when_nothing_was_open, .timeout_ms = 60000)
{
	as_host(close_then_free_idle);
}

static void close_then_call(void)
{
	struct killick_result *r;
	double began;

	k = LAB();
	s = lab_session(k, SERVERS({ "a" }));
	lab_pid(s, "a");
	close_everything();
	open_files();
	began = t_now_ms();
	r = lab_try(s, "a", "echo", "{\"text\":\"not for a file\"}", LAB_MS);
	OK(t_now_ms() - began < BOUND_MS);
	if (killick_result_code(r) && /* or it went to the next server already */
	    !strstr(killick_result_error(r), "closed descriptors that belong to killick"))
		FAIL("%s: %s", killick_code_name(killick_result_code(r)), killick_result_error(r));
	killick_result_free(r);
	expect_files();
	free_in_time();
	expect_files();
}

TEST(a_request_is_not_written_into_a_file_of_the_host, .timeout_ms = 60000)
{
	as_host(close_then_call);
}

static void reopen_then_free(void)
{
	k = LAB();
	s = lab_session(k, SERVERS({ "a" }, { "b", "stays" }));
	close_everything();
	open_files();
	free_in_time();
	expect_files();
}

TEST(free_does_not_close_files_of_the_host, .timeout_ms = 60000)
{
	as_host(reopen_then_free);
}

/* Others than files: what we write there would be read by somebody. */
static void reopen_others(void)
{
	int pair[2], got[FILES];
	struct epoll_event ev;
	uint64_t count;
	char c;

	k = LAB();
	s = lab_session(k, SERVERS({ "a" }));
	close_everything();
	for (int i = 0; i < FILES; i += 4) {
		got[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		got[i + 1] = epoll_create1(EPOLL_CLOEXEC);
		OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ==
		   0);
		got[i + 2] = pair[0];
		got[i + 3] = pair[1];
	}
	killick_result_free(lab_try(s, "a", "echo", NULL, LAB_MS));
	free_in_time();
	for (int i = 0; i < FILES; i += 4) {
		EQ(read(got[i], &count, sizeof(count)), -1);
		EQ(epoll_wait(got[i + 1], &ev, 1, 0), 0);
		EQ(read(got[i + 2], &c, 1), -1);
		EQ(read(got[i + 3], &c, 1), -1);
	}
}

TEST(nothing_is_sent_to_other_descriptors_of_the_host, .timeout_ms = 60000)
{
	as_host(reopen_others);
}

/* The runtime has new descriptors, and the server is started again like one that ended. */
static void go_on(void)
{
	double end = t_now_ms() + BOUND_MS;
	struct killick_result *r;
	int code;

	k = LAB();
	s = lab_session(k, SERVERS({ "a" }));
	lab_pid(s, "a");
	close_everything();
	do {
		r = lab_try(s, "a", "echo", "{\"text\":\"x\"}", LAB_MS);
		code = killick_result_code(r);
		killick_result_free(r);
	} while (code != 0 && t_now_ms() < end);
	EQ(code, 0);
	lab_pid(s, "a");
	lab_end(s);
	s = lab_session(k, SERVERS({ "b" }));
	lab_pid(s, "b");
	free_in_time();
}

TEST(a_new_runtime_works_after_the_host_closed_all_descriptors, .timeout_ms = 60000)
{
	as_host(go_on);
}

static void on_done(void *ctx, struct killick_result *r)
{
	killick_result_free(r);
	lab_add(ctx);
}

static void close_under_callbacks(void)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "a", .name = "block",
				.timeout_ms = 1000, .ctx = &n, .on_done = on_done);

	k = LAB();
	s = lab_session(k, SERVERS({ "a" }));
	EQ(killick_start(s, &rq, NULL, NULL), 0);
	lab_pid(s, "a");
	close_everything();
	lab_await(&n, 1); /* its time is over, and somebody says so */
	EQ(killick_start(s, &rq, NULL, NULL), 0);
	lab_await(&n, 2);
	free_in_time();
}

TEST(callbacks_come_after_the_host_closed_all_descriptors, .timeout_ms = 60000)
{
	as_host(close_under_callbacks);
}

static void close_own_loop(void)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_PING, .server = "a", .ctx = &n, .on_done = on_done);

	k = lab_open(&KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST));
	s = lab_session(k, SERVERS({ "a" }));
	close_everything();
	open_files();
	EQ(killick_start(s, &rq, NULL, NULL), 0);
	for (double end = t_now_ms() + LAB_MS; lab_value(&n) == 0 && t_now_ms() < end;) {
		killick_dispatch(k, NULL); /* there is nothing to wait for */
		poll(NULL, 0, 2);
	}
	EQ(lab_value(&n), 1);
	free_in_time();
	expect_files();
}

TEST(callbacks_wait_for_dispatch_without_a_descriptor, .timeout_ms = 60000)
{
	as_host(close_own_loop);
}
