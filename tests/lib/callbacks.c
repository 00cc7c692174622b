/* callbacks.c - code of the host that blocks: nothing else of the library may wait for it. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outpost.h"

#define SOON_MS 3000 /* for what has a deadline of at most 1.5 s */

/* A callback that blocks until the test lets it go. */
struct block {
	struct lab_count entered, released, left;
};
#define BLOCK_INIT                                                                                 \
	{                                                                                          \
		LAB_COUNT_INIT, LAB_COUNT_INIT, LAB_COUNT_INIT                                     \
	}

static void block_here(struct block *b)
{
	lab_add(&b->entered);
	lab_await(&b->released, lab_value(&b->entered));
	lab_add(&b->left);
}

static void release(struct block *b, int times)
{
	while (times-- > 0)
		lab_add(&b->released);
}

static void block_on_done(void *ctx, struct killick_result *r)
{
	killick_result_free(r);
	block_here(ctx);
}

static void block_on_event(void *ctx, const struct killick_event *ev)
{
	(void)ev;
	block_here(ctx);
}

static void block_on_progress(void *ctx, const struct killick_progress *p)
{
	(void)p;
	block_here(ctx);
}

static void count_done(void *ctx, struct killick_result *r)
{
	killick_result_free(r);
	lab_add(ctx);
}

static void start_ping(struct killick_session *s, void (*on_done)(void *, struct killick_result *),
		       void *ctx)
{
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo", .ctx = ctx,
						    .on_done = on_done);

	EQ(killick_start(s, &rq, NULL, NULL), 0);
}

static void block_in_on_done(struct killick_session *s, struct block *b)
{
	start_ping(s, block_on_done, b);
	lab_await(&b->entered, 1);
}

/* A call that nobody answers ends when its time is over. */
static void expect_timeout(struct killick_session *s)
{
	double began = t_now_ms();
	struct killick_result *r = lab_try(s, "zoo", "block", NULL, 200);

	EQ(killick_result_code(r), KILLICK_ERR_TIMEOUT);
	OK(t_now_ms() - began < SOON_MS);
	killick_result_free(r);
}

TEST(deadlines_are_kept_while_a_callback_blocks)
{
	struct block b = BLOCK_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));

	block_in_on_done(s, &b);
	for (int i = 0; i < 3; i++)
		expect_timeout(s);
	lab_pid(s, "zoo");
	EQ(lab_value(&b.left), 0);
	release(&b, 1);
	lab_end(s);
	lab_close(k);
	EQ(lab_value(&b.left), 1);
}

static void *wait_for_timeout(void *arg)
{
	expect_timeout(arg);
	return NULL;
}

/* The thread that waits drives the loop; a callback that becomes due meanwhile is not its task. */
TEST(a_thread_in_a_call_runs_no_callback)
{
	struct block b = BLOCK_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	pthread_t thread = lab_thread(wait_for_timeout, s);

	block_in_on_done(s, &b);
	pthread_join(thread, NULL);
	EQ(lab_value(&b.left), 0);
	release(&b, 1);
	lab_end(s);
	lab_close(k);
}

static void sleep_on_done(void *ctx, struct killick_result *r)
{
	killick_result_free(r);
	poll(NULL, 0, 5000);
	lab_add(ctx);
}

/* The executor ends what belongs to an owner that is silent for the time of its lease. */
TEST(a_lease_of_3_s_survives_a_callback_of_5_s, .timeout_ms = 60000)
{
	struct lab_count left = LAB_COUNT_INIT;
	struct killick *k = LAB();
	struct outpost o;
	struct killick_session *s;
	pid_t pid;

	outpost_open(&o, "3s");
	s = outpost_session(k, &o, false, SERVERS({ "zoo", .more = PLACED }));
	pid = lab_pid(s, "zoo");
	start_ping(s, sleep_on_done, &left);
	lab_await(&left, 1);
	OK(lab_lives(pid));
	EQ(lab_pid(s, "zoo"), pid);
	EQ(outpost_logged(&o, "event=lease"), 0);
	lab_end(s);
	lab_close(k);
	outpost_close(&o);
}

static struct killick_session *session_that_blocks(struct killick *k, struct block *b)
{
	return lab_session_with(
		k, SERVERS({ "zoo" }),
		&KILLICK_SESSION_OPTIONS(.handlers =
						 &KILLICK_HANDLERS(.ctx = b,
								   .on_event = block_on_event)));
}

