/* fight.c - servers that attack their keepers: what the keepers say afterwards must be true.
 *
 * The matrix shows that nothing is left of these servers. Here: the report never denies a process
 * that lives, proofs name what was really looked at, and no word of the client is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "cell.h"
#include "held.h"

#define FIGHT_MS 8000 /* below the 12 s after which the zoo ends by itself */

struct fight {
	struct cell cell;
	char report[160];
	char text[8192]; /* the report */
};

/* A check that failed: end the trial, which the harness knows nothing of, then the test. */
#define FIGHT_FAIL(f_, ...) (cell_done(&(f_)->cell), FAIL(__VA_ARGS__))

/* Start server `mode` at `level`. False: the level, or the attack, is not possible here. */
static bool fight_start(struct fight *f, const char *level, const char *mode)
{
	struct cell_spec spec = { .killick = t_program("KILLICK", "build/killick"),
				  .zoo = t_program("ZOO", "build/tests/zoo/killick-zoo"),
				  .level = level,
				  .mode = mode,
				  .report = f->report,
				  .grace_ms = 100 };

	snprintf(f->report, sizeof(f->report), "%s/report", t_audit.dir);
	unlink(f->report);
	if (!cell_start(&f->cell, &spec) || !cell_await(&f->cell, FIGHT_MS)) {
		snprintf(f->text, sizeof(f->text), "%s", f->cell.text);
		FIGHT_FAIL(f, "%s, %s: %s", mode, level, f->text);
	}
	if (f->cell.ready) {
		cell_find(&f->cell);
		return true;
	}
	if (!WIFEXITED(f->cell.status) ||
	    (WEXITSTATUS(f->cell.status) != 69 && WEXITSTATUS(f->cell.status) != 77))
		FIGHT_FAIL(f, "%s, %s: ended before it was ready", mode, level);
	cell_done(&f->cell);
	return false;
}

/* Wait until nothing is left, or the deadline, and read the report. */
static bool fight_wait(struct fight *f)
{
	double took;
	bool gone = audit_wait_empty(&f->cell.audit, FIGHT_MS, &took);
	int fd = open(f->report, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, f->text, sizeof(f->text) - 1);

	if (fd >= 0)
		close(fd);
	f->text[n > 0 ? n : 0] = '\0';
	return gone;
}

static int fight_lines(const struct fight *f)
{
	int lines = 0;

	for (const char *p = f->text; *p; p++)
		lines += *p == '\n';
	return lines;
}

/* The owner is killed; then whatever the report says must be so. */
/* How many levels it could be tried at. */
static int fight_report_is_true(const char *mode)
{
	static const char *const levels[] = { "keeper", "cgroup", "namespace" };
	int tried = 0;

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		struct fight f = { 0 };
		char left[300] = "";
		bool gone;

		if (!fight_start(&f, levels[i], mode))
			continue;
		tried++;
		cell_end(&f.cell, END_OKILL);
		gone = fight_wait(&f);
		audit_describe(&f.cell.audit, left, sizeof(left));
		if (!gone && strstr(f.text, "\"survivors\":[]"))
			FIGHT_FAIL(&f, "%s, %s: lives: %s; the report denies it: %s", mode,
				   levels[i], left, f.text);
		if (!gone)
			FIGHT_FAIL(&f, "%s, %s: lives: %s", mode, levels[i], left);
		if (fight_lines(&f) != 1 || !strstr(f.text, "\"survivors\":[]"))
			FIGHT_FAIL(&f, "%s, %s: not one report of the end: '%s'", mode, levels[i],
				   f.text);
		cell_done(&f.cell);
	}
	return tried;
}

#define FIGHT_TEST(name_, mode_)                                                                   \
	TEST(name_, .timeout_ms = 60000)                                                           \
	{                                                                                          \
		if (!fight_report_is_true(mode_))                                                  \
			SKIP("the zoo cannot do this here");                                       \
	}

FIGHT_TEST(keepers_without_descriptors_report_the_truth, "limits0")
FIGHT_TEST(keepers_with_few_descriptors_report_the_truth, "limits")
FIGHT_TEST(keepers_without_resources_report_the_truth, "starve")
FIGHT_TEST(a_frozen_hold_does_not_keep_the_report_back, "freeze")
FIGHT_TEST(a_frozen_watch_does_not_keep_the_report_back, "freezewatch")
FIGHT_TEST(leases_on_files_do_not_keep_the_report_back, "lease")
FIGHT_TEST(a_server_that_flooded_its_keepers_is_reported, "flood")
FIGHT_TEST(a_process_in_a_foreign_pid_namespace_is_reported, "setns")
FIGHT_TEST(a_process_that_left_pid_namespace_and_cgroup_is_reported, "setnsout")
FIGHT_TEST(an_unreadable_cgroup_is_reported_empty_only_when_it_is, "chmodevents")
FIGHT_TEST(keepers_inside_the_cgroup_they_kill_report_the_truth, "embrace")
FIGHT_TEST(deep_cgroups_are_reported_empty, "deepcg")

