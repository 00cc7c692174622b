/* threads.c - many threads at once, on everything. Also the program for ThreadSanitizer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

enum { THREADS = 8, SLOTS = 3 };

/* A session that any thread may use (shared) or replace (alone). */
struct slot {
	pthread_rwlock_t lock;
	struct killick_session *s;
};

struct crowd {
	struct killick *k;
	struct slot slots[SLOTS];
	int rounds;
	uint64_t seed;
	int version;
};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static struct killick_session *open_slot(struct crowd *c, int version)
{
	char more[64];

	snprintf(more, sizeof(more), "\"env\":{\"N\":\"%d\"}", version % 4);
	return lab_session(c->k, SERVERS({ "zoo", .more = more },
					 { "shared", .more = "\"share\":\"identical\"" }));
}

/* After a close by another thread everything says so; nothing else may go wrong. */
static void expect_fine(struct killick_result *r)
{
	int code = killick_result_code(r);

	if (code && code != KILLICK_ERR_CLOSED && code != KILLICK_ERR_CANCELLED)
		FAIL("%s: %s", killick_code_name(code), killick_result_error(r));
	killick_result_free(r);
}

static void use(struct crowd *c, struct killick_session *s, uint64_t pick)
{
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = pick & 1 ? "zoo" : "shared",
				.name = pick & 2 ? "block" : "echo", .args = "{\"text\":\"t\"}");
	struct killick_status *st = NULL;
	struct killick_call *call = NULL;
	struct killick_result *r = NULL;
	struct killick_error e;
	char more[64], *config;

	switch (pick >> 2 & 7) {
	case 0:
		killick_session_close(s, NULL, NULL);
		break;
	case 1:
		snprintf(more, sizeof(more), "\"env\":{\"N\":\"%d\"}",
			 __atomic_fetch_add(&c->version, 1, __ATOMIC_RELAXED) % 4);
		config = lab_config(SERVERS({ "zoo", .more = more },
					    { "shared", .more = "\"share\":\"identical\"" }));
		killick_session_refresh(s, config, NULL, NULL, &e);
		free(config);
		break;
	case 2:
		OK(killick_session_status(s, &st, NULL) == 0);
		killick_status_free(st);
		break;
	default:
		OK(killick_start(s, &rq, &call, NULL) == 0);
		if (pick & 2 || pick & 64)
			killick_cancel(call);
		killick_wait(call, &r);
		expect_fine(r);
		killick_call_free(call);
	}
}

static void *work(void *arg)
{
	struct crowd *c = arg;
	uint64_t seed = __atomic_add_fetch(&c->seed, 77, __ATOMIC_RELAXED);

	for (int i = 0; i < c->rounds; i++) {
		struct slot *slot = &c->slots[next(&seed) % SLOTS];
		uint64_t pick = next(&seed);

		if (pick % 40 == 0) {
			pthread_rwlock_wrlock(&slot->lock);
			killick_session_free(slot->s); /* open or not: it is let go */
			slot->s = open_slot(c, (int)(pick >> 8 & 3));
			pthread_rwlock_unlock(&slot->lock);
		} else {
			pthread_rwlock_rdlock(&slot->lock);
			use(c, slot->s, pick);
			pthread_rwlock_unlock(&slot->lock);
		}
	}
	return NULL;
}

TEST(everything_at_once, .timeout_ms = 240000)
{
	struct crowd c = { .k = LAB(), .rounds = 60, .seed = t_seed };
	pthread_t threads[THREADS];

	for (int i = 0; i < SLOTS; i++) {
		pthread_rwlock_init(&c.slots[i].lock, NULL);
		c.slots[i].s = open_slot(&c, i);
	}
	for (int i = 0; i < THREADS; i++)
		threads[i] = lab_thread(work, &c);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SLOTS; i++)
		killick_session_free(c.slots[i].s);
	lab_close(c.k);
	EQ(audit_count(&t_audit), 0);
}

static void *close_it(void *arg)
{
	struct killick_report *r = NULL;
	intptr_t count;

	EQ(killick_session_close(arg, &r, NULL), 0);
	OK(r->proved || r->count == 0);
	count = (intptr_t)r->count;
	EQ(lab_living(), 0); /* whoever returns first, it is over */
	killick_report_free(r);
	return (void *)count;
}

