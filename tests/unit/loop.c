/* loop.c - watches, timers, and the lock between threads. */
#include "base/loop.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/thread.h"
#include "t.h"

static struct loop *loop;
static struct cond news;
static int turns;

static void on_turn(void *ctx)
{
	(void)ctx;
	loop_lock(loop);
	turns++;
	cond_broadcast(&news);
	loop_unlock(loop);
}

static void begin(void)
{
	cond_init(&news);
	EQ(loop_open(&loop, on_turn, NULL, NULL), 0);
}

/* With the lock. */
static void await(void)
{
	OK(cond_wait_until(&news, loop_mutex(loop), loop_now_us() + 8000000));
}

struct pipe_end {
	struct loop_watch w;
	int pair[2];
	char got[64];
	size_t len;
	bool once;
};

static void on_ready(struct loop_watch *w, uint32_t events)
{
	struct pipe_end *p = (struct pipe_end *)w;
	ssize_t n = read(w->fd, p->got + p->len, sizeof(p->got) - p->len);

	OK(events & POLLER_IN);
	OK(loop_is_mine(loop));
	p->len += n > 0 ? (size_t)n : 0;
	if (p->once)
		loop_watch_stop(loop, w);
}

TEST(a_descriptor_is_read_when_it_is_ready)
{
	struct pipe_end p = { .len = 0 };

	begin();
	EQ(pipe(p.pair), 0);
	loop_lock(loop);
	EQ(loop_watch(loop, &p.w, p.pair[0], POLLER_IN, on_ready), 0);
	loop_unlock(loop);
	EQ(write(p.pair[1], "abc", 3), 3);
	loop_lock(loop);
	while (p.len < 3)
		await();
	loop_watch_stop(loop, &p.w);
	loop_watch_stop(loop, &p.w); /* twice is nothing */
	loop_unlock(loop);
	OK(!memcmp(p.got, "abc", 3));
	loop_close(loop);
	close(p.pair[0]);
	close(p.pair[1]);
}

/* Two descriptors are ready at once; whichever comes first stops the other. */
struct rivals {
	struct pipe_end a, b;
	int ran;
} rivals;

static void on_rival(struct loop_watch *w, uint32_t events)
{
	(void)w;
	(void)events;
	rivals.ran++;
	loop_watch_stop(loop, &rivals.a.w);
	loop_watch_stop(loop, &rivals.b.w);
}

TEST(an_event_for_a_stopped_watch_is_dropped)
{
	begin();
	EQ(pipe(rivals.a.pair), 0);
	EQ(pipe(rivals.b.pair), 0);
	EQ(write(rivals.a.pair[1], "x", 1), 1);
	EQ(write(rivals.b.pair[1], "x", 1), 1);
	loop_lock(loop);
	EQ(loop_watch(loop, &rivals.a.w, rivals.a.pair[0], POLLER_IN, on_rival), 0);
	EQ(loop_watch(loop, &rivals.b.w, rivals.b.pair[0], POLLER_IN, on_rival), 0);
	while (!rivals.ran)
		await();
	EQ(rivals.ran, 1);
	loop_unlock(loop);
	loop_close(loop);
	for (int i = 0; i < 2; i++) {
		close(rivals.a.pair[i]);
		close(rivals.b.pair[i]);
	}
}

#define TIMERS 200
static struct tick {
	struct loop_timer t;
	int order;
} ticks[TIMERS];
static int ticked;
static int64_t last_due;

static void on_tick(struct loop_timer *t)
{
	struct tick *k = (struct tick *)t;

	OK(t->due_us <= loop_now_us());
	OK(t->due_us >= last_due);
	last_due = t->due_us;
	k->order = ++ticked;
}

TEST(timers_come_in_order_and_never_early)
{
	int stopped = 0;

	begin();
	loop_lock(loop);
	for (int i = 0; i < TIMERS; i++)
		loop_timer_set(loop, &ticks[i].t, (int64_t)(t_random() % 50), on_tick);
	for (int i = 0; i < TIMERS; i += 3, stopped++)
		loop_timer_stop(loop, &ticks[i].t);
	while (ticked < TIMERS - stopped)
		await();
	for (int i = 0; i < TIMERS; i++)
		EQ(ticks[i].order != 0, i % 3 != 0);
	loop_unlock(loop);
	loop_close(loop);
}

