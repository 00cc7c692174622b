/* fights_places.c - modes that use cgroups and namespaces against their keepers.
 *
 * A mode that needs a cgroup which it may not make here returns ZOO_CANNOT before it starts
 * anything. Cgroups made outside of the server's own are told to the auditor, who removes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"

extern char **environ;

#define PLACES_DEPTH 40

/* --- cgroups --- */

bool zoo_cgroup_write(const char *dir, const char *file, const char *text)
{
	char path[1200];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

bool zoo_sibling_cgroup(const char *of, char *out, size_t size)
{
	const char *slash = strrchr(of, '/');
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!slash || snprintf(out, size, "%.*s/zoo-%lld%09ld", (int)(slash - of), of,
			       (long long)now.tv_sec, now.tv_nsec) >= (int)size)
		return false;
	if (mkdir(out, 0755))
		return false;
	zoo_tell("cgroup", out);
	return true;
}

bool zoo_killick_cgroup(char *out, size_t size)
{
	return zoo_own_cgroup(out, size) && strrchr(out, '/') &&
	       !strncmp(strrchr(out, '/'), "/killick-", 9);
}

static bool places_move(const char *dir, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return zoo_cgroup_write(dir, "cgroup.procs", text);
}

/* Freeze DIR and wait until the kernel says so. */
static void places_freeze(const char *dir)
{
	char path[1200], text[256];

	if (!zoo_cgroup_write(dir, "cgroup.freeze", "1"))
		return;
	snprintf(path, sizeof(path), "%s/cgroup.events", dir);
	for (int ms = 0; ms < 1000; ms++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		if (n <= 0 || strstr(text, "frozen 1"))
			return;
		zoo_nap_us(1000);
	}
}

enum { FREEZE_HOLD = 1, FREEZE_WATCH = 2 };

