/* audit.c - tag, FIFO and /proc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "audit.h"

#define MAX_SEEN 1024
#define SCRUB_MS 6000

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int audit_open(struct audit *a)
{
	unsigned char raw[16];
	char path[80];

	*a = (struct audit)AUDIT_INIT;
	a->opener = getpid();
	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return -EIO;
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(a->tag + 2 * i, 3, "%02x", raw[i]);
	snprintf(a->dir, sizeof(a->dir), "/tmp/zoo-audit-XXXXXX");
	if (!mkdtemp(a->dir))
		return -errno;
	snprintf(path, sizeof(path), "%s/fifo", a->dir);
	if (mkfifo(path, 0600))
		return -errno;
	a->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	a->keep = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (a->fd < 0 || a->keep < 0)
		return -errno;
	setenv("ZOO_AUDIT", a->tag, 1);
	setenv("ZOO_FIFO", path, 1);
	return 0;
}

/* Read what zoo processes told; true once no process but us has the FIFO open. */
static bool fifo_hung_up(struct audit *a, int wait_ms)
{
	struct pollfd p = { .fd = a->fd, .events = POLLIN };
	char text[4096], *line, *save = NULL;
	ssize_t n;

	if (a->keep >= 0)
		close(a->keep);
	a->keep = -1;
	poll(&p, 1, wait_ms);
	while ((n = read(a->fd, text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			if (!strncmp(line, "cgroup ", 7) && a->stray_count < 4)
				snprintf(a->strays[a->stray_count++], sizeof(a->strays[0]), "%s",
					 line + 7);
	}
	/* At end of file read() gives 0; while somebody holds it, EAGAIN. */
	return n == 0;
}

bool audit_own_cgroup(char *out, int size)
{
	char line[1024], mount[240] = "", path[240] = "";
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s %*s %239s", mount) == 1)
			break;
	if (f)
		fclose(f);
	f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::", 3) && sscanf(line + 3, "%239[^\n]", path) == 1)
			break;
	if (f)
		fclose(f);
	if (!*mount || *path != '/' || snprintf(out, (size_t)size, "%s%s", mount, path) >= size)
		return false;
	if (!path[1])
		out[strlen(out) - 1] = '\0';
	return !access(out, F_OK);
}

bool audit_cgroup(struct audit *a)
{
	char own[400];

	if (!audit_own_cgroup(own, sizeof(own)))
		return false;
	snprintf(a->cgroup, sizeof(a->cgroup), "%s/trial-%s", own, a->tag);
	if (mkdir(a->cgroup, 0755))
		*a->cgroup = '\0';
	return *a->cgroup != '\0';
}

void audit_enter(const struct audit *a)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", a->cgroup);
	fd = *a->cgroup ? open(path, O_WRONLY | O_CLOEXEC) : -1;
	if (fd >= 0 && write(fd, "0", 1) != 1)
		perror("audit: cgroup.procs");
	if (fd >= 0)
		close(fd);
}

bool audit_subgroup(const struct audit *a, const char *prefix, char *out, int size)
{
	DIR *d = *a->cgroup ? opendir(a->cgroup) : NULL;
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		if (e->d_name[0] != '.' && e->d_type == DT_DIR &&
		    !strncmp(e->d_name, prefix, strlen(prefix)))
			found = snprintf(out, (size_t)size, "%s/%s", a->cgroup, e->d_name) < size;
	if (d)
		closedir(d);
	return found;
}

/* The bytes read, -1 with errno otherwise. EWOULDBLOCK: a process holds a lease on the file;
 * without O_NONBLOCK the open would wait for up to 45 s. */
static ssize_t slurp(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t used = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	while (used < size - 1 && (n = read(fd, buf + used, size - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	buf[used] = '\0';
	return used == 0 && n < 0 ? -1 : (ssize_t)used;
}

/* Without a cgroup nothing is known, and nothing said. */
static bool cgroup_is_empty(struct audit *a)
{
	char path[512], text[256];

	if (!*a->cgroup)
		return true;
	snprintf(path, sizeof(path), "%s/cgroup.events", a->cgroup);
	if (slurp(path, text, sizeof(text)) <= 0)
		return errno != EWOULDBLOCK; /* whoever has the lease is alive */
	return strstr(text, "populated 0");
}

/* The state letter of /proc/.../stat; comm may hold anything, so from the last parenthesis. 0: no
 * such process. '?': a lease is on it, so it lives. */
static char state_of(const char *dir)
{
	char path[96], text[512], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/stat", dir);
	n = slurp(path, text, sizeof(text));
	if (n < 0 && errno == EWOULDBLOCK)
		return '?';
	if (n <= 0 || !(p = strrchr(text, ')')) || !p[1])
		return 0;
	return p[2];
}

static bool descends_from(pid_t pid, pid_t ancestor)
{
	for (int i = 0; i < 64 && pid > 1; i++) {
		char path[64], text[512], *p;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		if (slurp(path, text, sizeof(text)) <= 0 || !(p = strrchr(text, ')')) ||
		    sscanf(p + 1, " %*c %d", &pid) != 1)
			return false;
		if (pid == ancestor)
			return true;
	}
	return false;
}

/* PF_EXITING of a thread: it runs no instruction of its program any more. */
static bool is_exiting(const char *dir)
{
	char path[128], text[512], *p;
	unsigned flags = 0;

	snprintf(path, sizeof(path), "%s/stat", dir);
	return slurp(path, text, sizeof(text)) > 0 && (p = strrchr(text, ')')) &&
	       sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & 0x4);
}

/* A keeper shows its environment to root alone. Such a process is of the trial if it is ours and
 * descends from us: who asks is a subreaper above the trial, so what its keepers leave stays below.
 * Any process that exits looks like one, because it has no environment any more. */
static bool is_sealed_descendant(pid_t pid)
{
	char path[64], state;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) || st.st_uid != geteuid())
		return false;
	state = state_of(path);
	if (!state || state == 'Z' || state == 'X' || is_exiting(path))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	return access(path, R_OK) && errno == EACCES && descends_from(pid, getpid());
}

static bool env_has_tag(const char *dir, const char *tag)
{
	static char env[1 << 18];
	char path[96], entry[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/environ", dir);
	snprintf(entry, sizeof(entry), "ZOO_AUDIT=%s", tag);
	n = slurp(path, env, sizeof(env));
	for (char *p = env; n > 0 && p < env + n; p += strlen(p) + 1)
		if (!strcmp(p, entry))
			return true;
	return false;
}

/* Look at every thread that is not a zombie: the main thread may be gone, and its environ with it.
 */
static bool alive_with_tag(pid_t pid, const char *tag)
{
	char dir[64], task[96];
	struct dirent *e;
	bool found = false;
	char state;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
	state = state_of(dir);
	errno = 0;
	if (state && state != 'Z' && state != 'X') {
		if (env_has_tag(dir, tag))
			return true;
		if (errno != EWOULDBLOCK)
			return false;
		/* a lease on this file; the same file of the main thread is another one */
		snprintf(task, sizeof(task), "%s/task/%d", dir, (int)pid);
		return env_has_tag(task, tag);
	}
	snprintf(task, sizeof(task), "%s/task", dir);
	d = state == 'Z' ? opendir(task) : NULL;
	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(task, sizeof(task), "%s/task/%.20s", dir, e->d_name);
		state = state_of(task);
		found = state && state != 'Z' && state != 'X' && env_has_tag(task, tag);
	}
	if (d)
		closedir(d);
	return found;
}

/* Does `pid` have the FIFO open for writing? Names it when the environment was emptied by exec. */
static bool holds_fifo(pid_t pid, const struct stat *fifo)
{
	char dir[64], path[96], info[256], *flags;
	bool found = false;
	struct dirent *e;
	struct stat st;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
	d = opendir(dir);
	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%.20s", dir, e->d_name);
		if (e->d_name[0] == '.' || stat(path, &st) || st.st_ino != fifo->st_ino ||
		    st.st_dev != fifo->st_dev)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.20s", (int)pid, e->d_name);
		found = slurp(path, info, sizeof(info)) > 0 && (flags = strstr(info, "flags:")) &&
			(strtol(flags + 6, NULL, 8) & O_ACCMODE) == O_WRONLY;
	}
	if (d)
		closedir(d);
	return found;
}

