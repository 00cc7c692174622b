/* run.c - `killick run` is the server it runs, until that has to end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"

static const char *probe(void)
{
	return t_program("PROBE", "build/tests/probe");
}

/* A file of this test's own. */
static const char *scratch(const char *name)
{
	static char path[2][160];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", t_audit.dir, name);
	return path[turn];
}

/* --- the same as the server alone --- */

TEST(exit_code_is_the_servers)
{
	struct held h;

	HELD(&h, "--", "sh", "-c", "exit 37");
	int status = held_status(&h);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 37);
	OK(held_reported(&h, "\"exit\":{\"code\":37}"));
	OK(held_reported(&h, "\"why\":\"exit\",\"step\":\"none\""));
	held_done(&h);
}

TEST(dies_of_the_servers_signal)
{
	for (int sig = 1; sig <= SIGTERM; sig++) {
		struct held h;
		char cmd[32];

		if (sig == SIGCHLD || sig == SIGCONT || sig == SIGSTOP)
			continue;
		snprintf(cmd, sizeof(cmd), "ulimit -c 0; kill -%d $$", sig);
		HELD(&h, "--", "sh", "-c", cmd);
		int status = held_status(&h);
		OK(WIFSIGNALED(status));
		EQ(WTERMSIG(status), sig);
		OK(!WCOREDUMP(status));
		held_done(&h);
		unlink(h.report);
	}
}

TEST(bytes_pass_untouched_both_ways)
{
	static char sent[300000], got[300000];
	size_t in = 0, out = 0;
	struct held h;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)t_random();
	HELD(&h, "--", "cat");
	fcntl(h.in, F_SETFL, O_NONBLOCK);
	while (out < sizeof(got)) {
		if (in < sizeof(sent)) {
			ssize_t n = write(h.in, sent + in, sizeof(sent) - in);
			if (n > 0)
				in += (size_t)n;
			if (in == sizeof(sent))
				held_eof(&h);
		}
		OK(t_wait_fd(h.out, POLLIN, HELD_MS));
		ssize_t n = read(h.out, got + out, sizeof(got) - out);
		OK(n > 0);
		out += (size_t)n;
	}
	OK(memcmp(sent, got, sizeof(sent)) == 0);
	EQ(held_status(&h), 0);
	held_done(&h);
}

TEST(no_descriptor_but_stdio_reaches_the_server)
{
	struct held h;

	for (int fd = 40; fd < 45; fd++)
		OK(dup2(1, fd) == fd); /* a client that forgot CLOEXEC */
	HELD(&h, "--", probe(), "fds");
	for (int fd = 40; fd < 45; fd++)
		close(fd);
	held_expect(&h, "0 1 2 ");
	EQ(held_status(&h), 0);
	held_done(&h);
}

/* Descriptors of ours, not of the client: each is born close-on-exec, before any second line of
 * defence. */
TEST(keepers_own_descriptors_are_close_on_exec)
{
	struct held h;

	syscall(SYS_close_range, 3u, ~0u, 4u); /* hand it nothing that is not close-on-exec */
	HELD(&h, "--", probe(), "wait", "10");
	held_expect(&h, "ready");
	pid_t pids[2] = { h.watch, held_hold(&h) };
	int seen = 0;
	for (int p = 0; p < 2; p++) {
		for (int fd = 3; fd < 64; fd++) {
			char path[64], text[256] = "";
			unsigned flags = 0;
			snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pids[p], fd);
			int info = open(path, O_RDONLY | O_CLOEXEC);
			if (info < 0)
				continue;
			seen++;
			ssize_t n = read(info, text, sizeof(text) - 1);
			close(info);
			if (n <= 0)
				continue; /* closed meanwhile: the watch is sweeping */
			OK(sscanf(strstr(text, "flags:"), "flags: %o", &flags) == 1);
			if (!(flags & O_CLOEXEC))
				FAIL("pid %d: descriptor %d is not close-on-exec", pids[p], fd);
		}
	}
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
	if (!seen)
		SKIP("only root can look at the descriptors of keepers");
}

