/* t.c - runs tests one by one, each in its own process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "t.h"

enum { T_PASSED = 0, T_FAILED = 1, T_SKIPPED = 77 };

struct audit t_audit = AUDIT_INIT;
uint64_t t_seed;

static struct t_test *first, **last = &first;
static char *skip_reason; /* shared with the test's process */
static int number, failed, skipped;
#define REASON_SIZE 200

void t_register(struct t_test *test)
{
	*last = test;
	last = &test->next;
}

static void vnote(const char *fmt, va_list ap)
{
	char line[1024] = "# ";
	int n = vsnprintf(line + 2, sizeof(line) - 3, fmt, ap);

	n = n < 0 ? 2 : n > (int)sizeof(line) - 4 ? (int)sizeof(line) - 2 : n + 2;
	for (int i = 2; i < n; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	line[n] = '\n';
	(void)!write(1, line, (size_t)n + 1);
}

void t_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vnote(fmt, ap);
	va_end(ap);
}

void t_fail(const char *file, int line, const char *fmt, ...)
{
	char text[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t_note("%s:%d: %s", file, line, text);
	_exit(T_FAILED);
}

void t_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (skip_reason)
		vsnprintf(skip_reason, REASON_SIZE, fmt, ap);
	va_end(ap);
	_exit(T_SKIPPED);
}

void t_eq(long long a, long long b, const char *sa, const char *sb, const char *file, int line)
{
	if (a != b)
		t_fail(file, line, "%s == %s: %lld is not %lld", sa, sb, a, b);
}

void t_streq(const char *a, const char *b, const char *sa, const char *sb, const char *file,
	     int line)
{
	if (a != b && (!a || !b || strcmp(a, b)))
		t_fail(file, line, "%s == %s: '%s' is not '%s'", sa, sb, a ? a : "(null)",
		       b ? b : "(null)");
}

double t_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int t_wait_fd(int fd, int events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = (short)events };
	double end = t_now_ms() + timeout_ms;
	int n;

	do {
		double left = end - t_now_ms();

		n = poll(&p, 1, left > 0 ? (int)left + 1 : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0 ? p.revents : 0;
}

int t_wait_child(pid_t pid, int timeout_ms)
{
	int status = -1, fd = (int)syscall(SYS_pidfd_open, pid, 0);
	double end = t_now_ms() + timeout_ms;
	pid_t r;

	if (fd >= 0)
		t_wait_fd(fd, POLLIN, timeout_ms);
	/* Ask again and again where there is no pidfd_open (valgrind, Linux before 5.3), and while
	 * the tracer of LeakSanitizer has the ended child: the kernel shows it to the tracer first.
	 */
	while ((r = waitpid(pid, &status, WNOHANG | __WALL)) == 0 && t_now_ms() < end)
		poll(NULL, 0, 5);
	if (fd >= 0)
		close(fd);
	return r == pid ? status : -1;
}

pid_t t_fork_as(pid_t pid)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
			set_tid, set_tid_size;
	} args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1 };
	long r = syscall(SYS_clone3, &args, sizeof(args));

	return r < 0 ? -errno : (pid_t)r;
}

pid_t t_spawn(char *const *argv, const int *stdio)
{
	int said[2], error = 0;
	pid_t pid;

	if (pipe2(said, O_CLOEXEC))
		FAIL("pipe2: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		for (int i = 0; stdio && i < 3; i++)
			if (stdio[i] >= 0 && dup2(stdio[i], i) < 0)
				_exit(126);
		execvp(argv[0], argv);
		error = errno;
		(void)!write(said[1], &error, sizeof(error));
		_exit(127);
	}
	close(said[1]);
	if (pid < 0 || read(said[0], &error, sizeof(error)) > 0)
		FAIL("cannot start '%s': %s", argv[0], strerror(pid < 0 ? errno : error));
	close(said[0]);
	return pid;
}

const char *t_program(const char *var, const char *otherwise)
{
	const char *path = getenv(var);

	return path && *path ? path : otherwise;
}

bool t_old_kernel(void)
{
	/* 424: pidfd_send_signal, on every machine */
	enum { FIRST_LATER_CALL = 424, P_PIDFD_ID = 3, PEER_PIDFD = 77 };
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_LATER_CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_waitid, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, P_PIDFD_ID, 0, 7),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_PIDFD, 4, 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PEER_PIDFD, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