/* A traced keeper sees nothing: root may do that, so only others are refused. */
TEST(a_user_that_wants_to_trace_its_keepers_is_ended, .timeout_ms = 60000)
{
	if (geteuid() == 0)
		SKIP("root may trace every process");
	fight_report_is_true("seize");
	fight_report_is_true("lobotomy");
	fight_report_is_true("steal");
}

/* waitid alone shows nothing across pid namespaces: the end was seen by the mark, or in the cgroup.
 */
TEST(a_foreign_pid_namespace_needs_the_cgroup_or_the_mark_as_proof, .timeout_ms = 30000)
{
	static const char *const levels[] = { "keeper", "cgroup" };

	for (int i = 0; i < 2; i++) {
		struct fight f = { 0 };

		if (!fight_start(&f, levels[i], "setns"))
			continue;
		cell_end(&f.cell, END_OKILL);
		if (!fight_wait(&f))
			FIGHT_FAIL(&f, "%s: something lives", levels[i]);
		if (!strstr(f.text, "\"mark\"") && !strstr(f.text, "\"cgroup\"]"))
			FIGHT_FAIL(&f, "%s: no proof but waitid: %s", levels[i], f.text);
		cell_done(&f.cell);
	}
}

/* In the middle of the flood the words from watch to hold pile up: SIGTERM must not be one of those
 * that are lost. */
static void fight_term_in_a_flood(const char *level)
{
	for (int round = 0; round < 5; round++) {
		struct fight f = { 0 };
		struct pollfd p = { .fd = -1 };

		if (!fight_start(&f, level, "flood"))
			return;
		poll(&p, 0, 20 + 50 * round); /* not for luck: another moment of the flood each */
		cell_end(&f.cell, END_TERM);
		if (!fight_wait(&f))
			FIGHT_FAIL(&f, "%s, round %d: the client's SIGTERM was lost", level, round);
		cell_done(&f.cell);
	}
}

TEST(a_flood_of_signals_does_not_lose_the_clients_sigterm_at_level_keeper, .timeout_ms = 60000)
{
	fight_term_in_a_flood("keeper");
}

TEST(a_flood_of_signals_does_not_lose_the_clients_sigterm_at_level_cgroup, .timeout_ms = 60000)
{
	fight_term_in_a_flood("cgroup");
}

TEST(a_flood_of_signals_does_not_lose_the_clients_sigterm_in_a_namespace, .timeout_ms = 60000)
{
	fight_term_in_a_flood("namespace");
}

/* The client's last resort is SIGKILL of the pid it knows: also of a watch that is stopped. */
TEST(killing_a_stopped_watch_ends_the_server, .timeout_ms = 30000)
{
	struct fight f = { 0 };

	if (!fight_start(&f, "keeper", "stopboth"))
		SKIP("not possible here");
	cell_end(&f.cell, END_WKILL);
	if (!fight_wait(&f))
		FIGHT_FAIL(&f, "something lives");
	cell_done(&f.cell);
}

static const char *fight_open_proc(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	close(fd);
	return name;
}

/* What the same user may do to any other process: whoever can write to a keeper's memory is the
 * keeper. */
static const char *fight_robbed(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), fd = -1;
	const char *how = NULL;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) {
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		waitpid(pid, NULL, __WALL);
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		how = "ptrace";
	}
	for (int i = 3; i < 32 && pidfd >= 0 && fd < 0; i++)
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, i, 0);
	if (fd >= 0) {
		close(fd);
		how = "pidfd_getfd";
	}
	if (pidfd >= 0)
		close(pidfd);
	how = how ? how : fight_open_proc(pid, "mem", O_RDWR);
	how = how ? how : fight_open_proc(pid, "fd/3", O_RDONLY);
	return how ? how : fight_open_proc(pid, "environ", O_RDONLY);
}

TEST(a_user_cannot_trace_its_keepers_or_take_their_descriptors)
{
	struct held h;

	if (geteuid() == 0)
		SKIP("root may");
	HELD(&h, "--", t_program("PROBE", "build/tests/probe"), "wait", "10");
	held_expect(&h, "ready");
	pid_t pids[2] = { h.watch, held_hold(&h) };
	for (int i = 0; i < 2; i++) {
		const char *how = fight_robbed(pids[i]);

		if (how)
			FAIL("%s is open: %s", i ? "hold" : "watch", how);
	}
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
}

/* The server is no keeper: debuggers and crash reporters work on it as always. */
TEST(a_server_under_killick_can_be_traced)
{
	struct held h;
	pid_t server;

	HELD(&h, "--", t_program("PROBE", "build/tests/probe"), "wait", "10");
	held_expect(&h, "ready");
	server = cell_first_child(held_hold(&h));
	OK(server > 0);
	OK(fight_open_proc(server, "environ", O_RDONLY) != NULL);
	OK(fight_open_proc(server, "mem", O_RDWR) != NULL);
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
}
