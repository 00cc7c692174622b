/* fights.c - modes that attack their keepers: limits, traces, leases, floods, stolen descriptors.
 *
 * Every mode first leaves a daemon and a child in a session of its own, so that an escape is
 * visible, then attacks the hold (the parent) and the watch (its parent). Both are touched only
 * when the kernel calls them killick. When the kernel refuses an attack, the mode says so on stderr
 * and serves on: the refusal is what the tests expect.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures.h"

#define FLOOD_MS 1500
/* Rounds with real-time signals. Each is queued and counts against what the whole user may have
 * queued, timers included: more would hit other programs of this user. */
#define FLOOD_QUEUED 30

static struct zoo_keepers keepers; /* as the server saw them; its children have other parents */

/* --- finding them --- */

static int fights_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return (int)n;
}

static bool fights_is_keeper(pid_t pid)
{
	char path[64], comm[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	return pid > 0 && fights_read(path, comm, sizeof(comm)) > 0 && !strncmp(comm, "killick", 7);
}

static pid_t fights_parent_of(pid_t pid)
{
	char path[64], text[512], *p;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fights_read(path, text, sizeof(text)) > 0 && (p = strrchr(text, ')')))
		sscanf(p, ") %*c %d", &parent);
	return parent;
}

struct zoo_keepers zoo_keepers(void)
{
	struct zoo_keepers k = { .hold = getppid() };

	if (!fights_is_keeper(k.hold))
		return (struct zoo_keepers){ 0, 0 };
	k.watch = fights_parent_of(k.hold);
	if (!fights_is_keeper(k.watch))
		k.watch = 0;
	return k;
}

/* --- what the modes share --- */

static void fights_own_session(long arg)
{
	(void)arg;
	setsid();
	zoo_ready();
}

void zoo_fight_begin(void)
{
	keepers = zoo_keepers();
	zoo_make_daemon();
	zoo_child(fights_own_session, 0);
	zoo_await(ZOO_FIGHT_CHILDREN);
}

/* Start the attacker as one more process of the tree, and serve when the attack is done. */
static int fights_serve(void (*attack)(long), long arg)
{
	zoo_fight_begin();
	if (attack) {
		zoo_child(attack, arg);
		zoo_await(ZOO_FIGHT_CHILDREN + 1);
	}
	return zoo_serve(ZOO_LEAVE);
}

void zoo_refused(const char *what, pid_t pid)
{
	fprintf(stderr, "killick-zoo: %s of pid %d: %s\n", what, (int)pid, strerror(errno));
}

static void fights_each(void (*fn)(pid_t pid))
{
	if (keepers.hold > 0)
		fn(keepers.hold);
	if (keepers.watch > 0)
		fn(keepers.watch);
}

/* --- limits --- */

static void fights_limit(pid_t pid, int resource, rlim_t value)
{
	struct rlimit lim = { value, value };

	if (prlimit(pid, (enum __rlimit_resource)resource, &lim, NULL))
		zoo_refused("prlimit", pid);
}

static void fights_few_files(pid_t pid)
{
	fights_limit(pid, RLIMIT_NOFILE, 6);
}

static void fights_no_files(pid_t pid)
{
	fights_limit(pid, RLIMIT_NOFILE, 0);
}

/* A keeper that needs a page more of stack, or one more process, meets these. Not RLIMIT_CPU: it is
 * SIGKILL at the next tick, which the endings hkill and both have. */
static void fights_nothing(pid_t pid)
{
	static const int resources[] = { RLIMIT_NPROC, RLIMIT_STACK,      RLIMIT_DATA,
					 RLIMIT_AS,    RLIMIT_SIGPENDING, RLIMIT_CORE };

	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++)
		fights_limit(pid, resources[i], 0);
}

static void fights_no_bytes(pid_t pid)
{
	fights_limit(pid, RLIMIT_FSIZE, 0);
}

