/* janitor.c - both keepers killed at once: the main process dies with them, the next killick ends
 * the rest. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "lost.h"

TEST(the_next_run_ends_the_tree_of_two_killed_keepers, .timeout_ms = 90000)
{
	pid_t daemon;

	lost_dir();
	daemon = lost_tree("auto", "sleep 600; :");
	lost_run_until_clean();
	OK(held_wait_gone(daemon));
	lost_all_gone();
}

TEST(keeper_level_finds_processes_by_the_mark, .timeout_ms = 90000)
{
	pid_t daemon;

	lost_dir();
	daemon = lost_tree("keeper", "sleep 600; :");
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	lost_all_gone();
	EQ(lost_records(), 0);
}

/* The daemon has the mark, its child has an empty environment: it belongs to its parent. */
TEST(a_child_without_the_mark_ends_with_its_parent, .timeout_ms = 90000)
{
	char script[300], file[160];
	pid_t daemon, child;

	lost_dir();
	snprintf(file, sizeof(file), "%s/child", t_audit.dir);
	snprintf(script, sizeof(script),
		 "env -i ZOO_AUDIT=$ZOO_AUDIT /bin/sh -c \"echo \\$\\$ >%s; exec sleep 600\" & "
		 "wait; :",
		 file);
	daemon = lost_tree("keeper", script);
	child = held_pid_from(file);
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	OK(held_wait_gone(child));
	lost_all_gone();
	EQ(lost_records(), 0);
}

TEST(reap_dry_run_touches_nothing, .timeout_ms = 90000)
{
	pid_t daemon;

	lost_dir();
	daemon = lost_tree("keeper", "sleep 600; :");
	EQ(KILLICK("reap", "--dry-run"), 0);
	OK(held_lives(daemon));
	EQ(lost_records(), 1);
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	lost_all_gone();
}

/* The janitor must know a living tree from a lost one, whatever it looks like. */
TEST(living_trees_are_left_alone, .timeout_ms = 90000)
{
	struct held h;

	lost_dir();
	HELD(&h, "--", "cat");
	held_hold(&h);
	for (int i = 0; i < 20; i++)
		EQ(KILLICK("run", "--", "true"), 0);
	EQ(KILLICK("reap"), 0);
	OK(write(h.in, "here\n", 5) == 5);
	held_expect(&h, "here");
	EQ(lost_records(), 1);
	held_eof(&h);
	EQ(held_status(&h), 0);
	EQ(lost_records(), 0);
	held_done(&h);
}

/* One keeper alone keeps the record: the lock is the pair's. */
TEST(one_living_keeper_keeps_the_record, .timeout_ms = 90000)
{
	struct held h;

	lost_dir();
	HELD(&h, "--grace", "60s", "--", "sh", "-c",
	     "trap '' TERM; echo up; while :; do sleep 600; done");
	held_expect(&h, "up");
	pid_t hold = held_hold(&h);
	OK(kill(hold, SIGSTOP) == 0); /* the watch wakes it again; meanwhile nobody may sweep */
	EQ(KILLICK("reap"), 0);
	EQ(lost_records(), 1);
	OK(held_lives(hold));
	OK(kill(hold, SIGKILL) == 0);
	held_status(&h);
	EQ(lost_records(), 0);
	held_done(&h);
}

/* --- pid namespaces --- */

/* Run a command in a pid namespace of its own, with or without a /proc for it. False: not possible
 * here. */
static int in_namespace(char *text, int size, bool own_proc, const char *const *words)
{
	const char *argv[24] = { "unshare", geteuid() ? "-Urpf" : "-pf" };
	int n = 2, len = 0, fds[2];

	if (own_proc)
		argv[n++] = "--mount-proc";
	while (*words && n < 23)
		argv[n++] = *words++;
	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid_t pid = t_spawn((char *const *)(void *)argv, (int[]){ -1, fds[1], fds[1] });
	close(fds[1]);
	while (len < size - 1 && t_wait_fd(fds[0], POLLIN, 4 * HELD_MS)) {
		ssize_t got = read(fds[0], text + len, (size_t)(size - 1 - len));
		if (got <= 0)
			break;
		len += (int)got;
	}
	text[len] = '\0';
	close(fds[0]);
	int status = t_wait_child(pid, HELD_MS);
	OK(status != -1 && WIFEXITED(status));
	return WEXITSTATUS(status);
}
#define INSIDE(text, own_proc, ...)                                                                \
	in_namespace(text, sizeof(text), own_proc, (const char *const[]){ __VA_ARGS__, NULL })

static void need_namespaces(void)
{
	char text[512];

	if (INSIDE(text, true, "true") != 0)
		SKIP("no pid namespace can be made here: %s", text);
}

TEST(a_janitor_in_another_pid_namespace_leaves_the_tree_alone, .timeout_ms = 60000)
{
	const char *killick = t_program("KILLICK", "build/killick");
	char text[4096];
	pid_t daemon;

	lost_dir();
	need_namespaces();
	daemon = lost_tree("keeper", "sleep 600; :");
	EQ(INSIDE(text, true, killick, "run", "--", "true"), 0);
	EQ(lost_records(), 1);
	EQ(INSIDE(text, true, killick, "reap"), 0);
	OK(strstr(text, "another pid namespace"));
	EQ(INSIDE(text, true, killick, "ps"), 0);
	OK(strstr(text, "elsewhere"));
	EQ(INSIDE(text, true, killick, "ps", "--json"), 0);
	OK(strstr(text, "\"state\":\"elsewhere\"") && strstr(text, "\"owner\":null"));
	EQ(lost_records(), 1);
	OK(held_lives(daemon));
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	lost_all_gone();
}

