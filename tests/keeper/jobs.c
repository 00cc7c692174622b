/* jobs.c - killick under an interactive shell: the terminal belongs to the shell's jobs as without.
 *
 * Every test runs twice: with the plain program, which shows that the test is right, and with
 * killick in front of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"

struct jobs {
	pid_t shell;
	int tty; /* our side of the terminal */
	char heard[65536];
	size_t len, seen; /* of heard: read, and looked at */
	const char *with; /* "" or killick's command, in front of what is run */
};

/* Wait for `text` after what was waited for before. */
static bool jobs_hears(struct jobs *j, const char *text, int ms)
{
	double end = t_now_ms() + ms;

	for (;;) {
		char *at = strstr(j->heard + j->seen, text);
		double left = end - t_now_ms();
		ssize_t n;

		if (at) {
			j->seen = (size_t)(at - j->heard) + strlen(text);
			return true;
		}
		if (left <= 0 || !t_wait_fd(j->tty, POLLIN, (int)left + 1))
			return false;
		n = read(j->tty, j->heard + j->len, sizeof(j->heard) - 1 - j->len);
		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++) /* so that strstr sees all of it */
			if (!j->heard[j->len + (size_t)i])
				j->heard[j->len + (size_t)i] = '?';
		j->len += (size_t)n;
		j->heard[j->len] = '\0';
	}
}

static void jobs_expect(struct jobs *j, const char *text)
{
	if (!jobs_hears(j, text, HELD_MS))
		FAIL("%s: no '%s' on the terminal, but: '%s'", *j->with ? "killick" : "bare", text,
		     j->heard + j->seen);
}

/* Type as a person does: all at once, echo is off. */
static void jobs_type(struct jobs *j, const char *text)
{
	OK(write(j->tty, text, strlen(text)) == (ssize_t)strlen(text));
}

static void jobs_start(struct jobs *j, const char *with)
{
	static const char *const argv[] = { "bash",        "--norc", "--noprofile",
					    "--noediting", "-i",     NULL };
	char name[64];
	int tty;

	*j = (struct jobs){ .with = with };
	if (access("/bin/bash", X_OK))
		SKIP("no bash here");
	setenv("K", t_program("KILLICK", "build/killick"), 1);
	setenv("PS1", "ready> ", 1);
	setenv("TERM", "dumb", 1);
	unsetenv("HISTFILE");
	j->tty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	OK(j->tty >= 0 && grantpt(j->tty) == 0 && unlockpt(j->tty) == 0 &&
	   ptsname_r(j->tty, name, sizeof(name)) == 0);
	j->shell = fork();
	if (j->shell == 0) {
		setsid();
		tty = open(name, O_RDWR);
		ioctl(tty, TIOCSCTTY, 0);
		for (int fd = 0; fd < 3; fd++)
			dup2(tty, fd);
		if (tty > 2)
			close(tty);
		execv("/bin/bash", (char *const *)(void *)argv);
		_exit(127);
	}
	jobs_expect(j, "ready> ");
	jobs_type(j, "stty -echo; echo $((40+2))quiet\n");
	jobs_expect(j, "42quiet");
	jobs_expect(j, "ready> ");
}

/* Run `command` behind what is tested; `after` follows it in the line. */
static void jobs_run(struct jobs *j, const char *command, const char *after)
{
	char line[200];

	snprintf(line, sizeof(line), "%s%s%s\n", j->with, command, after);
	jobs_type(j, line);
}

static void jobs_done(struct jobs *j)
{
	jobs_type(j, "exit\nexit\n"); /* once more, should there be stopped jobs */
	if (t_wait_child(j->shell, HELD_MS) == -1)
		FAIL("the shell does not leave: '%s'", j->heard + j->seen);
	close(j->tty);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	held_reap_all();
}

/* The line `pid NUMBER cat`. */
static pid_t jobs_hears_pid(struct jobs *j)
{
	size_t at;

	jobs_expect(j, "pid ");
	at = j->seen;
	jobs_expect(j, " cat");
	return (pid_t)atoi(j->heard + at);
}

/* Ask the shell until its job is stopped: it has tried to read. */
static void jobs_await_stopped(struct jobs *j)
{
	size_t from = j->seen;

	for (double end = t_now_ms() + HELD_MS; t_now_ms() < end;) {
		jobs_type(j, "jobs; echo listed$((1+1))\n");
		jobs_expect(j, "listed2");
		if (strstr(j->heard + from, "Stopped"))
			return;
		poll(NULL, 0, 10);
	}
	FAIL("%s: the job was never stopped: '%s'", *j->with ? "killick" : "bare", j->heard + from);
}

#define KILLICK_RUN "\"$K\" run -- "
#define JOBS_TEST(name_, fn_)                                                                      \
	TEST(name_, .timeout_ms = 30000)                                                           \
	{                                                                                          \
		fn_("");                                                                           \
		fn_(KILLICK_RUN);                                                                  \
	}

