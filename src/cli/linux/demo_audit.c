/* demo_audit.c - see demo_audit.h */
#include "demo_audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LIST_MAX = 512, ROUND_MS = 5 };

static ssize_t slurp(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[48];
	ssize_t len = 0, n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((size_t)len < size - 1 && (n = read(fd, buf + len, size - 1 - (size_t)len)) > 0)
		len += n;
	close(fd);
	buf[len] = '\0';
	return len;
}

static bool has_tag(pid_t pid, const char *tag, struct audit_proc *out)
{
	static char env[1 << 17];
	ssize_t len = slurp(pid, "environ", env, sizeof(env));
	size_t want = strlen(tag);

	for (char *p = env; len > 0 && p < env + len; p += strlen(p) + 1) {
		if (strncmp(p, tag, want) != 0 || (p[want] != '\0' && p[want] != '.'))
			continue;
		snprintf(out->tag, sizeof(out->tag), "%s", p[want] ? p + want + 1 : "");
		return true;
	}
	return false;
}

/* Fill in the other fields. Returns false when the process is dead or dying. */
static bool describe(pid_t pid, struct audit_proc *out)
{
	char text[1024], *after;
	char state;
	ssize_t len;

	out->process.pid = pid;
	if (slurp(pid, "stat", text, sizeof(text)) <= 0 || !(after = strrchr(text, ')')))
		return false;
	if (sscanf(after + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &state, &out->process.ppid, &out->start) != 3 ||
	    state == 'Z' || state == 'X')
		return false;
	len = slurp(pid, "cmdline", out->process.args, sizeof(out->process.args));
	for (ssize_t i = 0; i + 1 < len; i++)
		if (!out->process.args[i])
			out->process.args[i] = ' ';
	return true;
}

static int by_birth(const void *a, const void *b)
{
	const struct audit_proc *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->process.pid > y->process.pid) - (x->process.pid < y->process.pid);
}

size_t audit_scan(const char *tag, struct audit_proc *out_list, size_t max)
{
	DIR *dir = opendir("/proc");
	size_t found = 0;

	if (!dir)
		abort(); /* without /proc the auditor must not report 0 */
	for (struct dirent *d; (d = readdir(dir));) {
		struct audit_proc p;
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid <= 0 || !has_tag(pid, tag, &p) || !describe(pid, &p))
			continue;
		if (found < max)
			out_list[found] = p;
		found++;
	}
	closedir(dir);
	qsort(out_list, found < max ? found : max, sizeof(*out_list), by_birth);
	return found;
}

static void kill_same(const struct audit_proc *p)
{
	struct audit_proc now;
	int fd = (int)syscall(SYS_pidfd_open, p->process.pid, 0);

	if (fd < 0 && errno != ENOSYS)
		return;
	if (describe(p->process.pid, &now) && now.start == p->start) {
		if (fd >= 0)
			syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		else /* before Linux 5.3 */
			kill(p->process.pid, SIGKILL);
	}
	if (fd >= 0)
		close(fd);
}

size_t audit_kill(const char *tag, long budget_ms)
{
	static struct audit_proc list[LIST_MAX];
	struct timespec nap = { .tv_nsec = ROUND_MS * 1000000L };
	size_t left;

	while ((left = audit_scan(tag, list, LIST_MAX)) && budget_ms > 0) {
		for (size_t i = 0; i < left && i < LIST_MAX; i++)
			kill_same(&list[i]);
		nanosleep(&nap, NULL);
		budget_ms -= ROUND_MS;
	}
	return left;
}

int audit_children(pid_t except)
{
	char path[48], text[4096], *p = text, *end;
	int count = 0;

	snprintf(path, sizeof(path), "task/%d/children", getpid());
	if (slurp(getpid(), path, text, sizeof(text)) < 0)
		return -1;
	for (;; p = end) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			return count;
		count += pid != except;
	}
}
