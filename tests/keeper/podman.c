/* podman.c - the endings of containers.c with the real podman: `podman ps -a` must be empty, and no
 * process of a container, of conmon or of podman may be left.
 *
 *   keeper-podman [--rootless] [NAME...]
 *
 * Everything of podman is below one directory, made by main and removed at the end: store, run
 * directory, image. Two files say so, which the environment names: a janitor accepts the places of
 * a record if its own environment has them, too. The image has one file, a static zoo server, whose
 * path is unique: so /proc shows which processes belong to this test. With --rootless, root becomes
 * the user nobody, with 65,536 subordinate ids that only this process and its children see; another
 * user tries as he is.
 */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <grp.h>

#include "../t.h"
#include "lost.h"

#define NOBODY  65534
#define SLOW_MS 60000 /* podman on a busy machine with a file system that copies every layer */
#define GLOBALS                                                                                    \
	"podman", "--log-level", "error", "--runtime", "runc", "--storage-driver", "vfs",          \
		"--cgroup-manager", "cgroupfs", "--events-backend", "file"
#define RUN                                                                                        \
	GLOBALS, "run", "-i", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit",     \
		"nproc=4096:4096", "killick-zoo", server

static char base[64], root[80], runroot[80], tmpdir[80];
static char server[80]; /* the path of the server in the image */
static bool rootless;

/* --- podman --- */

/* Run a program; its output, stderr included, is in `text`. Its exit status, or -1. */
static int run_words(char *text, int size, const char *const *words)
{
	int fds[2], len = 0, status;
	double end = t_now_ms() + SLOW_MS;

	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid_t pid = t_spawn((char *const *)(void *)words, (int[]){ -1, fds[1], fds[1] });
	close(fds[1]);
	/* a pause process of rootless podman keeps the pipe open: read until the program ends */
	while ((status = t_wait_child(pid, 20)) == -1 && t_now_ms() < end) {
		while (len < size - 1 && t_wait_fd(fds[0], POLLIN, 0)) {
			ssize_t n = read(fds[0], text + len, (size_t)(size - 1 - len));
			if (n <= 0)
				break;
			len += (int)n;
		}
	}
	while (len < size - 1 && t_wait_fd(fds[0], POLLIN, 0)) {
		ssize_t n = read(fds[0], text + len, (size_t)(size - 1 - len));
		if (n <= 0)
			break;
		len += (int)n;
	}
	text[len] = '\0';
	close(fds[0]);
	return status == -1 ? -1 : WEXITSTATUS(status);
}
#define RUN_WORDS(text, ...)                                                                       \
	run_words(text, sizeof(text), (const char *const[]){ __VA_ARGS__, NULL })

/* Rootless podman keeps a process that holds the user's namespace. main has one for all tests; the
 * test that wants none ends it, and the next call of podman makes another. */
static void end_pause_process(void)
{
	char path[120], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/pause.pid", tmpdir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0 && atoi(text) > 1)
		kill(atoi(text), SIGKILL);
	close(fd);
	unlink(path);
}

/* How many processes have the name of our directory or of our server in their command line. */
static int count_processes(char *last, int size)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int count = 0;

	OK(proc);
	while ((e = readdir(proc))) {
		char path[300], text[2048];
		int fd;
		ssize_t n;

		if (atoi(e->d_name) <= 1 || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		text[n] = '\0';
		for (int i = 0; i < n; i++)
			if (!text[i])
				text[i] = ' ';
		if (!strstr(text, base) && !strstr(text, server))
			continue;
		count++;
		snprintf(last, (size_t)size, "%s: %s", e->d_name, text);
	}
	closedir(proc);
	return count;
}

/* --- one container --- */

