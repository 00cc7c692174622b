/* probe.c - see probe.h */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h> /* struct clone_args */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "keeper/linux/cgroup.h"
#include "keeper/linux/clock.h"
#include "keeper/linux/namespace.h"
#include "keeper/linux/record.h"

#define TEXT(buf, ...) snprintf(buf, sizeof(buf), __VA_ARGS__)

static void probe_id(char out[32])
{
	snprintf(out, 32, "doctor-%d", getpid());
}

/* Fork a child in the cgroup; where clone3 is refused, fork a child that moves there itself. */
static pid_t probe_fork_into(const struct cgroup *cg)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (unsigned)cg->fd,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid >= 0 || (errno != ENOSYS && errno != EINVAL))
		return pid;
	pid = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0UL, 0UL, 0UL, 0UL);
	if (pid == 0 && cgroup_enter(cg) < 0)
		_exit(1);
	return pid;
}

static int probe_exit_code_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* Returns one number from /proc/sys, or -1. */
static long setting(const char *path)
{
	char text[32];

	return proc_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 ? strtol(text, NULL, 10) : -1;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Is there a systemd user manager, which could provide a delegated scope? */
static bool has_user_manager(void)
{
	char path[64];

	TEXT(path, "/run/user/%u/systemd/private", geteuid());
	return exists("/run/systemd/system") && exists(path);
}

static void raise_cgroup(const char *dir, int error, char *out, size_t size)
{
	const char *sudo = geteuid() == 0 ? "" : "sudo ";

	*out = '\0';
	if (error == -EOPNOTSUPP)
		return; /* only a newer kernel helps */
	if (error == -ENOENT && !*dir)
		snprintf(out, size,
			 "%smkdir -p /sys/fs/cgroup/unified && %smount -t cgroup2 none "
			 "/sys/fs/cgroup/unified",
			 sudo, sudo);
	else if (has_user_manager())
		snprintf(out, size,
			 "systemd-run --user --scope -p Delegate=yes -- killick run -- CMD");
	else if ((error == -EACCES || error == -EPERM) && geteuid() != 0)
		snprintf(out, size,
			 "D=%s/killick-%u; sudo mkdir $D && sudo chown -R %u $D && echo $$ | sudo "
			 "tee $D/cgroup.procs",
			 dir, geteuid(), geteuid());
	else if (error == -EROFS)
		snprintf(out, size, "%smount -o remount,rw %s", sudo, dir);
}

void probe_cgroup(struct probe *out)
{
	struct cgroup cg = CGROUP_NONE;
	char id[32], dir[CGROUP_PATH_MAX] = "", why[240] = "";
	long long begin = clock_us();
	pid_t pid;
	int r;

	*out = (struct probe){ .works = false };
	probe_id(id);
	cgroup_find(dir, sizeof(dir), why, sizeof(why));
	r = cgroup_make(&cg, id, why, sizeof(why));
	if (r < 0) {
		TEXT(out->how, "%s", why);
		raise_cgroup(dir, r, out->raise, sizeof(out->raise));
		return;
	}
	pid = probe_fork_into(&cg);
	if (pid == 0)
		_exit(cgroup_look(&cg) != CGROUP_POPULATED ? 1 : 0);
	r = pid < 0 ? -errno : 0;
	out->works = pid > 0 && probe_exit_code_of(pid) == 0;
	if (!out->works) {
		TEXT(out->how, "cannot put a process into a new cgroup in '%s': %s", dir,
		     r ? strerror(-r) : "refused");
		raise_cgroup(dir, r ? r : -EACCES, out->raise, sizeof(out->raise));
	}
	r = cgroup_remove(&cg);
	if (out->works)
		TEXT(out->how,
		     "made a cgroup in %s, ran a process in it and removed it, in %.1f ms", dir,
		     (double)(clock_us() - begin) / 1000);
	if (r < 0) {
		out->works = false;
		TEXT(out->how, "cannot remove the test cgroup '%s': %s", cg.path, strerror(-r));
	}
}

static bool has_seccomp(void)
{
	char text[4096];

	return proc_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text)) > 0 &&
	       strstr(text, "\nSeccomp:\t2");
}

static void raise_namespace(char *out, size_t size)
{
	*out = '\0';
	if (setting("/proc/sys/user/max_user_namespaces") == 0)
		snprintf(out, size, "sudo sysctl user.max_user_namespaces=15000");
	else if (setting("/proc/sys/user/max_pid_namespaces") == 0)
		snprintf(out, size, "sudo sysctl user.max_pid_namespaces=15000");
	else if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		snprintf(out, size, "sudo sysctl kernel.unprivileged_userns_clone=1");
	else if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		snprintf(out, size, "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0");
	else if (has_seccomp())
		snprintf(out, size, "docker run --security-opt seccomp=unconfined ...");
}

void probe_namespace(struct probe *out)
{
	struct namespace ns;
	pid_t pid = namespace_fork(&ns);
	const char *what;
	int code;

	if (pid == 0) /* is this process pid 1, and can the user be mapped? */
		_exit(getpid() != 1 ? 1 : namespace_settle(&ns) < 0 ? 2 : 0);
	*out = (struct probe){ .works = false };
	what = ns.user ? "a user and pid namespace" : "a pid namespace";
	if (pid < 0) {
		TEXT(out->how, "the kernel refuses to make %s: %s", what, strerror(errno));
		raise_namespace(out->raise, sizeof(out->raise));
		return;
	}
	code = probe_exit_code_of(pid);
	out->works = code == 0;
	if (out->works) {
		TEXT(out->how, "made %s and was pid 1 in it", what);
		return;
	}
	TEXT(out->how, "made %s, but %s", what,
	     code == 2 ? "may not map the user into it" : "was not pid 1 in it");
	raise_namespace(out->raise, sizeof(out->raise));
}

