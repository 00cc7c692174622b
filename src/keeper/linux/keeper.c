/* keeper.c - see keeper.h */
#include "keeper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "exec.h"
#include "keeper/exits.h"
#include "line_fd.h"
#include "proc.h"
#include "report.h"
#include "step.h"

#define OWNER_POLL_MS 250  /* before Linux 5.3 */
#define REPORT_ROOM   4096 /* bytes; a report has 300 to 2000 in most cases */

static char keeper_said[240]; /* the last text of keeper_say */

void keeper_say(const char *fmt, ...)
{
	struct line l;
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = line_say(&l, fmt, ap);
	va_end(ap);
	control_refused(text);
	snprintf(keeper_said, sizeof(keeper_said), "%s", text);
	line_add(&l, "\n");
	line_write(&l, STDERR_FILENO);
}

void keeper_note_refusal(struct keeper *k)
{
	notes_add(&k->notes, "refused: %s",
		  keeper_said[0] ? keeper_said : "the owner has ended before the server started");
}

const char *keeper_next_step(int error, const char *otherwise)
{
	if (error == EMFILE)
		return "raise the limit of open files (ulimit -n)";
	if (error == ENFILE)
		return "the whole machine has too many open files: end some programs";
	return otherwise;
}

int keeper_lacks(const char *call, int error)
{
	const char *next = "allow this system call in the seccomp profile that killick runs under";

	if (error == EAGAIN || error == ENOMEM)
		next = "end some processes or raise the limit (ulimit -u)";
	else if (error == ENOSPC)
		next = "raise the limit of this user (sysctl fs.epoll.max_user_watches)";
	keeper_say("cannot hold a server without %s: %s; %s", call, strerror(error),
		   keeper_next_step(error, next));
	return error == EAGAIN || error == ENOMEM || error == ENOSPC || error == EMFILE ||
			       error == ENFILE
		       ? EXIT_TRY_AGAIN
		       : EXIT_UNAVAILABLE;
}

void keeper_seal(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}

void keeper_log(const struct keeper *k, const char *fmt, ...)
{
	struct timespec now;
	struct line l;
	va_list ap;

	if (k->log_fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	line_init(&l);
	line_add(&l, "time=%lld.%03ld tree=%s name=%s ", (long long)now.tv_sec,
		 now.tv_nsec / 1000000, k->id, k->opt.recipe.name);
	va_start(ap, fmt);
	line_vadd(&l, fmt, ap);
	va_end(ap);
	line_flatten(&l);
	line_add(&l, "\n");
	line_offer(&l, k->log_fd, 0);
}

/* The client's environment without the variables for killick itself (socket activation), plus the
 * tree's mark. With --control the first KILLICK_RUNTIME_DIR is a message of the owner, which
 * getenv finds; a second one is the server's own. */
static char **server_environment(char **from, char *mark, bool owned)
{
	/* musl's first malloc takes four system calls, and each fork copies its mappings: 40 us */
	static char *usual[256];
	static const char *const dropped[] = { "LISTEN_PID=",    "LISTEN_FDS=", "LISTEN_FDNAMES=",
					       "NOTIFY_SOCKET=", TREE_ENV "=",  RECORD_ENV "=" };
	size_t count_dropped = sizeof(dropped) / sizeof(dropped[0]), count = 0, n = 0;
	char **to;

	if (!owned)
		count_dropped--;

	while (from[count])
		count++;
	to = count + 2 <= sizeof(usual) / sizeof(usual[0]) ? usual
							   : malloc((count + 2) * sizeof(*to));
	if (!to)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t d = 0;
		while (d < count_dropped && strncmp(from[i], dropped[d], strlen(dropped[d])) != 0)
			d++;
		if (d == count_dropped)
			to[n++] = from[i];
		else if (d == sizeof(dropped) / sizeof(dropped[0]) - 1)
			count_dropped--; /* the message */
	}
	to[n++] = mark;
	to[n] = NULL;
	return to;
}

/* Open a file to append to, or use a descriptor that the client opened for killick. A new file is
 * for this user alone: arguments may be secrets. */
