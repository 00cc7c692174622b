/* cell.c - see cell.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "cell.h"

/* How long after the last keeper's end something must live, without dying, to count as escaped. */
#define SETTLE_MS 250
/* How long `killick reap` may take: it gives keepers that do nothing 8 s. */
#define REAP_MS 14000

const char *const cell_ending_names[END_COUNT] = { "term",  "eof",   "oterm", "okill",
						   "wkill", "hkill", "both" };

struct word {      /* what the owner tells the cell */
	char what; /* 'w' pid of the watch, 'r' ready, 'x' wait status of the watch */
	int value;
};

static void tell(int fd, char what, int value)
{
	struct word w = { .what = what, .value = value };

	if (write(fd, &w, sizeof(w)) != (ssize_t)sizeof(w))
		_exit(1); /* the cell is gone */
}

int cell_pidfd(pid_t pid)
{
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

bool cell_is_dead(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd < 0 || poll(&p, 1, 0) > 0;
}

void cell_signal(int pidfd, int sig)
{
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

/* State and parent of a process; '\0' when there is no such process. */
static char cell_state_of(pid_t pid, pid_t *out_parent)
{
	char path[64], text[512], *p, state = '\0';
	int fd, parent = 0;
	ssize_t n;

	/* the thread's file: a server may hold a lease on the process' */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')');
	if (p)
		sscanf(p, ") %c %d", &state, &parent);
	*out_parent = parent;
	return state;
}

/* The long way, for a process whose list of children cannot be opened. */
static pid_t cell_search_child(pid_t parent)
{
	struct dirent *e;
	DIR *d = opendir("/proc");
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name), of = 0;

		if (pid > 0 && cell_state_of(pid, &of) && of == parent)
			found = pid;
	}
	if (d)
		closedir(d);
	return found;
}