void probe_keeper(struct probe *out)
{
	AUTO(fd_drop) int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int was = 0, error = fd < 0 ? errno : 0;

	*out = (struct probe){ .works = false };
	if (prctl(PR_GET_CHILD_SUBREAPER, &was) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		TEXT(out->how, "cannot become a subreaper: %s", strerror(errno));
		return;
	}
	prctl(PR_SET_CHILD_SUBREAPER, was);
	out->works = true;
	if (fd >= 0)
		TEXT(out->how, "subreaper and pidfd work");
	else
		TEXT(out->how,
		     "subreaper works; without pidfd_open (%s, needs Linux 5.3) the end of an "
		     "owner "
		     "that is not the parent is noticed by polling",
		     strerror(error));
}

static void probe_limit(struct probe *out, enum limit which, unsigned long long value)
{
	unsigned long long limits[LIMIT_COUNT] = { 0 };
	struct cgroup cg = CGROUP_NONE;
	char id[32], why[240] = "", ignored[240];

	*out = (struct probe){ .works = false };
	limits[which] = value;
	probe_id(id);
	cgroup_make(&cg, id, ignored, sizeof(ignored));
	out->works = cgroup_limit(&cg, id, limits, why, sizeof(why)) == 0;
	if (out->works)
		TEXT(out->how, "cgroup %s controller %s", cg.v1_fds[which] >= 0 ? "v1" : "v2",
		     cgroup_controller(which));
	else
		TEXT(out->how, "%s", why);
	if (!out->works && has_user_manager())
		TEXT(out->raise,
		     "systemd-run --user --scope -p Delegate=yes -- killick run -- CMD");
	cgroup_remove(&cg);
}

void probe_max_procs(struct probe *out)
{
	struct probe ns;

	probe_limit(out, LIMIT_PROCS, 64);
	if (out->works || geteuid() == 0)
		return;
	probe_namespace(&ns);
	if (ns.works)
		TEXT(out->raise, "killick run --contain namespace --max-procs N -- CMD");
}

void probe_memory(struct probe *out)
{
	probe_limit(out, LIMIT_MEMORY, 64ULL << 20);
}

/* Write the command that raises the soft limit of open files, and the hard limit if it is lower. */
static void raise_open_files(const struct rlimit *lim, char *out, size_t size)
{
	enum { USUAL = 1024 };

	if (lim->rlim_max >= USUAL || geteuid() == 0)
		snprintf(out, size, "ulimit -n %d", USUAL);
	else
		snprintf(out, size, "sudo prlimit --pid $$ --nofile=%d:%d", USUAL, USUAL);
}

void probe_open_files(struct probe *out)
{
	enum { STDIO = 3 };
	int fds[PROBE_OPEN_FILES - STDIO], count = 0, error = 0;
	struct rlimit lim = { 0, 0 };

	*out = (struct probe){ .works = false };
	getrlimit(RLIMIT_NOFILE, &lim);
	while (count < PROBE_OPEN_FILES - STDIO && !error) {
		fds[count] = eventfd(0, EFD_CLOEXEC);
		if (fds[count] < 0)
			error = errno;
		else
			count++;
	}
	for (int i = 0; i < count; i++)
		close(fds[i]);
	out->works = !error;
	if (out->works) {
		TEXT(out->how, "`killick run` needs up to %d, the limit (ulimit -n) is %llu",
		     PROBE_OPEN_FILES, (unsigned long long)lim.rlim_cur);
	} else if (error != EMFILE) {
		TEXT(out->how, "`killick run` needs up to %d open files: %s", PROBE_OPEN_FILES,
		     strerror(error));
	} else {
		bool inherited = lim.rlim_cur >= PROBE_OPEN_FILES;

		TEXT(out->how, "`killick run` needs up to %d, but the limit (ulimit -n) is %llu%s",
		     PROBE_OPEN_FILES, (unsigned long long)lim.rlim_cur,
		     inherited ? ", and killick inherited open files" : "");
		raise_open_files(&lim, out->raise, sizeof(out->raise));
	}
}

/* Can a record be written in `dir`? Returns 0 (yes), 1 (yes, after the directory is made), or
 * -errno. */
static int try_directory(const char *dir)
{
	char path[512], parent[512], *slash;
	struct stat st;
	int fd;

	if (lstat(dir, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		TEXT(parent, "%s", dir);
		slash = strrchr(parent, '/');
		if (slash && slash != parent)
			*slash = '\0';
		return access(parent, W_OK | X_OK) == 0 ? 1 : -errno;
	}
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	TEXT(path, "%s/.doctor-%d", dir, getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, "x", 1) != 1) {
		int error = errno;

		close(fd);
		unlink(path);
		return -error;
	}
	close(fd);
	unlink(path);
	return 0;
}

void probe_records(struct probe *out)
{
	*out = (struct probe){ .works = false };
	for (const char *const *dir = record_dirs(); *dir; dir++) {
		size_t len = strlen(out->how);
		int r = try_directory(*dir);

		if (r >= 0) {
			out->works = true;
			TEXT(out->how, "%s%s", *dir,
			     r ? ", which the first `killick run` makes" : "");
			return;
		}
		snprintf(out->how + len, sizeof(out->how) - len, "%s%s: %s", len ? "; " : "", *dir,
			 r == -EPERM ? "other users may write to it (owner or mode)"
				     : strerror(-r));
	}
	TEXT(out->raise, "export KILLICK_RUNTIME_DIR=$(mktemp -d)");
}
