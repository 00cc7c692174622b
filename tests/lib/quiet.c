/* quiet.c - what the program around the library notices of it: nothing. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

extern char **environ;

static struct killick *k;
static struct killick_session *s;

static volatile sig_atomic_t child_signals;

static void on_sigchld(int sig)
{
	(void)sig;
	child_signals++;
}

/* In a process of its own: the harness' is a subreaper, which no host is. */
static void as_host(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		fn();
		_exit(0);
	}
	EQ(t_wait_child(pid, 60000), 0);
	lab_reap();
}

static void use_everything(void)
{
	struct killick_result *r;

	k = LAB();
	s = lab_session_with(k, SERVERS({ "a" }, { "b", "stays" }, { "c", "dies" }),
			     &KILLICK_SESSION_OPTIONS(.grace_ms = 100));
	lab_call(s, "a", "echo", NULL, 0, NULL, 0);
	lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
	r = lab_try(s, "a", "crash", NULL, LAB_MS);
	killick_result_free(r);
	lab_pid(s, "a");
	lab_refresh(s, SERVERS({ "a", "dual" }));
	errno = 0;
	EQ(waitpid(-1, NULL, WNOHANG), -1); /* a server runs, and is no child */
	EQ(errno, ECHILD);
	lab_end(s);
	lab_close(k);
}

static void sees_no_children(void)
{
	int subreaper = -1;

	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = on_sigchld }, NULL);
	use_everything();
	EQ(child_signals, 0);
	prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
	EQ(subreaper, 0);
}

TEST(no_children_and_no_sigchld)
{
	as_host(sees_no_children);
}

struct snapshot {
	struct sigaction actions[65];
	sigset_t mask;
	char *env[512];
	char **environ_;
	char cwd[256];
	mode_t umask_;
	struct rlimit files;
};

static void look(struct snapshot *out)
{
	memset(out, 0, sizeof(*out));
	for (int sig = 1; sig <= 64; sig++)
		sigaction(sig, NULL, &out->actions[sig]);
	sigprocmask(SIG_SETMASK, NULL, &out->mask);
	out->environ_ = environ;
	for (int i = 0; environ[i] && i < 511; i++)
		out->env[i] = environ[i];
	OK(getcwd(out->cwd, sizeof(out->cwd)));
	out->umask_ = umask(0);
	umask(out->umask_);
	getrlimit(RLIMIT_NOFILE, &out->files);
}

static void is_left_alone(void)
{
	static struct snapshot before, after;
	char path[128];
	struct stat st;
	int out;

	snprintf(path, sizeof(path), "%s/output", t_audit.dir);
	out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	OK(out >= 0);
	killick_free(LAB()); /* the lab itself sets variables */
	look(&before);
	dup2(out, 1);
	dup2(out, 2);
	use_everything();
	look(&after);
	fstat(out, &st);
	for (int sig = 1; sig <= 64; sig++)
		if (before.actions[sig].sa_handler != after.actions[sig].sa_handler)
			_exit(sig);
	OK(!memcmp(&before.mask, &after.mask, sizeof(before.mask)));
	OK(before.environ_ == after.environ_);
	OK(!memcmp(before.env, after.env, sizeof(before.env)));
	OK(!strcmp(before.cwd, after.cwd) && before.umask_ == after.umask_);
	OK(!memcmp(&before.files, &after.files, sizeof(before.files)));
	if (st.st_size > 0) {
		char text[200] = "";

		(void)!pread(out, text, sizeof(text) - 1, 0);
		FAIL("it wrote: %s", text);
	}
}

TEST(the_state_of_the_host_does_not_change)
{
	as_host(is_left_alone);
}

/* Hosts set what they like; the servers get defaults, and we get along. */
static void with_odd_signals(void)
{
	static const int ignored[] = { SIGCHLD, SIGPIPE, SIGTERM, SIGHUP, SIGINT };
	sigset_t all;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		sigaction(ignored[i], &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	use_everything();
}

TEST(a_host_that_ignores_and_blocks_signals)
{
	as_host(with_odd_signals);
}

/* The library's thread must not take signals that are meant for the host. */
static void blocks_and_waits(void)
{
	struct timespec soon = { 5, 0 };
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	k = LAB(); /* before the host blocks it: only the library's own mask protects it */
	s = lab_session(k, SERVERS({ "a" }));
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	kill(getpid(), SIGUSR1); /* the default action would end us */
	EQ(sigtimedwait(&usr1, NULL, &soon), SIGUSR1);
	lab_end(s);
	lab_close(k);
}

TEST(signals_are_delivered_to_the_host)
{
	as_host(blocks_and_waits);
}

/* SIGPIPE has its default action: a server that closes its end must not end the host. */
static void writes_to_the_dead(void)
{
	char *big = malloc((1 << 20) + 32);
	struct killick_result *r;

	OK(big);
	memcpy(big, "{\"text\":\"", 9);
	memset(big + 9, 'y', 1 << 20);
	memcpy(big + 9 + (1 << 20), "\"}", 3);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	k = LAB();
	s = lab_session_with(k, SERVERS({ "a", "closein" }, { "b" }),
			     &KILLICK_SESSION_OPTIONS(.grace_ms = 100));
	lab_call(s, "a", "echo", "{\"text\":\"x\"}", 0, NULL, 0);
	for (int i = 0; i < 3; i++) {
		r = lab_try(s, "a", "big", big, 1000);
		OK(killick_result_code(r) != KILLICK_OK || i > 0); /* it may be started again */
		killick_result_free(r);
	}
	free(big);
	lab_pid(s, "b");
	lab_end(s);
	lab_close(k);
}

TEST(no_sigpipe)
{
	as_host(writes_to_the_dead);
}

static bool reaped_enough;

static void *reap_everything(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&reaped_enough, __ATOMIC_RELAXED))
		if (waitpid(-1, NULL, 0) < 0)
			t_wait_fd(-1, 0, 1);
	return NULL;
}

static void reaps_everything(void)
{
	pthread_t thread = lab_thread(reap_everything, NULL);

	use_everything();
	__atomic_store_n(&reaped_enough, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

TEST(a_host_that_reaps_whatever_it_finds)
{
	as_host(reaps_everything);
}

/* Descriptors 0, 1 and 2 closed: what the library opens lands there, and must work all the same. */
static void without_stdio(void)
{
	close(0);
	close(1);
	close(2);
	use_everything();
}

TEST(a_host_without_stdio)
{
	as_host(without_stdio);
}

/* Few descriptors: it fails with a sentence, and nothing is left. */
static void with_few_descriptors(void)
{
	struct lab_server list[32] = { 0 };
	struct killick_session_options options = KILLICK_SESSION_OPTIONS();
	struct killick_error e = { 0 };
	struct killick_status *st = NULL;
	char names[31][16], *config;
	int failed = 0;

	k = LAB();
	for (int i = 0; i < 31; i++) {
		snprintf(names[i], sizeof(names[i]), "s%d", i);
		list[i].name = names[i];
	}
	config = lab_config(list);
	options.config = config;
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 48, 48 });
	if (killick_session_open(k, &options, &s, &e) == 0) {
		EQ(killick_session_status(s, &st, NULL), 0);
		for (size_t i = 0; i < st->count; i++)
			failed += st->servers[i]->state != KILLICK_READY && *st->servers[i]->error;
		OK(failed > 0 && failed < 31);
		killick_status_free(st);
		lab_end(s);
	}
	free(config);
	lab_close(k);
}

TEST(a_host_with_few_descriptors)
{
	as_host(with_few_descriptors);
}
