/* held.c - see held.h */
#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"

void held_start_with(struct held *h, const char *const *words, int in, int out)
{
	const char *argv[64] = { t_program("KILLICK", "build/killick"), "run", "--report",
				 h->report };
	int pin[2] = { in, -1 }, pout[2] = { -1, out }, perr[2], n = 4;

	while (*words && n < 63)
		argv[n++] = *words++;
	argv[n] = NULL;
	snprintf(h->report, sizeof(h->report), "%s/report", t_audit.dir);
	OK((in >= 0 || pipe2(pin, O_CLOEXEC) == 0) && (out >= 0 || pipe2(pout, O_CLOEXEC) == 0) &&
	   pipe2(perr, O_CLOEXEC) == 0);
	h->watch = t_spawn((char *const *)(void *)argv, (int[]){ pin[0], pout[1], perr[1] });
	if (in < 0)
		close(pin[0]);
	if (out < 0)
		close(pout[1]);
	close(perr[1]);
	h->in = pin[1];
	h->out = pout[0];
	h->err = perr[0];
}

void held_start(struct held *h, const char *const *words)
{
	held_start_with(h, words, -1, -1);
}

void held_start_script(struct held *h, const char *shell, const char *script)
{
	const char *const argv[] = { shell, "-c", script, NULL };
	int in[2], out[2], err[2];

	snprintf(h->report, sizeof(h->report), "%s/report", t_audit.dir);
	setenv("K", t_program("KILLICK", "build/killick"), 1);
	setenv("R", h->report, 1);
	OK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);
	h->watch = t_spawn((char *const *)(void *)argv, (int[]){ in[0], out[1], err[1] });
	close(in[0]);
	close(out[1]);
	close(err[1]);
	h->in = in[1];
	h->out = out[0];
	h->err = err[0];
}

bool held_refuse_call(int nr, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

bool held_own_mounts(void)
{
	static const char *const files[] = { "/proc/self/setgroups", "/proc/self/uid_map",
					     "/proc/self/gid_map" };
	const uid_t uid = geteuid();
	const gid_t gid = getegid();

	if (unshare(CLONE_NEWNS) == 0)
		return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
	if (unshare(CLONE_NEWNS | CLONE_NEWUSER) < 0)
		return false;
	for (int i = 0; i < 3; i++) {
		char map[64] = "deny";
		int fd = open(files[i], O_WRONLY | O_CLOEXEC);
		bool ok;

		if (i > 0)
			snprintf(map, sizeof(map), "%u %u 1", i == 1 ? uid : gid,
				 i == 1 ? uid : gid);
		ok = fd >= 0 && write(fd, map, strlen(map)) > 0;
		if (fd >= 0)
			close(fd);
		if (!ok)
			return false;
	}
	return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

bool held_line(struct held *h, char *line, int size)
{
	int len = 0;

	while (len < size - 1 && t_wait_fd(h->out, POLLIN, HELD_MS)) {
		if (read(h->out, line + len, 1) <= 0)
			break;
		if (line[len] == '\n') {
			line[len] = '\0';
			return true;
		}
		len++;
	}
	line[len] = '\0';
	return false;
}

void held_expect(struct held *h, const char *line)
{
	char got[512];

	held_line(h, got, sizeof(got));
	STREQ(got, line);
}

void held_eof(struct held *h)
{
	if (h->in >= 0)
		close(h->in);
	h->in = -1;
}

int held_status(struct held *h)
{
	int status = t_wait_child(h->watch, HELD_MS);

	if (status == -1)
		FAIL("killick run (pid %d) has not ended", h->watch);
	return status;
}

static void slurp(int fd, char *text, int size)
{
	int len = 0;
	ssize_t n;

	while (len < size - 1 && (n = read(fd, text + len, (size_t)(size - 1 - len))) > 0)
		len += (int)n;
	text[len] = '\0';
}

static const char *report_text(struct held *h)
{
	static char text[16384];
	int fd = open(h->report, O_RDONLY | O_CLOEXEC);

	OK(fd >= 0);
	slurp(fd, text, sizeof(text));
	close(fd);
	return text;
}

int held_report_lines(struct held *h)
{
	int lines = 0;

	for (const char *p = report_text(h); *p; p++)
		lines += *p == '\n';
	return lines;
}

bool held_reported(struct held *h, const char *want)
{
	const char *text = report_text(h);

	if (!strstr(text, want))
		t_note("no %s in report: %s", want, text);
	return strstr(text, want) != NULL;
}

void held_errors(struct held *h, char *text, int size)
{
	slurp(h->err, text, size);
}

void held_done(struct held *h)
{
	held_eof(h);
	if (h->out >= 0)
		close(h->out);
	close(h->err);
	h->out = h->err = -1;
}

static pid_t first_child(pid_t pid)
{
	char path[64], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	slurp(fd, text, sizeof(text));
	close(fd);
	return (pid_t)atoi(text);
}

pid_t held_hold(const struct held *h)
{
	double end = t_now_ms() + HELD_MS;
	pid_t pid;

	while ((pid = first_child(h->watch)) == 0 && t_now_ms() < end)
		poll(NULL, 0, 1);
	OK(pid > 0);
	return pid;
}

/* What /proc/PID/stat says: the state letter and the parent. False: there is no such process. */
static bool read_stat(pid_t pid, char *out_state, int *out_parent)
{
	char path[64], text[512] = "";
	const char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	slurp(fd, text, sizeof(text));
	close(fd);
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %c %d", out_state, out_parent) == 2;
}

static char state_of(pid_t pid)
{
	char state;
	int parent;

	return read_stat(pid, &state, &parent) ? state : 0;
}

pid_t held_parent(pid_t pid)
{
	char state;
	int parent;

	return read_stat(pid, &state, &parent) ? parent : 0;
}

bool held_lives(pid_t pid)
{
	char state = state_of(pid);

	return state && state != 'Z' && state != 'X';
}

void held_await_stopped(pid_t pid)
{
	double end = t_now_ms() + HELD_MS;

	while (state_of(pid) != 'T') {
		if (t_now_ms() >= end)
			FAIL("pid %d did not stop", pid);
		poll(NULL, 0, 1);
	}
}

void held_reap_all(void)
{
	double end = t_now_ms() + HELD_MS;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) >= 0 && t_now_ms() < end)
		if (pid == 0)
			poll(NULL, 0, 1);
}

bool held_wait_gone(pid_t pid)
{
	double end = t_now_ms() + HELD_MS;

	while (held_lives(pid) && t_now_ms() < end)
		poll(NULL, 0, 1);
	return !held_lives(pid);
}

pid_t held_pid_from(const char *path)
{
	double end = t_now_ms() + HELD_MS;

	for (;;) {
		char text[32] = "";
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			slurp(fd, text, sizeof(text));
			close(fd);
		}
		if (strchr(text, '\n'))
			return (pid_t)atoi(text);
		if (t_now_ms() >= end)
			FAIL("nothing in %s", path);
		poll(NULL, 0, 1);
	}
}
