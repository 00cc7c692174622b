/* host.c - the program around the library: it may die in any way in any state, and is otherwise
 * left alone. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

#define GONE_MS 8000 /* the keepers' budget after an owner's death is far below */

/* --- deaths --- */

static void die_kill(void)
{
	raise(SIGKILL);
}

static void die_term(void)
{
	raise(SIGTERM);
}

static void die_segv(void)
{
	sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL); /* a sanitizer's */
	raise(SIGSEGV);
}

static void die_exit(void)
{
	exit(0);
}

static void die_abort(void)
{
	abort();
}

/* The pid lives on as something else, until its stdin ends. */
static void die_exec(void)
{
	execl("/bin/cat", "cat", NULL);
}

static const struct {
	const char *name;
	void (*die)(void);
} deaths[] = {
	{ "SIGKILL", die_kill }, { "SIGTERM", die_term }, { "SIGSEGV", die_segv },
	{ "exit", die_exit },    { "abort", die_abort },  { "exec", die_exec },
};
#define DEATHS (sizeof(deaths) / sizeof(*deaths))

/* --- states: each leaves the host in one, with servers that do not leave by themselves --- */

static struct killick *k;
static struct killick_session *s;

static void opened(void *ctx, struct killick_session *session, const struct killick_error *e)
{
	(void)ctx, (void)session, (void)e;
}

static void open_later(const struct lab_server *list)
{
	char *config = lab_config(list);
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.config = config);
	struct killick_error e;

	EQ(killick_session_open_start(k, &options, opened, NULL, NULL, &e), 0);
	free(config);
}

static void starting(void)
{
	open_later(SERVERS({ "a" }, { "b", "stays" }, { "c" }, { "d" }));
}

static void handshaking(void)
{
	open_later(SERVERS({ "a", "mute" }, { "b", "mute" }));
	lab_await_pids(2);
}

static void ready(void)
{
	s = lab_session(k, SERVERS({ "a" }, { "b", "stays" }));
	lab_call(s, "a", "spawn", NULL, 0, NULL, 0);
}

static void in_a_call(void)
{
	ready();
	lab_block(s, "a");
	lab_block(s, "b");
}

static void *refresh_for_long(void *arg)
{
	char *config = lab_config(SERVERS({ "a", "mute" }, { "b", "mute" }));
	struct killick_error e;

	(void)arg;
	killick_session_refresh(s, config, NULL, NULL, &e);
	return NULL;
}

static void refreshing(void)
{
	in_a_call();
	lab_thread(refresh_for_long, NULL);
	lab_await_pids(4);
}

static void *close_for_long(void *arg)
{
	(void)arg;
	killick_session_close(s, NULL, NULL);
	return NULL;
}

static void closing(void)
{
	s = lab_session_with(k, SERVERS({ "a", "stays" }, { "b", "stays" }),
			     &KILLICK_SESSION_OPTIONS(.grace_ms = 60000));
	lab_thread(close_for_long, NULL);
	lab_await_state(s, "a", KILLICK_STOPPING);
}

/* Become a host in that state, then die. `said` is closed by the death, and by exec. */
static _Noreturn void be_host(void (*state)(void), void (*die)(void), const int *hold, int said)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	close(hold[1]);
	dup2(hold[0], 0); /* what the exec'd program reads */
	k = LAB();
	state();
	if (write(said, "x", 1) != 1)
		_exit(99);
	die();
	_exit(98);
}

static void expect_nobody(const char *what, pid_t host)
{
	double end = t_now_ms() + GONE_MS;
	char text[400];
	pid_t left[8];
	int n;

	for (;;) { /* the host itself carries the tag, and after exec it lives */
		n = audit_list(&t_audit, left, 8);
		if (n == 0 || (n == 1 && left[0] == host))
			return;
		if (t_now_ms() > end)
			break;
		t_wait_fd(-1, 0, 5);
	}
	audit_describe(&t_audit, text, sizeof(text));
	FAIL("%s: %s", what, text);
}

/* The next host counts anew. */
static void forget_pids(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/pids", t_audit.dir);
	unlink(path);
}

