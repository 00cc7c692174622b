/* hold.c - see hold.h */
#include "hold.h"

#include <assert.h>

#include "clock.h"
#include "control.h"

#define EMPTY_LOOK_MS 50 /* how often a lingering job is asked for its processes */

enum state { RUNNING, LINGERING, EOF_WAIT, TERM_WAIT, KILLING };
enum event { EV_STDIN, EV_TERM, EV_KILL, EV_CLOSE, EV_OWNER, EV_EXIT, EV_EMPTY, EV_TIMEOUT };

/* In the order in which they are handled: events that may have made the server exit come before
 * its exit, because the first reason is kept. */
enum { ON_OWNER, ON_CONSOLE, ON_CONTROL, ON_EAR, ON_SERVER, ON_COUNT };

struct hold {
	struct keeper *k;
	enum state state;
	long long deadline_us; /* 0: none */
	HANDLE on[ON_COUNT];   /* NULL: not waited for */
};

/* --- console events --- */

static HANDLE hold_asked;             /* auto-reset event: the console asks killick to end */
static HANDLE hold_over;              /* the tree has been ended */
static volatile LONG hold_is_closing; /* Windows will end killick soon */

/* In a thread that Windows makes. Windows ends killick when this function returns for one of the
 * last three events, or 5 s after the call. */
static BOOL WINAPI hold_on_console(DWORD event)
{
	bool closing = event == CTRL_CLOSE_EVENT || event == CTRL_LOGOFF_EVENT ||
		       event == CTRL_SHUTDOWN_EVENT;

	if (closing)
		InterlockedExchange(&hold_is_closing, 1);
	SetEvent(hold_asked);
	if (closing)
		WaitForSingleObject(hold_over, KILL_BUDGET_MS);
	return TRUE;
}

DWORD hold_ready(void)
{
	hold_asked = CreateEventW(NULL, FALSE, FALSE, NULL);
	hold_over = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!hold_asked || !hold_over || !SetConsoleCtrlHandler(hold_on_console, TRUE))
		return GetLastError();
	return 0;
}

void hold_done(void)
{
	SetEvent(hold_over);
}

/* --- the state machine --- */

static void hold_go(struct hold *h, enum state state, unsigned wait_ms)
{
	static const char *const names[] = { "running", "lingering", "eof-wait", "term-wait",
					     "killing" };

	assert(state > h->state); /* the states of the end only advance */
	keeper_log(h->k, "event=state from=%s to=%s", names[h->state], names[state]);
	h->state = state;
	h->deadline_us = state == KILLING ? 0 : clock_us() + wait_ms * 1000LL;
}

static void hold_terminate(struct hold *h, unsigned wait_ms)
{
	keeper_ask_to_end(h->k);
	h->k->need = NEED_TERM;
	hold_go(h, TERM_WAIT, wait_ms);
}

/* A second reason to end, with a shorter grace. */
static void hold_hasten(struct hold *h, unsigned wait_ms)
{
	long long sooner = clock_us() + wait_ms * 1000LL;

	assert(h->deadline_us); /* in every state of the end there is a deadline */
	if (h->deadline_us > sooner)
		h->deadline_us = sooner;
}

static void hold_end_lingering(struct hold *h, enum event ev)
{
	static const enum why whys[] = {
		[EV_STDIN] = WHY_STDIN,  [EV_TERM] = WHY_SIGNAL, [EV_KILL] = WHY_SIGNAL,
		[EV_CLOSE] = WHY_SIGNAL, [EV_OWNER] = WHY_OWNER, [EV_EXIT] = WHY_EXIT,
		[EV_EMPTY] = WHY_EXIT,   [EV_TIMEOUT] = WHY_EXIT
	};

	assert((size_t)ev < sizeof(whys) / sizeof(*whys));
	keeper_stopping(h->k, whys[ev], 0);
	hold_go(h, KILLING, 0);
}

static void hold_step(struct hold *h, enum event ev)
{
	struct keeper *k = h->k;
	unsigned grace = k->opt.recipe.grace_ms;
	unsigned brief = grace < ORPHAN_GRACE_MS ? grace : ORPHAN_GRACE_MS;

	if (h->state == KILLING)
		return;
	if (h->state == LINGERING) {
		hold_end_lingering(h, ev);
		return;
	}
	assert(h->state == RUNNING || k->stop_us);
	switch (ev) {
	case EV_STDIN:
		keeper_stopping(k, WHY_STDIN, 2 * grace);
		if (h->state == RUNNING) {
			k->need = NEED_EOF;
			hold_go(h, EOF_WAIT, grace);
		} else {
			hold_hasten(h, grace);
		}
		break;
	case EV_TERM:
		keeper_stopping(k, WHY_SIGNAL, grace);
		if (h->state != TERM_WAIT)
			hold_terminate(h, grace);
		else /* asked again: the budget does not grow */
			hold_hasten(h, grace);
		break;
	case EV_KILL:
		keeper_stopping(k, WHY_SIGNAL, 0);
		k->need = NEED_KILL;
		hold_go(h, KILLING, 0);
		break;
	case EV_CLOSE:
	case EV_OWNER:
		keeper_stopping(k, ev == EV_OWNER ? WHY_OWNER : WHY_SIGNAL, brief);
		if (h->state != TERM_WAIT)
			hold_terminate(h, brief);
		else
			hold_hasten(h, brief);
		break;
	case EV_TIMEOUT:
		if (h->state == EOF_WAIT) {
			hold_terminate(h, grace);
		} else {
			k->need = NEED_KILL;
			hold_go(h, KILLING, 0);
		}
		break;
	case EV_EXIT:
		if (k->opt.recipe.linger_ms && h->state == RUNNING) {
			control_exited(k->exit_code);
			hold_go(h, LINGERING, k->opt.recipe.linger_ms);
			break;
		}
		keeper_stopping(k, WHY_EXIT, 0);
		hold_go(h, KILLING, 0);
		break;
	case EV_EMPTY: /* the server still runs */
		break;
	}
}