int zoo_limits(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_fight_begin();
	fights_each(fights_few_files);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_limits0(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_fight_begin();
	fights_each(fights_no_files);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_starve(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_fight_begin();
	fights_each(fights_nothing);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_nobytes(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_fight_begin();
	fights_each(fights_no_bytes);
	return zoo_serve(ZOO_LEAVE);
}

/* --- the processor --- */

static void fights_last_in_line(pid_t pid)
{
	struct sched_param none = { 0 };

	if (setpriority(PRIO_PROCESS, (id_t)pid, 19) || sched_setscheduler(pid, SCHED_IDLE, &none))
		zoo_refused("SCHED_IDLE", pid);
}

static void fights_burn(long arg)
{
	(void)arg;
	setsid();
	zoo_ready();
	while (!zoo_expired())
		for (volatile int i = 0; i < 1000000; i++)
			;
}

/* The keepers run only when nobody else wants to, and somebody always does. */
int zoo_idle(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_fight_begin();
	fights_each(fights_last_in_line);
	for (int i = 0; i < 3; i++)
		zoo_child(fights_burn, 0);
	zoo_await(ZOO_FIGHT_CHILDREN + 3);
	return zoo_serve(ZOO_LEAVE);
}

/* --- traces and memory --- */

static void fights_seize_one(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
		zoo_refused("PTRACE_SEIZE", pid);
	else
		waitpid(pid, NULL, __WALL); /* in its trace stop now, and stays there */
}

static void fights_seize(long arg)
{
	(void)arg;
	setsid();
	zoo_ignore_all();
	fights_each(fights_seize_one);
	zoo_ready();
}

int zoo_seize(int argc, char **argv)
{
	(void)argc, (void)argv;
	return fights_serve(fights_seize, 0);
}

#if defined __x86_64__
/* nop ...; again: mov $34, %eax (pause); syscall; jmp again */
static const unsigned char fights_nop[] = { 0x90 };
static const unsigned char fights_sleep[] = { 0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7 };
#elif defined __aarch64__
/* nop ...; again: mov x0-x4, #0; mov x8, #73 (ppoll); svc #0; b again */
static const unsigned char fights_nop[] = { 0x1f, 0x20, 0x03, 0xd5 };
static const unsigned char fights_sleep[] = { 0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x80, 0xd2,
					      0x02, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
					      0x04, 0x00, 0x80, 0xd2, 0x28, 0x09, 0x80, 0xd2,
					      0x01, 0x00, 0x00, 0xd4, 0xf9, 0xff, 0xff, 0x17 };
#else
static const unsigned char fights_nop[1], fights_sleep[1];
#endif

/* Overwrite the keeper's program with one that sleeps: wherever its next instruction is. */
static void fights_lobotomise(pid_t pid)
{
	static unsigned char code[1 << 16];
	char path[64], line[512];
	unsigned long from, to;
	FILE *maps;
	int mem;

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = fights_nop[i % sizeof(fights_nop)];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_WRONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (mem < 0 || !maps)
		zoo_refused("writing to the memory", pid);
	while (mem >= 0 && maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx r-xp", &from, &to) != 2 || !strstr(line, " r-xp ") ||
		    !strchr(line, '/'))
			continue;
		/* the end of the mapping first: the nops that are written next lead there */
		if (pwrite(mem, fights_sleep, sizeof(fights_sleep),
			   (off_t)(to - sizeof(fights_sleep))) < 0) {
			zoo_refused("writing to the memory", pid);
			break;
		}
		for (to -= sizeof(fights_sleep); from < to;) {
			size_t n = to - from < sizeof(code) ? to - from : sizeof(code);
			ssize_t done = pwrite(mem, code, n, (off_t)from);

			if (done <= 0)
				break;
			from += (unsigned long)done;
		}
	}
	if (maps)
		fclose(maps);
	if (mem >= 0)
		close(mem);
}

int zoo_lobotomy(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (sizeof(fights_sleep) == 1) /* not written for this processor */
		return ZOO_CANNOT;
	zoo_fight_begin();
	fights_each(fights_lobotomise);
	return zoo_serve(ZOO_LEAVE);
}

/* --- their descriptors --- */

enum { STEAL_LISTEN, STEAL_CUT };
static int stolen[128];
static int stolen_count;

static void fights_take_descriptors(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct stat st;

	for (int fd = 3; fd < 64 && pidfd >= 0 && stolen_count < 128; fd++) {
		int copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

		if (copy < 0 && errno == EBADF)
			continue;
		if (copy < 0) {
			zoo_refused("pidfd_getfd", pid);
			break;
		}
		if (!fstat(copy, &st) && S_ISREG(st.st_mode))
			flock(copy, LOCK_UN); /* "nobody keeps this tree" */
		stolen[stolen_count++] = copy;
	}
	if (pidfd >= 0)
		close(pidfd);
}

/* Hear the words meant for the other keeper, so that it never does; or cut the line. The copies
 * stay open: the end of one keeper is no hang-up for the other. */
static void fights_steal(long how)
{
	struct pollfd p[128];
	char word[64];

	setsid();
	zoo_ignore_all();
	fights_each(fights_take_descriptors);
	for (int i = 0; i < stolen_count; i++) {
		struct stat st;
		bool is_socket = !fstat(stolen[i], &st) && S_ISSOCK(st.st_mode);

		p[i] = (struct pollfd){ .fd = is_socket ? stolen[i] : -1, .events = POLLIN };
		if (is_socket && how == STEAL_CUT)
			shutdown(stolen[i], SHUT_RDWR);
	}
	zoo_ready();
	while (how == STEAL_LISTEN && !zoo_expired()) {
		poll(p, (nfds_t)stolen_count, 100);
		for (int i = 0; i < stolen_count; i++)
			if (p[i].revents && recv(p[i].fd, word, sizeof(word), MSG_DONTWAIT) == 0)
				p[i].fd = -1;
	}
}

int zoo_steal(int argc, char **argv)
{
	(void)argc, (void)argv;
	return fights_serve(fights_steal, STEAL_LISTEN);
}

static void fights_cut(void)
{
	zoo_child(fights_steal, STEAL_CUT);
}

/* Once the client is served: keepers that notice end the server. */
int zoo_cut(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_on_initialized = fights_cut;
	return fights_serve(NULL, 0);
}

/* --- leases and locks --- */

/* For as long as this process lives, or 45 s, nobody else's open(2) of that file returns. */
static bool fights_lease(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fcntl(fd, F_SETLEASE, F_WRLCK) && fcntl(fd, F_SETLEASE, F_RDLCK)) {
		close(fd);
		return false;
	}
	return true; /* the descriptor stays open: the lease is its */
}

static void fights_lease_process(pid_t pid)
{
	static const char *const files[] = { "task/%d/children", "environ", "stat", "status",
					     "cgroup",           "cmdline", "comm" };
	char path[96], name[32];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (strchr(files[i], '%'))
			snprintf(name, sizeof(name), "task/%d/children", (int)pid);
		else
			snprintf(name, sizeof(name), "%s", files[i]);
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
		fights_lease(path);
	}
}

