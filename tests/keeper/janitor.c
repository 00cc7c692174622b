/* janitor.c - both keepers killed at once: the main process dies with them, the next killick ends
 * the rest. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"

/* What the dead keepers left comes to us, who are a subreaper; wait until all of it is gone, and
 * reap it. */
static void all_gone(void)
{
	double end = t_now_ms() + HELD_MS;

	while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 && t_now_ms() < end)
		poll(NULL, 0, 1);
	EQ(audit_count(&t_audit), 0);
}

static int records(void)
{
	DIR *dir = opendir(getenv("KILLICK_RUNTIME_DIR"));
	struct dirent *e;
	int n = 0;

	if (!dir)
		return 0;
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void own_runtime_dir(void)
{
	static char dir[160];

	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
}

/* A tree with a daemon in a session of its own, its environment and name changed where `hidden`;
 * then both are killed. */
static void lose_both(const char *level, bool hidden, pid_t *out_daemon)
{
	char script[300], file[160];
	struct held h;

	snprintf(file, sizeof(file), "%s/daemon", t_audit.dir);
	unlink(file);
	snprintf(script, sizeof(script),
		 "%s setsid sh -c 'echo $$ >%s; sleep 600; :' & echo up; cat",
		 hidden ? "env -i PATH=\"$PATH\"" : "", file);
	HELD(&h, "--contain", level, "--", "sh", "-c", script);
	held_expect(&h, "up");
	*out_daemon = held_pid_from(file);
	pid_t hold = held_hold(&h);
	/* stopped first, so that neither sees the other die */
	OK(kill(h.watch, SIGSTOP) == 0 && kill(hold, SIGSTOP) == 0);
	OK(kill(h.watch, SIGKILL) == 0 && kill(hold, SIGKILL) == 0);
	held_status(&h);
	OK(held_wait_gone(hold));
	held_done(&h);
	EQ(records(), 1);
	OK(held_lives(*out_daemon));
}

static void run_killick(const char *verb, const char *const *rest)
{
	const char *argv[16] = { t_program("KILLICK", "build/killick"), verb };
	int n = 2, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	while (*rest)
		argv[n++] = *rest++;
	pid_t pid = t_spawn((char *const *)(void *)argv, (int[]){ null, null, -1 });
	close(null);
	EQ(t_wait_child(pid, HELD_MS), 0);
}

TEST(the_next_run_ends_what_both_left)
{
	pid_t daemon;

	own_runtime_dir();
	lose_both("auto", false, &daemon);
	run_killick("run", (const char *const[]){ "--", "true", NULL });
	OK(held_wait_gone(daemon));
	all_gone();
	EQ(records(), 0);
}

TEST(keeper_level_finds_it_by_the_tag)
{
	pid_t daemon;

	own_runtime_dir();
	lose_both("keeper", false, &daemon);
	run_killick("reap", (const char *const[]){ NULL });
	OK(held_wait_gone(daemon));
	all_gone();
	EQ(records(), 0);
}

TEST(reap_dry_run_touches_nothing)
{
	pid_t daemon;

	own_runtime_dir();
	lose_both("keeper", false, &daemon);
	run_killick("reap", (const char *const[]){ "--dry-run", NULL });
	OK(held_lives(daemon));
	EQ(records(), 1);
	run_killick("reap", (const char *const[]){ NULL });
	OK(held_wait_gone(daemon));
	all_gone();
}

/* The janitor must know a living tree from a lost one, whatever it looks like. */
TEST(living_trees_are_left_alone)
{
	struct held h;

	own_runtime_dir();
	HELD(&h, "--", "cat");
	held_hold(&h);
	for (int i = 0; i < 20; i++)
		run_killick("run", (const char *const[]){ "--", "true", NULL });
	run_killick("reap", (const char *const[]){ NULL });
	OK(write(h.in, "here\n", 5) == 5);
	held_expect(&h, "here");
	EQ(records(), 1);
	held_eof(&h);
	EQ(held_status(&h), 0);
	EQ(records(), 0);
	held_done(&h);
}

/* One keeper alone keeps the record: the lock is the pair's. */
TEST(one_living_keeper_keeps_the_record)
{
	struct held h;

	own_runtime_dir();
	HELD(&h, "--grace", "60s", "--", "sh", "-c",
	     "trap '' TERM; echo up; while :; do sleep 600; done");
	held_expect(&h, "up");
	pid_t hold = held_hold(&h);
	OK(kill(hold, SIGSTOP) == 0); /* the watch wakes it again; meanwhile nobody may sweep */
	run_killick("reap", (const char *const[]){ NULL });
	EQ(records(), 1);
	OK(held_lives(hold));
	OK(kill(hold, SIGKILL) == 0);
	held_status(&h);
	EQ(records(), 0);
	held_done(&h);
}

TEST(garbage_in_the_runtime_directory_is_survived)
{
	char path[200];

	own_runtime_dir();
	run_killick("run", (const char *const[]){ "--", "true", NULL });
	static const char *const texts[] = {
		"", "garbage\n", "killick-record 1\ntree=../../x\nserver=1 1\ncgroup=/\n"
	};
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/00000000000000a%d", getenv("KILLICK_RUNTIME_DIR"),
			 i);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		OK(fd >= 0 && write(fd, texts[i], strlen(texts[i])) >= 0);
		close(fd);
	}
	run_killick("run", (const char *const[]){ "--", "true", NULL });
	run_killick("reap", (const char *const[]){ NULL });
}