/* --- what the kernel tells --- */

/* The ear answers once, by its end. An ear that ended in another way cannot tell of the client any
 * more: the tree is ended, as it is when a keeper on Linux is killed. */
static void hold_on_ear(struct hold *h)
{
	h->on[ON_EAR] = NULL;
	if (ear_news(&h->k->ear) == EAR_LOST)
		notes_add(&h->k->notes,
			  "ear: the process that watches stdin was ended by another one");
	hold_step(h, EV_STDIN);
}

/* The server may have exited because of a hang-up that the ear has not seen yet. With --linger the
 * ear is still needed, and will see it. */
static void hold_on_server(struct hold *h)
{
	struct keeper *k = h->k;

	h->on[ON_SERVER] = NULL;
	k->exited = GetExitCodeProcess(k->server, &k->exit_code);
	if (h->state == RUNNING && h->on[ON_EAR] && !k->opt.recipe.linger_ms) {
		enum ear_news news = ear_ask(&k->ear);

		h->on[ON_EAR] = NULL; /* it has ended, or will soon */
		if (news == EAR_CLOSED)
			hold_step(h, EV_STDIN);
	}
	hold_step(h, EV_EXIT);
}

/* The owner has sent a word. A new grace after the end has begun counts only if it is shorter. */
static void hold_on_control(struct hold *h)
{
	unsigned *grace_ms = &h->k->opt.recipe.grace_ms, given_ms = *grace_ms;
	enum control_word word = control_read(&given_ms);

	if (h->state == RUNNING || h->state == LINGERING || given_ms < *grace_ms)
		*grace_ms = given_ms;
	switch (word) {
	case CONTROL_NOTHING:
		break;
	case CONTROL_EOF:
		hold_step(h, EV_STDIN);
		break;
	case CONTROL_STOP:
		hold_step(h, EV_TERM);
		break;
	case CONTROL_KILL:
		hold_step(h, EV_KILL);
		break;
	case CONTROL_INT:
		keeper_interrupt(h->k);
		break;
	case CONTROL_GONE:
		h->on[ON_CONTROL] = NULL;
		hold_step(h, EV_OWNER);
		break;
	}
}

static void hold_on(struct hold *h, int which)
{
	switch (which) {
	case ON_OWNER:
		h->on[ON_OWNER] = NULL;
		hold_step(h, EV_OWNER);
		break;
	case ON_CONSOLE:
		hold_step(h, hold_is_closing ? EV_CLOSE : EV_TERM);
		break;
	case ON_CONTROL:
		hold_on_control(h);
		break;
	case ON_EAR:
		hold_on_ear(h);
		break;
	default:
		hold_on_server(h);
		break;
	}
}

/* Wait for one event. -1: the time is over. */
static int hold_wait(struct hold *h, DWORD timeout_ms)
{
	HANDLE handles[ON_COUNT];
	int which[ON_COUNT] = { 0 };
	DWORD n = 0, r;

	for (int i = 0; i < ON_COUNT; i++) {
		if (h->on[i]) {
			which[n] = i;
			handles[n++] = h->on[i];
		}
	}
	assert(n > 0); /* the console at least */
	r = WaitForMultipleObjects(n, handles, FALSE, timeout_ms);
	assert(r != WAIT_FAILED); /* then killick ends, and the kernel ends the tree */
	return r < WAIT_OBJECT_0 + n ? which[r - WAIT_OBJECT_0] : -1;
}

static void hold_look_if_empty(struct hold *h)
{
	unsigned ear = WaitForSingleObject(h->k->ear.process, 0) == WAIT_TIMEOUT;

	if (h->state == LINGERING && job_count(&h->k->job) <= ear)
		hold_step(h, EV_EMPTY);
}

void hold_run(struct keeper *k)
{
	struct hold h = { .k = k, .state = RUNNING };

	h.on[ON_OWNER] = k->owner;
	h.on[ON_CONSOLE] = hold_asked;
	h.on[ON_CONTROL] = control_news();
	h.on[ON_EAR] = k->ear.process;
	h.on[ON_SERVER] = k->server;
	control_listen();
	while (h.state != KILLING) {
		DWORD left = clock_left_ms(h.deadline_us);
		int which;

		if (h.state == LINGERING && left > EMPTY_LOOK_MS)
			left = EMPTY_LOOK_MS;
		which = hold_wait(&h, left);
		if (clock_left_ms(h.deadline_us) == 0) /* also when other events never stop */
			hold_step(&h, EV_TIMEOUT);
		if (which >= 0)
			hold_on(&h, which);
		else
			hold_look_if_empty(&h);
	}
	assert(k->stop_us);
}
