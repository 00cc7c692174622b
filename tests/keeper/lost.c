/* lost.c - see lost.h */
#include "lost.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"

#define RUN_MS 20000 /* a deadline for what takes at most 8 s by design */

void lost_dir(void)
{
	static char dir[160];

	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
}

const char *lost_path(const char *name)
{
	static char paths[2][300];
	static int which;

	which = !which;
	snprintf(paths[which], sizeof(paths[which]), "%s/%s", getenv("KILLICK_RUNTIME_DIR"), name);
	return paths[which];
}

static int list(char first[32])
{
	DIR *dir = opendir(getenv("KILLICK_RUNTIME_DIR"));
	struct dirent *e;
	int n = 0;

	OK(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (n++ == 0)
			snprintf(first, 32, "%.31s", e->d_name);
	}
	closedir(dir);
	return n;
}

int lost_records(void)
{
	char first[32];

	return list(first);
}

static int open_only(int flags)
{
	char first[32];
	int fd;

	EQ(list(first), 1);
	fd = open(lost_path(first), flags | O_CLOEXEC);
	OK(fd >= 0);
	return fd;
}

const char *lost_record(void)
{
	static char text[8192];
	int fd = open_only(O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	OK(n >= 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

bool lost_cgroup(char *out, int size)
{
	const char *line = strstr(lost_record(), "\ncgroup=");
	struct stat st;

	if (!line)
		return false;
	line += strlen("\ncgroup=");
	snprintf(out, (size_t)size, "%.*s", (int)strcspn(line, "\n"), line);
	return stat(out, &st) == 0; /* it is noted before it is made */
}

void lost_append(const char *fmt, ...)
{
	int fd = open_only(O_WRONLY | O_APPEND);
	va_list ap;

	va_start(ap, fmt);
	OK(vdprintf(fd, fmt, ap) > 0);
	va_end(ap);
	close(fd);
}

void lost_forge(const char *id, const char *fmt, ...)
{
	int fd = open(lost_path(id), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	va_list ap;

	OK(fd >= 0);
	va_start(ap, fmt);
	OK(vdprintf(fd, fmt, ap) >= 0);
	va_end(ap);
	OK(futimens(fd, old) == 0); /* not a record that is being written just now */
	close(fd);
}

void lost_keepers(struct held *h)
{
	pid_t hold = held_hold(h);

	/* stopped first, so that neither sees the other die; the watch last, because its end wakes
	 * the hold */
	OK(kill(h->watch, SIGSTOP) == 0 && kill(hold, SIGSTOP) == 0);
	OK(kill(hold, SIGKILL) == 0 && kill(h->watch, SIGKILL) == 0);
	held_status(h);
	OK(held_wait_gone(hold));
	held_done(h);
}

pid_t lost_tree(const char *level, const char *daemon)
{
	char script[600], file[160];
	struct held h;
	pid_t pid;

	snprintf(file, sizeof(file), "%s/daemon", t_audit.dir);
	unlink(file);
	snprintf(script, sizeof(script), "setsid sh -c 'echo $$ >%s; %s' & echo up; cat", file,
		 daemon);
	HELD(&h, "--contain", level, "--", "sh", "-c", script);
	held_expect(&h, "up");
	pid = held_pid_from(file);
	lost_keepers(&h);
	OK(held_lives(pid));
	return pid;
}

int lost_run(char *text, int size, const char *const *words)
{
	const char *argv[16] = { t_program("KILLICK", "build/killick") };
	int n = 1, len = 0, fds[2], null = open("/dev/null", O_RDWR | O_CLOEXEC), status;

	while (*words && n < 15)
		argv[n++] = *words++;
	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid_t pid = t_spawn((char *const *)(void *)argv, (int[]){ null, fds[1], fds[1] });
	close(null);
	close(fds[1]);
	for (double end = t_now_ms() + RUN_MS; t_now_ms() < end;) {
		char buf[4096];
		ssize_t got;

		if (!t_wait_fd(fds[0], POLLIN, (int)(end - t_now_ms())))
			break;
		got = read(fds[0], buf, sizeof(buf));
		if (got <= 0)
			break;
		if (text && len + got < size) {
			memcpy(text + len, buf, (size_t)got);
			len += (int)got;
		}
	}
	close(fds[0]);
	if (text)
		text[len] = '\0';
	status = t_wait_child(pid, RUN_MS);
	if (status == -1)
		FAIL("killick %s has not ended", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void lost_run_until_clean(void)
{
	double end = t_now_ms() + 60000; /* on a busy machine that quarter is not much */

	do
		EQ(KILLICK("run", "--", "true"), 0);
	while (lost_records() > 0 && t_now_ms() < end);
	EQ(lost_records(), 0);
}

pid_t lost_lease(const char *path, uid_t uid)
{
	int fds[2];
	char answer = 'n';
	pid_t pid;

	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		int fd;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (uid && (setgid(uid) < 0 || setuid(uid) < 0))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1); /* else the files of /proc are root's */
		sigaction(SIGIO, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		/* a janitor may have it open for an instant */
		for (double end = t_now_ms() + 2000; fd >= 0 && answer == 'n';) {
			if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
				answer = 'y';
			else if (errno != EAGAIN || t_now_ms() >= end)
				break;
			else
				poll(NULL, 0, 1);
		}
		if (write(fds[1], &answer, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(fds[1]);
	OK(t_wait_fd(fds[0], POLLIN, HELD_MS));
	OK(read(fds[0], &answer, 1) == 1);
	close(fds[0]);
	if (answer == 'y')
		return pid;
	lost_kill(pid);
	return 0;
}

void lost_kill(pid_t pid)
{
	OK(kill(pid, SIGKILL) == 0);
	OK(t_wait_child(pid, HELD_MS) != -1);
}

void lost_all_gone(void)
{
	double end = t_now_ms() + HELD_MS;

	while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 && t_now_ms() < end)
		poll(NULL, 0, 1);
	EQ(audit_count(&t_audit), 0);
}
