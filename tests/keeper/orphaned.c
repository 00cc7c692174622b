/* orphaned.c - keepers that exist and do not work: frozen ones, and a lock that somebody else
 * holds.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../t.h"
#include "lost.h"

static long long boot_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

struct frozen {
	struct held h;
	pid_t owner, hold, server;
};

/* A tree with an owner of its own. */
static void frozen_start(struct frozen *f)
{
	char number[16], file[160], script[300];

	f->owner = t_spawn((char *const[]){ "sleep", "600", NULL }, (int[]){ -1, -1, -1 });
	snprintf(number, sizeof(number), "%d", f->owner);
	snprintf(file, sizeof(file), "%s/server", t_audit.dir);
	snprintf(script, sizeof(script), "echo $$ >%s; echo up; exec sleep 600", file);
	HELD(&f->h, "--owner", number, "--", "sh", "-c", script);
	held_expect(&f->h, "up");
	f->server = held_pid_from(file);
	f->hold = held_hold(&f->h);
}

static void frozen_stop(const struct frozen *f)
{
	OK(kill(f->h.watch, SIGSTOP) == 0 && kill(f->hold, SIGSTOP) == 0);
}

/* Both keepers are killed by the janitor: the watch ends by a signal. */
static void frozen_ended(struct frozen *f)
{
	int status = held_status(&f->h);

	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	OK(held_wait_gone(f->hold));
	OK(held_wait_gone(f->server));
	EQ(lost_records(), 0);
	held_done(&f->h);
}

TEST(reap_waits_for_keepers_and_ends_those_that_do_not_work, .timeout_ms = 90000)
{
	struct frozen f;
	char text[4096];
	double begun;

	lost_dir();
	frozen_start(&f);
	frozen_stop(&f);
	lost_kill(f.owner);
	EQ(KILLICK("run", "--", "true"), 0); /* notes it, and does not wait */
	OK(strstr(lost_record(), "\norphaned="));
	OK(held_lives(f.server));
	begun = t_now_ms();
	EQ(KILLICK_SAYS(text, "reap"), 0);
	OK(t_now_ms() - begun > 2000); /* the keepers had their time */
	OK(strstr(text, "waiting up to") && strstr(text, "1 tree swept"));
	frozen_ended(&f);
	lost_all_gone();
}

TEST(reap_as_json_waits_as_well, .timeout_ms = 90000)
{
	struct frozen f;
	char text[4096];

	lost_dir();
	frozen_start(&f);
	frozen_stop(&f);
	lost_kill(f.owner);
	lost_append("orphaned=%lld\n", boot_ms() - 6000); /* 2 s are left */
	EQ(KILLICK_SAYS(text, "reap", "--no-wait", "--json"), 75);
	OK(strstr(text, "\"orphaned\":[{") && strstr(text, "\"waited_ms\":0"));
	OK(held_lives(f.server));
	EQ(KILLICK_SAYS(text, "reap", "--json"), 0);
	OK(strstr(text, "waiting up to") && strstr(text, "\"survivors\":0"));
	frozen_ended(&f);
	lost_all_gone();
}

TEST(the_next_run_ends_keepers_whose_time_is_over, .timeout_ms = 90000)
{
	struct frozen f;

	lost_dir();
	frozen_start(&f);
	frozen_stop(&f);
	lost_kill(f.owner);
	lost_append("orphaned=%lld\n", boot_ms() - 9000);
	lost_run_until_clean();
	frozen_ended(&f);
	lost_all_gone();
}