/* In every state: one of the closers has the report, all of them return when it is over. */
static void close_from_all(const struct lab_server *list, enum killick_wait_for wait)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session_with(k, list, &KILLICK_SESSION_OPTIONS(.wait = wait, .grace_ms = 200));
	pthread_t threads[THREADS];
	intptr_t count = 0;

	for (int i = 0; i < THREADS; i++)
		threads[i] = lab_thread(close_it, s);
	for (int i = 0; i < THREADS; i++) {
		void *n = NULL;

		pthread_join(threads[i], &n);
		OK(count == 0 || n == NULL);
		count += (intptr_t)n;
	}
	EQ(count, 2);
	killick_session_free(s);
	lab_close(k);
}

TEST(close_from_all_sides_when_ready)
{
	close_from_all(SERVERS({ "zoo" }, { "stays", "stays" }), KILLICK_WAIT_SETTLED);
}

TEST(close_from_all_sides_in_the_handshake)
{
	close_from_all(SERVERS({ "zoo", "mute" }, { "two", "mute" }), KILLICK_WAIT_REQUIRED);
}

struct waiter {
	struct killick *k;
	struct killick_session *s;
	int kind;
	struct lab_count *begun;
};

/* Everything that blocks, each in a thread: when the runtime is closed all of them return. */
static void *block_somehow(void *arg)
{
	struct waiter *w = arg;
	char *mute = lab_config(SERVERS({ "zoo", "mute" }));
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.config = mute);
	struct killick_session *s = NULL;
	struct killick_result *r = NULL;
	struct killick_error e = { 0 };

	lab_add(w->begun);
	switch (w->kind % 3) {
	case 0:
		r = lab_try(w->s, "zoo", "block", NULL, 0);
		EQ(killick_result_code(r), KILLICK_ERR_CLOSED);
		killick_result_free(r);
		break;
	case 1:
		EQ(killick_session_open(w->k, &options, &s, &e), KILLICK_ERR_CLOSED);
		break;
	default:
		EQ(killick_session_refresh(w->s, mute, NULL, NULL, &e), KILLICK_ERR_CLOSED);
	}
	free(mute);
	return NULL;
}

TEST(the_runtime_is_closed_while_threads_wait)
{
	struct lab_count begun = LAB_COUNT_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct waiter w[6];
	pthread_t threads[6];
	struct killick_report *report = NULL;

	for (int i = 0; i < 6; i++) {
		w[i] = (struct waiter){ .k = k, .s = s, .kind = i, .begun = &begun };
		threads[i] = lab_thread(block_somehow, &w[i]);
	}
	lab_await(&begun, 6);
	lab_await_pids(4); /* ours, two that are opened, one of the refresh */
	EQ(killick_close(k, &report, NULL), 0);
	OK(report->proved);
	killick_report_free(report);
	EQ(lab_living(), 0);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	killick_session_free(s);
	killick_free(k);
}

/* An answer and a cancellation meet: exactly one of them is the result. */
TEST(cancelled_while_it_is_answered)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	int ok = 0, cancelled = 0;

	for (int i = 0; i < 1000; i++) {
		struct killick_request rq =
			KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "echo");
		struct killick_call *c = NULL;
		struct killick_result *r = NULL;
		int code;

		EQ(killick_start(s, &rq, &c, NULL), 0);
		for (volatile int spin = 0; spin < i * 40 % 20000; spin++)
			;
		killick_cancel(c);
		code = killick_wait(c, &r);
		EQ(killick_result_code(r), code);
		ok += code == KILLICK_OK;
		cancelled += code == KILLICK_ERR_CANCELLED;
		killick_result_free(r);
		killick_call_free(c);
	}
	EQ(ok + cancelled, 1000);
	t_note("%d answered, %d cancelled", ok, cancelled);
	lab_end(s);
	lab_close(k);
}

static void *call_many(void *arg)
{
	for (int i = 0; i < 300; i++)
		lab_call(arg, "zoo", "echo", "{\"text\":\"x\"}", 0, NULL, 0);
	return NULL;
}

TEST(one_server_and_many_callers, .timeout_ms = 60000)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		threads[i] = lab_thread(call_many, s);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	lab_end(s);
	lab_close(k);
}

static void *own_runtime(void *arg)
{
	struct killick *k = arg ? arg : LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));

	lab_pid(s, "zoo");
	lab_end(s);
	lab_close(k);
	return NULL;
}

TEST(runtimes_of_their_own)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) /* opened here: the environment is set */
		threads[i] = lab_thread(own_runtime, LAB());
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