static void die_in(void (*state)(void))
{
	for (size_t i = 0; i < DEATHS; i++) {
		int hold[2], said[2], status;
		pid_t pid;
		char c;

		OK(pipe2(hold, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0)
			be_host(state, deaths[i].die, hold, said[1]);
		close(hold[0]);
		close(said[1]);
		if (read(said[0], &c, 1) != 1)
			FAIL("%s: the host did not get that far", deaths[i].name);
		EQ(read(said[0], &c, 1), 0); /* it has died, or become another */
		expect_nobody(deaths[i].name, pid);
		close(hold[1]);
		status = t_wait_child(pid, LAB_MS);
		OK(status != -1);
		OK(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
		lab_reap();
		close(said[0]);
		forget_pids();
	}
}

TEST(dies_while_starting, .timeout_ms = 60000)
{
	die_in(starting);
}

TEST(dies_while_handshaking, .timeout_ms = 60000)
{
	die_in(handshaking);
}

TEST(dies_when_ready, .timeout_ms = 60000)
{
	die_in(ready);
}

TEST(dies_in_a_call, .timeout_ms = 60000)
{
	die_in(in_a_call);
}

TEST(dies_while_refreshing, .timeout_ms = 60000)
{
	die_in(refreshing);
}

TEST(dies_while_closing, .timeout_ms = 60000)
{
	die_in(closing);
}

/* At random moments of opening, calling and closing. */
TEST(dies_at_any_moment, .timeout_ms = 120000)
{
	for (int round = 0; round < 30; round++) {
		int said[2], delay = (int)(t_random() % 40);
		pid_t pid;
		char c;

		OK(pipe2(said, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0) {
			k = LAB();
			(void)!write(said[1], "x", 1);
			for (;;) {
				s = lab_session(k, SERVERS({ "a" }, { "b" }, { "c" }));
				lab_call(s, "b", "spawn", NULL, 0, NULL, 0);
				lab_refresh(s, SERVERS({ "a", "dual" }, { "b" }));
				lab_end(s);
			}
		}
		close(said[1]);
		EQ(read(said[0], &c, 1), 1);
		t_wait_fd(-1, 0, delay);
		kill(pid, SIGKILL);
		OK(t_wait_child(pid, LAB_MS) != -1);
		expect_nobody("SIGKILL at some moment", pid);
		lab_reap();
		close(said[0]);
	}
}

/* --- fork --- */

static void expect_forked(void)
{
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.config = "{\"mcpServers\":{}}");
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_PING, .server = "a");
	struct killick_session *other = NULL;
	struct killick_result *r = NULL;
	struct killick_status *st = NULL;
	struct killick_call *c = NULL;
	struct killick_error e = { 0 };

	EQ(killick_do(s, &rq, &r), KILLICK_ERR_FORKED);
	OK(strstr(killick_result_error(r), "a forked child cannot use it"));
	killick_result_free(r);
	EQ(killick_start(s, &rq, &c, NULL), KILLICK_ERR_FORKED);
	EQ(killick_session_status(s, &st, NULL), KILLICK_ERR_FORKED);
	EQ(killick_session_open(k, &options, &other, &e), KILLICK_ERR_FORKED);
	EQ(killick_session_refresh(s, options.config, NULL, NULL, &e), KILLICK_ERR_FORKED);
	EQ(killick_session_close(s, NULL, NULL), KILLICK_ERR_FORKED);
	EQ(killick_close(k, NULL, NULL), KILLICK_ERR_FORKED);
	killick_session_free(s);
	killick_free(k);
}

TEST(a_forked_child_does_not_disturb_the_host)
{
	struct killick_call *c;
	pid_t server, pid;

	k = LAB();
	ready();
	server = lab_pid(s, "a");
	c = lab_block(s, "a");
	for (int i = 0; i < 4; i++) {
		int status;

		pid = fork();
		if (pid == 0) {
			if (i == 0)
				expect_forked();
			if (i == 1)
				exit(0); /* with everything that runs at exit */
			_exit(0);
		}
		status = t_wait_child(pid, LAB_MS);
		EQ(status, 0);
		EQ(lab_pid(s, "a"), server);
	}
	killick_cancel(c);
	killick_wait(c, NULL);
	killick_call_free(c);
	lab_end(s);
	lab_close(k);
}

/* A child opens a runtime of its own. */
TEST(a_forked_child_may_open_its_own_runtime)
{
#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer knows no threads in a forked child");
#endif
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer has no threads after fork");
#endif
	k = LAB();
	ready();
	pid = fork();
	if (pid == 0) {
		struct killick *own = LAB();
		struct killick_session *its = lab_session(own, SERVERS({ "a" }));

		lab_pid(its, "a");
		lab_end(its);
		lab_close(own);
		_exit(0);
	}
	EQ(t_wait_child(pid, LAB_MS), 0);
	lab_pid(s, "a");
	lab_end(s);
	lab_close(k);
	lab_reap();
}

/* A child that outlives the host has copies of all its descriptors: the servers end all the same.
 */
TEST(a_child_that_outlives_the_host)
{
	int said[2], hold[2];
	pid_t pid, child = 0;

	OK(pipe2(said, O_CLOEXEC) == 0 && pipe2(hold, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		k = LAB();
		ready();
		child = fork();
		if (child == 0) {
			char c;

			close(hold[1]);
			(void)!read(hold[0], &c, 1); /* lives until the test lets go */
			_exit(0);
		}
		(void)!write(said[1], &child, sizeof(child));
		raise(SIGKILL);
	}
	close(said[1]);
	close(hold[0]);
	EQ(read(said[0], &child, sizeof(child)), sizeof(child));
	OK(t_wait_child(pid, LAB_MS) != -1);
	expect_nobody("the host's child lives", child);
	EQ(kill(child, 0), 0);
	close(hold[1]);
	EQ(t_wait_child(child, LAB_MS), 0); /* we are its subreaper */
	lab_reap();
	close(said[0]);
}