TEST(a_janitor_without_a_proc_of_its_own_does_nothing, .timeout_ms = 60000)
{
	const char *killick = t_program("KILLICK", "build/killick");
	char text[4096];
	pid_t daemon;

	lost_dir();
	need_namespaces();
	daemon = lost_tree("keeper", "sleep 600; :");
	EQ(INSIDE(text, false, killick, "reap"), 69);
	OK(strstr(text, "/proc belongs to another pid namespace"));
	EQ(lost_records(), 1);
	OK(held_lives(daemon));
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	lost_all_gone();
}

/* --- cgroups --- */

TEST(nested_cgroups_are_removed_however_deep, .timeout_ms = 60000)
{
	char top[512], path[4000];
	struct stat st;
	pid_t daemon;

	lost_dir();
	daemon = lost_tree("auto", "sleep 600; :");
	if (!lost_cgroup(top, sizeof(top))) {
		EQ(KILLICK("reap"), 0);
		lost_all_gone();
		SKIP("no cgroup can be made here");
	}
	snprintf(path, sizeof(path), "%s", top);
	for (int depth = 0; depth < 200; depth++) {
		char wide[4100];
		snprintf(wide, sizeof(wide), "%s/beside", path);
		OK(mkdir(wide, 0755) == 0);
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d");
		OK(mkdir(path, 0755) == 0);
	}
	EQ(KILLICK("reap"), 0);
	OK(held_wait_gone(daemon));
	OK(stat(top, &st) < 0 && errno == ENOENT);
	EQ(lost_records(), 0);
	lost_all_gone();
}

/* --- pids that are used again --- */

#define FEW_PIDS   400 /* after the first turn the kernel uses those from 300 on */
#define FEW_ROUNDS 16
#define FEW_LOOPS  24

struct few {        /* shared by the processes of the namespace */
	int hit;    /* innocents that were killed or stopped */
	int left;   /* records that stayed */
	int rounds; /* that were gone through */
	int no_pid_max;
};

/* Innocents that come and go, so that each pid the janitor has struck is soon another's. There may
 * be no pid to be had for a moment. */
static _Noreturn void few_innocents(struct few *few)
{
	for (;;) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			usleep(2000);
			_exit(0);
		}
		if (pid > 0 && waitpid(pid, &status, WUNTRACED) == pid && !WIFEXITED(status))
			__atomic_add_fetch(&few->hit, 1, __ATOMIC_SEQ_CST);
		if (pid < 0)
			usleep(1000);
	}
}

/* Start a program and wait for its end, as process 1 that collects all others. */
static int few_run(char *const *argv, const char *tree)
{
	pid_t pid, dead;
	int status;

	while ((pid = fork()) < 0)
		usleep(1000);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (tree)
			setenv("KILLICK_TREE", tree, 1);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		execv(argv[0], argv);
		_exit(127);
	}
	while ((dead = waitpid(-1, &status, __WALL)) != pid)
		OK(dead > 0);
	return status;
}

/* Process 1 of a pid namespace with few pids. Eight chains of processes that fork and exit for ever
 * are a lost tree. */
static _Noreturn void few_first(struct few *few)
{
	char *zoo = (char *)t_program("ZOO", "build/tests/zoo/killick-zoo");
	char *killick = (char *)t_program("KILLICK", "build/killick");
	char id[] = "00000000000000a0";
	int fd;

	OK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	OK(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0);
	fd = open("/proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%d", FEW_PIDS) < 0) {
		few->no_pid_max = 1;
		_exit(0);
	}
	close(fd);
	for (int i = 0; i < FEW_LOOPS; i++) {
		if (fork() == 0)
			few_innocents(few);
	}
	for (int i = 0; i < FEW_ROUNDS; i++) {
		struct stat st;

		id[15] = "0123456789abcdef"[i];
		few_run((char *[]){ zoo, "chainsid8", NULL }, id);
		lost_forge(id, "killick-record 1\n");
		for (int try = 0; try < 3 && stat(lost_path(id), &st) == 0; try++)
			few_run((char *[]){ killick, "reap", NULL }, NULL);
		few->left += stat(lost_path(id), &st) == 0;
		few->rounds++;
	}
	_exit(0); /* and with us all of the namespace */
}

static void few_map(const char *path, const char *fmt, unsigned id)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		dprintf(fd, fmt, id);
	close(fd);
}

/* In a child, because the namespace is for the children of whoever makes it. */
static _Noreturn void few_begin(struct few *few)
{
	unsigned uid = geteuid(), gid = getegid();
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
		_exit(77);
	if (uid) {
		few_map("/proc/self/setgroups", "deny", 0);
		few_map("/proc/self/uid_map", "0 %u 1", uid);
		few_map("/proc/self/gid_map", "0 %u 1", gid);
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		few_first(few);
	}
	_exit(pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 1);
}

TEST(no_other_process_gets_a_signal_when_pids_are_reused, .timeout_ms = 110000)
{
	struct few *few =
		mmap(NULL, sizeof(*few), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct utsname kernel;
	int status, major, minor;

	lost_dir();
	/* before that, root would set it for the whole machine */
	OK(few != MAP_FAILED && uname(&kernel) == 0);
	if (sscanf(kernel.release, "%d.%d", &major, &minor) != 2 || major < 6 ||
	    (major == 6 && minor < 14))
		SKIP("pid_max is not per pid namespace before Linux 6.14");
	pid_t pid = fork();
	if (pid == 0)
		few_begin(few);
	status = t_wait_child(pid, 100000);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no pid namespace can be made here");
	EQ(status, 0);
	if (few->no_pid_max)
		SKIP("pid_max cannot be set in a pid namespace here");
	EQ(few->rounds, FEW_ROUNDS);
	EQ(few->hit, 0);
	EQ(few->left, 0);
}