pid_t cell_first_child(pid_t pid)
{
	char path[64], text[64] = "";
	int fd;

	if (pid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == EWOULDBLOCK ? cell_search_child(pid) : 0;
	(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	return (pid_t)atoi(text);
}

/* The command line in front of the server. */
static void compose(const struct cell_spec *s, const char **argv)
{
	static char grace[32];
	int n = 0;

	if (!strcmp(s->level, "tini")) {
		argv[n++] = "tini";
		argv[n++] = "-s";
		argv[n++] = "--";
	} else if (!strcmp(s->level, "bwrap")) {
		static const char *const bwrap[] = {
			"bwrap", "--die-with-parent", "--unshare-pid", "--dev-bind", "/", "/", "--"
		};
		for (size_t i = 0; i < sizeof(bwrap) / sizeof(*bwrap); i++)
			argv[n++] = bwrap[i];
	} else if (strcmp(s->level, "bare")) {
		snprintf(grace, sizeof(grace), "%dms", s->grace_ms);
		argv[n++] = s->killick;
		argv[n++] = "run";
		argv[n++] = "--grace";
		argv[n++] = grace;
		argv[n++] = "--contain";
		argv[n++] = s->level;
		if (s->report) {
			argv[n++] = "--report";
			argv[n++] = s->report;
		}
		argv[n++] = "--";
	}
	argv[n++] = s->zoo;
	argv[n++] = s->mode;
	argv[n] = NULL;
}

static bool is_killick(const struct cell_spec *s)
{
	return strcmp(s->level, "bare") && strcmp(s->level, "tini") && strcmp(s->level, "bwrap");
}

static const char hello[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
	"\"2025-06-18\","
	"\"capabilities\":{},\"clientInfo\":{\"name\":\"cell\",\"version\":\"1\"}}}\n";
static const char go_on[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
			    "call\",\"params\":{\"name\":\"hang\",\"arguments\":{}}}\n";

/* The owner: start, initialize, then wait for commands, output and the end of the program. */
static _Noreturn void be_owner(struct cell *c, const char **argv, int say, int hear)
{
	int in[2], out[2], pidfd, status;
	char buf[4096];
	pid_t pid;

	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	close(c->audit.fd);
	close(c->audit.keep);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		_exit(1);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		if (c->spec.own_group)
			setpgid(0, 0);
		audit_enter(&c->audit);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	pidfd = cell_pidfd(pid);
	tell(say, 'w', pid);
	(void)!write(in[1], hello, sizeof(hello) - 1);
	for (bool answered = false;;) {
		struct pollfd p[3] = { { .fd = hear, .events = POLLIN },
				       { .fd = out[0], .events = POLLIN },
				       { .fd = pidfd, .events = POLLIN } };
		poll(p, 3, -1);
		if (p[1].revents && read(out[0], buf, sizeof(buf)) <= 0) {
			close(out[0]);
			out[0] = -1;
		} else if (p[1].revents && !answered) {
			answered = true;
			(void)!write(in[1], go_on, sizeof(go_on) - 1);
			tell(say, 'r', 0);
		}
		if (p[2].revents) {
			waitpid(pid, &status, 0);
			tell(say, 'x', status);
			close(pidfd);
			pidfd = -1;
		}
		if (p[0].revents && read(hear, buf, 1) <= 0)
			_exit(0);
		else if (p[0].revents) {
			close(in[1]);
		}
	}
}

static bool cell_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* A user namespace as well, where a pid namespace alone is not allowed. */
static bool cell_unshare_pidns(void)
{
	char uid_map[32], gid_map[32];

	snprintf(uid_map, sizeof(uid_map), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
	snprintf(gid_map, sizeof(gid_map), "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
	if (geteuid() == 0)
		return !unshare(CLONE_NEWPID);
	return !unshare(CLONE_NEWUSER | CLONE_NEWPID) &&
	       cell_write_file("/proc/self/setgroups", "deny") &&
	       cell_write_file("/proc/self/uid_map", uid_map) &&
	       cell_write_file("/proc/self/gid_map", gid_map);
}

/* The auditor's FIFO above all. */
static void cell_close_all(void)
{
	if (syscall(SYS_close_range, 0U, ~0U, 0) < 0) /* Linux before 5.9 */
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
}

/* The init is told of only when it dies with its parent. In the new namespace it could not see that
 * the parent is dead already. */
static _Noreturn void cell_keep_pidns(int say)
{
	int ready[2];
	pid_t init;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	init = !pipe2(ready, O_CLOEXEC) && cell_unshare_pidns() ? fork() : -1;
	if (init == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(ready[1], "r", 1);
		cell_close_all();
	} else {
		if (init > 0 && read(ready[0], &c, 1) != 1)
			_exit(1);
		tell(say, 'n', init);
		cell_close_all();
	}
	while (init >= 0)
		pause();
	_exit(1);
}

pid_t cell_foreign_pidns(void)
{
	struct word w = { .value = -1 };
	char text[16];
	pid_t pid;
	int fds[2];

	unsetenv("ZOO_PIDNS");
	if (pipe2(fds, O_CLOEXEC))
		return 0;
	pid = fork();
	if (pid == 0)
		cell_keep_pidns(fds[1]);
	close(fds[1]);
	if (pid > 0 && read(fds[0], &w, sizeof(w)) == (ssize_t)sizeof(w) && w.value > 0) {
		snprintf(text, sizeof(text), "%d", w.value);
		setenv("ZOO_PIDNS", text, 1);
	}
	close(fds[0]);
	return pid > 0 ? pid : 0;
}

static bool trouble(struct cell *c, const char *what)
{
	snprintf(c->text, sizeof(c->text), "%s: %s", what, strerror(errno));
	return false;
}

/* Take one word from the owner; false when none comes by the deadline or the owner is gone. */
static bool hear_word(struct cell *c, int deadline_ms)
{
	struct word w;

	if (!t_wait_fd(c->hear, POLLIN, deadline_ms) ||
	    read(c->hear, &w, sizeof(w)) != (ssize_t)sizeof(w))
		return false;
	if (w.what == 'w') {
		c->watch = w.value;
		c->watch_fd = cell_pidfd(c->watch);
	} else if (w.what == 'r') {
		c->ready = true;
	} else if (w.what == 'x') {
		c->status = w.value;
	}
	return true;
}

bool cell_start(struct cell *c, const struct cell_spec *spec)
{
	const char *argv[24];
	char runtime[96];
	int to[2], from[2];

	*c = (struct cell){ .spec = *spec,
			    .owner_fd = -1,
			    .watch_fd = -1,
			    .hold_fd = -1,
			    .server_fd = -1,
			    .say = -1,
			    .hear = -1,
			    .status = -1 };
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!strncmp(spec->mode, "setns", 5))
		c->foreign = cell_foreign_pidns();
	if (audit_open(&c->audit))
		return trouble(c, "auditor");
	/* Chains and bombs leave a thousand orphans per second to us: let the kernel reap them. */
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	audit_cgroup(&c->audit);
	snprintf(runtime, sizeof(runtime), "%s/run", c->audit.dir);
	if (mkdir(runtime, 0700))
		return trouble(c, "mkdir");
	setenv("KILLICK_RUNTIME_DIR", runtime, 1);
	if (spec->die_at)
		setenv("KILLICK_DIE_AT", spec->die_at, 1);
	else
		unsetenv("KILLICK_DIE_AT");
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return trouble(c, "pipe");
	compose(&c->spec, argv);
	c->owner = fork();
	if (c->owner < 0)
		return trouble(c, "fork");
	if (c->owner == 0) {
		close(to[1]);
		close(from[0]);
		be_owner(c, argv, from[1], to[0]);
	}
	close(to[0]);
	close(from[1]);
	c->say = to[1];
	c->hear = from[0];
	c->owner_fd = cell_pidfd(c->owner);
	unsetenv("KILLICK_DIE_AT");
	return hear_word(c, 5000) && c->watch > 0 ? true : trouble(c, "owner");
}

bool cell_await(struct cell *c, int deadline_ms)
{
	double end = t_now_ms() + deadline_ms;

	while (!c->ready && c->status == -1) {
		double left = end - t_now_ms();

		if (left <= 0 || !hear_word(c, (int)left + 1)) {
			snprintf(c->text, sizeof(c->text), "no answer to initialize after %d ms",
				 deadline_ms);
			return false;
		}
	}
	return true;
}

/* Looked up again once the pidfd is there, so that it never names a stranger. */
int cell_child(pid_t parent, pid_t *out_pid)
{
	pid_t pid = cell_first_child(parent);
	int fd = cell_pidfd(pid);

	if (fd >= 0 && cell_first_child(parent) != pid) {
		close(fd);
		fd = -1;
	}
	*out_pid = fd >= 0 ? pid : 0;
	return fd;
}

void cell_find(struct cell *c)
{
	pid_t parent = c->watch;

	if (is_killick(&c->spec)) {
		c->hold_fd = cell_child(c->watch, &c->hold);
		parent = c->hold;
	}
	if (!strcmp(c->spec.level, "bare"))
		c->server_fd = cell_pidfd(c->server = c->watch);
	else
		c->server_fd = cell_child(parent, &c->server);
}

void cell_await_stopped(pid_t pid)
{
	double end = t_now_ms() + 1000;
	pid_t parent;
	char state;

	do
		state = cell_state_of(pid, &parent);
	while (state && state != 'T' && state != 'Z' && t_now_ms() < end);
}

void cell_end(struct cell *c, enum cell_ending ending)
{
	switch (ending) {
	case END_TERM:
		cell_signal(c->watch_fd, SIGTERM);
		break;
	case END_EOF:
		(void)!write(c->say, "e", 1);
		break;
	case END_OTERM:
		cell_signal(c->owner_fd, SIGTERM);
		break;
	case END_OKILL:
		cell_signal(c->owner_fd, SIGKILL);
		break;
	case END_WKILL:
		cell_signal(c->watch_fd, SIGKILL);
		break;
	case END_HKILL:
		cell_signal(c->hold_fd, SIGKILL);
		break;
	case END_BOTH:
		/* Stopped first, so that neither sees the other die: that is what "at once" means.
		 */
		cell_signal(c->watch_fd, SIGSTOP);
		cell_signal(c->hold_fd, SIGSTOP);
		cell_await_stopped(c->watch);
		cell_await_stopped(c->hold);
		cell_signal(c->hold_fd, SIGKILL);
		cell_signal(c->watch_fd, SIGKILL);
		break;
	case END_COUNT:
		abort();
	}
	c->ended_at = t_now_ms();
}

/* Wait for empty until the deadline, or until no keeper is left to make it so. */
static bool await_empty(struct cell *c, int deadline_ms)
{
	double alone_since = 0, took;

	for (double now; (now = t_now_ms()) < c->ended_at + deadline_ms;) {
		if (audit_wait_empty(&c->audit, 50, &took)) {
			c->ms = now + took - c->ended_at;
			return true;
		}
		if (is_killick(&c->spec) &&
		    !(cell_is_dead(c->watch_fd) && cell_is_dead(c->hold_fd)))
			alone_since = 0;
		else if (alone_since == 0)
			alone_since = now;
		else if (now - alone_since > SETTLE_MS && !audit_is_dying(&c->audit))
			return false;
	}
	snprintf(c->text, sizeof(c->text), "keepers still at work after %d ms: ", deadline_ms);
	return false;
}

/* Records and cgroups that nobody needs any more. A record without a byte in it comes from a keeper
 * that died between two system calls; it says nothing and harms nothing. */
static bool litter(struct cell *c)
{
	char path[400];
	struct dirent *e;
	struct stat st;
	DIR *d;

	*c->text = '\0';
	snprintf(path, sizeof(path), "%s/run", c->audit.dir);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && !fstatat(dirfd(d), e->d_name, &st, 0) && st.st_size > 0)
			snprintf(c->text, sizeof(c->text), "record '%s' was left", e->d_name);
	if (d)
		closedir(d);
	if (audit_subgroup(&c->audit, "killick-", path, sizeof(path)))
		snprintf(c->text, sizeof(c->text), "cgroup '%.300s' was left", path);
	return *c->text != '\0';
}

/* Keep the end of what `reap` printed: it explains a tree that is still there. */
static void note_reap(struct cell *c, int fd)
{
	off_t size = lseek(fd, 0, SEEK_CUR), room = (off_t)sizeof(c->reap) - 1;
	ssize_t n = pread(fd, c->reap, (size_t)room, size > room ? size - room : 0);

	c->reap[n > 0 ? n : 0] = '\0';
	for (char *p = c->reap; *p; p++)
		if (*p == '\n')
			*p = ';';
}

static bool run_reap(struct cell *c)
{
	char *const argv[] = { (char *)(c->spec.reaper ? c->spec.reaper : c->spec.killick),
			       (char *)"reap", NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int said = memfd_create("reap", MFD_CLOEXEC);
	int stdio[3] = { null, said, -1 };
	int pidfd = cell_pidfd(t_spawn(argv, stdio));
	bool ended = pidfd < 0 || t_wait_fd(pidfd, POLLIN, REAP_MS);

	note_reap(c, said);
	close(said);
	close(null);
	if (pidfd >= 0)
		close(pidfd);
	return ended;
}

bool cell_sweep(struct cell *c)
{
	return run_reap(c) && !litter(c);
}

enum cell_verdict cell_judge(struct cell *c, int deadline_ms, bool janitor)
{
	size_t used;

	if (c->ended_at == 0)
		c->ended_at = t_now_ms();
	if (await_empty(c, deadline_ms))
		return is_killick(&c->spec) && !janitor && litter(c) ? CELL_LITTER : CELL_EMPTY;
	c->ms = t_now_ms() - c->ended_at;
	if (janitor) {
		bool main_gone = cell_is_dead(c->server_fd);
		double before = c->ms;

		bool reaped = run_reap(c);
		c->ended_at = t_now_ms();
		if (reaped && await_empty(c, deadline_ms)) {
			c->ms += before;
			return litter(c) ? CELL_LITTER : main_gone ? CELL_LATER : CELL_REAPED;
		}
	}
	used = strlen(c->text);
	if (*c->reap)
		used += (size_t)snprintf(c->text + used, sizeof(c->text) - used, "reap said '%s' ",
					 c->reap);
	if (used >= sizeof(c->text))
		return CELL_ESCAPE;
	audit_describe(&c->audit, c->text + used, (int)(sizeof(c->text) - used));
	return CELL_ESCAPE;
}

/* Cgroups that a server nested in its own, whose keepers have not removed them. */
static void cell_remove_nested(const char *dir)
{
	char path[2048];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || e->d_type != DT_DIR)
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", dir, e->d_name);
		chmod(path, 0755);
		cell_remove_nested(path);
		rmdir(path);
	}
	if (d)
		closedir(d);
}

void cell_done(struct cell *c)
{
	int fds[] = { c->say, c->hear, c->owner_fd, c->watch_fd, c->hold_fd, c->server_fd };

	/* keepers may be out of the auditor's sight: not dumpable, and in another cgroup */
	cell_signal(c->owner_fd, SIGKILL);
	cell_signal(c->watch_fd, SIGKILL);
	cell_signal(c->hold_fd, SIGKILL);
	if (c->audit.fd >= 0)
		audit_scrub(&c->audit);
	if (*c->audit.cgroup)
		cell_remove_nested(c->audit.cgroup);
	if (c->foreign > 0)
		kill(c->foreign, SIGKILL);
	/* owner, keepers, and what was in a foreign namespace: what does not die elsewhere came to
	 * us */
	for (double end = t_now_ms() + 8000;
	     waitpid(-1, NULL, WNOHANG | __WALL) >= 0 && t_now_ms() < end;)
		poll(NULL, 0, 1);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	audit_close(&c->audit);
}