uint64_t t_random(void)
{
	uint64_t z = (t_seed += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Which of the first 256 descriptors are open. */
static void open_fds(bool *out)
{
	for (int fd = 0; fd < 256; fd++)
		out[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void name_fd(int fd, char *out, size_t size)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
}

/* Of AddressSanitizer, and only there: print what was allocated and cannot be reached any more. A
 * test leaves by _exit, so the look that the sanitizer takes at exit() does not happen. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* The sanitizer ends the process when it cannot look: some tests take /proc or all descriptors
 * away. */
static bool has_leaks(void)
{
	int fd = __lsan_do_recoverable_leak_check ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
						  : -1;

	if (fd < 0)
		return false;
	close(fd);
	return __lsan_do_recoverable_leak_check() != 0;
}

/* What a test must not leave behind. */
static int left_behind(const bool *before)
{
	bool after[256];
	char text[400];
	siginfo_t si = { 0 };
	int bad = 0;

	open_fds(after);
	for (int fd = 0; fd < 256; fd++) {
		if (after[fd] && !before[fd]) {
			name_fd(fd, text, sizeof(text));
			t_note("descriptor %d (%s) was left open", fd, text);
			bad = 1;
		}
	}
	if (!waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL)) {
		t_note("a child was left: pid %d (0: a running one)", (int)si.si_pid);
		bad = 1;
	}
	if (audit_count(&t_audit) > 0) {
		audit_describe(&t_audit, text, sizeof(text));
		t_note("left alive: %s", text);
		bad = 1;
	}
	if (has_leaks()) {
		t_note("memory was left allocated, see the report of the sanitizer");
		bad = 1;
	}
	return bad;
}

static _Noreturn void be_the_test(const struct t_test *test)
{
	bool before[256];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the runner was killed: do not go on alone */
	open_fds(before);
	test->fn();
	_exit(left_behind(before) ? T_FAILED : T_PASSED);
}

/* One test: its exit status as a T_ value. What it left is killed here and makes it fail. */
static int run(const struct t_test *test)
{
	int timeout = test->timeout_ms ? test->timeout_ms : T_TIMEOUT_MS, status, left;
	pid_t pid;

	if (timeout >= 1000) /* a shorter one is what the test is about */
		timeout *= T_PATIENCE;

	if (audit_open(&t_audit)) {
		t_note("cannot set up the auditor: %s", strerror(errno));
		return T_FAILED;
	}
	*skip_reason = '\0';
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		be_the_test(test);
	close(t_audit.keep); /* so that among writers there are only the test and what it started */
	t_audit.keep = -1;
	status = t_wait_child(pid, timeout);
	if (status == -1) {
		t_note("not finished after %d ms; killed", timeout);
		kill(pid, SIGKILL);
		waitpid(pid, &status, __WALL);
		status = T_FAILED << 8;
	} else if (WIFSIGNALED(status)) {
		t_note("died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	} else if (WEXITSTATUS(status) != T_PASSED && WEXITSTATUS(status) != T_FAILED &&
		   WEXITSTATUS(status) != T_SKIPPED) {
		t_note("exited with status %d in the middle of it", WEXITSTATUS(status));
	}
	left = audit_scrub(&t_audit);
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		; /* orphans of the test that came to us */
	audit_close(&t_audit);
	if (WIFEXITED(status) && WEXITSTATUS(status) == T_SKIPPED)
		return T_SKIPPED; /* in the middle of it, so that something may be left */
	if (left > 0)
		t_note("%d processes were left and had to be killed", left);
	return !WIFEXITED(status) || left > 0 ? T_FAILED : WEXITSTATUS(status);
}

void t_result(bool ok, const char *name, const char *skip)
{
	char text[512];

	snprintf(text, sizeof(text), "%sok %d - %s%s%s\n", ok ? "" : "not ", ++number, name,
		 skip ? " # SKIP " : "", skip ? skip : "");
	(void)!write(1, text, strlen(text));
	failed += !ok;
	skipped += ok && skip;
}

int t_finish(void)
{
	char plan[32];

	snprintf(plan, sizeof(plan), "1..%d\n", number);
	(void)!write(1, plan, strlen(plan));
	t_note("%d passed, %d failed, %d skipped", number - failed - skipped, failed, skipped);
	return failed > 0;
}

static bool wanted(const char *name, int argc, char **argv, int from)
{
	if (from >= argc)
		return true;
	for (int i = from; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

/* --debug NAME: the test in this process, for a debugger. Nobody waits for it with a deadline, and
 * nobody kills what it leaves. */
static int debug(const char *name)
{
	for (struct t_test *test = first; test; test = test->next)
		if (!strcmp(test->name, name) && audit_open(&t_audit) == 0)
			be_the_test(test);
	t_note("no test of that name");
	return 64;
}

int t_main(int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "--list");
	int from = 1 + list;

	if (argc == 3 && !strcmp(argv[1], "--debug"))
		return debug(argv[2]);

	t_seed = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
	if (from + 1 < argc && !strcmp(argv[from], "--seed")) {
		t_seed = strtoull(argv[from + 1], NULL, 0);
		from += 2;
	}
	skip_reason =
		mmap(NULL, REASON_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!list)
		t_note("seed %llu", (unsigned long long)t_seed);
	for (struct t_test *test = first; test; test = test->next) {
		int result;

		if (!wanted(test->name, argc, argv, from))
			continue;
		if (list) {
			printf("%s\n", test->name);
			continue;
		}
		result = run(test);
		t_result(result == T_PASSED || result == T_SKIPPED, test->name,
			 result == T_SKIPPED ? skip_reason : NULL);
	}
	if (!list && number == 0)
		t_note("no test of that name");
	return list ? 0 : number == 0 ? 64 : t_finish();
}

/* Weak: programs that make their tests from a table have a main of their own. */
__attribute__((weak)) int main(int argc, char **argv)
{
	return t_main(argc, argv);
}
