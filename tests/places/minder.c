/* minder.c - see minder.h */
#include "minder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

enum { LEAVE_MS = 8000, MAX_MINDERS = 8, MAX_CHILDREN = 512 };

static pid_t minders[MAX_MINDERS];

/* State and parent of a process, from the end of its comm, which may hold anything. */
static bool look(pid_t pid, char *name, char *out_state, int *out_parent)
{
	char path[64], text[512], *end, *begin;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end || sscanf(end + 1, " %c %d", out_state, out_parent) != 2)
		return false;
	if (name)
		snprintf(name, 16, "%.*s", (int)(end - begin - 1), begin + 1);
	return true;
}

bool minder_lives(pid_t pid, char *name)
{
	char state;
	int parent;

	return look(pid, name, &state, &parent) && state != 'Z' && state != 'X';
}

int minder_children(pid_t parent, pid_t *out, int max)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);
		char state;
		int of;

		if (pid > 0 && look(pid, NULL, &state, &of) && of == parent && n < max)
			out[n++] = pid;
	}
	if (d)
		closedir(d);
	return n;
}

/* --- the minder itself --- */

/* True: nobody is left. */
static bool reap(pid_t *daemon)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		if (pid == *daemon)
			*daemon = 0;
	return pid < 0 && errno == ECHILD;
}

/* Whoever is left is a child of ours or below one; what is deeper comes up when that dies. */
static int kill_all(pid_t *daemon)
{
	int killed = 0;

	while (!reap(daemon)) {
		pid_t pids[MAX_CHILDREN];
		int n = minder_children(getpid(), pids, MAX_CHILDREN);

		for (int i = 0; i < n; i++)
			killed += minder_lives(pids[i], NULL) && !kill(pids[i], SIGKILL);
		poll(NULL, 0, 2);
	}
	return killed;
}

static void redirect(const char *log)
{
	int null = open("/dev/null", O_RDONLY), fd = -1;

	if (log)
		fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (null >= 0)
		dup2(null, 0);
	if (fd >= 0 && (dup2(fd, 1) < 0 || dup2(fd, 2) < 0))
		_exit(126);
}

static _Noreturn void be_the_daemon(const struct minder_spec *spec)
{
	static const char *const least[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
					     "/usr/bin:/sbin:/bin",
					     "LC_ALL=C", NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the minder does not die; if it does, so do we */
	redirect(spec->log);
	if (spec->prepare)
		spec->prepare();
	execve(spec->argv[0], (char *const *)spec->argv, (char *const *)(spec->env ?: least));
	fprintf(stderr, "%s: %s\n", spec->argv[0], strerror(errno));
	_exit(127);
}

static _Noreturn void be_the_minder(const struct minder_spec *spec, int line)
{
	struct pollfd p = { .fd = line, .events = POLLIN };
	pid_t daemon;
	int left = 0;
	char end;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, 0);
	close_range(3, (unsigned)line - 1, 0); /* the auditor's FIFO above all */
	close_range((unsigned)line + 1, ~0u, 0);
	daemon = fork();
	if (daemon == 0)
		be_the_daemon(spec);
	(void)!write(line, &daemon, sizeof(daemon));
	while (!poll(&p, 1, 20))
		reap(&daemon);
	if (read(line, &end, 1) == 1) { /* asked to, and not hung up */
		double until = t_now_ms() + LEAVE_MS;

		if (daemon)
			kill(daemon, SIGTERM);
		while (!reap(&daemon) && t_now_ms() < until)
			poll(NULL, 0, 2);
	}
	left = kill_all(&daemon);
	(void)!write(line, &left, sizeof(left));
	_exit(0);
}

/* --- the test's side --- */

void minder_start(struct minder *m, const struct minder_spec *spec)
{
	int pair[2], at = 0;

	while (at < MAX_MINDERS && minders[at])
		at++;
	OK(at < MAX_MINDERS);
	OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	m->pid = fork();
	OK(m->pid >= 0);
	if (m->pid == 0) {
		if (spec->netns > 0 && setns(spec->netns, CLONE_NEWNET))
			_exit(126);
		be_the_minder(spec, pair[1]);
	}
	close(pair[1]);
	minders[at] = m->pid;
	m->line = pair[0];
	OK(t_wait_fd(m->line, POLLIN, LEAVE_MS));
	OK(read(m->line, &m->daemon, sizeof(m->daemon)) == (ssize_t)sizeof(m->daemon));
	OK(m->daemon > 0);
}

int minder_end(struct minder *m)
{
	int left = -1;

	OK(write(m->line, "e", 1) == 1);
	OK(t_wait_fd(m->line, POLLIN, LEAVE_MS + 4000));
	OK(read(m->line, &left, sizeof(left)) == (ssize_t)sizeof(left));
	OK(t_wait_child(m->pid, LEAVE_MS) != -1);
	close(m->line);
	for (int i = 0; i < MAX_MINDERS; i++)
		if (minders[i] == m->pid)
			minders[i] = 0;
	*m = (struct minder){ .line = -1 };
	return left;
}

static bool is_minder(pid_t pid)
{
	for (int i = 0; i < MAX_MINDERS; i++)
		if (minders[i] == pid)
			return true;
	return false;
}

bool minder_reap_others(int timeout_ms)
{
	double until = t_now_ms() + timeout_ms;

	for (;;) {
		pid_t pids[MAX_CHILDREN];
		int n = minder_children(getpid(), pids, MAX_CHILDREN), others = 0;

		for (int i = 0; i < n; i++) {
			if (is_minder(pids[i]))
				continue;
			others++; /* also if it is reaped now: its children come to us next */
			waitpid(pids[i], NULL, WNOHANG | __WALL);
		}
		if (!others)
			return true;
		if (t_now_ms() > until)
			return false;
		poll(NULL, 0, 2);
	}
}
