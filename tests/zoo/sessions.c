/* sessions.c - modes that leave: namespaces, cgroups, other users, tracers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures.h"

static void in_place(long arg)
{
	(void)arg;
	setsid();
	zoo_ready();
}

static void ns_init(long arg)
{
	(void)arg;
	for (int i = 0; i < 4; i++)
		zoo_child(in_place, 0);
	in_place(0);
}

static void unsharer(long arg)
{
	(void)arg;
	setsid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) && unshare(CLONE_NEWPID))
		fprintf(stderr, "killick-zoo: unshare: %s; the children stay in this namespace\n",
			strerror(errno));
	zoo_child(ns_init, 0);
	zoo_ready();
}

int zoo_unshare(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_child(unsharer, 0);
	zoo_await(6);
	return zoo_serve(ZOO_LEAVE);
}

bool zoo_own_cgroup(char *out, size_t size)
{
	char line[1024], mount[512] = "", path[512] = "";
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s %*s %511s", mount) == 1)
			break;
	if (f)
		fclose(f);
	f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::", 3) && sscanf(line + 3, "%511[^\n]", path) == 1)
			break;
	if (f)
		fclose(f);
	return *mount && *path && snprintf(out, size, "%s%s", mount, path) < (int)size;
}

/* Move into a cgroup beside our own. The directory cannot be removed by us: tell the auditor. */
static void mover(long arg)
{
	char own[1024], dir[1100];

	(void)arg;
	setsid();
	if (!zoo_own_cgroup(own, sizeof(own)) || !zoo_sibling_cgroup(own, dir, sizeof(dir)) ||
	    !zoo_cgroup_write(dir, "cgroup.procs", "0"))
		fprintf(stderr, "killick-zoo: cgmove: cannot move here (%s); the child stays\n",
			strerror(errno));
	zoo_ready();
}

int zoo_cgmove(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_child(mover, 0);
	zoo_await(1);
	return zoo_serve(ZOO_LEAVE);
}

extern char **environ;

/* Has it become another user for good? Before that kill(2) may still reach it. */
static bool is_another(pid_t pid)
{
	char path[40], text[1024];
	unsigned real = getuid();
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* gone: nothing to wait for */
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && strstr(text, "Uid:"))
		sscanf(strstr(text, "Uid:"), "Uid: %u", &real);
	return real != getuid();
}

/* The set-uid copy of this program is somebody else's work (only root can make one). */
int zoo_setuid(int argc, char **argv)
{
	const char *helper = argc > 0 && argv[0][0] == '/' ? argv[0] : getenv("ZOO_SETUID");
	struct stat st;
	pid_t pid;

	if (!helper || stat(helper, &st) || !(st.st_mode & S_ISUID)) {
		fprintf(stderr, "killick-zoo: setuid: needs ZOO_SETUID=FILE, a set-uid copy of "
				"this program\n");
		return ZOO_CANNOT;
	}
	pid = zoo_fork();
	if (pid == 0) {
		setsid();
		zoo_again(helper, "setuid", "+linger", environ);
		_exit(1);
	}
	for (int ms = 0; ms < 2000 && !is_another(pid); ms++)
		poll(NULL, 0, 1);
	return zoo_serve(ZOO_LEAVE);
}

/* Leave the old uid behind entirely, as sudo does: with the real uid still shared, kill(2) would be
 * allowed. */
int zoo_lingerer(int argc, char **argv)
{
	uid_t uid = geteuid();

	(void)argc, (void)argv;
	if (uid != getuid() && setresuid(uid, uid, uid))
		perror("killick-zoo: setresuid");
	zoo_linger();
}

static void tracer(long tracee)
{
	setsid();
	zoo_ignore_all();
	if (ptrace(PTRACE_SEIZE, (pid_t)tracee, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, (pid_t)tracee, NULL, NULL))
		fprintf(stderr, "killick-zoo: ptrace: %s; the child is not traced\n",
			strerror(errno));
	else
		waitpid((pid_t)tracee, NULL,
			__WALL); /* it is in its trace stop now, and stays there */
	zoo_ready();
}

static void tracee(long arg)
{
	(void)arg;
	setsid();
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	zoo_ready();
}

int zoo_ptrace(int argc, char **argv)
{
	(void)argc, (void)argv;
	long victim = zoo_child(tracee, 0);

	zoo_await(1);
	zoo_child(tracer, victim);
	zoo_await(2);
	return zoo_serve(ZOO_LEAVE);
}
