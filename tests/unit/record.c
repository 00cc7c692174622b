/* record.c - the record says what was said, and its lock says who is there. */
#include "keeper/linux/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"

static const struct record sample = {
	.tree = "0123456789abcdef",
	.owner = { 10, 0 },
	.watch = { 11, 0 },
	.pidns = 4026531836,
	.grace_ms = 2000,
	.started_ms = 123456,
};

static void own_dir(void)
{
	static char dir[160];

	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
}

static int count;
static struct record last;

static int take(void *ctx, const struct record *rec, int fd)
{
	(void)ctx;
	(void)fd;
	count++;
	last = *rec;
	return 0;
}

TEST(record_comes_back_as_written)
{
	int dirfd;

	own_dir();
	int fd = record_open(&sample, &dirfd);
	OK(fd >= 0);
	EQ(record_add(fd, "cgroup", "/sys/fs/cgroup/x"), 0);
	EQ(record_add(fd, "cgroup", "/sys/fs/cgroup/pids/x"), 0);
	EQ(record_add(fd, "hold", "%d", 12), 0);
	EQ(record_add(fd, "hold", "12 120"), 0);
	EQ(record_add(fd, "hold", "%d", 12), 0); /* does not unsay the start time */
	EQ(record_add(fd, "watch", "11 110"), 0);
	EQ(record_add(fd, "owner", "10 100"), 0);
	EQ(record_add(fd, "boot", "b"), 0);
	EQ(record_add(fd, "name", "a name"), 0);
	EQ(record_add(fd, "session", "s"), 0);
	EQ(record_add(fd, "level", "cgroup"), 0);
	EQ(record_add(fd, "command", "npx -y thing=1"), 0);
	EQ(record_add(fd, "server", "%d %d", 13, 130), 0);
	EQ(record_add(fd, "stopping", "5 6 %s", "owner"), 0);
	EQ(record_add(fd, "cidfile", ".cid-0123456789abcdef"), 0);
	EQ(record_add(fd, "engine", "%s", "0123 docker --root /x"), 0);
	EQ(record_note(dirfd, sample.tree, "swept", "1"), 0);
	EQ(record_add(fd, "unknown", "later versions may say more"), 0);
	EQ(record_each(take, NULL), 0);
	EQ(count, 1);
	OK(last.kept);
	STREQ(last.tree, sample.tree);
	STREQ(last.name, "a name");
	STREQ(last.session, "s");
	STREQ(last.level, "cgroup");
	STREQ(last.cgroups[0], "/sys/fs/cgroup/x");
	STREQ(last.cgroups[1], "/sys/fs/cgroup/pids/x");
	STREQ(last.cgroups[2], "");
	STREQ(last.command, "npx -y thing=1");
	EQ(last.owner.pid, 10);
	EQ(last.owner.start, 100);
	EQ(last.watch.pid, 11);
	EQ(last.watch.start, 110);
	EQ(last.hold.pid, 12);
	EQ(last.hold.start, 120);
	EQ(last.pidns, 4026531836);
	EQ(last.orphaned_ms, 0);
	EQ(last.server.pid, 13);
	EQ(last.server.start, 130);
	EQ(last.started_ms, 123456);
	EQ(last.stopping_ms, 5);
	EQ(last.deadline_ms, 6);
	STREQ(last.why, "owner");
	STREQ(last.cidfile, ".cid-0123456789abcdef");
	STREQ(last.engine, "0123 docker --root /x");
	OK(last.swept);
	record_remove(dirfd, sample.tree);
	close(fd);
	close(dirfd);
	EQ(record_each(take, NULL), 0);
	EQ(count, 1);
}

/* The lock belongs to the open file, not to a process: it goes with the last holder, however that
 * ends. */
