/* files.c - fs/readFile and fs/getMetadata on files that do not answer: FIFOs, leases, and a file
 * system of our own (FUSE) that serves nothing. Whoever asked waits, and nobody else.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuse.h"
#include "guest.h"
#include "t.h"

#define PER_OWNER 4
#define THREADS   256
#define SOON_MS   5000 /* less than the 10 s after which a file system counts as hanging */

/* --- requests --- */

static char *read_file(struct guest *g, const char *dir, const char *name)
{
	return guest_answer(g,
			    guest_send(g, "fs/readFile", "{\"path\":\"file://%s/%s\"}", dir, name));
}

/* An owner whose requests hang, so many of them. Each is left behind with its connection. */
static void hang(struct fuse *f, const struct host *h, int owner, int count)
{
	char session[64] = "";
	struct guest g;

	for (int i = 0; i < count; i++) {
		guest_resume(&g, h, i ? session : NULL);
		snprintf(session, sizeof(session), "%s", g.session);
		guest_send(&g, "fs/readFile", "{\"path\":\"file://%s/%d-%d\"}", f->dir, owner, i);
		fuse_await(f);
		guest_close(&g);
	}
}

/* Another owner's files are read, soon. */
static void others_read(const struct host *h)
{
	double began = t_now_ms();
	struct guest g;

	guest_open(&g, h);
	free(guest_ask(&g, "fs/getMetadata", "{\"path\":\"file:///\"}"));
	free(guest_ask(&g, "fs/readFile", "{\"path\":\"file:///proc/self/status\"}"));
	OK(t_now_ms() - began < SOON_MS);
	guest_close(&g);
}

static void is_refused(struct guest *g, const char *dir, const char *why)
{
	double began = t_now_ms();
	char *line = read_file(g, dir, "one-more");

	if (!strstr(line, why))
		FAIL("no '%s' in %s", why, line);
	EQ(guest_number(line, "error.code"), -32603);
	OK(t_now_ms() - began < SOON_MS);
	free(line);
}

/* One owner's requests hang, as many as it likes: its own are refused then, others' are answered,
 * and when the file system answers all is as before. */
TEST(hung_files_of_one_owner_do_not_block_other_owners, .timeout_ms = 30000)
{
	char session[64], *line;
	struct guest g;
	struct fuse f;
	struct host h;

	fuse_mount(&f, true);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	snprintf(session, sizeof(session), "%s", g.session);
	for (int i = 0; i < PER_OWNER; i++) {
		guest_send(&g, "fs/readFile", "{\"path\":\"file://%s/mine-%d\"}", f.dir, i);
		fuse_await(&f);
		guest_close(&g);
		guest_resume(&g, &h, session);
	}
	is_refused(&g, f.dir, "requests for files of this session hang");
	others_read(&h);
	free(guest_ask(&g, "environment/status", "null"));
	fuse_end(&f);
	line = read_file(&g, "/proc/self", "status");
	OK(strstr(line, "dataBase64"));
	free(line);
	guest_close(&g);
	host_stop(&h);
}

/* Sixteen hung files once stopped all. */
TEST(sixteen_hung_files_of_four_owners_block_no_other_owner, .timeout_ms = 30000)
{
	struct fuse f;
	struct host h;

	fuse_mount(&f, true);
	HOST(&h, NULL, "--quiet");
	for (int i = 0; i < 4; i++)
		hang(&f, &h, i, 4);
	others_read(&h);
	fuse_end(&f);
	host_stop(&h);
}

/* Every thread hangs: a clear answer, within a bounded time. */
TEST(when_all_threads_hang_requests_are_refused, .timeout_ms = 60000)
{
	struct guest g;
	struct fuse f;
	struct host h;

	fuse_mount(&f, true);
	HOST(&h, NULL, "--quiet");
	for (int i = 0; i < THREADS / PER_OWNER; i++)
		hang(&f, &h, i, PER_OWNER);
	guest_open(&g, &h);
	is_refused(&g, "/proc/self", "requests for files hang on this executor");
	free(guest_ask(&g, "environment/status", "null"));
	fuse_end(&f);
	free(guest_ask(&g, "fs/getMetadata", "{\"path\":\"file:///\"}"));
	guest_close(&g);
	host_stop(&h);
}

/* A thread that hangs cannot be killed, and so the executor is not quite dead; but it holds nothing
 * that the keepers of its processes wait for. */
