/* hold.c - see hold.h */
#include "hold.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "namespace.h"
#include "pollset.h"
#include "report.h"
#include "signals.h"
#include "step.h"

#define RETRY_MS 1000 /* how often to kill the survivors again */

enum state { RUNNING, LINGERING, EOF_WAIT, TERM_WAIT, KILLING };
enum event { EV_STDIN, EV_TERM, EV_KILL, EV_OWNER, EV_WATCH, EV_EXIT, EV_EMPTY, EV_TIMEOUT };

enum { FD_SIGNALS, FD_CTL, FD_WATCH, FD_OWNER, FD_CONTROL, FD_STDIN, FD_USERS, FD_NEWS, FD_COUNT };
_Static_assert(FD_COUNT <= POLLSET_MAX, "one pollset waits for all of them");

struct hold {
	struct keeper *k;
	enum state state;
	long long deadline_us; /* 0: none */
	bool failed;           /* the server never ran, and the watch got MSG_FAILED */
	bool owner_gone;
	int poller;
	int poller_error;  /* errno: why a descriptor cannot be waited for; 0: all can */
	int fds[FD_COUNT]; /* -1: closed, or not watched */
};

/* --- the state machine --- */

static void tell_watch(struct hold *h, enum msg_kind kind, int a, int b)
{
	struct msg m = { .kind = kind, .a = a, .b = b };

	if (h->fds[FD_CTL] >= 0)
		send(h->fds[FD_CTL], &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Tell the watch the time until killing begins. The watch kills a hold that is late, because such a
 * hold cannot run any more. */
static void answer_watch(struct hold *h)
{
	int left = clock_left_ms(h->deadline_us);

	/* without a deadline the watch would wait for ever */
	assert(h->deadline_us || h->state == RUNNING || h->state == KILLING);
	if (h->state == EOF_WAIT)
		left += (int)h->k->opt.recipe.grace_ms;
	if (h->state != RUNNING && h->state != LINGERING)
		tell_watch(h, MSG_STOPPING, h->state == KILLING ? 0 : left, 0);
}

static void go(struct hold *h, enum state state, unsigned wait_ms)
{
	static const char *const names[] = { "running", "lingering", "eof-wait", "term-wait",
					     "killing" };

	assert(state > h->state); /* the states of the end only advance */
	keeper_log(h->k, "event=state from=%s to=%s", names[h->state], names[state]);
	h->state = state;
	h->deadline_us = state == KILLING ? 0 : clock_us() + wait_ms * 1000LL;
	answer_watch(h);
}

static unsigned orphan_grace_ms(const struct hold *h)
{
	unsigned grace = h->k->opt.recipe.grace_ms;

	return grace < ORPHAN_GRACE_MS ? grace : ORPHAN_GRACE_MS;
}

/* SIGCONT follows: a stopped process keeps SIGTERM pending until it is continued. */
static void hold_terminate(struct hold *h, unsigned wait_ms)
{
	tree_signal(&h->k->tree, SIGTERM, true);
	tree_signal(&h->k->tree, SIGCONT, true);
	h->k->need = NEED_TERM;
	go(h, TERM_WAIT, wait_ms);
	STEP(HOLD_TERMED);
}

/* The main process has exited by itself: with --linger the other processes may run for a while. */
static void linger(struct hold *h)
{
	assert(h->k->tree.exited && h->k->tree.level != LEVEL_GROUP);
	control_exited(h->k->control_fd, h->k->tree.status);
	go(h, LINGERING, h->k->opt.recipe.linger_ms);
}

/* The owner or the watch is gone: the grace is short. */
static void end_lingering(struct hold *h, enum event ev)
{
	static const enum why whys[] = {
		[EV_STDIN] = WHY_STDIN,  [EV_TERM] = WHY_SIGNAL, [EV_KILL] = WHY_SIGNAL,
		[EV_OWNER] = WHY_OWNER,  [EV_WATCH] = WHY_WATCH, [EV_EXIT] = WHY_EXIT,
		[EV_TIMEOUT] = WHY_EXIT, [EV_EMPTY] = WHY_EXIT
	};

	assert((size_t)ev < sizeof(whys) / sizeof(*whys));
	keeper_stopping(h->k, whys[ev], 0);
	go(h, KILLING, 0);
}

/* A second reason to end, with a shorter grace. */
static void hasten(struct hold *h, unsigned wait_ms)
{
	long long sooner = clock_us() + wait_ms * 1000LL;

	assert(h->deadline_us); /* in every state of the end there is a deadline */
	if (h->deadline_us > sooner)
		h->deadline_us = sooner;
}

static void hold_step(struct hold *h, enum event ev)
{
	struct keeper *k = h->k;
	unsigned grace = k->opt.recipe.grace_ms, brief = orphan_grace_ms(h);

	if (h->state == KILLING)
		return;
	if (h->state == LINGERING) {
		end_lingering(h, ev);
		return;
	}
	assert(h->state == RUNNING || k->stop_us); /* the record has every start of an end */
	switch (ev) {
	case EV_STDIN:
		keeper_stopping(k, WHY_STDIN, 2 * grace);
		if (h->state == RUNNING) {
			k->need = NEED_EOF;
			go(h, EOF_WAIT, grace);
		} else {
			hasten(h, grace);
		}
		break;
	case EV_TERM:
		keeper_stopping(k, WHY_SIGNAL, grace);
		if (h->state != TERM_WAIT) {
			hold_terminate(h, grace);
		} else { /* a second request: pass it on; the budget does not grow */
			tree_signal(&k->tree, SIGTERM, true);
			hasten(h, grace);
		}
		break;
	case EV_KILL:
		keeper_stopping(k, WHY_SIGNAL, 0);
		k->need = NEED_KILL;
		go(h, KILLING, 0);
		break;
	case EV_OWNER:
	case EV_WATCH:
		keeper_stopping(k, ev == EV_OWNER ? WHY_OWNER : WHY_WATCH, brief);
		if (h->state != TERM_WAIT)
			hold_terminate(h, brief);
		else
			hasten(h, brief);
		break;
	case EV_TIMEOUT:
		if (h->state == EOF_WAIT) {
			hold_terminate(h, grace);
		} else {
			k->need = NEED_KILL;
			go(h, KILLING, 0);
		}
		break;
	case EV_EXIT:
		if (k->tree.lingers && !h->failed && h->state == RUNNING) {
			linger(h);
			break;
		}
		keeper_stopping(k, h->failed ? WHY_FAILED : WHY_EXIT, 0);
		STEP(HOLD_EXITED);
		go(h, KILLING, 0);
		break;
	case EV_EMPTY: /* its main process still runs */
		break;
	}
	STEP(HOLD_STOPPING);
}

/* --- kernel events --- */

static void hold_learn(struct hold *h, int which, int fd, uint32_t events)
{
	int r = fd < 0 ? 0 : pollset_add(h->poller, which, fd, events);

	assert(which >= 0 && which < FD_COUNT && h->fds[which] < 0);
	h->fds[which] = r == 0 ? fd : -1;
	if (r < 0)
		h->poller_error = -r;
}

static void hold_forget(struct hold *h, int which)
{
	if (h->fds[which] >= 0)
		pollset_remove(h->poller, h->fds[which]);
	h->fds[which] = -1;
}

static void hold_fail(struct hold *h, enum failure what, int error)
{
	assert(error > 0); /* the watch prints the reason of this error */
	h->failed = true;
	tell_watch(h, MSG_FAILED, what, error);
}

/* The server runs: exec succeeded. From now on only the server has stdout and stderr open: a reader
 * sees EOF when the server closes them, not when the keeper ends. */
static void started(struct hold *h)
{
	struct keeper *k = h->k;
	struct proc_stat st = { .start = 0 };

	assert(!h->failed && k->tree.main > 0);
	/* with an owner's socket stdin, too: the owner sees it closed when the server closes it */
	stdio_drop_from(k->control_fd >= 0 ? STDIN_FILENO : STDOUT_FILENO);
	tell_watch(h, MSG_STARTED, k->server, 0);
	control_started(k->control_fd, k->server, level_name(k->tree.level), k->id);
	proc_stat_get(k->server, &st);
	record_add(k->record_fd, "server", "%d %llu", k->server, st.start);
	keeper_log(k, "event=start pid=%d level=%s owner=%d", k->server, level_name(k->tree.level),
		   k->owner);
	STEP(HOLD_STARTED);
}

static void hold_on_news(struct hold *h)
{
	struct keeper *k = h->k;
	int fd = h->fds[FD_NEWS];
	struct tree_word w;
	ssize_t n;

	assert(fd >= 0);
	while ((n = read(fd, &w, sizeof(w))) == sizeof(w)) {
		switch (w.news) {
		case NEWS_PID:
			k->server = w.value;
			break;
		case NEWS_OUTSIDE:
			notes_add(&k->notes, "cgroup: cannot start the server in '%s': %s",
				  k->tree.cg.path, strerror(w.value));
			cgroup_remove(&k->tree.cg);
			if (k->tree.level == LEVEL_CGROUP)
				k->tree.level = LEVEL_KEEPER;
			record_add(k->record_fd, "level", "%s", level_name(k->tree.level));
			break;
		case NEWS_PROC:
			notes_add(&k->notes, "namespace: cannot mount its own /proc: %s",
				  strerror(w.value));
			break;
		case NEWS_FAILED_CGROUP:
			hold_fail(h, FAILURE_CGROUP, w.value);
			break;
		case NEWS_FAILED_LIMIT:
			hold_fail(h, FAILURE_LIMIT, w.value);
			break;
		case NEWS_FAILED_CWD:
			hold_fail(h, FAILURE_CWD, w.value);
			break;
		case NEWS_FAILED_EXEC:
			hold_fail(h, FAILURE_EXEC, w.value);
			break;
		}
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	hold_forget(h, FD_NEWS);
	close(fd);
	if (!h->failed)
		started(h);
}

/* Signals that the watch passed on. SIGTERM starts the end; the watch waits for an answer to it. */
static void on_handed_signals(struct hold *h, uint64_t one, uint64_t group)
{
	const uint64_t term = 1ULL << (SIGTERM - 1), cont = 1ULL << (SIGCONT - 1);

	for (int sig = 1; sig <= 64; sig++) {
		uint64_t bit = 1ULL << (sig - 1);
		/* a group without a shell above it ignores SIGTSTP; send SIGSTOP instead */
		int sent = sig == SIGTSTP ? SIGSTOP : sig;

		if (((one | group) & bit) && bit != term && bit != cont)
			tree_signal(&h->k->tree, sent, (group & bit) != 0);
	}
	if ((one | group) & cont) /* last: SIGCONT wins over a stop signal */
		tree_signal(&h->k->tree, SIGCONT, (group & cont) != 0);
	if ((one | group) & term) {
		hold_step(h, EV_TERM);
		answer_watch(h);
	}
}

static void on_owner(struct hold *h)
{
	h->owner_gone = true;
	hold_step(h, EV_OWNER);
}

static void on_silent_owner(struct hold *h)
{
	if (!h->owner_gone)
		keeper_note_silent_owner(h->k);
	hold_forget(h, FD_USERS);
	h->k->users.due_us = 0;
	on_owner(h);
}

/* A user of the owner has ended, or the owner should have noticed that by now. */
static void hold_on_users(struct hold *h)
{
	struct users *u = &h->k->users;
	enum users_state state = USERS_WAIT;

	if (!u->due_us)
		users_notice(u);
	else if (clock_left_ms(u->due_us) == 0)
		state = users_look(u, h->k->owner_fd);
	if (state == USERS_OWNER_GONE)
		on_silent_owner(h);
	else /* the epoll stays readable while the owner has not handled the end */
		pollset_change(h->poller, FD_USERS, u->fd, u->due_us ? 0 : EPOLLIN);
}

/* How long to wait for the next event; -1: without limit. */
static int hold_patience_ms(const struct hold *h)
{
	int end_ms = clock_left_ms(h->deadline_us), look_ms = clock_left_ms(h->k->users.due_us);

	if (end_ms < 0 || (look_ms >= 0 && look_ms < end_ms))
		end_ms = look_ms;
	return h->owner_gone ? end_ms : keeper_patience_ms(h->k, end_ms);
}

static void on_stdin(struct hold *h)
{
	if (h->fds[FD_STDIN] < 0)
		return; /* handled already */
	hold_forget(h, FD_STDIN);
	hold_step(h, EV_STDIN);
}

static void on_watch_gone(struct hold *h)
{
	hold_forget(h, FD_CTL);
	hold_forget(h, FD_WATCH);
	hold_step(h, EV_WATCH);
}

static void hold_on_ctl(struct hold *h)
{
	struct msg m;
	ssize_t n = sizeof(m);

	for (int i = 0; i < SIGNALS_BATCH && n == sizeof(m); i++) {
		n = recv(h->fds[FD_CTL], &m, sizeof(m), MSG_DONTWAIT);
		if (n != sizeof(m))
			break;
		if (m.kind == MSG_SIGNALS)
			on_handed_signals(h, m.one, m.group);
		else if (m.kind == MSG_STDIN)
			on_stdin(h);
		else if (m.kind == MSG_OWNER && m.a)
			on_silent_owner(h);
		else if (m.kind == MSG_OWNER)
			on_owner(h);
		if (m.kind != MSG_SIGNALS)
			answer_watch(h);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		on_watch_gone(h);
}

static void hold_on_control(struct hold *h)
{
	unsigned grace_ms = h->k->opt.recipe.grace_ms;
	enum control_word word = control_read(h->k->control_fd, &grace_ms, &h->k->tree.mark.asks);

	/* after the end has begun the deadline only gets shorter: the record has the deadline */
	if (h->state == RUNNING || h->state == LINGERING || grace_ms < h->k->opt.recipe.grace_ms)
		h->k->opt.recipe.grace_ms = grace_ms;
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
		tree_signal(&h->k->tree, SIGINT, true);
		break;
	case CONTROL_GONE:
		hold_forget(h, FD_CONTROL);
		on_owner(h);
		break;
	}
}

/* Signals to the hold's own pid: SIGTERM means the same as to the watch, all others are ignored. */
static void on_signals(struct hold *h)
{
	struct signalfd_siginfo si[SIGNALS_BATCH];
	bool was_alive = !h->k->tree.exited, none;
	int n = signals_read(h->fds[FD_SIGNALS], si, SIGNALS_BATCH);

	for (int i = 0; i < n; i++) {
		if (si[i].ssi_signo == SIGTERM)
			hold_step(h, EV_TERM);
	}
	none = tree_reap(&h->k->tree);
	if (was_alive && h->k->tree.exited) {
		if (h->fds[FD_NEWS] >= 0)
			hold_on_news(h); /* read its last messages before its death is handled */
		hold_step(h, EV_EXIT);
	}
	if (none && h->state == LINGERING && cgroup_look(&h->k->tree.cg) != CGROUP_POPULATED)
		hold_step(h, EV_EMPTY);
}

static void hold_loop(struct hold *h)
{
	uint32_t got[POLLSET_MAX];

	while (h->state != KILLING) {
		pollset_wait(h->poller, hold_patience_ms(h), got);
		if (!h->owner_gone && keeper_owner_has_ended(h->k))
			on_owner(h);
		if (clock_left_ms(h->deadline_us) == 0) /* also when other events never stop */
			hold_step(h, EV_TIMEOUT);
		/* events that may have made the server exit are handled before its exit: the first
		 * reason is kept */
		if (got[FD_NEWS])
			hold_on_news(h);
		if (got[FD_CTL] && h->fds[FD_CTL] >= 0)
			hold_on_ctl(h);
		if (got[FD_WATCH] && h->fds[FD_WATCH] >= 0)
			on_watch_gone(h);
		if (got[FD_CONTROL])
			hold_on_control(h);
		if (got[FD_OWNER]) {
			hold_forget(h, FD_OWNER);
			on_owner(h);
		}
		if (got[FD_STDIN])
			on_stdin(h);
		if (got[FD_USERS] || clock_left_ms(h->k->users.due_us) == 0)
			hold_on_users(h);
		if (got[FD_SIGNALS])
			on_signals(h);
	}
}

/* --- a life --- */

/* At level group the watch is no subreaper and knows only the server's group. The server's own
 * process sends the group, because the hold may be killed before it can: a server after exec may
 * already have children. */
static void hold_announce(void *ctx)
{
	tell_watch(ctx, MSG_FORKED, getpid(), 0);
}

static void spawn(struct hold *h)
{
	struct keeper *k = h->k;
	struct tree_spec spec = {
		.recipe = &k->opt.recipe,
		.file = k->opt.recipe.argv[0],
		.envp = k->envp,
		.sh_argv = k->sh_argv,
		.nproc = k->nproc,
		.own_proc = k->tree.pidns,
		.need_cgroup =
			k->opt.recipe.contain == LEVEL_CGROUP || recipe_is_limited(&k->opt.recipe),
		.announce = k->tree.level == LEVEL_GROUP ? hold_announce : NULL,
		.ctx = h,
	};
	int fd, clone_errno, r;

	if (k->opt.recipe.arg0)
		k->opt.recipe.argv[0] = (char *)k->opt.recipe.arg0;
	k->tree.lingers = k->opt.recipe.linger_ms && k->tree.level != LEVEL_GROUP;
	r = tree_spawn(&k->tree, &spec, &fd, &clone_errno);
	if (r < 0) {
		hold_fail(h, FAILURE_FORK, -r);
		keeper_stopping(k, WHY_FAILED, 0);
		return;
	}
	STEP(HOLD_CLONED);
	k->server = k->tree.main;
	if (clone_errno)
		notes_add(&k->notes, "clone3: %s; the server was forked and moved into the cgroup",
			  strerror(clone_errno));
	hold_learn(h, FD_NEWS, fd, EPOLLIN);
	if (h->fds[FD_NEWS] < 0) { /* the start of the server would not be seen: end it */
		close(fd);
		hold_fail(h, FAILURE_KERNEL, h->poller_error);
		keeper_stopping(k, WHY_FAILED, 0);
		go(h, KILLING, 0);
	}
}

/* Only processes that cannot be killed are left (in a disk wait, or setuid without a cgroup). They
 * have been named. The hold stays until they are gone, because no other process would kill them. */
static void outlast_survivors(struct hold *h)
{
	assert(h->k->stop_us);
	record_add(h->k->record_fd, "survivors", "%d", 1);
	hold_forget(h, FD_CTL);
	control_close(h->k->control_fd);
	if (h->k->report_fd >= 0)
		close(h->k->report_fd); /* the reader of the report waits for end of file */
	h->k->report_fd = h->k->control_fd = -1;
	h->k->tree.mark.asks = false;
	stdio_drop(STDIN_FILENO);
	while (tree_kill(&h->k->tree, RETRY_MS) > 0)
		;
	keeper_log(h->k, "event=empty-at-last");
}

/* A kill of the client's group must not reach the hold. A new session is made only when there is a
 * terminal to leave: for the scheduler a session is an autogroup, and a switch between two of them
 * cost the server a tenth of its round trip. */
static void leave_clients_group(const struct keeper *k)
{
	bool near_terminal = isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);

	if (near_terminal && !k->tree.shares_group)
		setsid();
	else
		setpgid(0, 0);
}

static void learn_all(struct hold *h, int ctl)
{
	struct keeper *k = h->k;

	for (int i = 0; i < FD_COUNT; i++)
		h->fds[i] = -1;
	hold_learn(h, FD_SIGNALS, signals_fd(), EPOLLIN);
	hold_learn(h, FD_CTL, ctl, EPOLLIN);
	hold_learn(h, FD_WATCH, k->watch_fd, EPOLLIN);
	hold_learn(h, FD_OWNER, k->owner_fd, EPOLLIN);
	hold_learn(h, FD_CONTROL, k->control_fd, EPOLLIN);
	hold_learn(h, FD_STDIN, k->stdin_fd, EPOLLIN);
	hold_learn(h, FD_USERS, k->users.fd, EPOLLIN);
}

static void wake_watch(const struct keeper *k)
{
	if (k->watch_fd >= 0)
		syscall(SYS_pidfd_send_signal, k->watch_fd, SIGCONT, NULL, 0);
	else
		kill(getppid(), SIGCONT);
}

/* Has the watch answered MSG_DONE with MSG_SEEN, or is the watch dead? */
static bool watch_has_heard(struct hold *h)
{
	struct msg m;
	ssize_t n;

	while ((n = recv(h->fds[FD_CTL], &m, sizeof(m), MSG_DONTWAIT)) == sizeof(m)) {
		if (m.kind == MSG_SEEN)
			return true;
	}
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* The tree is gone, but the server may have frozen the watch before. A living client can kill the
 * watch itself. So wait until the watch answers; once the owner is gone, wait WATCH_ANSWER_MS and
 * then kill the watch. From a pid namespace the hold cannot signal the watch, but then the server
 * could not signal the watch either. */
static void part_from_watch(struct hold *h)
{
	uint32_t got[POLLSET_MAX];
	unsigned grace_ms;
	bool asks = false;

	assert(h->fds[FD_CTL] >= 0 && !h->k->tree.pidns);
	hold_forget(h, FD_SIGNALS);
	hold_forget(h, FD_STDIN);
	hold_forget(h, FD_NEWS);
	hold_forget(h, FD_USERS);
	h->deadline_us = h->owner_gone ? clock_us() + WATCH_ANSWER_MS * 1000LL : 0;
	while (!watch_has_heard(h)) {
		if (clock_left_ms(h->deadline_us) == 0) {
			if (h->k->watch_fd >= 0)
				syscall(SYS_pidfd_send_signal, h->k->watch_fd, SIGKILL, NULL, 0);
			return;
		}
		pollset_wait(h->poller, keeper_patience_ms(h->k, clock_left_ms(h->deadline_us)),
			     got);
		if (got[FD_WATCH])
			return;
		if (!h->owner_gone && keeper_owner_has_ended(h->k)) {
			h->owner_gone = true;
			h->deadline_us = clock_us() + WATCH_ANSWER_MS * 1000LL;
		}
		if (got[FD_OWNER] || (got[FD_CONTROL] && control_read(h->k->control_fd, &grace_ms,
								      &asks) == CONTROL_GONE)) {
			hold_forget(h, FD_OWNER);
			hold_forget(h, FD_CONTROL);
			h->deadline_us = clock_us() + WATCH_ANSWER_MS * 1000LL;
		}
	}
}

static void hold_report(struct hold *h, int survivors)
{
	struct msg m = { .kind = MSG_REPORTING, .size = report_size(h->k) };

	if (h->fds[FD_CTL] >= 0)
		send(h->fds[FD_CTL], &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
	STEP(HOLD_REPORTING);
	m.a = -report_end(h->k, survivors);
	STEP(HOLD_REPORTED);
	tell_watch(h, MSG_REPORTED, m.a, 0);
}

/* Set up hold_run before there is a server. False: the watch got the reason. */
static bool get_ready(struct hold *h, int ctl)
{
	struct keeper *k = h->k;
	int r = pollset_open();

	h->fds[FD_CTL] = ctl;
	if (r < 0) {
		hold_fail(h, FAILURE_KERNEL, -r);
		return false;
	}
	h->poller = r;
	if (!k->tree.shares_group)
		leave_clients_group(k);
	/* SIGCONT when the watch dies, in case the hold is stopped */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	learn_all(h, ctl);
	if (h->poller_error) {
		h->fds[FD_CTL] = ctl; /* sending needs no poller */
		hold_fail(h, FAILURE_KERNEL, h->poller_error);
		return false;
	}
	if (h->fds[FD_SIGNALS] < 0 ||
	    (k->tree.level != LEVEL_GROUP && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)) {
		hold_fail(h, FAILURE_KERNEL, errno);
		return false;
	}
	STEP(HOLD_READY);
	keeper_describe_hold(k); /* while /proc is that of the watch's pid namespace */
	if (k->tree.pidns && (r = namespace_settle(&k->ns)) < 0) {
		hold_fail(h, FAILURE_NAMESPACE, -r);
		return false;
	}
	keeper_seal();
	tree_ready(&k->tree);
	return true;
}

_Noreturn void hold_run(struct keeper *k, int ctl)
{
	struct hold h = { .k = k, .state = RUNNING };
	struct pollfd owner = { .fd = k->owner_fd, .events = POLLIN };
	long long began_us;
	int survivors;

	STEP(HOLD_BEGIN);
	if (!get_ready(&h, ctl)) {
		keeper_clean(k);
		_exit(0);
	}
	if (poll(&owner, 1, 0) > 0) /* the watch is gone already: start nothing */
		keeper_stopping(k, WHY_OWNER, 0);
	else
		spawn(&h);
	if (k->tree.shares_group)
		leave_clients_group(k); /* after the server has started in that group */
	if (k->tree.main)
		hold_loop(&h);
	assert(k->stop_us); /* nothing is killed that nobody wanted to end */
	began_us = clock_us();
	survivors = keeper_kill(k);
	STEP(HOLD_PROVED);
	if (k->container.spec) {
		tell_watch(&h, MSG_STOPPING, 0,
			   (int)container_budget_ms(&k->container, k->opt.recipe.grace_ms));
		survivors = keeper_end_container(k, survivors);
	}
	if (clock_us() > began_us + HOLD_LATE_MS * 1000LL) /* the report needs time as well */
		answer_watch(&h);
	hold_report(&h, survivors);
	if (survivors) {
		tell_watch(&h, MSG_DONE, k->tree.exited ? k->tree.status : -1, survivors);
		outlast_survivors(&h);
	}
	keeper_clean(k);
	STEP(HOLD_CLEAN);
	tell_watch(&h, MSG_DONE, k->tree.exited ? k->tree.status : -1, 0);
	STEP(HOLD_DONE);
	if (h.fds[FD_CTL] >= 0 && !k->tree.pidns) {
		wake_watch(k); /* a stopped watch must see the end as well */
		part_from_watch(&h);
	}
	_exit(0);
}