static int open_output(const char *option, const char *where, bool may_be_fd)
{
	bool is_fd = may_be_fd && where[strspn(where, "0123456789")] == '\0';
	int fd = is_fd ? fcntl(atoi(where), F_DUPFD_CLOEXEC, 3)
		       : open(where,
			      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			      0600);

	if (fd < 0)
		keeper_say("%s: cannot write to %s'%s': %s", option, is_fd ? "descriptor " : "",
			   where, strerror(errno));
	return fd;
}

/* The disk must have room for the report before the server starts. Where room cannot be reserved
 * (a device, a file system without fallocate), writing may fail at the end. 0, or an exit code
 * after one line on stderr; then there is no report. */
static int keeper_reserve_report(struct keeper *k, bool is_new)
{
	struct stat st;

	if (fstat(k->report_fd, &st) < 0 || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return 0; /* its reader notices */
	if (S_ISREG(st.st_mode) &&
	    fallocate(k->report_fd, FALLOC_FL_KEEP_SIZE, st.st_size, REPORT_ROOM) == 0)
		return 0;
	if (!S_ISREG(st.st_mode) || (errno != ENOSPC && errno != EDQUOT)) {
		k->report_may_fail = true;
		return 0;
	}
	keeper_say("--report: cannot write to '%s': %s; free some space, or remove the option",
		   k->opt.report, strerror(errno));
	if (is_new) /* an empty file says nothing */
		unlink(k->opt.report);
	close(k->report_fd);
	k->report_fd = -1;
	return EXIT_TRY_AGAIN;
}

int keeper_init(struct keeper *k, const struct options *opt, char **environment)
{
	const struct cgroup none = CGROUP_NONE;
	unsigned char raw[TREE_ID_LEN / 2];
	bool new_report = opt->report && access(opt->report, F_OK) < 0;

	memset(k, 0, sizeof(*k));
	k->opt = *opt;
	k->begun_us = clock_us();
	k->tree.cg = none;
	k->owner_fd = k->record_fd = k->record_dirfd = k->report_fd = k->log_fd = -1;
	k->users.fd = k->control_fd = k->watch_fd = k->stdin_fd = k->tree.children_fd =
		k->tree.place_fd = -1;
	k->parent = -1;
	if (opt->control >= 0 && (k->control_fd = control_open(opt->control)) < 0)
		return EXIT_USAGE;
	if (opt->users >= 0 && (k->users.fd = users_open(opt->users)) < 0)
		return EXIT_USAGE;
	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw)) {
		keeper_say("cannot get random numbers for the tree's id: %s", strerror(errno));
		return EXIT_UNAVAILABLE;
	}
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(k->id + 2 * i, 3, "%02x", raw[i]);
	snprintf(k->mark, sizeof(k->mark), "%s=%s", TREE_ENV, k->id);
	k->tree.mark.entry = k->mark;
	k->tree.mark.control_fd = k->control_fd;
	k->envp = server_environment(environment, k->mark, k->control_fd >= 0);
	k->sh_argv = exec_room(opt->recipe.argv);
	container_init(&k->container, opt->container, opt->recipe.argv[0]);
	if (!k->envp || !k->sh_argv) {
		keeper_say("out of memory");
		return EXIT_TRY_AGAIN;
	}
	if (opt->report && (k->report_fd = open_output("--report", opt->report, true)) < 0)
		return EXIT_USAGE;
	if (opt->log && (k->log_fd = open_output("--log", opt->log, false)) < 0)
		return EXIT_USAGE;
	return k->report_fd < 0 ? 0 : keeper_reserve_report(k, new_report);
}

/* Before Linux 5.3 an owner that is not the parent is known by its start time. 0 or -errno. */
static int keeper_poll_owner(struct keeper *k, pid_t pid)
{
	struct proc_stat st;
	int r = proc_is_own(NULL) ? proc_stat_get(pid, &st) : -ENODEV;

	if (r == 0 && !proc_is_alive(&st))
		r = -ESRCH;
	if (r == 0)
		k->owner_start = st.start;
	return r;
}