TEST(an_earlier_timer_wakes_a_sleeping_loop)
{
	begin();
	loop_lock(loop);
	loop_timer_set(loop, &ticks[0].t, 3600 * 1000, on_tick);
	loop_wake(loop);
	for (int before = turns; turns == before;)
		await();
	loop_timer_set(loop, &ticks[1].t, 1, on_tick);
	while (!ticked)
		await();
	EQ(ticks[1].order, 1);
	loop_timer_stop(loop, &ticks[0].t);
	loop_unlock(loop);
	loop_close(loop);
}

static void *churn(void *arg)
{
	struct pipe_end p = { .len = 0 };

	(void)arg;
	if (pipe(p.pair) < 0)
		return "pipe";
	for (int i = 0; i < 300; i++) {
		struct loop_watch *w;

		/* on the heap, so that a late event would be seen by a sanitizer */
		struct pipe_end *q = malloc(sizeof(*q));
		*q = p;
		w = &q->w;
		loop_lock(loop);
		loop_watch(loop, w, q->pair[0], POLLER_IN, on_ready);
		loop_unlock(loop);
		if (write(p.pair[1], "x", 1) != 1)
			return "write";
		loop_lock(loop);
		loop_watch_stop(loop, w);
		loop_unlock(loop);
		free(q);
		while (t_wait_fd(p.pair[0], POLLIN, 0)) {
			char c;
			if (read(p.pair[0], &c, 1) != 1)
				return "read";
		}
	}
	close(p.pair[0]);
	close(p.pair[1]);
	return NULL;
}

