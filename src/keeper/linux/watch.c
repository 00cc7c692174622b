/* watch.c - see watch.h */
#include "watch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "exits_as.h"
#include "hold.h"
#include "janitor.h"
#include "keeper.h"
#include "keeper/exits.h"
#include "line_fd.h"
#include "pollset.h"
#include "proc.h"
#include "relay.h"
#include "report.h"
#include "signals.h"
#include "step.h"

#define HOLD_EXTENSIONS 4 /* of HOLD_ANSWER_MS, for a runnable hold that gets no CPU */

#define SWEEP_MS       250   /* time limit of the janitor */
#define CONTAINERS_MS  60000 /* for the containers of lost trees, while the server runs */
#define GIVE_UP_MS     100   /* for the janitor to give up the removal of a container */
#define STDERR_MS      1000  /* for the client to read stderr, when the report failed */
#define SWEEP_DELAY_MS 100   /* delay after the start: servers that start together need one sweep */

enum { FD_SIGNALS, FD_CTL, FD_OWNER, FD_CONTROL, FD_STDIN, FD_USERS, FD_COUNT };
_Static_assert(FD_COUNT <= POLLSET_MAX, "one pollset waits for all of them");

struct watch {
	struct keeper *k;
	pid_t hold, janitor; /* 0: none */
	int ctl, signals, poller;
	int ctl_of_hold; /* the hold's end of ctl; closed once the hold is forked */
	bool relayed;    /* the parent is a relay */
	bool started, done, failed;
	int survivors;        /* with done */
	bool reporting;       /* the hold was about to write the report */
	bool reported;        /* the report is written, or could not be */
	long long size;       /* of its file, with reporting */
	int report_error;     /* errno; with reported */
	int stderr_fd;        /* for report_error; -1: none */
	enum failure failure; /* with failed */
	int error;
	struct msg out;     /* signals to pass on */
	bool out_stdin;     /* MSG_STDIN is to be sent */
	bool out_owner;     /* MSG_OWNER is to be sent */
	bool out_seen;      /* MSG_SEEN is to be sent */
	bool out_waits;     /* the socket had no room for a message */
	bool owner_seen;    /* its end */
	bool owner_silent;  /* it lives, but counts as gone (users.h) */
	bool killing;       /* the hold is killing already: a further request changes nothing */
	long long asked_us; /* when the hold was first asked to end the tree; 0: never */
	enum why asked_why;
	bool gave_up;          /* the hold was killed because it did not answer */
	int extended;          /* how often it got more time because it had no CPU */
	long long deadline_us; /* by which the hold must send a message; 0: none */
	long long sweep_us;    /* when to look for lost trees; 0: never, or done */
	long long janitor_us;  /* deadline of the janitor */
};

/* --- messages to the hold --- */

static bool watch_send(struct watch *w, const struct msg *m)
{
	assert(m->kind == MSG_SIGNALS || m->kind == MSG_STDIN || m->kind == MSG_OWNER ||
	       m->kind == MSG_SEEN);
	if (send(w->ctl, m, sizeof(*m), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*m))
		return true;
	w->out_waits = w->out_waits || errno == EAGAIN;
	return false;
}

