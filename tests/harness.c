/* harness.c - does the harness see what it is there to see? Tests that must fail, and a main that
 * expects it.
 *
 * Without arguments: run each test below in a harness of its own and compare. With arguments: be
 * that harness.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

TEST(passes)
{
	OK(true);
	EQ(1 + 1, 2);
	STREQ("a", "a");
}

TEST(fails_a_check)
{
	EQ(1 + 1, 3);
}

TEST(leaks_a_descriptor)
{
	OK(open("/dev/null", O_RDONLY) >= 0);
}

/* The harness asks AddressSanitizer, where that is linked in and looks for leaks. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static bool sees_leaks(void)
{
	const char *options = getenv("ASAN_OPTIONS");

	return __lsan_do_recoverable_leak_check && !(options && strstr(options, "detect_leaks=0"));
}

TEST(leaks_memory)
{
	void *volatile forgotten;

	if (!sees_leaks())
		SKIP("no AddressSanitizer");
	forgotten = malloc(100);
	OK(forgotten != NULL);
	forgotten = NULL;
}

TEST(leaks_a_child)
{
	if (fork() == 0)
		pause();
}

TEST(leaks_a_zombie)
{
	if (fork() == 0)
		_exit(0);
}

TEST(leaks_an_orphan)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0)
			pause();
		_exit(0);
	}
	EQ(t_wait_child(pid, 2000), 0);
}

static pid_t zoo(const char *mode)
{
	char *const argv[] = { (char *)t_program("ZOO", "build/tests/zoo/killick-zoo"),
			       (char *)mode, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), stdio[3] = { null, null, -1 };
	pid_t pid = t_spawn(argv, stdio);

	close(null);
	return pid;
}

TEST(leaks_a_daemon)
{
	EQ(t_wait_child(zoo("exitleft"), 2000), 0);
	EQ(audit_count(&t_audit), 1);
}

TEST(leaks_what_has_no_environment)
{
	EQ(t_wait_child(zoo("execloop"), 2000), 0);
	EQ(audit_count(&t_audit), 1);
}

TEST(leaks_what_has_no_main_thread)
{
	EQ(t_wait_child(zoo("deadlead"), 2000), 0);
	EQ(audit_count(&t_audit), 1);
}

/* Whoever opens a file with a lease on it waits for the holder, up to 45 s. */
static bool lease(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

static int hold_leases(void)
{
	sigaction(SIGIO, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	if (!lease("/proc/self/environ") || !lease("/proc/self/stat") || write(1, "held\n", 5) != 5)
		return 1;
	for (;;)
		pause();
}

TEST(leaks_what_has_leases_on_its_files, .timeout_ms = 5000)
{
	char *const argv[] = { (char *)"/proc/self/exe", (char *)"--hold-leases", NULL };
	int out[2], stdio[3] = { -1, -1, -1 };
	char said[5];

	EQ(pipe2(out, O_CLOEXEC), 0);
	stdio[1] = out[1];
	t_spawn(argv, stdio);
	EQ(read(out[0], said, sizeof(said)), sizeof(said));
	EQ(audit_count(&t_audit), 1);
	close(out[0]);
	close(out[1]);
}

TEST(hangs, .timeout_ms = 200)
{
	zoo("ignore");
	for (;;)
		pause();
}

TEST(crashes)
{
	abort();
}

TEST(skips)
{
	SKIP("no %s here", "cheese");
}

TEST(skips_in_the_middle)
{
	zoo("ignore");
	SKIP("no %s either", "wine");
}

TEST(exits_without_a_result)
{
	_exit(3);
}

/* What must have come out: the exit status, and a line that holds this text. */
static const struct {
	const char *name;
	int status;
	const char *says;
} expected[] = {
	{ "passes", 0, "ok 1 - passes" },
	{ "fails_a_check", 1, "1 + 1 == 3: 2 is not 3" },
	{ "leaks_a_descriptor", 1, "(/dev/null) was left open" },
	{ "leaks_memory", 1, "memory was left allocated" },
	{ "leaks_a_child", 1, "a child was left" },
	{ "leaks_a_zombie", 1, "a child was left" },
	{ "leaks_an_orphan", 1, "a child was left" },
	{ "leaks_a_daemon", 1, "left alive: " },
	{ "leaks_what_has_no_environment", 1, "left alive: " },
	{ "leaks_what_has_no_main_thread", 1, "left alive: " },
	{ "leaks_what_has_leases_on_its_files", 1, "left alive: " },
	{ "hangs", 1, "not finished after 200 ms" },
	{ "crashes", 1, "died of signal 6" },
	{ "skips", 0, "ok 1 - skips # SKIP no cheese here" },
	{ "skips_in_the_middle", 0, "ok 1 - skips_in_the_middle # SKIP no wine either" },
	{ "exits_without_a_result", 1, "exited with status 3" },
	{ "no_such_test", 64, "no test of that name" },
};

static bool as_expected(const char *name, int status, const char *says)
{
	char *const argv[] = { (char *)"/proc/self/exe", (char *)name, NULL };
	int out[2], stdio[3] = { -1, -1, -1 }, got;
	char text[4096];
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return false;
	stdio[1] = out[1];
	pid = t_spawn(argv, stdio);
	close(out[1]);
	while (used < sizeof(text) - 1 &&
	       (n = read(out[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(out[0]);
	got = t_wait_child(pid, 5000);
	if (WIFEXITED(got) && WEXITSTATUS(got) == status && strstr(text, says))
		return true;
	t_note("wait status %#x, wanted exit %d and '%s'; it said: %s", got, status, says, text);
	return false;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--hold-leases"))
		return hold_leases();
	if (argc > 1)
		return t_main(argc, argv);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		if (strcmp(expected[i].name, "leaks_memory") == 0 && !sees_leaks())
			continue;
		t_result(as_expected(expected[i].name, expected[i].status, expected[i].says),
			 expected[i].name, NULL);
	}
	return t_finish();
}