TEST(signals_are_at_their_defaults)
{
	sigset_t mask;
	struct held h;

	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sig != SIGCHLD)
			sigaction(sig, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	}
	HELD(&h, "--", probe(), "signals");
	held_expect(&h, "default");
	EQ(held_status(&h), 0);
	held_done(&h);
}

TEST(a_client_that_ignores_sigchld_changes_nothing)
{
	struct held h;
	int fds[2];
	char byte;

	/* the ignoring must be in killick's parent when it execs, not in the harness, which waits
	 * for children */
	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid_t client = fork();
	if (client == 0) {
		sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
		HELD(&h, "--", "sh", "-c", "setsid sleep 600 & exit 5");
		bool good = held_wait_gone(h.watch) && held_reported(&h, "\"code\":5") &&
			    held_reported(&h, "\"survivors\":[]");
		(void)!write(fds[1], good ? "y" : "n", 1);
		_exit(0);
	}
	OK(t_wait_fd(fds[0], POLLIN, HELD_MS));
	OK(read(fds[0], &byte, 1) == 1 && byte == 'y');
	t_wait_child(client, HELD_MS);
	close(fds[0]);
	close(fds[1]);
}

TEST(umask_and_directory_are_the_clients)
{
	char dir[160];
	struct held h;

	umask(031);
	HELD(&h, "--", probe(), "umask");
	held_expect(&h, "031");
	held_status(&h);
	held_done(&h);
	umask(022);
	snprintf(dir, sizeof(dir), "%s/here", t_audit.dir);
	OK(mkdir(dir, 0755) == 0);
	char *self = realpath(t_program("KILLICK", "build/killick"), NULL),
	     *asked = realpath(probe(), NULL);
	setenv("KILLICK", self, 1);
	OK(chdir(dir) == 0);
	HELD(&h, "--", asked, "cwd");
	held_expect(&h, dir);
	held_status(&h);
	held_done(&h);
	OK(chdir("/") == 0);
	free(self);
	free(asked);
}

TEST(environment_is_the_clients_plus_the_tag)
{
	char line[64];
	struct held h;

	setenv("PLAIN", "kept value", 1);
	setenv("LISTEN_FDS", "3", 1);
	setenv("NOTIFY_SOCKET", "/nowhere", 1);
	setenv("KILLICK_TREE", "of an outer tree", 1);
	HELD(&h, "--", "sh", "-c",
	     "echo \"$PLAIN,${LISTEN_FDS-no},${NOTIFY_SOCKET-no}\"; echo $KILLICK_TREE");
	held_expect(&h, "kept value,no,no");
	OK(held_line(&h, line, sizeof(line)));
	EQ(strlen(line), 16);
	EQ(strspn(line, "0123456789abcdef"), 16);
	held_status(&h);
	held_done(&h);
}

TEST(many_variables_and_arguments_reach_the_server)
{
	char script[160], name[32];
	struct held h;
	int fd;

	/* without a #! line the keeper makes room for a shell in front of the arguments */
	snprintf(script, sizeof(script), "%s/script", t_audit.dir);
	fd = open(script, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	OK(fd >= 0 && dprintf(fd, "echo \"$#,${300},$V0,$V299,${KILLICK_TREE:+tag}\"\n") > 0);
	close(fd);
	setenv("S", script, 1);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "V%d", i);
		setenv(name, name, 1);
	}
	held_start_script(&h, "sh", "exec \"$K\" run --report \"$R\" -- \"$S\" $(seq 300)");
	held_expect(&h, "300,300,V0,V299,tag");
	EQ(held_status(&h), 0);
	held_done(&h);
}