int keeper_find_owner(struct keeper *k)
{
	bool parent = k->opt.owner == OWNER_PARENT;
	pid_t pid = parent ? getppid() : k->opt.owner_pid;
	struct stat in;

	if (k->opt.owner == OWNER_STDIN) {
		/* a closed stdin has been replaced by /dev/null */
		if (fstat(STDIN_FILENO, &in) < 0 || S_ISREG(in.st_mode) || S_ISDIR(in.st_mode) ||
		    S_ISBLK(in.st_mode) || (S_ISCHR(in.st_mode) && !isatty(STDIN_FILENO))) {
			keeper_say("--owner stdin: stdin is closed, /dev/null or a file and can "
				   "never hang "
				   "up; use a pipe, or --owner PID");
			return EXIT_USAGE;
		}
		return 0;
	}
	if (parent)
		k->parent = pid;
	if (pid == 0) { /* a parent in an outer pid namespace has pid 0 here */
		notes_add(&k->notes,
			  "owner: the parent is outside of this pid namespace and has no "
			  "pidfd; its death is noticed by PDEATHSIG");
		return 0;
	}
	k->owner_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (k->owner_fd < 0 && !parent) {
		int error = errno, r = error == ESRCH ? -ESRCH : keeper_poll_owner(k, pid);

		if (r == -ESRCH) {
			keeper_say("--owner %d: no such process", pid);
			return EXIT_USAGE;
		}
		if (r < 0)
			return keeper_lacks("pidfd_open or /proc, of which --owner PID needs one",
					    error);
		notes_add(&k->notes, "owner: pidfd_open: %s; its end is noticed within %d ms",
			  strerror(error), OWNER_POLL_MS);
	} else if (k->owner_fd < 0) {
		notes_add(&k->notes, "owner: pidfd_open: %s; its death is noticed by PDEATHSIG",
			  strerror(errno));
	}
	/* The parent died before the pidfd was opened: the pidfd may be that of another process,
	 * and there is no owner to serve. */
	if (keeper_parent_is_gone(k))
		return EXIT_UNAVAILABLE;
	k->owner = pid;
	return 0;
}

void keeper_note_silent_owner(struct keeper *k)
{
	notes_add(&k->notes,
		  "owner: process %d was stopped or hung: it did not handle the end of a process "
		  "that used this server, also after SIGCONT, and counts as gone",
		  k->owner);
	keeper_log(k, "event=owner-silent pid=%d", k->owner);
}

bool keeper_owner_has_ended(const struct keeper *k)
{
	struct proc_stat st;
	int r;

	if (!k->owner_start)
		return false;
	r = proc_stat_get(k->owner, &st);
	if (r < 0) /* a server may have taken the descriptors that /proc needs */
		return r == -ESRCH || (kill(k->owner, 0) < 0 && errno == ESRCH);
	return st.start != k->owner_start || !proc_is_alive(&st);
}

int keeper_patience_ms(const struct keeper *k, int timeout_ms)
{
	return k->owner_start && (timeout_ms < 0 || timeout_ms > OWNER_POLL_MS) ? OWNER_POLL_MS
										: timeout_ms;
}

bool keeper_parent_is_gone(const struct keeper *k)
{
	return k->parent >= 0 && getppid() != k->parent;
}

/* Limits without a cgroup controller: a user namespace counts its own processes (Linux 5.14), so
 * there RLIMIT_NPROC limits only this tree; elsewhere it would count all processes of this user. */
static bool can_limit_in_namespace(const struct keeper *k, enum limit which)
{
	struct utsname u;
	int major = 0, minor = 0;

	if (k->tree.level != LEVEL_NAMESPACE || geteuid() == 0 || which != LIMIT_PROCS)
		return false;
	return uname(&u) == 0 && sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 14));
}

/* The limit that is hardest to enforce: every other one before LIMIT_PROCS. */
static enum limit hardest_limit(const unsigned long long *limits)
{
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (limits[i] && i != LIMIT_PROCS)
			return (enum limit)i;
	return LIMIT_PROCS;
}