/* Send the queued messages. Messages for which the socket has no room stay queued: none is lost. */
static void watch_flush(struct watch *w)
{
	bool waited = w->out_waits;

	w->out_waits = false;
	if ((w->out.one | w->out.group) && watch_send(w, &w->out))
		w->out.one = w->out.group = 0;
	if (w->out_stdin && watch_send(w, &(struct msg){ .kind = MSG_STDIN }))
		w->out_stdin = false;
	if (w->out_owner && watch_send(w, &(struct msg){ .kind = MSG_OWNER, .a = w->owner_silent }))
		w->out_owner = false;
	if (w->out_seen && watch_send(w, &(struct msg){ .kind = MSG_SEEN }))
		w->out_seen = false;
	if (w->out_waits != waited)
		pollset_change(w->poller, FD_CTL, w->ctl,
			       w->out_waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* The hold was asked to end the tree. A hold that does not answer in time is killed from now on. */
static void watch_ask(struct watch *w, enum why why)
{
	long long now = clock_us(), soon = now + HOLD_ANSWER_MS * 1000LL;

	if (!w->asked_us) {
		w->asked_us = now;
		w->asked_why = why;
	}
	if (!w->killing && (!w->deadline_us || w->deadline_us > soon))
		w->deadline_us = soon;
}

static void watch_hand_on(struct watch *w, const struct signalfd_siginfo *si)
{
	const int sig = (int)si->ssi_signo;
	uint64_t bit;
	/* The terminal signals a whole group at once; a client that uses a pid means one process.
	 * SIGCONT goes to the group, because a stop signal may have stopped the whole group. */
	bool from_terminal = si->ssi_code == SI_KERNEL;
	bool stops = sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;

	assert(sig >= 1 && sig <= 64);
	bit = 1ULL << (sig - 1);
	STEP(WATCH_SIGNAL);
	if (from_terminal && w->k->tree.shares_group) {
		/* the server is in that group and got the signal already */
	} else if (from_terminal || sig == SIGCONT) {
		w->out.group |= bit;
	} else {
		w->out.one |= bit;
	}
	if (sig == SIGTERM)
		watch_ask(w, WHY_SIGNAL);
	watch_flush(w);
	if (sig == SIGTSTP || (stops && from_terminal))
		kill(getpid(), SIGSTOP);
}

/* SIGCONT from the kernel because of an event on the control socket. */
static bool is_news_of_control(const struct signalfd_siginfo *si)
{
	return si->ssi_signo == SIGCONT && si->ssi_code > 0 && si->ssi_code < SI_KERNEL;
}

static void on_hang_up(struct watch *w)
{
	pollset_remove(w->poller, w->k->stdin_fd);
	w->out_stdin = true;
	watch_ask(w, WHY_STDIN);
	watch_flush(w);
}

static void on_owner_gone(struct watch *w)
{
	if (w->owner_seen)
		return;
	w->owner_seen = true;
	w->out_owner = true;
	watch_ask(w, WHY_OWNER);
	watch_flush(w);
}

/* A user of the owner has ended, or the owner should have noticed that by now. */
static void watch_on_users(struct watch *w)
{
	struct users *u = &w->k->users;
	enum users_state state = USERS_WAIT;

	if (!u->due_us)
		users_notice(u);
	else if (clock_left_ms(u->due_us) == 0)
		state = users_look(u, w->k->owner_fd);
	if (state != USERS_OWNER_GONE) {
		pollset_change(w->poller, FD_USERS, u->fd, u->due_us ? 0 : EPOLLIN);
		return;
	}
	pollset_remove(w->poller, u->fd);
	u->due_us = 0;
	if (!w->owner_seen)
		keeper_note_silent_owner(w->k);
	w->owner_silent = !w->owner_seen;
	on_owner_gone(w);
}

/* --- while the hold lives --- */

/* A separate process looks for lost trees of this user: forged records and hung files may block it,
 * but not the watch. It keeps no descriptor of the watch: neither the record's lock nor the socket
 * whose hang-up tells the hold of the watch's death. */
static void watch_sweep(struct watch *w)
{
	long long started_us = w->sweep_us - SWEEP_DELAY_MS * 1000LL;
	pid_t watch = getpid();
	char name[TREE_ID_LEN + 1];

	assert(w->sweep_us);
	w->sweep_us = 0;
	if (janitor_swept_since(w->k->record_dirfd, started_us))
		return;
	w->janitor_us = clock_us() + SWEEP_MS * 1000LL;
	/* A server may freeze the janitor at its first instruction, and both keepers may be killed
	 * then. The name that the janitor inherits shows `reap` which tree it belongs to. */
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, w->k->id);
	w->janitor = fork();
	if (w->janitor == 0) {
		STEP(JANITOR_BEGIN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != watch) /* the watch died before the prctl above */
			_exit(0);
		prctl(PR_SET_NAME, name);
		stdio_only(false);
		stdio_drop(STDIN_FILENO);
		janitor_sweep(&(struct janitor){
			.budget_ms = SWEEP_MS, .containers_ms = CONTAINERS_MS, .is_child = true });
		_exit(0);
	}
	prctl(PR_SET_NAME, name);
	if (w->janitor < 0)
		w->janitor = 0; /* fork failed: then another start sweeps */
}

/* The tree has ended. The janitor may finish its sweep, within its time limit. False: the janitor
 * does not even die of SIGKILL (a file system that does not answer), and the watch leaves it
 * behind. */
static bool watch_end_janitor(struct watch *w)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	long long now = clock_us(), kill_us = w->janitor_us > now ? w->janitor_us : now;
	bool asked = !w->janitor_us;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	while (w->janitor && waitpid(w->janitor, NULL, WNOHANG | __WALL) == 0) {
		now = clock_us();
		if (!asked && now >= kill_us) {
			/* when it removes a container, it first ends the engine's processes, which
			 * would become children of the watch */
			kill(w->janitor, SIGTERM);
			kill_us = now + GIVE_UP_MS * 1000LL;
			asked = true;
		}
		if (now >= kill_us)
			kill(w->janitor, SIGKILL);
		if (now >= kill_us + SWEEP_MS * 1000LL)
			return false;
		sigtimedwait(&chld, NULL, &pause);
	}
	w->janitor = 0;
	return true;
}