/* The job wants to read, and may not while the shell does. */
static void jobs_background(const char *with)
{
	struct jobs j;
	char line[64];

	jobs_start(&j, with);
	jobs_run(&j, "sh -c 'echo $((40+2))up; exec cat'", " &");
	jobs_expect(&j, "42up");
	for (int i = 0; i < 5; i++) {
		snprintf(line, sizeof(line), "echo got$((%d+1))\n", 20 + i);
		jobs_type(&j, line);
		snprintf(line, sizeof(line), "got%d", 21 + i);
		jobs_expect(&j, line);
	}
	jobs_await_stopped(&j);
	jobs_type(&j, "kill -KILL %1\n");
	jobs_done(&j);
}
JOBS_TEST(a_background_job_leaves_the_terminal_to_the_shell, jobs_background)

/* A foreground job that echoes a line, and then gets a key of the terminal. */
static void jobs_ends_by_key(const char *with, const char *command, const char *key,
			     const char *status)
{
	struct jobs j;

	jobs_start(&j, with);
	jobs_run(&j, command, "");
	jobs_type(&j, "hello\n");
	jobs_expect(&j, "hello");
	jobs_type(&j, key);
	jobs_expect(&j, "ready> ");
	jobs_type(&j, "echo was$?\n");
	jobs_expect(&j, status);
	jobs_done(&j);
}

static void jobs_foreground(const char *with)
{
	jobs_ends_by_key(with, "cat", "\003" /* Ctrl-C */, "was130");
}
JOBS_TEST(ctrl_c_ends_a_foreground_job, jobs_foreground)

static void jobs_eof(const char *with)
{
	jobs_ends_by_key(with, "sh -c 'cat; exit 9'", "\004" /* Ctrl-D */, "was9");
}
JOBS_TEST(ctrl_d_is_the_end_of_a_foreground_jobs_input, jobs_eof)

/* A job that has echoed a line and was stopped by Ctrl-Z. */
static void jobs_start_stopped(struct jobs *j, const char *with)
{
	pid_t cat;

	jobs_start(j, with);
	jobs_run(j, "sh -c 'echo p\"\"id $$ ca\"\"t; exec cat'", "");
	cat = jobs_hears_pid(j);
	jobs_type(j, "one\n");
	jobs_expect(j, "one");
	jobs_type(j, "\032");
	jobs_expect(j, "Stopped");
	held_await_stopped(cat); /* or it might still read what is typed next */
	jobs_expect(j, "ready> ");
}

/* In the foreground again it echoes, until Ctrl-C. */
static void jobs_end_continued(struct jobs *j)
{
	jobs_type(j, "two\n");
	jobs_expect(j, "two");
	jobs_type(j, "\003");
	jobs_expect(j, "ready> ");
	jobs_done(j);
}

static void jobs_stop_and_go_on(const char *with)
{
	struct jobs j;

	jobs_start_stopped(&j, with);
	jobs_type(&j, "echo shell$((1+1))\n");
	jobs_expect(&j, "shell2");
	jobs_type(&j, "fg\n");
	jobs_expect(&j, "cat");
	jobs_end_continued(&j);
}
JOBS_TEST(ctrl_z_stops_a_job_and_fg_continues_it, jobs_stop_and_go_on)

/* In the background it may run, but not read: the kernel stops it again. */
static void jobs_stopped_when_it_reads(const char *with)
{
	struct jobs j;

	jobs_start_stopped(&j, with);
	jobs_type(&j, "bg; echo back$((1+1))\n");
	jobs_expect(&j, "back2");
	jobs_await_stopped(&j);
	jobs_type(&j, "fg\n");
	jobs_end_continued(&j);
}
JOBS_TEST(a_background_job_that_reads_is_stopped_and_fg_continues_it, jobs_stopped_when_it_reads)

/* The terminal is gone: so are the jobs, the deaf ones and daemons included. */
TEST(no_process_outlives_the_terminal, .timeout_ms = 30000)
{
	struct jobs j;

	jobs_start(&j, KILLICK_RUN);
	jobs_run(&j, "sh -c 'trap \"\" HUP; setsid sleep 600 & echo $((40+2))up; cat'", "");
	jobs_expect(&j, "42up");
	close(j.tty);
	OK(t_wait_child(j.shell, HELD_MS) != -1);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	held_reap_all();
}

/* The shell of a background job is killed: the job's owner is gone. */
TEST(a_background_job_ends_with_its_shell, .timeout_ms = 30000)
{
	struct jobs j;

	jobs_start(&j, KILLICK_RUN);
	jobs_run(&j, "sh -c 'setsid sleep 600 & echo $((40+2))up; sleep 600'", " </dev/null &");
	jobs_expect(&j, "42up");
	kill(j.shell, SIGKILL);
	OK(t_wait_child(j.shell, HELD_MS) != -1);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	held_reap_all();
	close(j.tty);
}