/* Start a tree whose watch has a janitor that stopped before it asked for its death signal. */
static void frozen_start_with_janitor(struct frozen *f)
{
	const char *killick = t_program("KILLICK", "build/killick");
	char mark[160];

	lost_dir();
	snprintf(mark, sizeof(mark), "%s/mark", t_audit.dir);
	setenv("KILLICK", t_program("KILLICK_STEPS", "build/tests/killick-steps"), 1);
	setenv("KILLICK_DIE_AT", "janitor", 1);
	setenv("KILLICK_DIE_MARK", mark, 1);
	frozen_start(f);
	for (double end = t_now_ms() + HELD_MS; access(mark, F_OK) && t_now_ms() < end;)
		poll(NULL, 0, 1);
	EQ(access(mark, F_OK), 0);
	setenv("KILLICK", killick, 1);
	unsetenv("KILLICK_DIE_AT");
}

TEST(a_stopped_janitor_ends_with_its_watch, .timeout_ms = 90000)
{
	struct frozen f;

	frozen_start_with_janitor(&f);
	frozen_stop(&f);
	lost_kill(f.owner);
	lost_append("orphaned=%lld\n", boot_ms() - 9000);
	EQ(KILLICK("reap"), 0);
	frozen_ended(&f);
	lost_all_gone();
}

TEST(a_stopped_janitor_ends_when_both_keepers_were_killed, .timeout_ms = 90000)
{
	struct frozen f;

	frozen_start_with_janitor(&f);
	OK(kill(f.h.watch, SIGSTOP) == 0); /* so that it does not act when the hold dies */
	OK(kill(f.hold, SIGKILL) == 0 && kill(f.h.watch, SIGKILL) == 0);
	/* reap leaves a tree alone as long as a keeper exists */
	OK(held_wait_gone(f.hold) && held_wait_gone(f.h.watch));
	EQ(KILLICK("reap"), 0);
	frozen_ended(&f);
	lost_kill(f.owner);
	lost_all_gone();
}

/* The hold is dead, so the watch must end the tree; it is stopped, and cannot. */
TEST(one_dead_and_one_stopped_keeper_are_noticed, .timeout_ms = 90000)
{
	struct frozen f;

	lost_dir();
	frozen_start(&f);
	frozen_stop(&f);
	OK(kill(f.hold, SIGKILL) == 0);
	OK(held_wait_gone(f.hold));
	lost_append("orphaned=%lld\n", boot_ms() - 6000);
	EQ(KILLICK("reap", "--no-wait"), 75);
	OK(held_lives(f.h.watch));
	EQ(KILLICK("reap"), 0);
	frozen_ended(&f);
	lost_kill(f.owner);
	lost_all_gone();
}

/* An end that began and does not go on is late even though the owner lives. */
TEST(an_end_that_hangs_is_finished_by_reap, .timeout_ms = 90000)
{
	struct frozen f;

	lost_dir();
	frozen_start(&f);
	frozen_stop(&f);
	lost_append("stopping=%lld %lld stdin\n", boot_ms() - 20000, boot_ms() - 1000);
	EQ(KILLICK("reap"), 75); /* overdue, and not yet given up */
	OK(held_lives(f.server));
	lost_append("stopping=%lld %lld stdin\n", boot_ms() - 20000, boot_ms() - 10000);
	EQ(KILLICK("reap"), 0);
	frozen_ended(&f);
	lost_kill(f.owner);
	lost_all_gone();
}

/* Whatever a record says, a tree with a living owner and living keepers is in good hands. */
TEST(reap_leaves_a_tree_with_a_living_owner_alone, .timeout_ms = 90000)
{
	struct frozen f;

	lost_dir();
	frozen_start(&f);
	lost_append("orphaned=%lld\n", boot_ms() - 100000);
	EQ(KILLICK("run", "--", "true"), 0);
	EQ(KILLICK("reap"), 0);
	OK(held_lives(f.server) && held_lives(f.hold) && held_lives(f.h.watch));
	lost_kill(f.owner); /* and its keepers end it when that one is gone */
	held_status(&f.h);
	OK(held_wait_gone(f.server));
	EQ(lost_records(), 0);
	held_done(&f.h);
	lost_all_gone();
}

