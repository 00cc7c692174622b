/* lifetime.c - every way for a remote process to end, and for its owner: nothing is left, of the
 * leader, of a plain child, of one that ignores SIGTERM and of one that became a daemon.
 *
 * The rows are those in which Codex's own executor leaves some of them.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"
#include "t.h"

#define CHILDREN 3 /* beside the leader */

/* The whole tree, then what the leader does. `held`: a child holds its stdout open. */
static const char *tree_script(const char *then)
{
	static char script[1000];
	const char *zoo = t_program("ZOO", "build/tests/zoo/killick-zoo");

	snprintf(script, sizeof(script),
		 "sleep 120 </dev/null >/dev/null 2>&1 & "
		 "%s ignore </dev/null >/dev/null 2>&1 & "
		 "setsid %s ignore </dev/null >/dev/null 2>&1 & "
		 "echo up; %s",
		 zoo, zoo, then);
	return script;
}

/* Wait until so many processes carry the tag beside the executor and the keepers: the children are
 * all there. */
static void await_children(void)
{
	double until = t_now_ms() + GUEST_MS;
	int keepers = 1 + 2; /* the executor, watch and hold */

	while (audit_count(&t_audit) < keepers + CHILDREN) {
		OK(t_now_ms() < until);
		t_wait_fd(-1, 0, 5);
	}
}

static void start_tree(struct host *h, struct guest *g, const char *as, const char *then)
{
	guest_open(g, h);
	guest_start(g, "p", as, tree_script(then));
	guest_await_output(g, "p", "up");
	await_children();
}

static long long exit_code(struct guest *g)
{
	char *line = guest_await(g, "process/exited", "p");
	long long code = guest_number(line, "params.exitCode");

	free(line);
	return code;
}

/* Nothing but the executor is left. */
static void only_executor_lives(void)
{
	double until = t_now_ms() + GUEST_MS;

	while (audit_count(&t_audit) > 1) {
		if (t_now_ms() > until) {
			char who[500];

			audit_describe(&t_audit, who, sizeof(who));
			FAIL("alive: %s", who);
		}
		t_wait_fd(-1, 0, 5);
	}
}

static void nothing_lives(void)
{
	OK(audit_wait_empty(&t_audit, GUEST_MS, NULL));
}

static void terminate(const char *as, const char *then, const char *more)
{
	struct host h;
	struct guest g;
	char *line;

	HOST(&h, NULL, "--quiet");
	start_tree(&h, &g, as, then);
	line = guest_ask(&g, "process/terminate", "{\"processId\":\"p\"%s}", more);
	OK(guest_true(line, "result.running"));
	free(line);
	EQ(exit_code(&g), strstr(more, "grace") ? 0 : 137);
	free(guest_await(&g, "process/closed", "p"));
	only_executor_lives();
	line = guest_ask(&g, "process/terminate", "{\"processId\":\"p\"%s}", more);
	OK(!guest_true(line, "result.running"));
	free(line);
	guest_close(&g);
	host_stop(&h);
	nothing_lives();
}

TEST(terminate_piped)
{
	terminate(PIPED, "exec cat >/dev/null", "");
}

TEST(terminate_shell)
{
	terminate(SHELL, "exec sleep 120", "");
}

TEST(terminate_tty)
{
	terminate(TTY, "exec sleep 120", "");
}

TEST(terminate_with_grace)
{
	terminate(PIPED, "exec cat >/dev/null", ",\"graceMs\":5000");
}

TEST(leader_of_a_piped_server_exits)
{
	struct host h;
	struct guest g;
	char *line;

	HOST(&h, NULL, "--quiet");
	start_tree(&h, &g, PIPED, "read x; exit 3");
	free(guest_ask(&g, "process/write",
		       "{\"processId\":\"p\",\"chunk\":\"Cg==\",\"writeId\":\"1\"}"));
	EQ(exit_code(&g), 3);
	line = guest_await(&g, "process/closed", "p");
	OK(guest_find(line, "params.report.killick").at);
	EQ(json_count(guest_find(line, "params.report.survivors")), 0);
	free(line);
	only_executor_lives();
	guest_close(&g);
	host_stop(&h);
	nothing_lives();
}

/* Background jobs of a shell command may go on, and are ended after the retention, all of them. */
TEST(leader_of_a_shell_command_exits)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet", "--retain", "700ms");
	guest_open(&g, &h);
	guest_start(&g, "p", SHELL, tree_script("exit 4"));
	EQ(exit_code(&g), 4);
	free(guest_await(&g, "process/closed", "p")); /* none of them has its pipes */
	only_executor_lives();
	guest_close(&g);
	host_stop(&h);
	nothing_lives();
}

/* `closed` comes although a child holds stdout. */
TEST(leader_exits_and_a_child_holds_stdout)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet", "--retain", "500ms");
	guest_open(&g, &h);
	guest_start(&g, "p", SHELL, "(trap '' TERM HUP; sleep 120) & setsid sleep 120 & exit 5");
	EQ(exit_code(&g), 5);
	OK(!guest_has(&g, "process/closed", "p"));
	free(guest_await(&g, "process/closed", "p"));
	only_executor_lives();
	guest_close(&g);
	host_stop(&h);
	nothing_lives();
}