TEST(an_executor_that_is_killed_while_a_file_hangs, .timeout_ms = 30000)
{
	double until = t_now_ms() + GUEST_MS;
	struct guest g;
	struct fuse f;
	struct host h;
	char path[64], *line;

	fuse_mount(&f, true);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	line = guest_ask(&g, "process/start",
			 "{\"processId\":\"p\",\"argv\":[\"sleep\",\"100\"],\"cwd\":\"file:///\","
			 "\"env\":{},\"envPolicy\":{\"inherit\":\"all\",\"ignoreDefaultExcludes\":"
			 "true,\"exclude\":[],\"set\":{},\"includeOnly\":[]}," PIPED "}");
	snprintf(path, sizeof(path), "/proc/%lld/environ", guest_number(line, "result.pid"));
	free(line);
	guest_send(&g, "fs/readFile", "{\"path\":\"file://%s/x\"}", f.dir);
	fuse_await(&f);
	kill(h.pid, SIGKILL);
	while (access(path, F_OK) == 0) {
		OK(t_now_ms() < until);
		t_wait_fd(-1, 0, 5);
	}
	fuse_end(&f);
	host_end(&h);
	guest_close(&g);
}

/* A directory that hangs: whoever starts there waits, and nobody else. */
TEST(a_directory_that_hangs)
{
	struct guest g, other;
	struct fuse f;
	struct host h;
	long id;

	fuse_mount(&f, false);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	id = guest_send(&g, "process/start",
			"{\"processId\":\"p\",\"argv\":[\"cat\"],\"cwd\":\"file://%s\","
			"\"env\":{},\"envPolicy\":{\"inherit\":\"all\",\"ignoreDefaultExcludes\":"
			"true,\"exclude\":[],\"set\":{},\"includeOnly\":[]}," PIPED "}",
			f.dir);
	guest_open(&other, &h);
	guest_start(&other, "well", PIPED, "exec cat");
	guest_close(&other);
	others_read(&h);
	free(guest_ask(&g, "process/terminate", "{\"processId\":\"p\"}"));
	free(guest_answer(&g, id));
	free(guest_ask(&g, "fs/getMetadata", "{\"path\":\"file:///\"}"));
	guest_close(&g);
	host_stop(&h);
	fuse_end(&f);
}

/* --- files that are none --- */

/* Nobody writes to it, or reads from it: it is not even opened. */
TEST(a_fifo_is_refused)
{
	char path[100];
	struct guest g;
	struct host h;

	snprintf(path, sizeof(path), "%s/a-fifo", t_audit.dir);
	EQ(mkfifo(path, 0600), 0);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	guest_refused(&g, -32600, "fs/readFile", "{\"path\":\"file://%s\"}", path);
	free(guest_ask(&g, "fs/getMetadata", "{\"path\":\"file://%s\"}", path));
	guest_close(&g);
	host_stop(&h);
	unlink(path);
}

/* --- leases --- */

static volatile sig_atomic_t lease_asked;

static void on_lease_break(int sig)
{
	(void)sig;
	lease_asked = 1;
}

/* Who has a lease on the file and gives it up when it is asked to, or never; ends with us. */
static pid_t hold_lease(const char *path, bool gives_up)
{
	int ready[2];
	char c;
	pid_t pid;

	EQ(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	OK(pid >= 0);
	if (pid == 0) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigaction(SIGIO, &(struct sigaction){ .sa_handler = on_lease_break }, NULL);
		if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
			_exit(1);
		(void)!write(ready[1], "x", 1);
		while (!lease_asked || !gives_up)
			poll(NULL, 0, 10);
		fcntl(fd, F_SETLEASE, F_UNLCK);
		_exit(0);
	}
	close(ready[1]);
	OK(t_wait_fd(ready[0], POLLIN | POLLHUP, GUEST_MS));
	if (read(ready[0], &c, 1) != 1)
		SKIP("no lease can be had on %s", path);
	close(ready[0]);
	return pid;
}

static void make_file(char *path, size_t size)
{
	int fd;

	snprintf(path, size, "%s/leased", t_audit.dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	EQ(write(fd, "hi\n", 3), 3);
	close(fd);
}

TEST(a_leased_file_is_read_when_the_lease_is_released)
{
	char path[100], *line;
	struct guest g;
	struct host h;
	pid_t pid;

	make_file(path, sizeof(path));
	pid = hold_lease(path, true);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	line = guest_ask(&g, "fs/readFile", "{\"path\":\"file://%s\"}", path);
	OK(strstr(line, "\"aGkK\""));
	free(line);
	guest_close(&g);
	waitpid(pid, NULL, 0);
	host_stop(&h);
	unlink(path);
}

/* It is not waited for longer than for a file system, and others are served meanwhile. */
TEST(a_lease_that_is_not_released_times_out, .timeout_ms = 30000)
{
	char path[100], *line;
	struct guest g;
	struct host h;
	pid_t pid;
	long id;

	make_file(path, sizeof(path));
	pid = hold_lease(path, false);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	id = guest_send(&g, "fs/readFile", "{\"path\":\"file://%s\"}", path);
	others_read(&h);
	line = guest_answer(&g, id);
	EQ(guest_number(line, "error.code"), -32603);
	free(line);
	guest_close(&g);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	host_stop(&h);
	unlink(path);
}
