/* forged.c - records that no keeper wrote, and files that a server made to stop the janitor: nobody
 * hangs, and nothing is touched that is not the tree's. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../t.h"
#include "lost.h"

#define ID     "00000000000000aa"
#define PROMPT 10000 /* takes milliseconds on a quiet machine; waiting for a lease takes 45 s */

/* Start and end a server, and reap: neither may wait for anything. */
static void nobody_hangs(void)
{
	double begun = t_now_ms();

	EQ(KILLICK("run", "--", "true"), 0);
	EQ(KILLICK("reap"), 0);
	EQ(KILLICK("ps"), 0);
	if (t_now_ms() - begun > 3 * PROMPT)
		FAIL("took %.0f ms", t_now_ms() - begun);
}

static const char *below(const char *format)
{
	static char path[400];

	snprintf(path, sizeof(path), format, t_audit.dir);
	return path;
}

TEST(a_directory_that_is_not_a_cgroup_is_not_removed, .timeout_ms = 60000)
{
	struct stat st;

	lost_dir();
	OK(mkdir(below("%s/killick-" ID), 0700) == 0);
	OK(mkdir(below("%s/killick-" ID "/sub"), 0700) == 0);
	lost_forge(ID, "killick-record 1\ntree=" ID "\ncgroup=%s\n", below("%s/killick-" ID));
	nobody_hangs();
	EQ(lost_records(), 0);
	EQ(stat(below("%s/killick-" ID "/sub"), &st), 0);
}

TEST(fifos_in_place_of_cgroup_files_do_not_block_reap, .timeout_ms = 60000)
{
	lost_dir();
	OK(mkdir(below("%s/killick-" ID), 0700) == 0);
	OK(mkfifo(below("%s/killick-" ID "/cgroup.procs"), 0600) == 0);
	OK(mkfifo(below("%s/killick-" ID "/cgroup.kill"), 0600) == 0);
	OK(mkfifo(below("%s/killick-" ID "/cgroup.events"), 0600) == 0);
	lost_forge(ID, "killick-record 1\ntree=" ID "\ncgroup=%s\n", below("%s/killick-" ID));
	nobody_hangs();
	EQ(lost_records(), 0);
}