static int places_freeze_keepers(int which)
{
	struct zoo_keepers k = zoo_keepers();
	char own[1024], dir[1100];

	if (!zoo_own_cgroup(own, sizeof(own)) || !zoo_sibling_cgroup(own, dir, sizeof(dir)))
		return ZOO_CANNOT;
	zoo_fight_begin();
	if ((which & FREEZE_WATCH) && k.watch > 0 && !places_move(dir, k.watch))
		zoo_refused("moving", k.watch);
	if ((which & FREEZE_HOLD) && k.hold > 0 && !places_move(dir, k.hold))
		zoo_refused("moving", k.hold);
	if (k.hold > 0)
		places_freeze(dir);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_freeze(int argc, char **argv)
{
	(void)argc, (void)argv;
	return places_freeze_keepers(FREEZE_HOLD);
}

int zoo_freezeboth(int argc, char **argv)
{
	(void)argc, (void)argv;
	return places_freeze_keepers(FREEZE_HOLD | FREEZE_WATCH);
}

int zoo_freezewatch(int argc, char **argv)
{
	(void)argc, (void)argv;
	return places_freeze_keepers(FREEZE_WATCH);
}

/* Leave for a cgroup beside the one that the keepers are in, then freeze theirs: they need not be
 * visible for that, not even from a pid namespace. */
int zoo_freezeabove(int argc, char **argv)
{
	char own[1024], theirs[1024], dir[1100];

	(void)argc, (void)argv;
	if (!zoo_own_cgroup(own, sizeof(own)))
		return ZOO_CANNOT;
	snprintf(theirs, sizeof(theirs), "%s", own);
	if (zoo_killick_cgroup(own, sizeof(own)))
		*strrchr(theirs, '/') = '\0';
	if (!strstr(theirs, "/trial-")) /* a cgroup that was not made for a test is never frozen */
		return ZOO_CANNOT;
	if (!zoo_sibling_cgroup(theirs, dir, sizeof(dir)) ||
	    !zoo_cgroup_write(dir, "cgroup.procs", "0"))
		return ZOO_CANNOT;
	zoo_fight_begin();
	if (zoo_keepers().hold > 0)
		places_freeze(theirs);
	return zoo_serve(ZOO_LEAVE);
}

/* Take the keepers into the cgroup that they are to kill. */
int zoo_embrace(int argc, char **argv)
{
	struct zoo_keepers k = zoo_keepers();
	char own[1024];

	(void)argc, (void)argv;
	if (!zoo_killick_cgroup(own, sizeof(own)) && k.hold > 0)
		return ZOO_CANNOT;
	zoo_fight_begin();
	if (k.watch > 0 && !places_move(own, k.watch))
		zoo_refused("moving", k.watch);
	if (k.hold > 0 && !places_move(own, k.hold))
		zoo_refused("moving", k.hold);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_chmodevents(int argc, char **argv)
{
	static const char *const files[] = { "cgroup.events", "cgroup.kill", "cgroup.procs", "" };
	char own[1024], path[1200];

	(void)argc, (void)argv;
	if (!zoo_killick_cgroup(own, sizeof(own)) && zoo_keepers().hold > 0)
		return ZOO_CANNOT;
	zoo_fight_begin();
	for (size_t i = 0; zoo_keepers().hold > 0 && i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", own, files[i]);
		if (chmod(path, 0))
			zoo_refused(path, 0);
	}
	return zoo_serve(ZOO_LEAVE);
}

static void places_in(long fd)
{
	setsid();
	if (write((int)fd, "0", 1) != 1)
		perror("killick-zoo: deepcg: cgroup.procs");
	close((int)fd);
	zoo_ready();
}

int zoo_deepcg(int argc, char **argv)
{
	char path[1400];
	size_t used;
	int fd;

	(void)argc, (void)argv;
	if (!zoo_own_cgroup(path, 1024))
		return ZOO_CANNOT;
	used = strlen(path);
	if (used > 0 && path[used - 1] == '/')
		used--;
	for (int i = 0; i < PLACES_DEPTH; i++) {
		used += (size_t)snprintf(path + used, sizeof(path) - used, "/zoo%d", i);
		if (mkdir(path, 0755))
			return ZOO_CANNOT;
	}
	snprintf(path + used, sizeof(path) - used, "/cgroup.procs");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return ZOO_CANNOT;
	zoo_fight_begin();
	zoo_child(places_in, fd);
	zoo_await(ZOO_FIGHT_CHILDREN + 1);
	close(fd);
	return zoo_serve(ZOO_LEAVE);
}

/* --- namespaces that were there before --- */

enum { SETNS_UNMARKED = 1, SETNS_LEAVE = 2 };

static bool places_enter(pid_t init, const char *kind, int type)
{
	char path[64];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)init, kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ok = fd >= 0 && !setns(fd, type);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* The cgroup that holds the one killick made, if it may be entered. */
static void places_leave_cgroup(void)
{
	char own[1024];

	if (!zoo_killick_cgroup(own, sizeof(own)))
		return;
	*strrchr(own, '/') = '\0';
	if (!zoo_cgroup_write(own, "cgroup.procs", "0"))
		fprintf(stderr, "killick-zoo: setns: cannot leave the cgroup: %s\n",
			strerror(errno));
}

/* In the foreign namespace: the second fork's parent exits, and the child's new parent is that
 * namespace's init, which is nobody's child here. */
static void places_foreign(long how)
{
	int null;

	if (zoo_fork() != 0)
		zoo_gone();
	setsid();
	if (how & SETNS_UNMARKED) {
		/* stdio only: the pipe must last until exec has taken the mark away */
		null = open("/dev/null", O_RDWR);
		for (int fd = 0; fd < 3 && null >= 0; fd++)
			dup2(null, fd);
		zoo_again(NULL, "innocent", "+linger", NULL);
	}
	zoo_close_all(); /* the pipe, too */
}

static void places_emigrate(long how)
{
	const char *text = getenv("ZOO_PIDNS");
	pid_t init = text ? (pid_t)atoi(text) : 0;

	setsid();
	if (how & SETNS_LEAVE)
		places_leave_cgroup();
	if (init > 0)
		places_enter(init, "user", CLONE_NEWUSER); /* root needs none */
	if (init <= 0 || !places_enter(init, "pid", CLONE_NEWPID))
		fprintf(stderr, "killick-zoo: setns: %s; the child stays in this namespace\n",
			strerror(errno));
	waitpid(zoo_child(places_foreign, how), NULL, 0);
	zoo_gone();
}

/* Is there a pid namespace, and may it be entered? At level namespace the server does not see it:
 * the attack is tried, and fails. */
static bool places_can_emigrate(void)
{
	const char *text = getenv("ZOO_PIDNS");
	pid_t init = text ? (pid_t)atoi(text) : 0, pid;
	int status;

	if (init <= 0)
		return false;
	pid = fork();
	if (pid == 0) {
		places_enter(init, "user", CLONE_NEWUSER);
		_exit(places_enter(init, "pid", CLONE_NEWPID) || errno == ENOENT ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int places_setns(long how)
{
	struct pollfd in_place = { .events = POLLIN };
	int ends[2];

	if (!places_can_emigrate() || pipe2(ends, O_CLOEXEC))
		return ZOO_CANNOT;
	zoo_child(places_emigrate, how);
	close(ends[1]);
	in_place.fd = ends[0];
	poll(&in_place, 1, 5000); /* hangs up when the last one has closed or executed */
	close(ends[0]);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_setns(int argc, char **argv)
{
	(void)argc, (void)argv;
	return places_setns(0);
}

int zoo_setnsout(int argc, char **argv)
{
	(void)argc, (void)argv;
	return places_setns(SETNS_LEAVE);
}

int zoo_setnsbare(int argc, char **argv)
{
	(void)argc, (void)argv;
	return places_setns(SETNS_UNMARKED);
}

int zoo_setnslost(int argc, char **argv)
{
	(void)argc, (void)argv;
	return places_setns(SETNS_UNMARKED | SETNS_LEAVE);
}