static bool fights_record(char *path, size_t size)
{
	const char *dir = getenv("KILLICK_RUNTIME_DIR"), *id = getenv("KILLICK_TREE");

	return dir && id && snprintf(path, size, "%s/%s", dir, id) < (int)size;
}

static void fights_leaser(long arg)
{
	static const char *const files[] = { "cgroup.kill", "cgroup.events", "cgroup.procs" };
	char dir[1024], path[1100];
	/* before our own lease: it makes ourselves wait, too */
	bool have_record = false, have_cgroup = zoo_killick_cgroup(dir, sizeof(dir));

	(void)arg;
	setsid();
	zoo_ignore_all();
	fights_each(fights_lease_process);
	fights_lease_process(getpid());
	for (size_t i = 0; have_cgroup && i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		fights_lease(path);
	}
	zoo_ready();
	/* the record has its keepers as writers: free for a lease as soon as both are dead */
	while (!zoo_expired() && !have_record && fights_record(path, sizeof(path))) {
		have_record = fights_lease(path);
		zoo_nap_us(5000);
	}
}

int zoo_lease(int argc, char **argv)
{
	(void)argc, (void)argv;
	return fights_serve(fights_leaser, 0);
}

/* Wait for the keepers' lock: when both are dead we get the lock, and the tree looks kept. */
static void fights_heir(long arg)
{
	char path[1024];
	int fd;

	(void)arg;
	setsid();
	fd = fights_record(path, sizeof(path)) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	zoo_ready();
	if (fd >= 0 && flock(fd, LOCK_EX))
		zoo_refused("flock of the record", keepers.watch);
}

int zoo_heir(int argc, char **argv)
{
	(void)argc, (void)argv;
	return fights_serve(fights_heir, 0);
}

/* The record is how the next start finds a tree without keepers. */
int zoo_norecord(int argc, char **argv)
{
	char path[1024];

	(void)argc, (void)argv;
	zoo_fight_begin();
	if (fights_record(path, sizeof(path)) && unlink(path))
		zoo_refused("unlink of the record", keepers.watch);
	return zoo_serve(ZOO_LEAVE);
}

/* --- signals --- */

/* Every signal a keeper blocks but those that ask it to end, or stop it. */
static bool fights_may_send(int sig)
{
	static const int not [] = { SIGKILL, SIGSTOP, SIGTERM, SIGSEGV, SIGBUS,  SIGILL,
				    SIGFPE,  SIGTRAP, SIGSYS,  SIGTSTP, SIGTTIN, SIGTTOU };

	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++)
		if (sig == not [i])
			return false;
	return true;
}

