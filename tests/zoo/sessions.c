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
#include <sys/socket.h>
#include <sys/un.h>
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
	/* in a user namespace the copy has no effect either: that is what level namespace promises
	 */
	if (!is_another(pid) && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		fprintf(stderr, "killick-zoo: setuid: the copy does not run as another user\n");
		kill(pid, SIGKILL);
		return ZOO_CANNOT;
	}
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

/* --- callers of the hub --- */

static int sessions_connect(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	printf("no connection: %s\n", strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* Copy one line to stdout. */
static void sessions_print(int fd)
{
	char text[4096];
	ssize_t n;

	do {
		n = read(fd, text, sizeof(text));
		if (n <= 0 || write(STDOUT_FILENO, text, (size_t)n) < 0)
			_exit(1);
	} while (text[n - 1] != '\n');
}

/* The environment of the process, as /proc shows it, is empty, and its parent has exited. */
int zoo_caller(int argc, char **argv)
{
	char *nothing[] = { NULL };
	int fd;

	if (argc < 2)
		return 64;
	if (environ && *environ) { /* twice: as an orphan, and without variables */
		if (fork() > 0)
			return 0;
		execve("/proc/self/exe", argv - 2, nothing);
		return 127;
	}
	alarm(60);
	fd = sessions_connect(argv[0]);
	for (int i = 1; i < argc; i++) {
		dprintf(fd, "%s\n", argv[i]);
		sessions_print(fd);
	}
	for (;;)
		pause();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHAIN 10 /* a fork takes up to 200 ms on a busy machine */
#else
#define CHAIN 100
#endif

/* A caller at the end of a chain of processes, which exit when the caller has sent its line. */
static void sessions_descend(const char *path, const char *line)
{
	int sent[2], fd;
	char byte;

	if (pipe(sent))
		_exit(1);
	for (int depth = 0; depth < CHAIN; depth++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(1);
		if (pid > 0) {
			close(sent[1]);
			_exit(read(sent[0], &byte, 1) < 0);
		}
		alarm(20);
	}
	fd = sessions_connect(path);
	dprintf(fd, "%s\n", line);
	close(sent[1]);
	sessions_print(fd);
	_exit(0);
}

int zoo_descendant(int argc, char **argv)
{
	char *nothing[] = { NULL }, byte;
	int over[2];

	if (argc < 2)
		return 64;
	if (environ && *environ) {
		execve("/proc/self/exe", argv - 2, nothing);
		return 127;
	}
	for (int i = 0; i < 10 && !pipe(over); i++) {
		pid_t pid = fork();

		if (pid == 0)
			sessions_descend(argv[0], argv[1]);
		close(over[1]);
		if (read(over[0], &byte, 1) < 0 || waitpid(pid, NULL, 0) < 0)
			return 1;
		close(over[0]);
	}
	return 0;
}