static void start(struct held *h, const char *const *words)
{
	static const char hello[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
		"{\"protocolVersion\":\"2025-06-18\"}}\n";
	char text[1024];
	int len = 0;
	double end = t_now_ms() + SLOW_MS;

	held_start(h, words);
	OK(write(h->in, hello, sizeof(hello) - 1) == sizeof(hello) - 1);
	while (t_now_ms() < end && t_wait_fd(h->out, POLLIN, SLOW_MS)) {
		ssize_t n = read(h->out, text + len, sizeof(text) - 1 - (size_t)len);

		if (n <= 0) {
			held_errors(h, text, sizeof(text));
			FAIL("the server did not start: %s", text);
		}
		len += (int)n;
		text[len] = '\0';
		if (strstr(text, "killick-zoo"))
			return;
	}
	FAIL("no answer of the server");
}
#define START(h_, ...) start(h_, (const char *const[]){ __VA_ARGS__, NULL })

static void await_end(struct held *h)
{
	OK(t_wait_child(h->watch, SLOW_MS) != -1);
}

static void judge_gone(void)
{
	char text[4096] = "";
	double end = t_now_ms() + SLOW_MS;

	/* a killed process may take a moment to go */
	while (count_processes(text, sizeof(text)) && t_now_ms() < end)
		poll(NULL, 0, 20);
	if (count_processes(text, sizeof(text)))
		FAIL("a process is left: %s", text);
	EQ(RUN_WORDS(text, GLOBALS, "ps", "-a", "-q", "--external"), 0);
	STREQ(text, "");
	EQ(lost_records(), 0);
	held_reap_all();
}

static void judge_reported(struct held *h)
{
	OK(held_reported(h, "\"container\":{\"engine\":\"podman\",\"id\":\""));
	OK(held_reported(h, "\",\"gone\":true,\"proof\":\"engine\"}"));
	OK(held_reported(h, "\"survivors\":[]"));
}

static void await_report(struct held *h)
{
	double end = t_now_ms() + SLOW_MS;
	struct stat st;

	while ((stat(h->report, &st) < 0 || st.st_size == 0) && t_now_ms() < end)
		poll(NULL, 0, 20);
}

/* --- endings --- */

TEST(podman_end_of_input, .timeout_ms = 3 * SLOW_MS)
{
	struct held h;

	lost_dir();
	START(&h, "--", RUN, "plain");
	held_eof(&h);
	await_end(&h);
	judge_reported(&h);
	held_done(&h);
	judge_gone();
}

TEST(podman_sigterm, .timeout_ms = 3 * SLOW_MS)
{
	struct held h;

	lost_dir();
	START(&h, "--", RUN, "ignore");
	OK(kill(h.watch, SIGTERM) == 0);
	await_end(&h);
	judge_reported(&h);
	held_done(&h);
	judge_gone();
}

TEST(podman_with_a_daemon_in_the_container, .timeout_ms = 3 * SLOW_MS)
{
	struct held h;

	lost_dir();
	START(&h, "--", RUN, "daemon");
	held_eof(&h);
	await_end(&h);
	judge_reported(&h);
	held_done(&h);
	judge_gone();
}

TEST(podman_owner_killed, .timeout_ms = 3 * SLOW_MS)
{
	struct held h;
	char pid[16];
	pid_t owner = t_spawn((char *const[]){ "sleep", "600", NULL }, NULL);

	lost_dir();
	snprintf(pid, sizeof(pid), "%d", owner);
	START(&h, "--owner", pid, "--", RUN, "ignore");
	lost_kill(owner);
	await_end(&h);
	judge_reported(&h);
	OK(held_reported(&h, "\"why\":\"owner\""));
	held_done(&h);
	judge_gone();
}

TEST(podman_watch_killed, .timeout_ms = 3 * SLOW_MS)
{
	struct held h;

	lost_dir();
	START(&h, "--", RUN, "ignore");
	OK(kill(h.watch, SIGKILL) == 0);
	await_end(&h);
	await_report(&h);
	judge_reported(&h);
	held_done(&h);
	judge_gone();
}

TEST(podman_hold_killed, .timeout_ms = 3 * SLOW_MS)
{
	struct held h;

	lost_dir();
	START(&h, "--", RUN, "ignore");
	OK(kill(held_hold(&h), SIGKILL) == 0);
	await_end(&h);
	judge_reported(&h);
	held_done(&h);
	judge_gone();
}

TEST(podman_both_keepers_killed, .timeout_ms = 4 * SLOW_MS)
{
	struct held h;
	char text[4096];

	lost_dir();
	START(&h, "--", RUN, "ignore");
	lost_keepers(&h);
	EQ(RUN_WORDS(text, t_program("KILLICK", "build/killick"), "reap"), 0);
	OK(strstr(text, "1 container removed"));
	judge_gone();
}

TEST(podman_command_killed, .timeout_ms = 3 * SLOW_MS)
{
	char path[64], text[32] = "";
	struct held h;
	int fd;

	lost_dir();
	START(&h, "--", RUN, "ignore");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", held_hold(&h), held_hold(&h));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	OK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	OK(kill(atoi(text), SIGKILL) == 0);
	await_end(&h);
	judge_reported(&h);
	held_done(&h);
	judge_gone();
}

/* The first podman command of a user starts the pause process; the end of a tree must not end it.
 */
TEST(podman_without_a_pause_process, .timeout_ms = 4 * SLOW_MS)
{
	struct held h;

	if (!rootless)
		SKIP("root needs no pause process");
	lost_dir();
	end_pause_process();
	START(&h, "--", RUN, "ignore");
	OK(kill(h.watch, SIGTERM) == 0);
	await_end(&h);
	judge_reported(&h);
	held_done(&h);
	end_pause_process();
	judge_gone();
	end_pause_process();
	held_reap_all();
}

/* --- the store --- */

static void become_nobody(void)
{
	static const char *const files[] = { "/etc/subuid", "/etc/subgid" };
	char path[100];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		FAIL("no mount namespace: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/ids%d", base, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		OK(fd >= 0 && dprintf(fd, "nobody:3000000:65536\n") > 0);
		close(fd);
		if (mount(path, files[i], NULL, MS_BIND, NULL) < 0)
			FAIL("cannot mount over %s: %s", files[i], strerror(errno));
	}
	OK(chown(base, NOBODY, NOBODY) == 0);
	if (mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0) /* podman wants this */
		FAIL("cannot share the mounts: %s", strerror(errno));
	OK(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	   setresuid(NOBODY, NOBODY, NOBODY) == 0);
	prctl(PR_SET_DUMPABLE, 1);
}

static bool has_programs(const char **out_missing)
{
	static const char *const programs[] = { "podman", "runc", "conmon", "newuidmap", NULL };

	for (int i = 0; programs[i]; i++) {
		char text[64], line[100];

		if (!rootless && i == 3)
			break;
		snprintf(line, sizeof(line), "command -v %s", programs[i]);
		*out_missing = programs[i];
		if (RUN_WORDS(text, "sh", "-c", line) != 0)
			return false;
	}
	return true;
}

/* The image: one static program. */
static int import_image(char *text, int size)
{
	const char *zoo = t_program("ZOO_STATIC", "build/tests/keeper/killick-zoo-static");
	char line[1200];

	snprintf(line, sizeof(line),
		 "mkdir -p %s/image/%s && cp %s %s/image%s && chmod 755 %s/image%s && "
		 "tar -C %s/image -cf %s/image.tar .",
		 base, base + strlen("/tmp/"), zoo, base, server, base, server, base, base);
	if (run_words(text, size, (const char *const[]){ "sh", "-c", line, NULL }) != 0)
		return -1;
	snprintf(line, sizeof(line), "%s/image.tar", base);
	return run_words(text, size,
			 (const char *const[]){ GLOBALS, "import", line, "killick-zoo", NULL });
}

/* A container without killick: what fails here is not killick's fault. */
static int try_podman(char *text, int size)
{
	int status = run_words(text, size, (const char *const[]){ RUN, "exit0", NULL });
	char said[4096];

	RUN_WORDS(said, GLOBALS, "rm", "-f", "-a", "-t", "0");
	return status;
}

static void remove_files(void)
{
	char text[4096];

	RUN_WORDS(text, "sh", "-c",
		  "umount -q \"$0\"/root/vfs \"$0\"/root 2>/dev/null; rm -rf \"$0\"", base);
}

static void remove_store(void)
{
	char text[4096];

	RUN_WORDS(text, GLOBALS, "rm", "-f", "-a", "-t", "0");
	if (rootless)
		RUN_WORDS(text, GLOBALS, "unshare", "rm", "-rf", root);
	end_pause_process();
	remove_files();
}

static int skip_all(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int skip_all(const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text[strcspn(text, "\n")] = '\0';
	printf("1..0 # SKIP %s\n", text);
	fflush(stdout);
	return 0;
}

/* Write a file below the directory, and name it in the environment. */
static void write_conf(const char *variable, const char *name, const char *fmt, ...)
{
	char path[120];
	va_list ap;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", base, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	va_start(ap, fmt);
	OK(fd >= 0 && vdprintf(fd, fmt, ap) > 0);
	va_end(ap);
	close(fd);
	setenv(variable, path, 1);
}

static int run_all(int argc, char **argv)
{
	char text[4096] = "";
	int status;

	snprintf(root, sizeof(root), "%s/root", base);
	snprintf(runroot, sizeof(runroot), "%s/run", base);
	snprintf(tmpdir, sizeof(tmpdir), "%s/tmp", base);
	snprintf(server, sizeof(server), "%s/zoo", base + strlen("/tmp"));
	if (rootless && geteuid() == 0)
		become_nobody();
	setenv("HOME", base, 1);
	setenv("XDG_RUNTIME_DIR", base, 1);
	setenv("TMPDIR", base, 1);
	write_conf("CONTAINERS_STORAGE_CONF", "storage.conf",
		   "[storage]\ndriver = \"vfs\"\ngraphroot = \"%s\"\nrunroot = \"%s\"\n", root,
		   runroot);
	write_conf("CONTAINERS_CONF", "containers.conf", "[engine]\ntmp_dir = \"%s\"\n", tmpdir);
	OK(chdir(base) == 0);
	if (import_image(text, sizeof(text)) != 0 || try_podman(text, sizeof(text)) != 0)
		status = skip_all("podman does not work here: %s", text);
	else
		status = t_main(argc, argv);
	OK(chdir("/") == 0);
	remove_store();
	return status;
}

int main(int argc, char **argv)
{
	const char *missing;
	int status;

	rootless = argc > 1 && strcmp(argv[1], "--rootless") == 0;
	argc -= rootless;
	argv += rootless;
	if (!rootless && geteuid() != 0)
		return skip_all("not root: see the test podman-rootless");
	if (!has_programs(&missing))
		return skip_all("%s not found; install podman, runc and uidmap", missing);
	snprintf(base, sizeof(base), "/tmp/killick-podman-XXXXXX");
	if (!mkdtemp(base))
		return 1;
	if (!rootless || geteuid() != 0)
		return run_all(argc, argv);
	pid_t pid =
		fork(); /* root removes the files of the subordinate ids, should podman fail to */
	if (pid == 0)
		_exit(run_all(argc, argv));
	status = waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	remove_files();
	return status;
}