static int each_process(struct audit *a, bool look_at_fds, pid_t *out_pids, int max)
{
	struct dirent *e;
	struct stat fifo;
	int count = 0;
	pid_t pid;
	DIR *d = opendir("/proc");

	if (fstat(a->fd, &fifo))
		look_at_fds = false;
	while (d && (e = readdir(d))) {
		pid = (pid_t)atoi(e->d_name);
		if (pid <= 0 || pid == getpid() || pid == a->opener)
			continue;
		if (!alive_with_tag(pid, a->tag) && !(look_at_fds && holds_fifo(pid, &fifo)) &&
		    !is_sealed_descendant(pid))
			continue;
		if (count < max)
			out_pids[count] = pid;
		count++;
	}
	if (d)
		closedir(d);
	return count;
}

int audit_list(struct audit *a, pid_t *out_pids, int max)
{
	return each_process(a, true, out_pids, max);
}

int audit_count(struct audit *a)
{
	return each_process(a, true, NULL, 0);
}

/* Sleep until one of these processes has ended entirely, or a short while. */
static void await_one(const pid_t *pids, int count, int wait_ms)
{
	struct pollfd p[8];
	nfds_t n = 0;

	for (int i = 0; i < count && n < 8; i++) {
		int fd = (int)syscall(SYS_pidfd_open, pids[i], 0);

		if (fd >= 0)
			p[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	poll(p, n, n ? wait_ms : 0);
	while (n > 0)
		close(p[--n].fd);
}

bool audit_wait_empty(struct audit *a, int deadline_ms, double *out_elapsed_ms)
{
	double start = now_ms(), left;
	int calm = 0;

	while ((left = start + deadline_ms - now_ms()) > 0 || calm > 0) {
		pid_t pids[8];
		int n, slice = left < 20 ? (left > 0 ? (int)left + 1 : 0) : 20;

		if (!fifo_hung_up(a, calm ? 0 : slice)) {
			calm = 0;
			continue;
		}
		n = each_process(a, false, pids, 8);
		if (n > 0) {
			calm = 0;
			await_one(pids, n < 8 ? n : 8, slice);
			continue;
		}
		if (!cgroup_is_empty(a)) {
			calm = 0;
			poll(NULL, 0,
			     slice < 2 ? slice : 2); /* its event comes late; look again soon */
			continue;
		}
		/* A walk over /proc is not a snapshot: a process may fork ahead of it. Empty twice
		 * is empty, because what forks without end holds the FIFO. */
		if (calm == 0 && out_elapsed_ms)
			*out_elapsed_ms = now_ms() - start;
		if (++calm == 2) {
			return true;
		}
	}
	return false;
}

/* One thread: exiting, or with SIGKILL on its way. */
static bool task_is_dying(const char *dir)
{
	char path[128], text[4096], *p, *end;

	if (is_exiting(dir))
		return true;
	snprintf(path, sizeof(path), "%s/status", dir);
	if (slurp(path, text, sizeof(text)) <= 0)
		return true;
	for (p = text; (p = strstr(p, "Pnd:")); p = end) /* SigPnd and ShdPnd */
		if (strtoull(p + 4, &end, 16) & (1ULL << (SIGKILL - 1)))
			return true;
	return false;
}

static bool is_dying(pid_t pid)
{
	char dir[64], task[96];
	struct dirent *e;
	bool dying = true;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
	d = opendir(dir);
	while (d && dying && (e = readdir(d))) {
		snprintf(task, sizeof(task), "%s/%.20s", dir, e->d_name);
		dying = e->d_name[0] == '.' || task_is_dying(task);
	}
	if (d)
		closedir(d);
	return dying;
}

bool audit_is_dying(struct audit *a)
{
	pid_t pids[MAX_SEEN];
	int n = audit_list(a, pids, MAX_SEEN);

	for (int i = 0; i < n && i < MAX_SEEN; i++)
		if (!is_dying(pids[i]))
			return false;
	return n > 0;
}

void audit_describe(struct audit *a, char *out, int size)
{
	pid_t pids[6];
	int n = audit_list(a, pids, 6), used = 0;

	*out = '\0';
	for (int i = 0; i < n && i < 6 && used < size - 1; i++) {
		char dir[64], path[96], cmd[80];
		ssize_t len;

		snprintf(dir, sizeof(dir), "/proc/%d", (int)pids[i]);
		snprintf(path, sizeof(path), "%s/cmdline", dir);
		len = slurp(path, cmd, sizeof(cmd));
		for (ssize_t k = 0; k + 1 < len; k++)
			if (!cmd[k] || cmd[k] == '\n')
				cmd[k] = ' ';
		used += snprintf(out + used, (size_t)(size - used), "%s%d %c '%s'", i ? ", " : "",
				 (int)pids[i], state_of(dir), len > 0 ? cmd : "?");
	}
	if (n > 6 && used < size - 1)
		snprintf(out + used, (size_t)(size - used), " and %d more", n - 6);
}

/* Through a pidfd, with the facts looked at again after it was opened: never a stranger with a
 * recycled pid. */
static void kill_checked(struct audit *a, pid_t pid)
{
	struct stat fifo;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno != ENOSYS)
		return;
	if (alive_with_tag(pid, a->tag) || (!fstat(a->fd, &fifo) && holds_fifo(pid, &fifo))) {
		if (fd >= 0)
			syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		else
			kill(pid, SIGKILL); /* Linux before 5.3 */
	}
	if (fd >= 0)
		close(fd);
}

/* Also ends what runs as another user, where kill(2) may not. */
static void kill_cgroup(struct audit *a)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.kill", a->cgroup);
	fd = *a->cgroup ? open(path, O_WRONLY | O_CLOEXEC) : -1;
	if (fd >= 0 && write(fd, "1", 1) != 1)
		perror("audit: cgroup.kill");
	if (fd >= 0)
		close(fd);
}