static int set_limits(struct keeper *k)
{
	const unsigned long long *limits = k->opt.recipe.limits;
	enum limit which = hardest_limit(limits);
	char why[240];

	if (!recipe_is_limited(&k->opt.recipe))
		return 0;
	if (cgroup_limit(&k->tree.cg, k->id, limits, why, sizeof(why)) == 0)
		return 0;
	cgroup_remove(&k->tree.cg);
	if (can_limit_in_namespace(k, which)) {
		k->nproc = limits[LIMIT_PROCS] + 1; /* the hold is in the namespace as well */
		notes_add(&k->notes,
			  "max-procs: the user namespace limits the number, because there is no "
			  "pids controller (%s)",
			  why);
		return 0;
	}
	keeper_say("--%s cannot be enforced here: %s; run as root or in a delegated cgroup, %sor "
		   "remove the option (see 'killick doctor')",
		   recipe_limits[which].option, why,
		   which == LIMIT_PROCS ? "try --contain namespace, " : "");
	return EXIT_UNAVAILABLE;
}

static int choose_level(struct keeper *k)
{
	enum level asked = k->opt.recipe.contain;
	char why[240];

	if (asked == LEVEL_JOB) {
		keeper_say("--contain job is not possible here: it is a level of Windows; use "
			   "--contain auto");
		return EXIT_UNAVAILABLE;
	}
	k->tree.level = asked == LEVEL_AUTO ? LEVEL_KEEPER : asked;
	if (asked == LEVEL_AUTO || asked == LEVEL_CGROUP || asked == LEVEL_NAMESPACE) {
		if (cgroup_make(&k->tree.cg, k->id, why, sizeof(why)) == 0) {
			if (asked == LEVEL_AUTO)
				k->tree.level = LEVEL_CGROUP;
		} else if (asked == LEVEL_CGROUP) {
			keeper_say("--contain cgroup is not possible here: %s; use --contain auto, "
				   "or see 'killick doctor'",
				   why);
			return EXIT_UNAVAILABLE;
		} else {
			notes_add(&k->notes, "cgroup: %s", why);
		}
	}
	return set_limits(k);
}

/* The pid of this process in /proc: the pid that the watch sees, also for a hold in its own pid
 * namespace. */
static struct who own_self(void)
{
	struct proc_stat st = { .pid = 0 };

	proc_stat_get(0, &st);
	return (struct who){ st.pid, st.start };
}

/* Only a record with a spec makes a janitor remove the container. */
static void record_container(struct keeper *k)
{
	if (k->container.cidfile[0])
		record_add(k->record_fd, "cidfile", "%s", k->container.cidfile);
	if (container_is_recorded(&k->container))
		record_add(k->record_fd, "engine", "%s", k->container.spec);
	else
		notes_add(&k->notes,
			  "container: when both keepers are killed, no janitor removes it, "
			  "because the engine or an option of it may be another program");
}

/* The janitor needs these lines before the first process starts; keeper_describe writes lines that
 * only `killick ps` needs. */
static void begin_record(struct keeper *k)
{
	struct record rec = { .owner = { .pid = k->owner },
			      .watch = { .pid = getpid(), .start = own_self().start },
			      .pidns = proc_pid_namespace(),
			      .timens = proc_time_namespace(),
			      .grace_ms = k->opt.recipe.grace_ms };
	int r;

	memcpy(rec.tree, k->id, sizeof(rec.tree));
	rec.started_ms = clock_boot_ms();
	r = record_open(&rec, &k->record_dirfd);
	if (r < 0)
		notes_add(&k->notes,
			  "record: %s; 'killick ps' and the janitor do not see this tree",
			  strerror(-r));
	else
		k->record_fd = k->tree.cg.diary = r;
	if (k->container.spec)
		record_container(k);
}

/* The start time tells a process from a later one with the same pid. The /proc of another pid
 * namespace has other processes with these pids. */
static void describe_process(const struct keeper *k, const char *key, pid_t pid, bool own_proc)
{
	struct proc_stat st = { .start = 0 };

	if (pid && own_proc)
		proc_stat_get(pid, &st);
	record_add(k->record_fd, key, "%d %llu", pid, st.start);
}

void keeper_describe_hold(const struct keeper *k)
{
	struct who self = own_self();

	if (self.pid)
		record_add(k->record_fd, "hold", "%d %llu", self.pid, self.start);
}

