/* watch.c - see watch.h */
#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "exits.h"
#include "hold.h"
#include "janitor.h"
#include "keeper.h"
#include "report.h"
#include "signals.h"
#include "step.h"

#define SWEEP_MS                                                                                   \
	250 /* for other people's leftovers; our own tree has to wait that long if the hold dies   \
	       meanwhile */

struct watch {
	struct keeper *k;
	pid_t hold;
	int ctl, signals;
	bool started, done, failed;
	int survivors;        /* with done */
	enum failure failure; /* with failed */
	int error;
};

/* --- while the hold lives --- */

static void hand_on(struct watch *w, const struct signalfd_siginfo *si)
{
	/* The terminal signals a whole group at once; a client that names one pid means one
	 * process. */
	struct msg m = { .kind = MSG_SIGNAL, .a = (int)si->ssi_signo };

	m.b = si->ssi_code == SI_KERNEL ||
	      si->ssi_signo == SIGCONT; /* who was stopped together wakes together */
	STEP(WATCH_SIGNAL);
	send(w->ctl, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (si->ssi_signo == SIGTSTP)
		kill(getpid(), SIGSTOP);
}

static void on_started(struct watch *w, pid_t server)
{
	w->started = true;
	w->k->server = server;
	if (!w->k->tree.pidns)
		w->k->tree.main = server; /* ours to wait for, should the hold die */
	/* all of this can wait until here, and the server's way to its first answer is shorter by
	 * it */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		stdio_drop(fd);
	keeper_describe(w->k);
	STEP(WATCH_STARTED);
	if (w->k->opt.sweep)
		janitor_sweep(&(struct janitor){ .budget_ms = SWEEP_MS });
}

/* False: hung up; the hold's death follows as SIGCHLD. */
static bool on_ctl(struct watch *w)
{
	struct msg m;
	ssize_t n;

	while ((n = recv(w->ctl, &m, sizeof(m), MSG_DONTWAIT)) == sizeof(m)) {
		switch (m.kind) {
		case MSG_STARTED:
			on_started(w, m.a);
			break;
		case MSG_FAILED:
			w->failed = true;
			w->failure = (enum failure)m.a;
			w->error = m.b;
			break;
		case MSG_DONE:
			w->done = true;
			w->k->tree.exited = m.a >= 0;
			w->k->tree.status = m.a;
			w->survivors = m.b;
			STEP(WATCH_DONE);
			break;
		case MSG_SIGNAL:
			break;
		}
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False: the hold is gone. A stopped one is woken: nobody has a right to stop it. */
static bool hold_lives(const struct watch *w)
{
	siginfo_t si = { .si_pid = 0 };

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

static void loop(struct watch *w)
{
	struct pollfd fds[] = {
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = w->ctl, .events = POLLIN },
	};

	while (hold_lives(w) && !w->survivors) {
		struct signalfd_siginfo si[SIGNALS_BATCH];
		int n;

		poll(fds, 2, -1);
		if (fds[1].revents && !on_ctl(w))
			fds[1].fd = -1;
		n = signals_read(w->signals, si, SIGNALS_BATCH);
		for (int i = 0; i < n; i++) {
			if (si[i].ssi_signo != SIGCHLD)
				hand_on(w, &si[i]);
		}
	}
	on_ctl(w); /* its last words */
}

/* --- after it --- */

/* The hold died with work undone. Whatever it held is our child now, and the server has its
 * PDEATHSIG already. */
static void adopt(struct watch *w)
{
	struct keeper *k = w->k;

	k->need = NEED_KILL;
	keeper_stopping(k, WHY_HOLD, 0);
	k->tree.pidns = false; /* it was the hold's, and died with it */
	w->survivors = tree_kill(&k->tree, KILL_BUDGET_MS);
	report_end(k, w->survivors);
	if (!w->survivors)
		keeper_clean(k);
}

static int explain(const struct watch *w)
{
	const char *cmd = w->k->opt.argv[0], *reason = strerror(w->error), *path = getenv("PATH");

	switch (w->failure) {
	case FAILURE_FORK:
		keeper_say("cannot start a process for '%s': %s; end some processes or raise the "
			   "limit (ulimit -u)",
			   cmd, reason);
		return EXIT_TRY_AGAIN;
	case FAILURE_NAMESPACE:
		keeper_say("--contain namespace is not possible here: %s; use --contain auto, or "
			   "see 'killick doctor'",
			   reason);
		return EXIT_UNAVAILABLE;
	case FAILURE_CGROUP:
		keeper_say("cannot start '%s' in cgroup '%s': %s; use --contain auto without "
			   "limits, or see 'killick doctor'",
			   cmd, w->k->tree.cg.path, reason);
		return EXIT_UNAVAILABLE;
	case FAILURE_LIMIT:
		keeper_say("cannot limit '%s': %s; leave --max-procs and --memory out, or see "
			   "'killick doctor'",
			   cmd, reason);
		return EXIT_UNAVAILABLE;
	case FAILURE_CWD:
		keeper_say("cannot enter its directory '%s': %s", w->k->opt.cwd, reason);
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
	if (strchr(cmd, '/'))
		keeper_say("cannot run '%s': no such file, or its interpreter is missing; check "
			   "the path",
			   cmd);
	else
		keeper_say(
			"cannot run '%s': not found; install it or give its full path (PATH is %s)",
			cmd, path ? path : "unset");
	return EXIT_NOT_FOUND;
}

static int refuse(const struct watch *w)
{
	int status = explain(w);

	control_refused_as(status);
	return status;
}

/* End as the server ended: the same code, or of the same signal, without a second core file. */
static int mirror(const struct tree *t)
{
	struct rlimit no_core = { 0, 0 };
	sigset_t none;
	int sig;

	STEP(WATCH_MIRROR);
	if (!t->exited)
		return EXIT_TRY_AGAIN;
	if (WIFEXITED(t->status))
		return WEXITSTATUS(t->status);
	sig = WTERMSIG(t->status);
	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(sig, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	kill(getpid(), sig);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return EXIT_SIGNAL + sig;
}

/* --- a life --- */

static int fork_hold(struct watch *w)
{
	struct keeper *k = w->k;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	k->tree.pidns = k->tree.level == LEVEL_NAMESPACE;
	w->hold = k->tree.pidns ? namespace_fork(&k->ns) : fork();
	if (w->hold == 0) {
		close(pair[0]);
		hold_run(k, pair[1]);
	}
	close(pair[1]);
	w->ctl = pair[0];
	return w->hold < 0 ? -errno : 0;
}

int watch_run(const struct options *opt, char **environment)
{
	static struct keeper keeper; /* shared by fork; too large for a stack that is copied */
	struct watch w = { .k = &keeper };
	int r;

	stdio_ensure();
	signals_block();
	STEP(WATCH_BEGIN);
	r = keeper_init(w.k, opt, environment);
	if (r == 0)
		r = keeper_prepare(w.k);
	if (r)
		return r;
	if (w.k->tree.level != LEVEL_GROUP)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* Only to wake us, should somebody have stopped us before the owner died. It fires when a
	 * thread of the owner ends, too: then it is nothing. */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	r = fork_hold(&w);
	if (r < 0) {
		keeper_clean(w.k);
		w.failure = w.k->tree.pidns ? FAILURE_NAMESPACE : FAILURE_FORK;
		w.error = -r;
		return refuse(&w);
	}
	STEP(WATCH_FORKED);
	record_add(w.k->record_fd, "hold", "%d", w.hold);
	w.signals = signals_fd();
	loop(&w);
	if (!w.survivors && (!(w.done || w.failed) || !tree_reap(&w.k->tree)))
		adopt(&w);
	if (w.failed)
		return refuse(&w);
	return mirror(&w.k->tree);
}