TEST(stdio_blocks_as_servers_expect)
{
	struct held h;
	int fds[2];

	OK(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
	held_start_with(&h, (const char *const[]){ "--", probe(), "stdio", NULL }, fds[0], -1);
	held_expect(&h, "block block block ");
	held_status(&h);
	held_done(&h);
	close(fds[0]);
	close(fds[1]);
}

TEST(stdout_ends_when_the_server_closes_it)
{
	struct held h;
	char line[16];

	HELD(&h, "--", "sh", "-c", "echo last; exec >&-; exec 2>&-; read x; exit 0");
	held_expect(&h, "last");
	OK(t_wait_fd(h.out, POLLIN | POLLHUP, HELD_MS));
	OK(!held_line(&h, line, sizeof(line))); /* EOF, though the server and killick live on */
	OK(t_wait_fd(h.err, POLLIN | POLLHUP, HELD_MS));
	OK(held_lives(h.watch));
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
}

TEST(a_script_without_hash_bang_runs_as_execvp_would)
{
	const char *path = scratch("script");
	struct held h;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	OK(fd >= 0 && write(fd, "echo ran $1\n", 12) == 12);
	close(fd);
	HELD(&h, "--", path, "it");
	held_expect(&h, "ran it");
	EQ(held_status(&h), 0);
	held_done(&h);
}

TEST(signals_are_handed_on)
{
	static const int sigs[] = { SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT };
	struct held h;
	char want[8];

	HELD(&h, "--", probe(), "wait", "1", "2", "3", "10", "12", "18", "28");
	held_expect(&h, "ready");
	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		OK(kill(h.watch, sigs[i]) == 0);
		snprintf(want, sizeof(want), "%d", sigs[i]);
		held_expect(&h, want);
	}
	OK(held_lives(h.watch)); /* none of them begins the end */
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
}

/* A client that names one pid means one process: a helper of the server must not die of the
 * server's SIGUSR1. */
TEST(signals_to_the_pid_reach_the_main_process_only)
{
	const char *file = scratch("helper");
	char script[400];
	struct held h;

	snprintf(script, sizeof(script), "sleep 600 & echo $! >%s; exec %s wait 10", file, probe());
	HELD(&h, "--", "sh", "-c", script);
	held_expect(&h, "ready");
	pid_t helper = held_pid_from(file);
	OK(kill(h.watch, SIGUSR1) == 0);
	held_expect(&h, "10");
	OK(held_lives(helper));
	held_eof(&h);
	held_status(&h);
	OK(!held_lives(helper));
	held_done(&h);
}

/* --- how it ends --- */

TEST(after_a_hang_up_the_server_may_finish)
{
	struct held h;

	HELD(&h, "--", "sh", "-c", "while read x; do echo $x; done; echo bye; exit 4");
	OK(write(h.in, "a\nb\n", 4) == 4);
	held_eof(&h);
	held_expect(&h, "a");
	held_expect(&h, "b");
	held_expect(&h, "bye");
	EQ(WEXITSTATUS(held_status(&h)), 4);
	OK(held_reported(&h, "\"why\":\"stdin\",\"step\":\"eof\""));
	held_done(&h);
}

/* Node gives its children sockets, and half-closes them. */
TEST(half_closed_socket_is_a_hang_up)
{
	struct held h;
	int pair[2];

	OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	held_start_with(&h,
			(const char *const[]){ "--grace", "50ms", "--", "sh", "-c",
					       "trap '' TERM; echo up; sleep 600", NULL },
			pair[1], -1);
	close(pair[1]);
	held_expect(&h, "up");
	OK(shutdown(pair[0], SHUT_WR) == 0);
	held_status(&h);
	OK(held_reported(&h, "\"why\":\"stdin\""));
	held_done(&h);
	close(pair[0]);
}