void keeper_describe(const struct keeper *k)
{
	char boot[64] = "";
	struct line cmd;
	bool own_proc;

	if (k->record_fd < 0)
		return;
	own_proc = k->tree.mark.pidns[0] || proc_is_own(NULL); /* mark_ready has asked */
	describe_process(k, "owner", k->owner, own_proc);
	proc_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	boot[strcspn(boot, "\n")] = '\0';
	report_command(&k->opt.recipe, &cmd);
	cmd.text[COMMAND_SHOWN] = '\0';
	record_add(k->record_fd, "boot", "%s", boot);
	record_add(k->record_fd, "level", "%s", level_name(k->tree.level));
	record_add(k->record_fd, "name", "%s", k->opt.recipe.name);
	record_add(k->record_fd, "command", "%s", cmd.text);
	if (k->opt.recipe.session)
		record_add(k->record_fd, "session", "%s", k->opt.recipe.session);
}

int keeper_prepare(struct keeper *k)
{
	int r;

	begin_record(k);
	STEP(WATCH_RECORD);
	r = choose_level(k);
	STEP(WATCH_CGROUP);
	if (r)
		keeper_clean(k);
	return r;
}

void keeper_stopping(struct keeper *k, enum why why, unsigned budget_ms)
{
	long long now_ms = clock_boot_ms();

	assert(k->id[0] && k->tree.level != LEVEL_AUTO);
	if (k->stop_us)
		return;
	k->stop_us = clock_us();
	k->why = why;
	record_add(k->record_fd, "stopping", "%lld %lld %s", now_ms,
		   now_ms + budget_ms + KILL_BUDGET_MS +
			   container_budget_ms(&k->container, k->opt.recipe.grace_ms),
		   report_why(why));
	keeper_log(k, "event=stop why=%s", report_why(why));
}

int keeper_kill(struct keeper *k)
{
	int survivors = tree_kill(&k->tree, KILL_BUDGET_MS);

	if (k->tree.mark_error)
		notes_add(&k->notes, "mark: cannot scan /proc: %s", strerror(k->tree.mark_error));
	return survivors;
}

/* Once the owner or a keeper is dead the grace is short, as for the tree. */
static unsigned container_grace_ms(const struct keeper *k)
{
	unsigned grace_ms = k->opt.recipe.grace_ms;
	bool is_brief = k->why == WHY_OWNER || k->why == WHY_WATCH || k->why == WHY_HOLD;

	return is_brief && grace_ms > ORPHAN_GRACE_MS ? ORPHAN_GRACE_MS : grace_ms;
}

int keeper_end_container(struct keeper *k, int survivors)
{
	const struct container_call call = { .grace_ms = container_grace_ms(k),
					     .envp = k->envp,
					     .dirfd = k->record_dirfd,
					     .cwd = k->opt.recipe.cwd,
					     .own_proc = k->tree.pidns };
	int killed = k->tree.killed;

	if (!k->container.spec || k->why == WHY_FAILED)
		return survivors;
	assert(k->stop_us); /* no container is removed while its server runs */
	container_end(&k->container, &call);
	if (k->container.fate != CONTAINER_GONE)
		notes_add(&k->notes, "container: %s", container_reason(k->container.fate));
	keeper_log(k, "event=container engine=%s id=%s gone=%s", k->container.engine,
		   k->container.id, k->container.fate == CONTAINER_GONE ? "yes" : "no");
	survivors = keeper_kill(k);
	k->tree.killed = killed; /* the engine's processes were not part of the tree */
	return survivors;
}

void keeper_clean(struct keeper *k)
{
	int r = cgroup_remove(&k->tree.cg);
	bool is_left = container_is_recorded(&k->container) &&
		       k->container.fate != CONTAINER_GONE &&
		       k->container.fate != CONTAINER_UNTRIED;

	if (r < 0) /* the record stays, so that the next start can retry */
		keeper_log(k, "event=cgroup-left path=%s reason=\"%s\"", k->tree.cg.path,
			   strerror(-r));
	if (!is_left)
		container_forget(k->record_dirfd, k->container.cidfile);
	if (k->record_fd < 0)
		return;
	/* The scan for the mark failed: leave it to the next janitor. Without /proc the janitor
	 * could not scan either. */
	if (r == 0 && !is_left && (!k->tree.mark_error || k->tree.mark_error == ENODEV))
		record_remove(k->record_dirfd, k->id);
	close(k->record_fd);
	close(k->record_dirfd);
	k->record_fd = k->record_dirfd = -1;
}