TEST(reap_leaves_a_tree_owned_by_stdin_alone, .timeout_ms = 90000)
{
	struct held h;

	lost_dir();
	HELD(&h, "--owner", "stdin", "--", "cat");
	OK(write(h.in, "up\n", 3) == 3);
	held_expect(&h, "up");
	lost_append("orphaned=%lld\n", boot_ms() - 100000);
	EQ(KILLICK("run", "--", "true"), 0);
	EQ(KILLICK("reap"), 0);
	OK(write(h.in, "here\n", 5) == 5);
	held_expect(&h, "here");
	held_eof(&h);
	EQ(held_status(&h), 0);
	held_done(&h);
}

/* A server may wait for the lock of its own record, and has it when its keepers are dead. */
TEST(a_lock_taken_by_the_server_does_not_protect_the_tree, .timeout_ms = 90000)
{
	char script[600], file[160];
	struct held h;
	pid_t daemon;

	lost_dir();
	snprintf(file, sizeof(file), "%s/daemon", t_audit.dir);
	snprintf(script, sizeof(script),
		 "setsid flock \"$KILLICK_RUNTIME_DIR/$KILLICK_TREE\" sh -c 'echo $$ >%s; sleep "
		 "600; :' & echo up; cat",
		 file);
	HELD(&h, "--contain", "keeper", "--", "sh", "-c", script);
	held_expect(&h, "up");
	for (double end = t_now_ms() + HELD_MS; !strstr(lost_record(), "\ncommand=");)
		OK(t_now_ms() < end);
	lost_keepers(&h);
	daemon = held_pid_from(file); /* it has the lock now */
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	EQ(lost_records(), 0);
	lost_all_gone();
}

/* The same pid, another process: not the keeper of the record. */
/* A server may freeze its keepers with its first instruction: the record must be faster. */
static void keepers_in_record(const char *level)
{
	unsigned long long watch = 0, hold = 0; /* start times */
	unsigned long long clock = 0;           /* the time namespace that they are of */
	char line[1024];
	struct held h;
	FILE *f;

	HELD(&h, "--contain", level, "--", "sh", "-c",
	     "cat \"$KILLICK_RUNTIME_DIR/$KILLICK_TREE\" >\"$KILLICK_RUNTIME_DIR/copy\"; "
	     "echo up; cat");
	held_expect(&h, "up");
	f = fopen(lost_path("copy"), "re");
	OK(f);
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "watch=%*d %llu", &watch);
		sscanf(line, "hold=%*d %llu", &hold);
		sscanf(line, "timens=%llu", &clock);
	}
	fclose(f);
	OK(watch > 0);
	OK(hold >= watch);
	OK(clock > 0 || access("/proc/self/ns/time", F_OK) != 0);
	held_done(&h);
	OK(unlink(lost_path("copy")) == 0);
	lost_all_gone();
}

TEST(the_record_knows_both_keepers_before_the_server_runs)
{
	lost_dir();
	keepers_in_record("keeper");
}

TEST(the_record_knows_both_keepers_of_a_namespace)
{
	lost_dir();
	if (KILLICK("run", "--contain", "namespace", "--", "true"))
		SKIP("namespace cannot be had here");
	keepers_in_record("namespace");
}

TEST(a_keeper_is_identified_by_its_start_time, .timeout_ms = 90000)
{
	struct frozen f;
	pid_t innocent;

	lost_dir();
	frozen_start(&f);
	innocent = t_spawn((char *const[]){ "sleep", "600", NULL }, (int[]){ -1, -1, -1 });
	frozen_stop(&f);
	lost_kill(f.owner);
	/* a record that names a stranger as its watch, as after a reuse of its pid */
	lost_append("watch=%d 1\norphaned=%lld\n", innocent, boot_ms() - 9000);
	KILLICK("reap");
	OK(held_lives(innocent));
	OK(held_wait_gone(f.hold));
	OK(held_wait_gone(f.server));
	lost_kill(innocent);
	lost_kill(f.h.watch);
	held_done(&f.h);
	lost_all_gone();
}