TEST(each_step_is_taken_when_the_one_before_was_not_enough)
{
	static const struct {
		const char *script, *grace, *step;
	} cases[] = {
		/* long enough for a busy machine, where the step is to be enough */
		{ "echo up; cat", "10s", "eof" },
		{ "echo up; sleep 600", "1s", "term" },
		{ "trap '' TERM; echo up; while :; do sleep 600; done", "60ms", "kill" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct held h;
		char want[64];

		HELD(&h, "--grace", cases[i].grace, "--", "sh", "-c", cases[i].script);
		held_expect(&h, "up");
		held_eof(&h);
		held_status(&h);
		snprintf(want, sizeof(want), "\"why\":\"stdin\",\"step\":\"%s\"", cases[i].step);
		OK(held_reported(&h, want));
		OK(held_reported(&h, "\"survivors\":[]"));
		held_done(&h);
		unlink(h.report);
	}
}

TEST(sigterm_begins_the_end)
{
	struct held h;

	HELD(&h, "--", "sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done");
	held_expect(&h, "up");
	OK(kill(h.watch, SIGTERM) == 0);
	EQ(WEXITSTATUS(held_status(&h)), 9);
	OK(held_reported(&h, "\"why\":\"signal\",\"step\":\"term\""));
	held_done(&h);
}

TEST(a_stopped_server_still_hears_sigterm)
{
	struct held h;
	char pid[32];

	HELD(&h, "--grace", "5s", "--", "sh", "-c",
	     "trap 'exit 9' TERM; echo $$; kill -STOP $$; exit 1");
	OK(held_line(&h, pid, sizeof(pid)));
	held_await_stopped(atoi(pid));
	OK(kill(h.watch, SIGTERM) == 0);
	EQ(WEXITSTATUS(held_status(&h)), 9);
	held_done(&h);
}

TEST(leftovers_are_killed_when_the_server_exits)
{
	struct held h;

	HELD(&h, "--", "sh", "-c",
	     "sleep 600 & setsid sleep 600 & (setsid sh -c 'sleep 600 & sleep 600' &) ; exit 3");
	EQ(WEXITSTATUS(held_status(&h)), 3);
	OK(held_reported(&h, "\"survivors\":[]"));
	OK(held_reported(&h, "\"proof\":[\"waitid\""));
	EQ(audit_count(&t_audit), 0);
	held_done(&h);
}

/* The watch looks again after the hold and would end what it finds: a second stop in the log. It
 * must find nothing. */
TEST(the_hold_alone_ends_escaping_processes)
{
	static const char *const modes[] = { "daemon", "cloneparent", "nestsub", "deadlead" };
	static const char init[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n";

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		char line[512], log[200];
		int stops = 0;
		struct held h;
		FILE *f;

		snprintf(log, sizeof(log), "%s/log-%zu", t_audit.dir, i);
		HELD(&h, "--contain", "keeper", "--log", log, "--",
		     t_program("ZOO", "build/tests/zoo/killick-zoo"), modes[i]);
		OK(write(h.in, init, sizeof(init) - 1) == sizeof(init) - 1);
		OK(held_line(&h, line, sizeof(line)));
		held_eof(&h);
		EQ(held_status(&h), 0);
		OK(held_reported(&h, "\"why\":\"stdin\""));
		EQ(held_report_lines(&h), 1);
		f = fopen(log, "re");
		while (f && fgets(line, sizeof(line), f))
			stops += strstr(line, "event=stop ") != NULL;
		OK(f && fclose(f) == 0);
		EQ(stops, 1);
		held_done(&h);
		unlink(h.report);
	}
}

/* --- owners --- */

static void *start_and_leave(void *ctx)
{
	struct held *h = ctx;

	HELD(h, "--", "cat");
	OK(write(h->in, "up\n", 3) == 3);
	held_expect(h, "up");
	return NULL;
}

/* PDEATHSIG is about the thread that forked; owners are processes. */
TEST(the_end_of_a_thread_is_not_the_end_of_the_owner)
{
	pthread_t thread;
	struct held h;
	char line[16];

	OK(pthread_create(&thread, NULL, start_and_leave, &h) == 0);
	OK(pthread_join(thread, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		OK(write(h.in, "ping\n", 5) == 5);
		OK(held_line(&h, line, sizeof(line)));
		STREQ(line, "ping");
		poll(NULL, 0, 10);
	}
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	OK(held_reported(&h, "\"why\":\"signal\""));
	held_done(&h);
}

/* A shell as the client, with killick as its background job (which a shell would give /dev/null:
 * hence 3<&0). */
static pid_t client_shell(const char *options, const char *server, int in, int out, bool stay,
			  struct held *h)
{
	const char *pidfile = scratch("watch");
	char shell[512];

	snprintf(h->report, sizeof(h->report), "%s/report", t_audit.dir);
	snprintf(shell, sizeof(shell),
		 "exec 3<&0; %s run --report %s %s -- %s <&3 & echo $! >%s; %s",
		 t_program("KILLICK", "build/killick"), h->report, options, server, pidfile,
		 stay ? "exec sleep 600" : "");
	pid_t client = t_spawn((char *const[]){ "sh", "-c", shell, NULL }, (int[]){ in, out, -1 });
	h->watch = held_pid_from(pidfile);
	return client;
}

/* The server's stdin stays open here (the test holds the other end): only the death itself can be
 * the reason. */
enum stop { STOP_NONE, STOP_WATCH, STOP_BOTH };
static void owner_dies(enum stop stop)
{
	int in[2], out[2];
	struct held h;

	OK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	pid_t client = client_shell("--owner parent", "sh -c 'echo up; exec sleep 600'", in[0],
				    out[1], true, &h);
	close(out[1]);
	h.out = out[0];
	held_expect(&h, "up");
	if (stop != STOP_NONE)
		OK(kill(h.watch, SIGSTOP) == 0);
	if (stop == STOP_BOTH)
		OK(kill(held_hold(&h), SIGSTOP) == 0);
	OK(kill(client, SIGKILL) == 0);
	OK(t_wait_child(client, HELD_MS) != -1);
	OK(t_wait_child(h.watch, HELD_MS) !=
	   -1); /* the harness is a subreaper: the orphan came to us */
	OK(held_reported(&h, "\"why\":\"owner\",\"step\":\"term\""));
	close(h.out);
	close(in[0]);
	close(in[1]);
}

TEST(the_parents_death_ends_the_tree_with_stdin_open)
{
	owner_dies(STOP_NONE);
}

TEST(the_parents_death_ends_the_tree_with_the_watch_stopped)
{
	owner_dies(STOP_WATCH);
}

/* The kernel wakes the watch when its parent dies, the watch wakes the hold. */
TEST(the_parents_death_ends_the_tree_with_both_keepers_stopped)
{
	owner_dies(STOP_BOTH);
}

TEST(owner_may_be_any_process)
{
	char pid[16];
	struct held h;
	char *argv[] = { "sleep", "600", NULL };
	pid_t other = t_spawn(argv, NULL);

	snprintf(pid, sizeof(pid), "%d", other);
	HELD(&h, "--owner", pid, "--", "sh", "-c", "echo up; sleep 600");
	held_expect(&h, "up");
	OK(kill(other, SIGKILL) == 0);
	t_wait_child(other, HELD_MS);
	held_status(&h);
	OK(held_reported(&h, "\"why\":\"owner\""));
	held_done(&h);
}

TEST(owner_stdin_outlives_the_parent)
{
	struct held h;
	int in[2], out[2];

	OK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	pid_t client = client_shell("--owner stdin", "cat", in[0], out[1], false, &h);
	close(in[0]);
	close(out[1]);
	h.in = in[1];
	h.out = out[0];
	OK(t_wait_child(client, HELD_MS) != -1);
	OK(write(h.in, "still\n", 6) == 6);
	held_expect(&h, "still");
	held_eof(&h);
	held_status(&h);
	OK(held_reported(&h, "\"why\":\"stdin\""));
	close(h.out);
}

/* --- keepers in trouble --- */

TEST(a_stopped_hold_is_continued)
{
	struct held h;
	char line[16];

	HELD(&h, "--", "cat");
	pid_t hold = held_hold(&h);
	OK(write(h.in, "a\n", 2) == 2 && held_line(&h, line, sizeof(line)));
	OK(kill(hold, SIGSTOP) == 0);
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
}

TEST(a_stopped_watch_sees_the_end)
{
	struct held h;
	char line[16];

	HELD(&h, "--", "cat");
	OK(write(h.in, "a\n", 2) == 2 && held_line(&h, line, sizeof(line)));
	OK(kill(h.watch, SIGSTOP) == 0);
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
}

/* Clients kill the group they made; the hold must be outside of it. */
TEST(a_group_kill_does_not_reach_the_hold)
{
	const char *file = scratch("daemon");
	char script[300];
	struct held h;
	int out[2];

	OK(pipe2(out, O_CLOEXEC) == 0);
	snprintf(h.report, sizeof(h.report), "%s/report", t_audit.dir);
	h.watch = fork();
	if (h.watch == 0) {
		setpgid(0, 0);
		dup2(out[1], 1);
		snprintf(script, sizeof(script),
			 "setsid sh -c 'echo $$ >%s; sleep 600; :' & echo up; sleep 600", file);
		/* without a janitor, who would come to us as well */
		execl(t_program("KILLICK", "build/killick"), "killick", "run", "--sweep", "no",
		      "--report", h.report, "--", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	h.out = out[0];
	held_expect(&h, "up");
	pid_t hold = held_hold(&h), daemon = held_pid_from(file);
	OK(kill(-h.watch, SIGKILL) == 0);
	EQ(WTERMSIG(held_status(&h)), SIGKILL);
	OK(t_wait_child(hold, HELD_MS) == 0); /* it came to us, did its work and left in peace */
	OK(!held_lives(daemon));
	OK(held_reported(&h, "\"why\":\"watch\""));
	close(h.out);
}

/* In one session with its client a server may join the client's group; killing it must not kill the
 * client. */
TEST(killing_a_server_in_the_clients_group_does_not_kill_the_client)
{
	char group[16];
	struct held h;

	snprintf(group, sizeof(group), "%d", getpgrp());
	HELD(&h, "--contain", "keeper", "--grace", "50ms", "--", probe(), "join", group);
	held_expect(&h, "joined");
	held_eof(&h);
	held_status(&h);
	OK(held_reported(&h, "\"step\":\"kill\""));
	held_done(&h);
}

/* With a terminal as its stdin: the server reads it though it is in no foreground group, and Ctrl-C
 * reaches it. */
TEST(job_control_works_on_the_server)
{
	struct held h;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), out[2];

	OK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
	   pipe2(out, O_CLOEXEC) == 0);
	h.watch = fork();
	if (h.watch == 0) {
		setsid();
		int tty = open(ptsname(master),
			       O_RDWR); /* the first terminal of a session leader is its own */
		dup2(tty, 0);
		dup2(out[1], 1);
		close(tty);
		/* a leader cannot be in a group of its own making anew: killick as a child, as a
		 * shell would */
		pid_t job = fork();
		if (job == 0) {
			execl(t_program("KILLICK", "build/killick"), "killick", "run", "--", "sh",
			      "-c",
			      "trap 'echo interrupted; exit 5' INT; echo up; read x; echo got $x; "
			      "while :; do sleep 0.01; done",
			      (char *)NULL);
			_exit(127);
		}
		sigaction(SIGINT, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
		int status;
		waitpid(job, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	close(out[1]);
	h.out = out[0];
	held_expect(&h, "up");
	OK(write(master, "line\n", 5) == 5);
	held_expect(&h, "got line");
	OK(write(master, "\003", 1) == 1);
	held_expect(&h, "interrupted");
	EQ(WEXITSTATUS(held_status(&h)), 5);
	close(h.out);
	close(master);
}

/* Signals without end must not keep a keeper from its clock, nor from the other's death. */
TEST(a_flood_of_signals_delays_nothing)
{
	for (int kill_hold = 0; kill_hold < 2; kill_hold++) {
		struct held h;

		HELD(&h, "--contain", "keeper", "--grace", "50ms", "--", probe(), "flood");
		held_expect(&h, "flooding");
		if (kill_hold)
			OK(kill(held_hold(&h), SIGKILL) == 0);
		else
			held_eof(&h);
		held_status(&h);
		OK(held_reported(&h, kill_hold ? "\"why\":\"hold\"" : "\"step\":\"kill\""));
		held_done(&h);
		unlink(h.report);
	}
}

TEST(one_killick_inside_another)
{
	const char *killick = t_program("KILLICK", "build/killick");
	struct held h;

	HELD(&h, "--grace", "100ms", "--", killick, "run", "--grace", "60s", "--", "sh", "-c",
	     "trap '' TERM; setsid sleep 600 & echo up; while :; do sleep 600; done");
	held_expect(&h, "up");
	held_eof(&h);
	held_status(&h);
	OK(held_reported(&h, "\"survivors\":[]"));
	EQ(audit_count(&t_audit), 0);
	held_done(&h);
}