TEST(record_is_kept_while_any_holder_lives)
{
	int dirfd, fds[2];

	own_dir();
	int fd = record_open(&sample, &dirfd);
	OK(fd >= 0 && pipe2(fds, O_CLOEXEC) == 0);
	pid_t other = fork();
	if (other == 0) {
		char byte;
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(fds[0]);
	close(fd);
	EQ(record_each(take, NULL), 0);
	OK(last.kept);
	close(fds[1]);
	EQ(t_wait_child(other, 5000), 0);
	EQ(record_each(take, NULL), 0);
	EQ(count, 2);
	OK(!last.kept);
	record_remove(dirfd, sample.tree);
	close(dirfd);
}

TEST(record_values_are_one_line)
{
	int dirfd;

	own_dir();
	int fd = record_open(&sample, &dirfd);
	OK(fd >= 0);
	EQ(record_add(fd, "name", "a\nwatch=1\x01"), 0);
	EQ(record_each(take, NULL), 0);
	STREQ(last.name, "a watch=1 ");
	EQ(last.watch.pid, sample.watch.pid);
	record_remove(dirfd, sample.tree);
	close(fd);
	close(dirfd);
}

TEST(record_ignores_an_incomplete_last_line)
{
	struct record r;

	EQ(record_parse("killick-record 1\nwatch=12\nserver=9999 1", &r), 0);
	EQ(r.watch.pid, 12);
	EQ(r.server.pid, 0);
	EQ(record_parse("killick-record 2\nwatch=12\n", &r), -EINVAL);
	EQ(record_parse("", &r), -EINVAL);
	EQ(record_parse("killick-record 1\n=\n==\nno\nwatch=x\nname=\n", &r), 0);
	EQ(r.watch.pid, 0);
}

TEST(record_of_an_older_killick_is_read)
{
	struct record r;

	EQ(record_parse("killick-record 1\ntree=0123456789abcdef\nowner=7 0\nwatch=11\n"
			"grace_ms=2000\nstarted_ms=5\nhold=12\nowner=7 70\n",
			&r),
	   0);
	EQ(r.watch.pid, 11);
	EQ(r.watch.start, 0);
	EQ(r.hold.pid, 12);
	EQ(r.hold.start, 0);
	EQ(r.owner.start, 70);
	EQ(r.pidns, 0);
	EQ(r.orphaned_ms, 0);
}

/* A time that does not belong to the last pid must not be taken for its own. */
TEST(record_with_a_new_pid_forgets_the_old_start)
{
	struct record r;

	EQ(record_parse("killick-record 1\nhold=12 120\nhold=13\n", &r), 0);
	EQ(r.hold.pid, 13);
	EQ(r.hold.start, 0);
}

TEST(record_is_noted_as_orphaned_once)
{
	int dirfd;

	own_dir();
	int fd = record_open(&sample, &dirfd);
	OK(fd >= 0);
	EQ(record_add_orphaned(dirfd, sample.tree, 1000), 0);
	EQ(record_add_orphaned(dirfd, sample.tree, 2000), 0);
	EQ(record_each(take, NULL), 0);
	EQ(last.orphaned_ms, 1000);
	record_remove(dirfd, sample.tree);
	OK(record_add_orphaned(dirfd, sample.tree, 3000) < 0); /* makes no new one */
	EQ(record_each(take, NULL), 0);
	EQ(count, 1);
	close(fd);
	close(dirfd);
}

/* Somebody made it larger than a record is: its first and its last lines count. */
TEST(record_that_is_huge_is_read_in_part)
{
	int dirfd;

	own_dir();
	int fd = record_open(&sample, &dirfd);
	OK(fd >= 0);
	OK(ftruncate(fd, 1LL << 30) == 0);
	EQ(record_add(fd, "x", "y"), 0);
	EQ(record_add(fd, "orphaned", "77"), 0);
	EQ(record_each(take, NULL), 0);
	EQ(last.watch.pid, 11);
	EQ(last.orphaned_ms, 0); /* behind NUL bytes: not text */
	OK(ftruncate(fd, 0) == 0);
	EQ(write(fd, "killick-record 1\nwatch=11\n", 26), 26);
	for (int i = 0; i < 2000; i++)
		EQ(record_add(fd, "junk", "%d", i), 0);
	EQ(record_add(fd, "orphaned", "78"), 0);
	EQ(record_each(take, NULL), 0);
	EQ(last.watch.pid, 11);
	EQ(last.orphaned_ms, 78);
	record_remove(dirfd, sample.tree);
	close(fd);
	close(dirfd);
}

/* The order begins at a random one. */
TEST(record_visits_each_once_from_anywhere)
{
	struct record rec = sample;
	char first[sizeof(rec.tree)];
	int dirfd, fds[20], others = 0;

	own_dir();
	for (int i = 0; i < 20; i++) {
		snprintf(rec.tree, sizeof(rec.tree), "%016x", i);
		fds[i] = record_open(&rec, &dirfd);
		OK(fds[i] >= 0);
		close(dirfd);
	}
	for (int i = 0; i < 20; i++) {
		count = 0;
		EQ(record_each(take, NULL), 0);
		EQ(count, 20);
		if (i == 0)
			snprintf(first, sizeof(first), "%s", last.tree);
		others += strcmp(first, last.tree) != 0;
	}
	OK(others > 0);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
}

TEST(record_needs_a_directory_without_other_writers)
{
	char dir[160];
	int dirfd;

	own_dir();
	snprintf(dir, sizeof(dir), "%s", getenv("KILLICK_RUNTIME_DIR"));
	OK(mkdir(dir, 0700) == 0 && chmod(dir, 0777) == 0);
	EQ(record_open(&sample, &dirfd), -EPERM);
	OK(rmdir(dir) == 0 && symlink("/", dir) == 0);
	OK(record_open(&sample, &dirfd) < 0);
	OK(unlink(dir) == 0);
}