TEST(other_threads_may_stop_and_free_what_the_loop_waits_for)
{
	pthread_t threads[4];
	void *failed;

	begin();
	for (int i = 0; i < 4; i++)
		EQ(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (int i = 0; i < 4; i++) {
		EQ(pthread_join(threads[i], &failed), 0);
		if (failed)
			FAIL("%s", (const char *)failed);
	}
	loop_close(loop);
}

/* A thread that waits drives the loop: it reads its own answers. */
struct talk {
	struct loop_watch w;
	int there[2], back[2];
	int answers, wanted;
	bool by_loop, given_up, waiting;
};

static void on_answer(struct loop_watch *w, uint32_t events)
{
	struct talk *t = (struct talk *)w;
	char c;

	(void)events;
	EQ(read(w->fd, &c, 1), 1);
	t->answers++;
	t->by_loop = loop_is_mine(loop);
}

static bool has_answers(void *ctx)
{
	struct talk *t = ctx;

	return t->answers >= t->wanted || t->given_up;
}

static void *echo(void *arg)
{
	struct talk *t = arg;
	char c;

	while (read(t->there[0], &c, 1) == 1 && write(t->back[1], &c, 1) == 1)
		;
	return NULL;
}

static void *talk(void *arg)
{
	struct talk t = { .answers = 0 };
	pthread_t peer;

	(void)arg;
	if (pipe(t.there) < 0 || pipe(t.back) < 0 || pthread_create(&peer, NULL, echo, &t))
		return "setup";
	loop_lock(loop);
	loop_watch(loop, &t.w, t.back[0], POLLER_IN, on_answer);
	for (t.wanted = 1; t.wanted <= 500; t.wanted++) {
		if (write(t.there[1], "x", 1) != 1 ||
		    !loop_wait(loop, has_answers, &t, loop_now_us() + 8000000))
			return "no answer";
	}
	loop_watch_stop(loop, &t.w);
	loop_unlock(loop);
	close(t.there[1]);
	pthread_join(peer, NULL);
	close(t.there[0]);
	close(t.back[0]);
	close(t.back[1]);
	return NULL;
}

static void run_threads(int count, void *(*fn)(void *arg), void *arg)
{
	pthread_t threads[8];
	void *failed;

	for (int i = 0; i < count; i++)
		EQ(pthread_create(&threads[i], NULL, fn, arg), 0);
	for (int i = 0; i < count; i++) {
		EQ(pthread_join(threads[i], &failed), 0);
		if (failed)
			FAIL("%s", (const char *)failed);
	}
}

TEST(threads_that_wait_take_turns_at_driving)
{
	begin();
	run_threads(1, talk, NULL);
	run_threads(6, talk, NULL);
	loop_close(loop);
}

TEST(after_a_wait_the_loop_drives_itself_again)
{
	struct talk t = { .wanted = 1 };

	begin();
	EQ(pipe(t.back), 0);
	loop_lock(loop);
	EQ(loop_watch(loop, &t.w, t.back[0], POLLER_IN, on_answer), 0);
	EQ(write(t.back[1], "x", 1), 1);
	OK(loop_wait(loop, has_answers, &t, loop_now_us() + 8000000));
	t.wanted = 2;
	EQ(write(t.back[1], "x", 1), 1);
	while (t.answers < 2) {
		loop_wake(loop); /* its turn tells us */
		await();
	}
	OK(t.by_loop);
	loop_watch_stop(loop, &t.w);
	loop_unlock(loop);
	loop_close(loop);
	close(t.back[0]);
	close(t.back[1]);
}

static void *give_up(void *arg)
{
	struct talk *t = arg;

	loop_lock(loop);
	t->given_up = true;
	loop_notify(loop);
	loop_unlock(loop);
	return NULL;
}

TEST(a_waiter_is_told_of_what_other_threads_do)
{
	struct talk t = { .wanted = 1 };
	pthread_t other;

	begin();
	loop_lock(loop);
	EQ(pthread_create(&other, NULL, give_up, &t), 0);
	OK(loop_wait(loop, has_answers, &t, loop_now_us() + 8000000));
	loop_unlock(loop);
	EQ(pthread_join(other, NULL), 0);
	loop_close(loop);
}

TEST(a_wait_times_out)
{
	struct talk t = { .wanted = 1 };

	begin();
	loop_lock(loop);
	OK(!loop_wait(loop, has_answers, &t, loop_now_us() + 20000));
	loop_unlock(loop);
	loop_close(loop);
}

static bool is_given_up(void *ctx)
{
	struct talk *t = ctx;

	t->waiting = true;
	return t->given_up;
}

static void *talk_to_nobody(void *arg)
{
	loop_lock(loop);
	loop_wait(loop, is_given_up, arg, INT64_MAX);
	loop_unlock(loop);
	return NULL;
}

/* With the lock, which is let go of: nothing here tells us when. */
static void await_a_moment(void)
{
	loop_unlock(loop);
	poll(NULL, 0, 5);
	loop_lock(loop);
}

/* Driving, a thread keeps no time: the loop's own does. */
TEST(timers_come_while_another_thread_drives)
{
	struct talk t = { .wanted = 1 };
	pthread_t other;

	begin();
	loop_lock(loop);
	EQ(pthread_create(&other, NULL, talk_to_nobody, &t), 0);
	while (!t.waiting)
		await_a_moment();
	loop_timer_set(loop, &ticks[0].t, 30, on_tick);
	while (!ticked)
		await_a_moment();
	t.given_up = true;
	loop_notify(loop);
	loop_unlock(loop);
	EQ(pthread_join(other, NULL), 0);
	loop_close(loop);
}

struct lent {
	bool over, left;
};

static bool is_over(void *ctx)
{
	return ((struct lent *)ctx)->over;
}

static void never_lost(void *ctx)
{
	(void)ctx;
	FAIL("nobody has closed anything");
}

static void *lend(void *arg)
{
	struct lent *lent = arg;
	const struct loop_lender lender = { is_over, never_lost, lent };

	loop_lock(loop);
	OK(loop_lend(loop, &lender));
	lent->left = true;
	loop_unlock(loop);
	return NULL;
}

/* With nothing else to do it drives, and makes room for those who wait for an answer. */
TEST(a_lent_thread_makes_room_for_threads_that_wait)
{
	struct lent lent = { .over = false };
	pthread_t lender;

	begin();
	EQ(pthread_create(&lender, NULL, lend, &lent), 0);
	run_threads(1, talk, NULL);
	run_threads(4, talk, NULL);
	loop_lock(loop);
	OK(!lent.left);
	lent.over = true;
	loop_call_back(loop);
	loop_unlock(loop);
	EQ(pthread_join(lender, NULL), 0);
	OK(lent.left);
	loop_close(loop);
}

/* --- a host's own loop --- */

static void on_host_ready(struct loop_watch *w, uint32_t events)
{
	struct pipe_end *p = (struct pipe_end *)w;
	ssize_t n = read(w->fd, p->got, sizeof(p->got));

	(void)events;
	p->len += n > 0 ? (size_t)n : 0;
	p->once = loop_is_mine(loop);
}

/* Visit once; how many bytes were read by then, and *once as it was left. */
static size_t visit(const struct pipe_end *p, bool *once)
{
	size_t len;

	loop_lock(loop);
	loop_visit(loop);
	len = p->len;
	*once = p->once;
	loop_unlock(loop);
	return len;
}

/* A loop that a host may drive, with the reading end of a pipe in it. */
static void host_begin(struct pipe_end *p, struct bell *bell)
{
	begin();
	EQ(bell_init(bell), 0);
	EQ(loop_host_fd(loop), -1);
	EQ(loop_host_open(loop, bell), 0);
	EQ(pipe(p->pair), 0);
	loop_lock(loop);
	EQ(loop_watch(loop, &p->w, p->pair[0], POLLER_IN, on_host_ready), 0);
	loop_unlock(loop);
}

static void host_end(struct pipe_end *p, struct bell *bell)
{
	loop_lock(loop);
	loop_watch_stop(loop, &p->w);
	loop_unlock(loop);
	loop_close(loop);
	bell_done(bell);
	close(p->pair[0]);
	close(p->pair[1]);
}

/* The first visit finds the loop's own thread in the seat. Soon the visits read by themselves. */
TEST(a_host_that_visits_reads_by_itself)
{
	struct pipe_end p = { .len = 0, .once = true };
	bool once = true;
	struct bell bell;

	if (!POLLER_NESTS)
		SKIP("the loop's own thread always reads here");
	host_begin(&p, &bell);
	for (double end = t_now_ms() + 8000; once && t_now_ms() < end;) {
		size_t before = visit(&p, &once);

		EQ(write(p.pair[1], "x", 1), 1);
		do
			t_wait_fd(loop_host_fd(loop), POLLIN, 1);
		while (visit(&p, &once) == before);
	}
	OK(!once);
	host_end(&p, &bell);
}

/* With the lock: another thread reads, within 8 s. */
static void await_bytes(const struct pipe_end *p, size_t len)
{
	for (double end = t_now_ms() + 8000; p->len < len && t_now_ms() < end;)
		await_a_moment();
	EQ(p->len, len);
}

TEST(a_host_that_stays_away_is_not_waited_for)
{
	struct pipe_end p = { .len = 0 };
	struct bell bell;

	host_begin(&p, &bell);
	loop_lock(loop);
	for (int i = 0; i < 20; i++) {
		loop_visit(loop);
		await_a_moment();
	}
	EQ(write(p.pair[1], "x", 1), 1);
	await_bytes(&p, 1);
	OK(p.once);
	OK(!t_wait_fd(loop_host_fd(loop), POLLIN, 0)); /* its loop is left alone */
	bell_ring(&bell);
	OK(t_wait_fd(loop_host_fd(loop), POLLIN, 0));
	loop_unlock(loop);
	host_end(&p, &bell);
}

/* --- guesses --- */

static int guesses;

static bool on_talk_guess(struct loop_watch *w)
{
	struct talk *t = (struct talk *)w;
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	guesses++;
	if (poll(&p, 1, 0) <= 0)
		return false;
	on_answer(w, POLLER_IN);
	return t->answers > 0;
}

/* An answer that is there before the wait begins is read without epoll; but epoll is asked from
 * time to time, and the other descriptor gets its turn. */
TEST(guesses_do_not_starve_other_descriptors)
{
	struct talk t = { .wanted = 0 }, other = { .wanted = 0 };

	begin();
	OK(pipe(t.back) == 0 && pipe(other.back) == 0);
	loop_lock(loop);
	EQ(loop_watch(loop, &t.w, t.back[0], POLLER_IN, on_answer), 0);
	EQ(loop_watch(loop, &other.w, other.back[0], POLLER_IN, on_answer), 0);
	t.w.on_guess = on_talk_guess;
	for (int i = 0; i < 100; i++) {
		if (i == 50)
			EQ(write(other.back[1], "x", 1), 1);
		t.wanted++;
		EQ(write(t.back[1], "x", 1), 1);
		OK(loop_wait(loop, has_answers, &t, loop_now_us() + 8000000));
	}
	EQ(t.answers, 100);
	EQ(other.answers, 1);
	/* how many depends on when the loop's own thread runs: where all is slow, it may be first
	 * each time */
	OK(guesses > 0 || T_PATIENCE > 1);
	loop_watch_stop(loop, &t.w);
	loop_watch_stop(loop, &other.w);
	loop_unlock(loop);
	loop_close(loop);
	for (int i = 0; i < 2; i++) {
		close(t.back[i]);
		close(other.back[i]);
	}
}

static int tasks_run;

static void on_task(struct loop_task *t)
{
	(void)t;
	tasks_run++;
}

TEST(tasks_of_a_batch_wait_for_its_end)
{
	struct loop_task task = { .fn = NULL };

	begin();
	loop_lock(loop);
	OK(!loop_later(loop, &task, on_task)); /* there is none: to be done at once */
	loop_batch_begin(loop);
	OK(loop_later(loop, &task, on_task));
	OK(loop_later(loop, &task, on_task));
	EQ(tasks_run, 0);
	loop_batch_end(loop);
	EQ(tasks_run, 1);
	OK(!loop_later(loop, &task, on_task));
	loop_unlock(loop);
	loop_close(loop);
}

/* One of its callbacks blocks: what the others wrote must not wait for it. */
TEST(a_batch_that_lasts_ends_by_itself)
{
	struct loop_task task = { .fn = NULL };

	begin();
	loop_lock(loop);
	loop_batch_begin(loop);
	OK(loop_later(loop, &task, on_task));
	while (!tasks_run)
		await_a_moment();
	OK(!loop_later(loop, &task, on_task));
	loop_batch_end(loop);
	EQ(tasks_run, 1);
	loop_unlock(loop);
	loop_close(loop);
}

static struct loop_task later_task;
static int later_rounds, later_guests;

static void later_on_ready(struct loop_watch *w, uint32_t events)
{
	char byte;

	(void)events;
	EQ(read(w->fd, &byte, 1), 1);
	later_guests += !loop_is_mine(loop);
	OK(loop_later(loop, &later_task, on_task));
	OK(loop_later(loop, &later_task, on_task));
	EQ(tasks_run, later_rounds); /* the task waits for the end of the turn */
	later_rounds++;
}

static bool has_rounds(void *ctx)
{
	return later_rounds == *(int *)ctx;
}

/* The thread in loop_wait runs the handlers: their tasks run at the end of its turn. */
TEST(tasks_of_handlers_run_at_the_end_of_the_turn_of_any_thread)
{
	struct loop_watch w = { .fd = -1 };
	int pair[2];

	begin();
	loop_lock(loop);
	OK(pipe(pair) == 0);
	EQ(loop_watch(loop, &w, pair[0], POLLER_IN, later_on_ready), 0);
	for (int i = 1; i <= 100; i++) {
		EQ(write(pair[1], "x", 1), 1);
		OK(loop_wait(loop, has_rounds, &i, loop_now_us() + 8000000));
		EQ(tasks_run, i);
		OK(!loop_later(loop, &later_task, on_task)); /* the turn is over */
	}
	OK(later_guests > 0 || T_PATIENCE > 1);
	loop_watch_stop(loop, &w);
	loop_unlock(loop);
	loop_close(loop);
	close(pair[0]);
	close(pair[1]);
}