int audit_scrub(struct audit *a)
{
	double start = now_ms();
	char path[80];
	int first = 0;

	/* Zoo processes fork only while this name exists: bombs and chains stand still now. */
	snprintf(path, sizeof(path), "%s/fifo", a->dir);
	unlink(path);
	for (int wait_ms = 1; now_ms() - start < SCRUB_MS && !audit_wait_empty(a, wait_ms, NULL);
	     wait_ms = 20) {
		pid_t pids[MAX_SEEN];
		int n = audit_list(a, pids, MAX_SEEN);

		/* Held by somebody we may not look at: still one. */
		if (first == 0)
			first = n > 0 ? n : 1;
		for (int i = 0; i < n && i < MAX_SEEN; i++)
			kill_checked(a, pids[i]);
		kill_cgroup(a);
	}
	return first;
}

static void remove_dir(const char *dir, int depth)
{
	char path[512];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", dir, e->d_name);
		if (unlink(path) && depth > 0)
			remove_dir(path, depth - 1);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

/* A cgroup is busy for an instant after its last process. */
static bool remove_cgroup(const char *dir)
{
	for (int turn = 0; turn < 200; turn++) {
		if (!rmdir(dir) || errno == ENOENT)
			return true;
		if (errno != EBUSY)
			return false;
		poll(NULL, 0, 1);
	}
	return false;
}

void audit_close(struct audit *a)
{
	char path[512];

	if (a->keep >= 0)
		close(a->keep);
	if (a->fd >= 0)
		close(a->fd);
	for (int i = 0; i < a->stray_count; i++)
		remove_cgroup(a->strays[i]);
	while (audit_subgroup(a, "", path, sizeof(path)) && remove_cgroup(path))
		;
	if (*a->cgroup)
		remove_cgroup(a->cgroup);
	if (*a->dir)
		remove_dir(a->dir, 3);
	unsetenv("ZOO_AUDIT");
	unsetenv("ZOO_FIFO");
	*a = (struct audit)AUDIT_INIT;
}