TEST(a_lease_on_a_file_in_place_of_a_cgroup_file_does_not_block_reap, .timeout_ms = 60000)
{
	pid_t lessee;

	lost_dir();
	OK(mkdir(below("%s/killick-" ID), 0700) == 0);
	close(open(below("%s/killick-" ID "/cgroup.procs"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	lessee = lost_lease(below("%s/killick-" ID "/cgroup.procs"), 0);
	if (!lessee)
		SKIP("no leases on this file system");
	lost_forge(ID, "killick-record 1\ntree=" ID "\ncgroup=%s\n", below("%s/killick-" ID));
	nobody_hangs();
	EQ(lost_records(), 0);
	lost_kill(lessee);
}

/* Each path ends with the right name, and none may be followed. */
TEST(paths_that_lead_elsewhere_are_not_followed, .timeout_ms = 60000)
{
	static const char *const paths[] = { "/proc/self/task/killick-" ID,
					     "/sys/fs/cgroup/../../../tmp/killick-" ID,
					     "/sys/fs/cgroup/unified/../unified/killick-" ID,
					     "//killick-" ID, "killick-" ID };

	lost_dir();
	OK(mkdir(below("%s/killick-" ID), 0700) == 0);
	OK(mkfifo(below("%s/killick-" ID "/cgroup.procs"), 0600) == 0);
	OK(symlink(t_audit.dir, below("%s/link")) == 0);
	lost_forge(ID, "killick-record 1\ntree=" ID "\ncgroup=%s\ncgroup=%s\n",
		   below("%s/link/killick-" ID), "/sys/fs/cgroup/unified/killick-" ID "/");
	nobody_hangs();
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		lost_forge(ID, "killick-record 1\ntree=" ID "\ncgroup=%s\n", paths[i]);
		EQ(KILLICK("reap"), 0);
		EQ(lost_records(), 0);
	}
}

/* Any process may take a lease on its own files of /proc; an open that waits for it takes 45 s. */
TEST(a_lease_on_the_environment_of_a_process_does_not_block_reap, .timeout_ms = 60000)
{
	char path[64];
	pid_t sleeper, lessees[2];
	uid_t uid = geteuid() == 0 ? 65534 : geteuid();
	bool leased;

	lost_dir();
	sleeper = fork();
	if (sleeper == 0) {
		if (geteuid() == 0 && (setgid(uid) < 0 || setuid(uid) < 0))
			_exit(1);
		execl("/bin/sleep", "sleep", "600", (char *)NULL);
		_exit(127);
	}
	for (double end = t_now_ms() + HELD_MS; t_now_ms() < end; poll(NULL, 0, 1)) {
		struct stat st;
		snprintf(path, sizeof(path), "/proc/%d/environ", sleeper);
		if (stat(path, &st) == 0 && st.st_uid == uid)
			break;
	}
	lessees[0] = lost_lease(path, geteuid() == 0 ? uid : 0);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/environ", sleeper, sleeper);
	lessees[1] = lost_lease(path, geteuid() == 0 ? uid : 0);
	leased = lessees[0] && lessees[1];
	if (leased) {
		lost_forge(ID, "killick-record 1\ntree=" ID "\n");
		nobody_hangs();
		EQ(lost_records(), 0);
	}
	for (int i = 0; i < 2; i++) {
		if (lessees[i])
			lost_kill(lessees[i]);
	}
	lost_kill(sleeper);
	if (!leased)
		SKIP("no leases on files of /proc");
}

/* A tree whose own record has a lease on it is a lost one: its keepers would have it open. */
TEST(a_lease_on_the_record_does_not_hide_the_tree, .timeout_ms = 60000)
{
	char id[32];
	pid_t daemon, lessee;

	lost_dir();
	daemon = lost_tree("keeper", "sleep 600; :");
	OK(sscanf(lost_record(), "killick-record 1\ntree=%16s", id) == 1);
	lessee = lost_lease(lost_path(id), 0);
	if (!lessee) {
		EQ(KILLICK("reap"), 0);
		lost_all_gone();
		SKIP("no leases on this file system");
	}
	KILLICK("reap");
	OK(held_wait_gone(daemon));
	EQ(lost_records(), 1); /* it could not be read: what it names may still be there */
	lost_kill(lessee);
	EQ(KILLICK("reap"), 0);
	EQ(lost_records(), 0);
	lost_all_gone();
}

/* Real files of a real cgroup, with leases on them. */
TEST(a_lease_on_cgroup_files_does_not_block_reap, .timeout_ms = 60000)
{
	static const char *const files[] = { "cgroup.procs", "cgroup.kill", "cgroup.events" };
	char dir[512], path[600];
	pid_t daemon, lessees[3];

	lost_dir();
	daemon = lost_tree("auto", "sleep 600; :");
	if (!lost_cgroup(dir, sizeof(dir))) {
		EQ(KILLICK("reap"), 0);
		lost_all_gone();
		SKIP("no cgroup can be made here");
	}
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		lessees[i] = lost_lease(path, 0);
	}
	double begun = t_now_ms();
	KILLICK("reap");
	OK(t_now_ms() - begun < 3 * PROMPT);
	OK(held_wait_gone(daemon));
	for (int i = 0; i < 3; i++) {
		if (lessees[i])
			lost_kill(lessees[i]);
	}
	EQ(KILLICK("reap"), 0);
	EQ(lost_records(), 0);
	lost_all_gone();
}

TEST(files_that_are_not_records_are_ignored, .timeout_ms = 60000)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	lost_dir();
	OK(mkfifo(lost_path("00000000000000b0"), 0600) == 0);
	OK(mkdir(lost_path("00000000000000b1"), 0700) == 0);
	OK(symlink("/dev/zero", lost_path("00000000000000b2")) == 0);
	OK(symlink(t_audit.dir, lost_path("00000000000000b3")) == 0);
	if (geteuid() == 0)
		OK(mknod(lost_path("00000000000000b4"), S_IFCHR | 0600, makedev(1, 5)) == 0);
	lost_forge("00000000000000b5", "killick-record 1\n");
	OK(truncate(lost_path("00000000000000b5"), 1LL << 30) == 0); /* 1 GiB, no blocks */
	fd = open(below("%s/innocent"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	OK(fd >= 0 && write(fd, "not a record\n", 13) == 13);
	close(fd);
	OK(link(below("%s/innocent"), lost_path("00000000000000b6")) == 0);
	lost_forge("00000000000000b7", "killick-record 1\n");
	OK(chmod(lost_path("00000000000000b7"), 0) == 0);
	lost_forge("00000000000000b8", "%s", "");
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", lost_path("00000000000000b9"));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	OK(fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	close(fd);
	lost_forge("00000000000000ba", "killick-record 1\ntree=../../x\nserver=1 1\ncgroup=/\n");
	lost_forge("00000000000000bb", "killick-record 1\nwatch=-1 1\nhold=-1 1\nowner=-1 1\n");
	nobody_hangs();
	EQ(stat(below("%s/innocent"), &st), 0);
	EQ(st.st_size, 13);
	EQ(stat("/dev/zero", &st), 0);
	OK(lstat(lost_path("00000000000000b5"), &st) < 0); /* swept as any other */
	rmdir(lost_path("00000000000000b1"));
}

static void forge_many(int count, const char *fmt)
{
	char id[17];

	for (int i = 0; i < count; i++) {
		snprintf(id, sizeof(id), "%016x", i + 1);
		lost_forge(id, fmt, i + 1);
	}
}

/* How long a server that has just started keeps SIGTERM waiting. */
static double deaf_ms(void)
{
	struct held h;
	double begun;

	HELD(&h, "--", "cat");
	OK(write(h.in, "up\n", 3) == 3);
	held_expect(&h, "up");
	begun = t_now_ms();
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	begun = t_now_ms() - begun;
	held_done(&h);
	return begun;
}

TEST(a_thousand_forged_records_do_not_keep_a_run_busy, .timeout_ms = 90000)
{
	pid_t daemon;
	double ms;

	lost_dir();
	daemon = lost_tree("keeper", "sleep 600; :");
	forge_many(1000, "killick-record 1\ntree=%016x\ncgroup=/sys/fs/cgroup/unified/x\n");
	ms = deaf_ms();
	t_note("SIGTERM to the end: %.0f ms", ms);
	OK(ms < 2000);
	EQ(KILLICK("reap"), 0); /* and the real one among them is found */
	EQ(lost_records(), 0);
	OK(held_wait_gone(daemon));
	lost_all_gone();
}

/* Kept records cannot be removed: a real one must be reached all the same. */
TEST(a_thousand_locked_records_do_not_hide_a_lost_one, .timeout_ms = 90000)
{
	static int fds[1000];
	char id[17], text[64];
	pid_t daemon;

	lost_dir();
	daemon = lost_tree("keeper", "sleep 600; :");
	snprintf(text, sizeof(text), "killick-record 1\nwatch=%d\nstarted_ms=%%d\n", getpid());
	forge_many(1000, text);
	for (int i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "%016x", i + 1);
		fds[i] = open(lost_path(id), O_RDONLY | O_CLOEXEC);
		OK(fds[i] >= 0 && flock(fds[i], LOCK_EX | LOCK_NB) == 0);
	}
	EQ(KILLICK("reap"), 0);
	EQ(lost_records(), 1000);
	OK(held_wait_gone(daemon));
	for (int i = 0; i < 1000; i++)
		close(fds[i]);
	lost_all_gone();
}