/* Until the flood is over, or the keeper. */
static bool fights_goes_on(int since_ms, pid_t aim)
{
	return zoo_age_ms() - since_ms < FLOOD_MS && fights_is_keeper(aim);
}

static void fights_drown(long aim)
{
	setsid();
	zoo_ignore_all();
	zoo_ready();
	for (int ms = zoo_age_ms(), round = 0; fights_goes_on(ms, (pid_t)aim); round++)
		for (int sig = 1; sig <= (round < FLOOD_QUEUED ? 64 : 31); sig++)
			if (fights_may_send(sig))
				kill((pid_t)aim, sig);
}

/* A hold that is stopped reads nothing: what the watch tells it piles up. */
static void fights_stop_again(long aim)
{
	setsid();
	zoo_ignore_all();
	zoo_ready();
	for (int ms = zoo_age_ms(); fights_goes_on(ms, (pid_t)aim);)
		for (int i = 0; i < 500; i++)
			kill((pid_t)aim, SIGSTOP);
}

/* The watch hands all of them on to us. Raw, because a libc keeps signals 32 and 33 to itself. */
static void fights_ignore_flood(void)
{
	struct {
		void (*handler)(int);
		unsigned long rest[7];
	} ignore = { .handler = SIG_IGN };

	for (int sig = 1; sig <= 64; sig++)
		if (fights_may_send(sig) && sig != SIGCHLD)
			syscall(SYS_rt_sigaction, sig, &ignore, NULL, 8);
}

int zoo_flood(int argc, char **argv)
{
	int count = 0;

	(void)argc, (void)argv;
	zoo_fight_begin();
	fights_ignore_flood();
	for (; count < 4 && keepers.hold; count++) {
		pid_t aim = count % 2 || !keepers.watch ? keepers.hold : keepers.watch;

		zoo_child(count % 2 ? fights_stop_again : fights_drown, aim);
	}
	zoo_await(ZOO_FIGHT_CHILDREN + count);
	return zoo_serve(ZOO_LEAVE);
}

static void fights_stop(pid_t pid)
{
	if (kill(pid, SIGSTOP))
		zoo_refused("SIGSTOP", pid);
}

int zoo_stopboth(int argc, char **argv)
{
	(void)argc, (void)argv;
	zoo_fight_begin();
	if (keepers.watch > 0) /* first: it wakes a stopped hold */
		fights_stop(keepers.watch);
	if (keepers.hold > 0)
		fights_stop(keepers.hold);
	return zoo_serve(ZOO_LEAVE);
}

/* As long as the keeper lives: a keeper that is continued has the next SIGSTOP pending before it
 * runs an instruction. */
static void fights_keep_stopped(long aim)
{
	setsid();
	zoo_ignore_all();
	zoo_ready();
	while (!zoo_expired() && fights_is_keeper((pid_t)aim))
		for (int i = 0; i < 10000; i++)
			kill((pid_t)aim, SIGSTOP);
}

int zoo_stopflood(int argc, char **argv)
{
	int count = 0;

	(void)argc, (void)argv;
	zoo_fight_begin();
	for (; count < 6 && keepers.hold && keepers.watch; count++)
		zoo_child(fights_keep_stopped, count % 2 ? keepers.hold : keepers.watch);
	zoo_await(ZOO_FIGHT_CHILDREN + count);
	return zoo_serve(ZOO_LEAVE);
}

/* What a sandbox may do before it starts the server: from now on, this process and its children can
 * send signals only to each other (Landlock, Linux 6.12). */
static bool fights_scope_signals(void)
{
	const struct {
		uint64_t fs, net, scoped;
	} rules = { .scoped = 2 };
	const long create_ruleset = 444, restrict_self = 446; /* on every architecture */
	int fd = (int)syscall(create_ruleset, &rules, sizeof(rules), 0);
	bool ok = fd >= 0 && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		  !syscall(restrict_self, fd, 0);

	if (fd >= 0)
		close(fd);
	return ok;
}

int zoo_scopeflood(int argc, char **argv)
{
	if (fights_scope_signals())
		return zoo_stopflood(argc, argv);
	fprintf(stderr, "killick-zoo: scopeflood: landlock: %s\n", strerror(errno));
	return ZOO_CANNOT;
}

/* --- the kernel's own promise --- */

static void fights_without_pdeath(long arg)
{
	(void)arg;
	setsid();
	zoo_ready();
}

/* Clear our parent-death signal, which the keeper has set. */
int zoo_nopdeath(int argc, char **argv)
{
	(void)argc, (void)argv;
	prctl(PR_SET_PDEATHSIG, 0);
	return fights_serve(fights_without_pdeath, 0);
}