/* And terminate ends what is left at once. */
TEST(terminate_after_the_leader_has_exited)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet", "--retain", "1h");
	guest_open(&g, &h);
	guest_start(&g, "p", SHELL, "(trap '' TERM HUP; sleep 120) & setsid sleep 120 & exit 5");
	EQ(exit_code(&g), 5);
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"p\"}"));
	free(guest_await(&g, "process/closed", "p"));
	only_executor_lives();
	guest_close(&g);
	host_stop(&h);
	nothing_lives();
}

/* Children of an owner often inherit its socket, which then does not hang up. */
TEST(an_owner_is_killed_whose_child_holds_the_socket, .timeout_ms = 20000)
{
	struct host h;
	struct guest g;
	int ready[2];
	pid_t owner, child = 0;

	HOST(&h, NULL, "--quiet", "--lease", "1s");
	OK(!pipe(ready));
	owner = fork();
	if (owner == 0) {
		guest_open(&g, &h);
		guest_start(&g, "p", PIPED, tree_script("exec cat >/dev/null"));
		guest_await_output(&g, "p", "up");
		child = fork();
		if (child > 0 && write(ready[1], &child, sizeof(child)) < 0)
			_exit(1);
		alarm(60);
		for (;;)
			pause();
	}
	close(ready[1]);
	OK(t_wait_fd(ready[0], POLLIN, GUEST_MS));
	EQ(read(ready[0], &child, sizeof(child)), sizeof(child));
	close(ready[0]);
	kill(owner, SIGKILL);
	OK(t_wait_child(owner, GUEST_MS) >= 0);
	for (double until = t_now_ms() + GUEST_MS; audit_count(&t_audit) > 2;) {
		OK(t_now_ms() < until); /* all but the executor and the child end */
		t_wait_fd(-1, 0, 5);
	}
	kill(child, SIGKILL);
	OK(t_wait_child(child, GUEST_MS) >= 0);
	host_stop(&h);
	nothing_lives();
}

static void hang_up(const char *as, const char *then)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet", "--lease", "400ms");
	start_tree(&h, &g, as, then);
	guest_close(&g);
	only_executor_lives();
	host_stop(&h);
	nothing_lives();
}

TEST(owner_of_a_piped_server_stays_away)
{
	hang_up(PIPED, "exec cat >/dev/null");
}

TEST(owner_of_a_shell_command_stays_away)
{
	hang_up(SHELL, "exec sleep 120");
}

TEST(owner_of_a_terminal_stays_away)
{
	hang_up(TTY, "exec sleep 120");
}

/* It was granted an hour to leave, and then its owner left. */
TEST(a_long_grace_does_not_outlast_the_lease)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet", "--lease", "400ms");
	start_tree(&h, &g, SHELL, "trap '' TERM INT HUP; while :; do sleep 1; done");
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"p\",\"graceMs\":3600000}"));
	guest_close(&g);
	only_executor_lives();
	host_stop(&h);
	nothing_lives();
}

TEST(stdio_eof)
{
	struct host h;
	struct guest g;

	HOST(&h, "stdio", "--quiet");
	start_tree(&h, &g, PIPED, "exec cat >/dev/null");
	guest_close(&g);
	close(h.in);
	h.in = -1;
	EQ(host_end(&h), 0);
	nothing_lives();
}

static void signal_executor(int sig)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	start_tree(&h, &g, PIPED, "exec cat >/dev/null");
	if (sig == SIGKILL)
		host_kill(&h);
	else
		host_stop(&h);
	nothing_lives();
	guest_close(&g);
}

TEST(executor_is_terminated)
{
	signal_executor(SIGTERM);
}

TEST(executor_is_killed)
{
	signal_executor(SIGKILL);
}

/* A leader that ignores everything, and a client that is gone a moment after its terminate. */
TEST(client_is_gone_after_its_terminate)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	start_tree(&h, &g, PIPED, "trap '' TERM INT HUP; while :; do sleep 1; done");
	guest_send(&g, "process/terminate", "{\"processId\":\"p\"}");
	guest_close(&g);
	only_executor_lives();
	host_stop(&h);
	nothing_lives();
}

/* Start and terminate in one breath. */
TEST(terminate_races_start)
{
	struct host h;
	struct guest g;

	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	for (int i = 0; i < 50; i++) {
		long id = guest_send(&g, "process/start",
				     "{\"processId\":\"p%d\",\"argv\":[\"sleep\",\"120\"],\"cwd\":"
				     "\"file:///\",\"env\":{\"PATH\":\"/usr/bin:/bin\"},%s}",
				     i, PIPED);
		long end = guest_send(&g, "process/terminate", "{\"processId\":\"p%d\"}", i);

		free(guest_answer(&g, id));
		free(guest_answer(&g, end));
	}
	only_executor_lives();
	guest_close(&g);
	host_stop(&h);
	nothing_lives();
}
