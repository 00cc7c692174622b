/* zoo.c - the table of modes on Linux, and the bounds they all live under. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "zoo/zoo.h"
#include "zoo/zoo_internal.h"

/* What all processes of one server share. A slot is 0 (free), -1 (claimed, fork under way) or a
 * pid. */
struct shared {
	atomic_int forks;
	atomic_int ready;
	_Atomic pid_t slots[ZOO_MAX_LIVE];
};

static struct shared *shared;
/* CLOCK_MONOTONIC; inherited by fork, passed as an argument over exec. */
static long long deadline_ns;
static int fifo = -1;
static const char *fifo_path; /* NULL: none */
static _Thread_local int slot = -1;

const struct zoo_mode zoo_modes[] = {
	{ "plain", zoo_plain, "a well-behaved server: leaves on EOF, dies of signals" },
	{ "ignore", zoo_ignorer, "ignores every signal it can, and EOF" },
	{ "bg", zoo_bg, "leaves a background child in its process group" },
	{ "daemon", zoo_daemon, "leaves a daemon: double fork, own session, closed descriptors" },
	{ "stopped", zoo_stopped, "leaves a child in its own session that has stopped itself" },
	{ "selfstop", zoo_selfstop, "the server stops itself once it is initialized" },
	{ "chain", zoo_chain, "a process that forks and exits, for ever" },
	{ "chainsid", zoo_chainsid, "the same, each generation in a new session" },
	{ "chainsid8", zoo_chainsid8, "eight of those" },
	{ "bomb", zoo_bomb, "a fork bomb of up to 300 processes in one process group" },
	{ "bombsid", zoo_bombsid, "the same, each process in a new session" },
	{ "cloneparent", zoo_cloneparent, "a sibling made with CLONE_PARENT and no exit signal" },
	{ "nestsub", zoo_nestsub, "a nested subreaper that collects its own orphans" },
	{ "deadlead", zoo_deadlead, "a child whose main thread has exited while another lives" },
	{ "deadmain", zoo_deadmain, "the same, done by the server itself" },
	{ "threads", zoo_threads, "a server with 1,000 threads" },
	{ "execloop", zoo_execloop,
	  "a child that executes itself for ever under new names, without environment" },
	{ "holdout", zoo_holdout, "a grandchild that keeps stdout open after the server has left" },
	{ "hog", zoo_hog, "touches 64 MiB, or as many as the argument says, up to 256" },
	{ "core", zoo_core, "dies of SIGSEGV at EOF" },
	{ "exit0", zoo_exit0, "exits at once with status 0" },
	{ "exitleft", zoo_exitleft, "exits at once and leaves a daemon" },
	{ "noread", zoo_noread,
	  "exits with status 3 when there is something to read, without reading it" },
	{ "sh", zoo_sh, "a server behind `sh -c 'SERVER; true'` [inner mode]" },
	{ "npx", zoo_npx, "a server behind a launcher that forks it and waits [inner mode]" },
	{ "npxterm", zoo_npxterm, "the same, the launcher ignores SIGTERM [inner mode]" },
	/* Not a server: what `execloop` executes itself as. */
	{ "+execstep", zoo_execstep, NULL },
	{ NULL, NULL, NULL },
};

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

bool zoo_expired(void)
{
	return now_ns() >= deadline_ns;
}

int zoo_age_ms(void)
{
	return (int)(now_ns() / 1000000 % 1000000000);
}

void zoo_nap_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

void zoo_linger(void)
{
	while (!zoo_expired())
		zoo_nap_us(500000);
	_exit(0);
}

/* A timer that sends SIGKILL: it also ends what ignores, blocks, is stopped or traced, or has lost
 * its main thread. Not inherited by fork and lost at exec, so every process arms its own. */
static void arm_death(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec at = { .it_value = { deadline_ns / 1000000000,
					       deadline_ns % 1000000000 } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) ||
	    timer_settime(timer, TIMER_ABSTIME, &at, NULL))
		abort(); /* unbounded we do not run */
}

/* Claim a place for one more process. The first server process has none; it is the 301st. */
static int claim(void)
{
	static unsigned next;
	pid_t free_slot;

	if (fifo_path && access(fifo_path, F_OK))
		return -1; /* the auditor wants us to stand still */
	if (atomic_fetch_add(&shared->forks, 1) >= ZOO_MAX_FORKS)
		return -1;
	for (int i = 0; i < ZOO_MAX_LIVE; i++) {
		free_slot = 0;
		if (atomic_compare_exchange_strong(&shared->slots[i], &free_slot, -1))
			return i;
	}
	/* All taken: look at a few for processes that were killed. The refused fork does not count.
	 */
	atomic_fetch_sub(&shared->forks, 1);
	for (int n = 0; n < 4; n++) {
		int i = (int)(((unsigned)getpid() + next++) % ZOO_MAX_LIVE);
		pid_t pid = atomic_load(&shared->slots[i]);

		if (pid > 0 && kill(pid, 0) && errno == ESRCH)
			atomic_compare_exchange_strong(&shared->slots[i], &pid, 0);
	}
	return -1;
}