TEST(close_returns_while_a_callback_blocks)
{
	struct block b = BLOCK_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_session *other = lab_session(k, SERVERS({ "zoo" }));
	double began;

	block_in_on_done(s, &b);
	began = t_now_ms();
	lab_end(other);
	lab_end(s); /* whose call has its result: the callback is not one of the handlers */
	OK(t_now_ms() - began < SOON_MS);
	EQ(lab_value(&b.left), 0);
	began = t_now_ms();
	EQ(killick_close(k, NULL, NULL), 0);
	OK(t_now_ms() - began < SOON_MS);
	release(&b, 1);
	killick_free(k);
	EQ(lab_value(&b.left), 1);
}

/* The result of a close says whether the handlers are still in use. */
TEST(close_says_whether_a_handler_still_runs, .timeout_ms = 30000)
{
	struct block b = BLOCK_INIT;
	struct killick *k = LAB();
	struct killick_session *s = session_that_blocks(k, &b);
	struct killick_report *r = NULL;
	double began = t_now_ms();

	lab_await(&b.entered, 1);
	EQ(killick_session_close(s, &r, NULL), KILLICK_ERR_TIMEOUT);
	OK(t_now_ms() - began < SOON_MS);
	OK(r && r->proved && r->count == 1); /* the servers did not wait for it */
	killick_report_free(r);
	EQ(lab_living(), 0);
	EQ(killick_session_close(s, &r, NULL), KILLICK_ERR_TIMEOUT);
	EQ(r->count, 0);
	killick_report_free(r);
	EQ(lab_value(&b.left), 0);
	release(&b, 1);
	EQ(killick_session_close(s, NULL, NULL), 0);
	EQ(lab_value(&b.left), 1);
	EQ(lab_value(&b.entered), 1); /* nor is another one called */
	killick_session_free(s);
	lab_close(k);
}

static void *close_session(void *arg)
{
	return (void *)(intptr_t)killick_session_close(arg, NULL, NULL);
}

TEST(close_returns_as_soon_as_the_handler_has)
{
	struct block b = BLOCK_INIT;
	struct killick *k = LAB();
	struct killick_session *s = session_that_blocks(k, &b);
	pthread_t thread;
	void *code;

	lab_await(&b.entered, 1);
	thread = lab_thread(close_session, s);
	lab_await_state(s, "zoo", KILLICK_GONE);
	release(&b, 100);
	pthread_join(thread, &code);
	EQ((intptr_t)code, 0);
	EQ(lab_value(&b.left), lab_value(&b.entered));
	killick_session_free(s);
	lab_close(k);
}

TEST(a_session_is_freed_while_its_handler_blocks)
{
	struct block b = BLOCK_INIT;
	struct killick *k = LAB();
	struct killick_session *s = session_that_blocks(k, &b);
	double began = t_now_ms();

	lab_await(&b.entered, 1);
	killick_session_free(s);
	OK(t_now_ms() - began < SOON_MS);
	EQ(killick_close(k, NULL, NULL), 0);
	EQ(lab_living(), 0);
	release(&b, 1);
	killick_free(k);
	EQ(lab_value(&b.left), 1);
	EQ(lab_value(&b.entered), 1);
}

enum { TEN = 10 };

struct queue {
	struct block b;
	int order[2 * TEN], count, inside;
};
struct queued {
	struct queue *q;
	int number;
};

static void block_in_order(void *ctx, struct killick_result *r)
{
	struct queued *one = ctx;
	struct queue *q = one->q;

	EQ(__atomic_add_fetch(&q->inside, 1, __ATOMIC_SEQ_CST), 1);
	killick_result_free(r);
	q->order[q->count++] = one->number;
	block_here(&q->b);
	EQ(__atomic_sub_fetch(&q->inside, 1, __ATOMIC_SEQ_CST), 0);
}

/* The callbacks of a runtime come one at a time and in order; closes do not wait for the queue. */
TEST(ten_callbacks_that_block_come_in_order, .timeout_ms = 30000)
{
	struct queue q = { .b = BLOCK_INIT };
	struct queued list[TEN];
	struct killick *k = LAB();
	struct killick_session *s[TEN];
	double began;

	for (int i = 0; i < TEN; i++) {
		s[i] = lab_session(k, SERVERS({ "zoo" }));
		list[i] = (struct queued){ &q, i };
	}
	for (int i = 0; i < TEN; i++) {
		start_ping(s[i], block_in_order, &list[i]);
		lab_pid(s[i], "zoo"); /* the answer to the ping came before this one */
	}
	lab_await(&q.b.entered, 1);
	began = t_now_ms();
	for (int i = 0; i < TEN; i++) {
		expect_timeout(s[i]);
		lab_end(s[i]);
	}
	OK(t_now_ms() - began < TEN * SOON_MS);
	EQ(lab_value(&q.b.entered), 1);
	release(&q.b, TEN);
	lab_await(&q.b.left, TEN);
	for (int i = 0; i < TEN; i++)
		EQ(q.order[i], i);
	lab_close(k);
}

