/* t.h - the test harness: TAP, a process per test, and no process or descriptor may be left.
 *
 * #include "t.h"
 * TEST(adds) { OK(buf_add(&b, "x", 1) == 0); EQ(b.len, 1); STREQ(b.text, "x"); }
 * TEST(slow, .timeout_ms = 60000) { ... if (!possible) SKIP("no cgroup here"); ... }
 *
 * Each test runs in a separate process, which is a subreaper and has t_audit open (audit.h):
 * programs it starts carry the tag. When the test returns, it fails if a descriptor was opened and
 * not closed, if a child is left (also an orphan of a child), if a process with the tag lives, or,
 * under AddressSanitizer, if memory was leaked. A failed check ends the test at once. A test that
 * times out is killed with every process it started. Tests do not sleep and hope: they wait for
 * events with t_wait_fd.
 *
 * Program: [--list] [--seed N] [NAME...], or --debug NAME: that test in this process and without a
 * deadline, for a debugger. Exit status 0 when no test failed. Link with t.c and audit.c; a program
 * with its own main may use all functions, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit.h"

#define T_TIMEOUT_MS 10000

/* Programs are slow under a sanitizer and in an emulated machine (-DT_PATIENCE=N): deadlines that
 * only a broken program reaches are multiplied by this. */
#ifdef T_PATIENCE
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define T_PATIENCE 4
#else
#define T_PATIENCE 1
#endif

struct t_test {
	const char *name;
	void (*fn)(void);
	int timeout_ms; /* 0: T_TIMEOUT_MS */
	struct t_test *next;
};

#define TEST(name_, ...)                                                                           \
	static void name_(void);                                                                   \
	static struct t_test t_test_##name_ = { .name = #name_, .fn = name_, ##__VA_ARGS__ };      \
	__attribute__((constructor)) static void t_register_##name_(void)                          \
	{                                                                                          \
		t_register(&t_test_##name_);                                                       \
	}                                                                                          \
	static void name_(void)

#define OK(cond_)                                                                                  \
	do {                                                                                       \
		if (!(cond_))                                                                      \
			t_fail(__FILE__, __LINE__, "%s", #cond_);                                  \
	} while (0)
#define EQ(a_, b_)    t_eq((long long)(a_), (long long)(b_), #a_, #b_, __FILE__, __LINE__)
#define STREQ(a_, b_) t_streq(a_, b_, #a_, #b_, __FILE__, __LINE__)
#define FAIL(...)     t_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...)     t_skip(__VA_ARGS__)

extern struct audit t_audit; /* of the running test */

void t_register(struct t_test *test);
_Noreturn void t_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void t_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void t_eq(long long a, long long b, const char *sa, const char *sb, const char *file, int line);
void t_streq(const char *a, const char *b, const char *sa, const char *sb, const char *file,
	     int line);
/* A diagnostic line, in one write. */
void t_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

double t_now_ms(void); /* CLOCK_MONOTONIC */
/* Wait for poll events (POLLIN, ...) on fd. Returns the events, 0 at the deadline. */
int t_wait_fd(int fd, int events, int timeout_ms);
/* Wait for the end of a child and reap it. Returns its wait status, or -1 at the deadline (the
 * child is not killed). */
int t_wait_child(pid_t pid, int timeout_ms);
/* fork(), but the child has this pid, which no process has now. Returns 0 in the child, the pid in
 * the parent, or -errno: it needs root. It leaves the pids of all other processes alone, which a
 * write to ns_last_pid would not: tests that run beside this test would get pids again at once. */
pid_t t_fork_as(pid_t pid);
/* Start a program with the environment of this process. stdio: three descriptors, -1: that of this
 * process. Returns the pid; fails the test when the program cannot be executed. */
pid_t t_spawn(char *const *argv, const int *stdio);
/* The program under test: the value of environment variable `var`, or `otherwise`. */
const char *t_program(const char *var, const char *otherwise);
/* From here on this process and its children have the system calls of Linux 4.18: later calls are
 * unknown (ENOSYS), and so are waitid with a pidfd (EINVAL) and SO_PEERPIDFD (ENOPROTOOPT). clone
 * with CLONE_PIDFD is refused (EINVAL), which 4.18 would ignore: a filter cannot. False: no seccomp
 * filters here. */
bool t_old_kernel(void);

extern uint64_t t_seed;
uint64_t t_random(void); /* splitmix64 from t_seed */
/* For programs with their own main: run the registered tests that argv selects. Returns the exit
 * status. */
int t_main(int argc, char **argv);
/* For programs with their own main: print one TAP result line. skip: NULL, or the reason. */
void t_result(bool ok, const char *name, const char *skip);
int t_finish(void); /* prints the plan and the counts; returns the exit status */