static pid_t fork_in(int place, unsigned long flags)
{
	pid_t pid = flags ? (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0) : fork();

	if (pid < 0) {
		atomic_store(&shared->slots[place], 0);
	} else if (pid == 0) {
		slot = place;
		arm_death();
		atomic_store(&shared->slots[place], getpid());
	}
	return pid;
}

pid_t zoo_clone(unsigned long flags)
{
	int place = zoo_expired() ? -1 : claim();

	return place < 0 ? -1 : fork_in(place, flags);
}

pid_t zoo_fork(void)
{
	return zoo_clone(0);
}

void zoo_gone(void)
{
	if (slot >= 0)
		atomic_store(&shared->slots[slot], 0);
	_exit(0);
}

pid_t zoo_child(void (*fn)(long arg), long arg)
{
	pid_t pid = zoo_fork();

	if (pid == 0) {
		fn(arg);
		zoo_linger();
	}
	return pid;
}

void zoo_ready(void)
{
	atomic_fetch_add(&shared->ready, 1);
	syscall(SYS_futex, &shared->ready, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void zoo_await(int count)
{
	long long until = now_ns() + 5000000000LL;
	struct timespec wait = { 0, 100000000 };
	int seen;

	while ((seen = atomic_load(&shared->ready)) < count && now_ns() < until)
		syscall(SYS_futex, &shared->ready, FUTEX_WAIT, seen, &wait, NULL, 0);
}

void zoo_ignore(int sig)
{
	sigaction(sig, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}

void zoo_default(int sig)
{
	sigaction(sig, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

void zoo_ignore_all(void)
{
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGCHLD)
			zoo_ignore(sig);
}

void zoo_tell(const char *word, const char *text)
{
	char line[PIPE_BUF];
	int n = snprintf(line, sizeof(line), "%s %s\n", word, text);

	if (fifo >= 0 && n > 0 && n < (int)sizeof(line))
		(void)!write(fifo, line, (size_t)n);
}

char *const *zoo_again_argv(const char *name, const char *mode)
{
	static char fd_text[16], deadline_text[32], name_text[64];
	static char *argv[8];
	int n = 0;

	snprintf(name_text, sizeof(name_text), "%s", name);
	snprintf(fd_text, sizeof(fd_text), "%d", fifo);
	snprintf(deadline_text, sizeof(deadline_text), "%lld", deadline_ns);
	argv[n++] = name_text;
	if (zoo_verb)
		argv[n++] = (char *)zoo_verb;
	argv[n++] = (char *)mode;
	argv[n++] = (char *)"+";
	argv[n++] = fd_text;
	argv[n++] = deadline_text;
	argv[n] = NULL;
	return argv;
}

void zoo_again(const char *path, const char *name, const char *mode, char *const *env)
{
	static char *const empty[] = { NULL };

	execve(path ? path : "/proc/self/exe", zoo_again_argv(name, mode), env ? env : empty);
}

static void zoo_close_range(unsigned first, unsigned last)
{
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned fd = first; fd <= last && fd < 65536; fd++) /* Linux before 5.9 */
		close((int)fd);
}

void zoo_close_all(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	if (fifo > 3)
		zoo_close_range(3, (unsigned)fifo - 1);
	zoo_close_range(fifo >= 3 ? (unsigned)fifo + 1 : 3, ~0U);
}

/* MODE + FD DEADLINE, as zoo_again writes it, or a fresh start from the environment. The FIFO is
 * meant to be inherited by everything, so no O_CLOEXEC. */
void zoo_begin(const char *mode, int argc, char **argv)
{
	const char *path = getenv("ZOO_FIFO");
	const char *life = getenv("ZOO_LIFE_MS");
	long life_ms = life ? atol(life) : ZOO_LIFE_MS;
	bool harmless = !strcmp(mode, "plain") || !strcmp(mode, "mcp"); /* fork nothing unasked */
	long max_ms = harmless ? 7200000 : ZOO_LIFE_MAX_MS;

	deadline_ns =
		now_ns() + 1000000LL * (life_ms > 0 && life_ms <= max_ms ? life_ms : ZOO_LIFE_MS);
	if (argc >= 5 && !strcmp(argv[2], "+")) {
		fifo = atoi(argv[3]);
		if (strtoll(argv[4], NULL, 10) < deadline_ns)
			deadline_ns = strtoll(argv[4], NULL, 10);
	} else if (path) {
		fifo = open(path, O_WRONLY | O_NONBLOCK);
		fifo_path = path;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		abort();
	arm_death();
}
