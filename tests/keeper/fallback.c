/* fallback.c - a machine that gives less: killick says so in the report, and still holds. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"

/* A server with a daemon must still leave nothing, whatever was refused. */
static void must_hold(struct held *h)
{
	EQ(WEXITSTATUS(held_status(h)), 3);
	OK(held_reported(h, "\"survivors\":[]"));
	OK(held_reported(h, "\"proof\":[\"waitid\""));
	EQ(audit_count(&t_audit), 0);
}
#define DAEMON "sh", "-c", "setsid sleep 600 & exit 3"

static void refuse_call(int nr, int error)
{
	if (!held_refuse_call(nr, error))
		SKIP("no seccomp filters here: %s", strerror(errno));
}

static void held_without(int nr, int error, const char *note)
{
	struct held h;

	refuse_call(nr, error);
	HELD(&h, "--", DAEMON);
	must_hold(&h);
	if (note)
		OK(held_reported(&h, note));
	held_done(&h);
}

static bool cgroup_here(void)
{
	struct held h;
	bool yes;

	HELD(&h, "--", "true");
	held_status(&h);
	yes = held_reported(&h, "\"level\":\"cgroup\"");
	held_done(&h);
	unlink(h.report);
	return yes;
}

TEST(clone3_refused_with_eperm)
{
	bool cgroup = cgroup_here(); /* without one there is nothing clone3 is needed for */

	held_without(SYS_clone3, EPERM, cgroup ? "clone3: Operation not permitted" : NULL);
}

TEST(clone3_refused_with_enosys)
{
	bool cgroup = cgroup_here();

	held_without(SYS_clone3, ENOSYS, cgroup ? "clone3: Function not implemented" : NULL);
}

TEST(pidfd_open_refused)
{
	held_without(SYS_pidfd_open, ENOSYS, "owner: pidfd_open: Function not implemented");
}

TEST(close_range_refused)
{
	struct held h;

	refuse_call(SYS_close_range, ENOSYS);
	OK(dup2(1, 40) == 40);
	HELD(&h, "--", t_program("PROBE", "build/tests/probe"), "fds");
	close(40);
	held_expect(&h, "0 1 2 ");
	held_status(&h);
	held_done(&h);
}

static void own_mounts(void)
{
	if (!held_own_mounts())
		SKIP("no mount namespace here: %s", strerror(errno));
}

TEST(runtime_directory_full)
{
	char dir[160];
	struct held h;

	own_mounts();
	snprintf(dir, sizeof(dir), "%s/full", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	OK(mount("full", dir, "tmpfs", 0, "size=4k,nr_inodes=1,mode=700") == 0);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
	HELD(&h, "--", DAEMON);
	must_hold(&h);
	OK(held_reported(&h, "record: No space left on device"));
	held_done(&h);
	OK(umount2(dir, MNT_DETACH) == 0);
}

TEST(runtime_directory_of_another_user)
{
	struct held h;

	setenv("KILLICK_RUNTIME_DIR", geteuid() ? "/root" : "/tmp",
	       1); /* not ours, or writable by all */
	HELD(&h, "--", DAEMON);
	must_hold(&h);
	OK(held_reported(&h, "record: "));
	held_done(&h);
}

TEST(cgroup_read_only)
{
	struct held h;

	if (!cgroup_here())
		SKIP("no cgroup here that could be taken away");
	own_mounts();
	/* the v2 mount may be the whole of it or beside v1 */
	if (mount(NULL, "/sys/fs/cgroup/unified", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) <
		    0 &&
	    mount(NULL, "/sys/fs/cgroup", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		SKIP("cannot remount the cgroup file system: %s", strerror(errno));
	HELD(&h, "--", DAEMON);
	must_hold(&h);
	OK(held_reported(&h, "\"level\":\"keeper\""));
	OK(held_reported(&h, "cgroup: cannot make a cgroup"));
	held_done(&h);
}

/* Asked for by name it is a demand, not a wish. */
TEST(cgroup_requested_but_not_available)
{
	struct held h;
	char text[512];

	if (cgroup_here())
		own_mounts();
	if (mount(NULL, "/sys/fs/cgroup/unified", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		(void)!mount(NULL, "/sys/fs/cgroup", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
	HELD(&h, "--contain", "cgroup", "--", "true");
	EQ(WEXITSTATUS(held_status(&h)), 69);
	held_errors(&h, text, sizeof(text));
	OK(strstr(text, "--contain cgroup") && strstr(text, "killick doctor"));
	held_done(&h);
}

TEST(the_level_of_windows_is_refused)
{
	struct held h;
	char text[512];

	HELD(&h, "--contain", "job", "--", "true");
	EQ(WEXITSTATUS(held_status(&h)), 69);
	held_errors(&h, text, sizeof(text));
	OK(strstr(text, "--contain job") && strstr(text, "--contain auto"));
	held_done(&h);
}

/* --- limits: kept, or refused; never silence --- */

static void limited(const char *option, const char *value, const char *script, const char *effect)
{
	struct held h;
	char text[1024], line[64];
	int status;

	HELD(&h, option, value, "--", "sh", "-c", script);
	held_line(&h, line, sizeof(line));
	status = held_status(&h);
	held_errors(&h, text, sizeof(text));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 69) {
		OK(strstr(text, option) && strstr(text, "cannot be enforced here") &&
		   strstr(text, "killick doctor"));
	} else {
		/* the memory controller of cgroup v2 ends the whole tree (memory.oom.group) */
		if (strcmp(option, "--memory") != 0 || !WIFSIGNALED(status) ||
		    WTERMSIG(status) != SIGKILL)
			STREQ(line, effect);
		OK(held_reported(&h, "\"survivors\":[]"));
	}
	held_done(&h);
}

TEST(max_procs_is_enforced_or_refused)
{
	limited("--max-procs", "6",
		"n=0; while [ $n -lt 20 ] && (sleep 600 & ) 2>/dev/null; do n=$((n+1)); done; "
		"[ $n -lt 7 ] && echo limited || echo $n",
		"limited");
}

TEST(memory_is_enforced_or_refused)
{
	limited("--memory", "40M",
		"(tail -c 200000000 /dev/zero | tail -c 200000000 >/dev/null) 2>/dev/null; "
		"[ $? -gt 127 ] && echo limited || echo free",
		"limited");
}

TEST(namespace_limits_processes_without_a_controller)
{
	struct held h;
	char line[64];
	int status;

	if (geteuid() == 0)
		SKIP("root has the controller");
	HELD(&h, "--contain", "namespace", "--max-procs", "6", "--", "sh", "-c",
	     "n=0; while [ $n -lt 20 ] && (sleep 600 & ) 2>/dev/null; do n=$((n+1)); done; "
	     "[ $n -lt 7 ] && echo limited || echo $n");
	held_line(&h, line, sizeof(line));
	status = held_status(&h);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 69)
		SKIP("no user namespaces here");
	STREQ(line, "limited");
	held_done(&h);
}