static void watch_on_started(struct watch *w, pid_t server)
{
	w->started = true;
	w->k->server = server;
	if (!w->k->tree.pidns && server > 1)
		w->k->tree.main = server; /* ours to wait for, should the hold die */
	/* all of this can wait until here, and the server's way to its first answer is shorter by
	 * it */
	if (w->k->report_may_fail) /* then a reader of stderr waits for the end of the tree */
		w->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	stdio_drop_from(w->k->control_fd >= 0 ? STDIN_FILENO : STDOUT_FILENO);
	keeper_describe(w->k);
	STEP(WATCH_STARTED);
	if (w->k->opt.recipe.sweep)
		w->sweep_us = clock_us() + SWEEP_DELAY_MS * 1000LL;
}

/* False: hung up; SIGCHLD for the hold's death follows. */
static bool watch_on_ctl(struct watch *w)
{
	struct msg m;
	ssize_t n;

	while ((n = recv(w->ctl, &m, sizeof(m), MSG_DONTWAIT)) == sizeof(m)) {
		switch (m.kind) {
		case MSG_FORKED:
			if (m.a > 1) /* a server that runs as root can write to this socket, too */
				w->k->tree.main = m.a;
			break;
		case MSG_STARTED:
			watch_on_started(w, m.a);
			break;
		case MSG_FAILED:
			w->failed = true;
			w->failure = (enum failure)m.a;
			w->error = m.b;
			break;
		case MSG_STOPPING:
			w->killing = m.a == 0;
			w->deadline_us =
				clock_us() + (m.a + m.b + KILL_BUDGET_MS + HOLD_LATE_MS) * 1000LL;
			break;
		case MSG_REPORTING:
			w->reporting = true;
			w->size = m.size;
			break;
		case MSG_REPORTED:
			w->reported = true;
			w->report_error = m.a;
			break;
		case MSG_DONE:
			w->done = true;
			w->k->tree.exited = m.a >= 0;
			w->k->tree.status = m.a;
			w->survivors = m.b;
			w->out_seen = true;
			watch_flush(w);
			STEP(WATCH_DONE);
			break;
		case MSG_SIGNALS:
		case MSG_STDIN:
		case MSG_OWNER:
		case MSG_SEEN:
			break;
		}
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False: the hold is gone. A stopped hold is continued: no process may stop it. */
static bool hold_lives(const struct watch *w)
{
	siginfo_t si = { .si_pid = 0 };

	assert(w->hold > 0); /* 0 and -1 would name other processes */
	if (waitid(P_PID, (id_t)w->hold, &si, WEXITED | WSTOPPED | WNOHANG | __WALL) < 0)
		return errno == EINTR;
	if (si.si_pid == 0)
		return true;
	if (si.si_code == CLD_STOPPED || si.si_code == CLD_TRAPPED) {
		kill(w->hold, SIGCONT);
		return true;
	}
	return false;
}

/* The hold is late with its answer or with the end: it is frozen, traced, or stopped again and
 * again. SIGKILL ends a process in any of these states. False: SIGKILL did not end the hold either,
 * so go on without it. */
static bool watch_give_up_hold(struct watch *w)
{
	struct proc_stat st;

	watch_on_ctl(w); /* its answer may have come while the watch itself could not run */
	if (clock_left_ms(w->deadline_us) != 0)
		return true;
	if (w->gave_up)
		return false;
	/* runnable, but without CPU: the machine is busy, and the hold is not frozen */
	if (w->extended < HOLD_EXTENSIONS && proc_stat_get(w->hold, &st) == 0 && st.state == 'R') {
		w->extended++;
		w->deadline_us = clock_us() + HOLD_ANSWER_MS * 1000LL;
		return true;
	}
	assert(w->hold > 0 && w->extended <= HOLD_EXTENSIONS);
	w->gave_up = true;
	notes_add(&w->k->notes,
		  "hold: did not answer in time and was killed; the watch ended the tree");
	keeper_log(w->k, "event=hold-silent pid=%d", w->hold);
	kill(w->hold, SIGKILL);
	w->deadline_us = clock_us() + HOLD_ANSWER_MS * 1000LL;
	return true;
}

/* How long to wait for the next event; -1: without limit. */
static int watch_patience_ms(const struct watch *w)
{
	const long long due_us[] = { w->deadline_us, w->sweep_us, w->k->users.due_us };
	int least_ms = -1;

	for (size_t i = 0; i < sizeof(due_us) / sizeof(due_us[0]); i++) {
		int left_ms = clock_left_ms(due_us[i]);

		if (least_ms < 0 || (left_ms >= 0 && left_ms < least_ms))
			least_ms = left_ms;
	}
	return w->owner_seen ? least_ms : keeper_patience_ms(w->k, least_ms);
}

static void watch_loop(struct watch *w)
{
	uint32_t got[POLLSET_MAX];

	while (hold_lives(w) && !w->survivors) {
		struct signalfd_siginfo si[SIGNALS_BATCH];
		int n;

		if (w->k->owner_fd < 0 &&
		    (keeper_parent_is_gone(w->k) || keeper_owner_has_ended(w->k)))
			on_owner_gone(w);
		pollset_wait(w->poller, watch_patience_ms(w), got);
		if ((got[FD_CTL] & ~(uint32_t)EPOLLOUT) && !watch_on_ctl(w))
			pollset_remove(w->poller, w->ctl);
		if (got[FD_CTL] & EPOLLOUT)
			watch_flush(w);
		if (got[FD_OWNER] || got[FD_CONTROL]) {
			pollset_remove(w->poller,
				       got[FD_OWNER] ? w->k->owner_fd : w->k->control_fd);
			on_owner_gone(w);
		}
		if (got[FD_STDIN])
			on_hang_up(w);
		if (got[FD_USERS] || clock_left_ms(w->k->users.due_us) == 0)
			watch_on_users(w);
		n = signals_read(w->signals, si, SIGNALS_BATCH);
		for (int i = 0; i < n; i++) {
			if (si[i].ssi_signo != SIGCHLD && !is_news_of_control(&si[i]))
				watch_hand_on(w, &si[i]);
		}
		if (w->janitor && waitpid(w->janitor, NULL, WNOHANG | __WALL) > 0)
			w->janitor = 0;
		if (clock_left_ms(w->sweep_us) == 0)
			watch_sweep(w);
		if (clock_left_ms(w->deadline_us) == 0 && !watch_give_up_hold(w))
			break;
	}
	watch_on_ctl(w); /* its last messages */
}

/* --- after the hold's death --- */

/* Write the report of this tree, unless the hold has. */
static void watch_report(struct watch *w)
{
	if (w->reported || (w->reporting && (w->size < 0 || w->size != report_size(w->k))))
		return;
	w->reported = true;
	w->report_error = -report_end(w->k, w->survivors);
}

/* The line for a report that could not be written. The tree has ended, and the exit status is that
 * of the server. */
static void watch_explain_report(const struct watch *w)
{
	const char *to = w->k->opt.report;
	int fd = w->stderr_fd >= 0 ? w->stderr_fd : STDERR_FILENO;
	struct line l;

	if (!w->report_error)
		return;
	line_init(&l);
	line_add(&l, "killick: --report: cannot write to '%s': %s; the tree has ended", to,
		 w->report_error == ETIMEDOUT ? "nothing reads it" : strerror(w->report_error));
	line_flatten(&l);
	line_add(&l, "\n");
	line_offer(&l, fd, STDERR_MS);
}

/* The server was not started, and no keeper has written a report. */
static void watch_report_refusal(struct watch *w)
{
	struct keeper *k = w->k;

	if (w->reported || w->reporting || k->report_fd < 0)
		return;
	k->why = WHY_FAILED;
	k->stop_us = k->stop_us ? k->stop_us : clock_us();
	keeper_note_refusal(k);
	watch_report(w);
}

/* The hold died before the tree ended. Its children are children of the watch now, and the server
 * got its PDEATHSIG. */
static void adopt(struct watch *w)
{
	struct keeper *k = w->k;

	k->need = NEED_KILL;
	keeper_stopping(k, w->asked_us ? w->asked_why : WHY_HOLD, 0);
	if (w->asked_us)
		k->stop_us = w->asked_us;
	assert(k->stop_us);
	k->tree.pidns = false; /* the pid namespace was the hold's, and ended with it */
	w->survivors = keeper_kill(k);
	if (!w->done)
		w->survivors = keeper_end_container(k, w->survivors);
	watch_report(w);
	if (!w->survivors)
		keeper_clean(k);
}

/* Do these bytes name a program: by a path, or in PATH? */
static bool watch_is_program(const char *word, size_t len)
{
	bool is_path = memchr(word, '/', len) != NULL;
	const char *dir = is_path ? "" : getenv("PATH");
	char file[4096];

	while (dir) {
		size_t n = strcspn(dir, ":");

		if (n + len + 2 <= sizeof(file)) {
			memcpy(file, dir, n);
			file[n] = '/';
			memcpy(file + n + 1, word, len);
			file[n + 1 + len] = '\0';
			if (access(is_path ? file + 1 : file, X_OK) == 0)
				return true;
		}
		dir = dir[n] ? dir + n + 1 : NULL;
	}
	return false;
}

/* The sentence for a command that does not exist. */
static void watch_explain_missing(const char *cmd)
{
	const char *path = getenv("PATH");
	size_t first = strcspn(cmd, " ");

	if (cmd[first] && watch_is_program(cmd, first))
		keeper_say("cannot run '%s': no program has this name; give each argument as a "
			   "word of its own: -- %s",
			   cmd, cmd);
	else if (strchr(cmd, '/'))
		keeper_say("cannot run '%s': no such file, or its interpreter is missing; check "
			   "the path",
			   cmd);
	else
		keeper_say(
			"cannot run '%s': not found; install it or give its full path (PATH is %s)",
			cmd, path ? path : "unset");
}

static int watch_explain(const struct watch *w)
{
	const char *cmd = w->k->opt.recipe.argv[0], *reason = strerror(w->error);

	switch (w->failure) {
	case FAILURE_FORK:
		keeper_say("cannot start a process for '%s': %s; %s", cmd, reason,
			   keeper_next_step(w->error,
					    "end some processes or raise the limit (ulimit -u)"));
		return EXIT_TRY_AGAIN;
	case FAILURE_KERNEL:
		return keeper_lacks("prctl, signalfd4, epoll_create1 and epoll_ctl", w->error);
	case FAILURE_NAMESPACE:
		keeper_say("--contain namespace is not possible here: %s; use --contain auto, or "
			   "see 'killick doctor'",
			   reason);
		return EXIT_UNAVAILABLE;
	case FAILURE_CGROUP:
		keeper_say("cannot start '%s' in cgroup '%s': %s; %s", cmd, w->k->tree.cg.path,
			   reason,
			   keeper_next_step(w->error, "use --contain auto without limits, or see "
						      "'killick doctor'"));
		return EXIT_UNAVAILABLE;
	case FAILURE_LIMIT:
		keeper_say(
			"cannot limit '%s': %s; %s", cmd, reason,
			keeper_next_step(w->error, "remove the limits, or see 'killick doctor'"));
		return EXIT_UNAVAILABLE;
	case FAILURE_CWD:
		keeper_say("cannot enter the directory '%s' for the server: %s; give another "
			   "directory (--cwd, or cwd in the config)",
			   w->k->opt.recipe.cwd, reason);
		return EXIT_CANNOT_RUN;
	case FAILURE_EXEC:
		break;
	}
	if (w->error != ENOENT) {
		keeper_say("cannot run '%s': %s; check that it is an executable file (chmod +x, a "
			   "valid #! line)",
			   cmd, reason);
		return EXIT_CANNOT_RUN;
	}
	watch_explain_missing(cmd);
	return EXIT_NOT_FOUND;
}

static int watch_refuse(const struct watch *w)
{
	int status = watch_explain(w);

	control_refused_as(status);
	return status;
}

/* --- a life --- */

static int fork_hold(struct watch *w)
{
	struct keeper *k = w->k;
	int r;

	assert(!w->hold && w->ctl >= 0 && w->ctl_of_hold >= 0);
	k->tree.pidns = k->tree.level == LEVEL_NAMESPACE;
	if (!k->tree.pidns) /* the hold has to write to its own files in /proc first */
		keeper_seal();
	w->hold = k->tree.pidns ? namespace_fork(&k->ns) : fork();
	if (w->hold == 0) {
		close(w->ctl);
		close(w->poller);
		close(w->signals);
		hold_run(k, w->ctl_of_hold);
	}
	r = w->hold < 0 ? -errno : 0;
	close(w->ctl_of_hold);
	keeper_seal();
	return r;
}

/* Is stdin the controlling terminal? Then the server stays in the client's process group, and the
 * kernel's job control applies to it: it reads in the foreground and is stopped in the background.
 */
static bool has_terminal(const struct keeper *k)
{
	return k->control_fd < 0 && k->opt.recipe.stdio != STDIO_TERMINAL &&
	       k->tree.level != LEVEL_GROUP && isatty(STDIN_FILENO) &&
	       tcgetsid(STDIN_FILENO) == getsid(0);
}

/* Both keepers wait for stdin's hang-up, by one pollset that they share: each write of the client
 * calls on everything that waits for the pipe, and with two of them a round trip took 3 % longer
 * than that of a bare server, with one of them 2 %. */
static int watch_wait_for_stdin(struct watch *w)
{
	int r, fd = pollset_open();

	if (fd < 0)
		return fd;
	/* The hang-up of a pipe needs no asking; a socket that the client half-closed says
	 * EPOLLRDHUP only. */
	r = pollset_add(fd, 0, STDIN_FILENO, EPOLLRDHUP);
	if (r == 0)
		r = pollset_add(w->poller, FD_STDIN, fd, EPOLLIN);
	if (r == 0)
		w->k->stdin_fd = fd;
	else
		close(fd);
	return r == -EPERM ? 0 : r; /* a file never has news */
}

/* Before there is a hold: one that we cannot hear must not start a server. 0 or -errno. */
static int watch_wait_for_all(struct watch *w)
{
	struct keeper *k = w->k;
	int r = pollset_add(w->poller, FD_SIGNALS, w->signals, EPOLLIN);

	if (r == 0)
		r = pollset_add(w->poller, FD_CTL, w->ctl, EPOLLIN);
	if (r == 0 && k->owner_fd >= 0)
		r = pollset_add(w->poller, FD_OWNER, k->owner_fd, EPOLLIN);
	if (r == 0 && k->users.fd >= 0)
		r = pollset_add(w->poller, FD_USERS, k->users.fd, EPOLLIN);
	if (r < 0)
		return r;
	if (k->control_fd >= 0) /* only hang-ups: the hold reads the messages */
		return pollset_add(w->poller, FD_CONTROL, k->control_fd, 0);
	return watch_wait_for_stdin(w);
}

/* Set up everything that the kernel must provide. 0, or an exit code after one line on stderr. */
static int watch_get_ready(struct watch *w)
{
	struct keeper *k = w->k;
	int pair[2], r;

	assert(k->tree.level != LEVEL_AUTO); /* keeper_prepare has chosen */
	w->signals = signals_fd();
	if (w->signals < 0)
		return keeper_lacks("signalfd4", errno);
	w->poller = pollset_open();
	if (w->poller < 0)
		return keeper_lacks("epoll_create1", -w->poller);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return keeper_lacks("socketpair", errno);
	w->ctl = pair[0];
	w->ctl_of_hold = pair[1];
	r = watch_wait_for_all(w);
	if (r < 0)
		return keeper_lacks("epoll_ctl", -r);
	if (k->tree.level != LEVEL_GROUP && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return keeper_lacks("prctl", errno);
	/* Sends SIGCONT when the parent ends: the watch may be stopped, or there is no pidfd of the
	 * owner. The signal also comes when only a thread of the owner ends; it is then ignored. */
	if (!w->relayed && prctl(PR_SET_PDEATHSIG, SIGCONT) < 0)
		return keeper_lacks("prctl", errno);
	/* The same for an owner that is not the parent: its end hangs up the control socket, which
	 * sends SIGCONT as well. */
	if (k->control_fd >= 0) {
		fcntl(k->control_fd, F_SETOWN, getpid());
		fcntl(k->control_fd, F_SETSIG, SIGCONT);
		fcntl(k->control_fd, F_SETFL, O_NONBLOCK | O_ASYNC);
	}
	k->watch_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	k->tree.shares_group = has_terminal(k);
	tree_ready(&k->tree);
	return 0;
}

/* Find the owner; then continue in a process without children. */
static int watch_begin(struct watch *w)
{
	int r = keeper_find_owner(w->k);

	assert(!w->hold);
	if (r)
		return r;
	STEP(WATCH_OWNER);
	if (!relay_is_needed())
		return 0;
	r = relay_start(w->k->owner_fd < 0 && w->k->parent >= 0);
	if (r < 0)
		return keeper_lacks("a process of its own beside the children that were there", -r);
	w->relayed = true;
	w->k->parent = -1; /* the parent is the relay, not the owner */
	return 0;
}

/* Until the tree has ended. False: the server was not started; *out_status is the exit status. */
static bool watch_live(struct watch *w, int *out_status)
{
	bool orderly, alone;
	int r = fork_hold(w);

	if (r < 0) {
		keeper_clean(w->k);
		w->failure = w->k->tree.pidns ? FAILURE_NAMESPACE : FAILURE_FORK;
		w->error = -r;
		*out_status = watch_refuse(w);
		return false;
	}
	STEP(WATCH_FORKED);
	record_add(w->k->record_fd, "hold", "%d", w->hold);
	watch_loop(w);
	orderly = w->done || w->failed;
	if (!orderly)
		w->janitor_us = 0; /* this tree must be ended now: no time for lost trees */
	else if (w->sweep_us)
		watch_sweep(w);
	alone = watch_end_janitor(w);
	/* a second check: the hold said "empty", so the watch must have no child either */
	if (!w->survivors && (!orderly || (alone && !tree_reap(&w->k->tree))))
		adopt(w);
	if (w->relayed)
		kill(getppid(), SIGCONT); /* it stops when the watch stops, and must see the end */
	if (w->failed)
		*out_status = watch_refuse(w);
	return !w->failed;
}

int watch_run(const struct options *opt, char **environment)
{
	static struct keeper keeper; /* copied by fork; too large for the stack */
	struct watch w = { .k = &keeper, .out = { .kind = MSG_SIGNALS }, .stderr_fd = -1 };
	bool has_run;
	int keep[4], r;

	stdio_ensure();
	signals_block();
	/* the hub knows keepers by this name; the program may have another one */
	prctl(PR_SET_NAME, "killick");
	STEP(WATCH_BEGIN);
	r = keeper_init(w.k, opt, environment);
	keep[0] = keeper.report_fd;
	keep[1] = keeper.log_fd;
	keep[2] = keeper.control_fd;
	keep[3] = keeper.users.fd;
	stdio_and(keep, 4);
	if (r == 0)
		r = watch_begin(&w);
	if (r == 0)
		r = keeper_prepare(w.k);
	if (r == 0 && (r = watch_get_ready(&w)))
		keeper_clean(w.k);
	has_run = r == 0 && watch_live(&w, &r);
	if (!has_run)
		watch_report_refusal(&w);
	watch_explain_report(&w);
	if (!has_run)
		return r;
	STEP(WATCH_MIRROR);
	return w.k->tree.exited ? exits_as(w.k->tree.status) : EXIT_TRY_AGAIN;
}