/* --- killick_free --- */

static void *release_soon(void *arg)
{
	struct block *b = arg;

	poll(NULL, 0, 300);
	release(b, 1);
	return NULL;
}

TEST(free_waits_for_the_callback_and_delivers_the_rest)
{
	struct block b = BLOCK_INIT;
	struct lab_count n = LAB_COUNT_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	pthread_t thread;

	block_in_on_done(s, &b);
	for (int i = 0; i < 5; i++)
		start_ping(s, count_done, &n);
	thread = lab_thread(release_soon, &b);
	killick_free(k);
	EQ(lab_value(&b.left), 1);
	EQ(lab_value(&n), 5);
	pthread_join(thread, NULL);
}

/* Threads of the library, which have its name; a sanitizer has others. */
static int count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	char path[300], name[32];
	int n = 0;

	OK(d);
	for (struct dirent *e; (e = readdir(d));) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!f)
			continue;
		n += fgets(name, sizeof(name), f) &&
		     (!strcmp(name, "killick\n") || !strcmp(name, "killick-host\n"));
		fclose(f);
	}
	closedir(d);
	return n;
}

static void await_threads(int count)
{
	double end = t_now_ms() + LAB_MS;

	while (count_threads() != count) {
		if (t_now_ms() > end)
			FAIL("%d threads, not %d", count_threads(), count);
		poll(NULL, 0, 2);
	}
}

/* Nothing is left when the callback returns after all: its thread does the rest. */
TEST(free_returns_although_a_callback_does_not, .timeout_ms = 60000)
{
	struct block b = BLOCK_INIT;
	struct lab_count n = LAB_COUNT_INIT;
	int fds = lab_fds();
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	double began = t_now_ms();

	block_in_on_done(s, &b);
	start_ping(s, count_done, &n);
	killick_free(k);
	OK(t_now_ms() - began < LAB_MS); /* and not when the callback gives up */
	EQ(lab_living(), 0);
	EQ(lab_value(&b.left), 0);
	release(&b, 1);
	lab_await(&n, 1); /* what waited is told, too */
	await_threads(0);
	EQ(lab_fds(), fds);
}

/* --- threads --- */

TEST(a_thread_for_callbacks_starts_with_the_first_one)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));

	lab_pid(s, "zoo");
	await_threads(1);
	start_ping(s, count_done, &n);
	lab_await(&n, 1);
	await_threads(2);
	lab_end(s);
	lab_close(k);
	await_threads(0);
}

TEST(a_host_with_its_own_loop_has_no_thread_for_callbacks)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick *k = lab_open(&KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST));
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));

	start_ping(s, count_done, &n);
	OK(t_wait_fd(killick_fd(k), POLLIN, LAB_MS));
	EQ(killick_dispatch(k, NULL), 1);
	EQ(lab_value(&n), 1);
	await_threads(1);
	lab_end(s);
	lab_close(k);
}

static void *dispatch_once(void *arg)
{
	struct killick *k = arg;

	OK(t_wait_fd(killick_fd(k), POLLIN, LAB_MS));
	OK(killick_dispatch(k, NULL) >= 1);
	return NULL;
}

TEST(deadlines_are_kept_while_a_callback_blocks_the_hosts_loop)
{
	struct block b = BLOCK_INIT;
	struct killick *k = lab_open(&KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST));
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_session *blocked = session_that_blocks(k, &b);
	pthread_t thread = lab_thread(dispatch_once, k);
	double began;

	lab_await(&b.entered, 1);
	EQ(killick_dispatch(k, NULL), 0); /* another thread does it */
	expect_timeout(s);
	began = t_now_ms();
	lab_end(s);
	EQ(killick_session_close(blocked, NULL, NULL), KILLICK_ERR_TIMEOUT);
	OK(t_now_ms() - began < SOON_MS);
	release(&b, 1);
	EQ(killick_session_close(blocked, NULL, NULL), 0);
	pthread_join(thread, NULL);
	EQ(lab_value(&b.left), 1);
	killick_session_free(blocked);
	lab_close(k);
}

/* A call waits for its own on_progress, which may use what is on the stack of the caller. */
TEST(a_call_returns_when_its_own_progress_callback_has)
{
	struct block b = BLOCK_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "progress",
				.args = "{\"n\":3}", .ctx = &b, .on_progress = block_on_progress);
	pthread_t thread = lab_thread(release_soon, &b);

	killick_result_free(lab_do(s, &rq, 0));
	EQ(lab_value(&b.left), lab_value(&b.entered));
	pthread_join(thread, NULL);
	lab_end(s);
	EQ(lab_value(&b.left), lab_value(&b.entered));
	lab_close(k);
}

/* --- what a callback may do --- */

struct inside {
	struct killick *k;
	struct killick_session *s;
	struct lab_count over;
	struct lab_count closed;
};

static void on_closed(void *ctx, struct killick_report *r, const struct killick_error *e)
{
	struct inside *in = ctx;

	OK(r && r->proved && !e->code);
	killick_report_free(r);
	killick_session_free(in->s); /* inside a callback, too */
	lab_add(&in->closed);
}

static void use_inside(void *ctx, struct killick_result *r)
{
	struct inside *in = ctx;
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "block",
				.ctx = &in->over, .on_done = count_done);
	struct killick_result *again = NULL;
	struct killick_status *st = NULL;
	struct killick_call *c = NULL;
	struct killick_error e = { 0 };
	struct killick_session *other = NULL;

	killick_result_free(r);
	EQ(killick_session_status(in->s, &st, NULL), 0);
	killick_status_free(st);
	EQ(killick_start(in->s, &rq, &c, NULL), 0);
	killick_cancel(c);
	killick_call_free(c);
	EQ(killick_do(in->s, &rq, &again), KILLICK_ERR_USAGE); /* each would hold up the others */
	OK(strstr(killick_result_error(again), "called from a callback"));
	killick_result_free(again);
	EQ(killick_session_open(in->k, &KILLICK_SESSION_OPTIONS(.config = "{}"), &other, &e),
	   KILLICK_ERR_CONFIG);
	EQ(killick_session_close(in->s, NULL, NULL), KILLICK_ERR_USAGE);
	EQ(killick_close(in->k, NULL, NULL), KILLICK_ERR_USAGE);
	killick_free(in->k); /* nothing happens */
	EQ(killick_session_close_start(in->s, on_closed, in, NULL), 0);
}

TEST(a_callback_may_start_cancel_close_and_free)
{
	struct inside in = { .k = LAB(), .over = LAB_COUNT_INIT, .closed = LAB_COUNT_INIT };

	in.s = lab_session(in.k, SERVERS({ "zoo" }));
	start_ping(in.s, use_inside, &in);
	lab_await(&in.over, 1); /* what was cancelled is told */
	lab_await(&in.closed, 1);
	EQ(lab_living(), 0);
	lab_close(in.k);
}

/* --- fork --- */

struct forked {
	int kind, status;
	struct lab_count over;
};

static void fork_on_done(void *ctx, struct killick_result *r)
{
	struct forked *f = ctx;
	pid_t pid = fork();

	if (pid == 0) {
		if (f->kind == 0)
			_exit(7);
		if (f->kind == 1)
			execl("/bin/sh", "sh", "-c", "exit 8", NULL);
		return; /* which it must not: it is ended */
	}
	killick_result_free(r);
	f->status = t_wait_child(pid, LAB_MS);
	lab_add(&f->over);
}

TEST(fork_in_a_callback)
{
	static const int expected[] = { 7, 8, 70 };
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	pid_t server = lab_pid(s, "zoo");

	for (int i = 0; i < 3; i++) {
		struct forked f = { .kind = i, .over = LAB_COUNT_INIT };

		start_ping(s, fork_on_done, &f);
		lab_await(&f.over, 1);
		OK(WIFEXITED(f.status));
		EQ(WEXITSTATUS(f.status), expected[i]);
		EQ(lab_pid(s, "zoo"), server);
	}
	lab_end(s);
	lab_close(k);
}

/* --- signals --- */

static void on_segv(int sig)
{
	(void)sig;
	_exit(42);
}

static void look_at_signals(void *ctx, struct killick_result *r)
{
	sigset_t mask;

	killick_result_free(r);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	OK(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1) &&
	   sigismember(&mask, SIGPIPE));
	lab_add(ctx);
	raise(SIGSEGV);
}

/* Signals for the process are for the host's threads; a crash in a callback is for its handler. */
TEST(a_crash_in_a_callback_reaches_the_hosts_handler)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct lab_count n = LAB_COUNT_INIT;
		struct killick_session *s;

		sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = on_segv }, NULL);
		s = lab_session(LAB(), SERVERS({ "zoo" }));
		start_ping(s, look_at_signals, &n);
		lab_await(&n, 2);
		_exit(1);
	}
	OK(t_wait_child(pid, LAB_MS) == 42 << 8);
	lab_reap();
	outpost_await_nobody();
}
