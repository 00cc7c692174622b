/* t.c - the harness t.h for Windows: TAP, a process per test, and no handle may be left.
 *
 * There is no fork: the program starts itself again with `--run NAME`. The test's process is killed
 * at its deadline. When the test returns, it fails if the process has more handles than before, or
 * if a descriptor of ours is open or used by the kernel. (Wine 8 does not count handles.)
 */
#include "os/windows/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/time.h"
#include "t.h"

enum { T_PASSED = 0, T_FAILED = 1, T_SKIPPED = 77 };

uint64_t t_seed;

static struct t_test *first, **last = &first;
static int number, failed, skipped;

void t_register(struct t_test *test)
{
	*last = test;
	last = &test->next;
}

static void t_print(const char *prefix, const char *fmt, va_list ap)
{
	char text[800];

	vsnprintf(text, sizeof(text), fmt, ap);
	printf("# %s%s\n", prefix, text);
	fflush(stdout);
}

void t_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t_print("", fmt, ap);
	va_end(ap);
}

void t_fail(const char *file, int line, const char *fmt, ...)
{
	char where[300];
	va_list ap;

	snprintf(where, sizeof(where), "%s:%d: ", file, line);
	va_start(ap, fmt);
	t_print(where, fmt, ap);
	va_end(ap);
	ExitProcess(T_FAILED);
}

void t_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t_print("skipped: ", fmt, ap);
	va_end(ap);
	ExitProcess(T_SKIPPED);
}

void t_eq(long long a, long long b, const char *sa, const char *sb, const char *file, int line)
{
	if (a != b)
		t_fail(file, line, "%s == %s: %lld is not %lld", sa, sb, a, b);
}

void t_streq(const char *a, const char *b, const char *sa, const char *sb, const char *file,
	     int line)
{
	if (a != b && (!a || !b || strcmp(a, b) != 0))
		t_fail(file, line, "%s == %s: '%s' is not '%s'", sa, sb, a ? a : "(null)",
		       b ? b : "(null)");
}

double t_now_ms(void)
{
	return (double)time_now_us() / 1e3;
}

uint64_t t_random(void)
{
	uint64_t z = (t_seed += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static struct t_test *t_find(const char *name)
{
	struct t_test *test = first;

	while (test && strcmp(test->name, name) != 0)
		test = test->next;
	return test;
}

static int t_be_the_test(const char *name)
{
	struct t_test *test = t_find(name);
	DWORD before = 0, after = 0;

	if (!test)
		return 64;
	GetProcessHandleCount(GetCurrentProcess(), &before);
	test->fn();
	GetProcessHandleCount(GetCurrentProcess(), &after);
	if (after > before)
		t_note("%lu handles were left open", after - before);
	if (table_count())
		t_note("%u descriptors were left open", table_count());
	return after > before || table_count() ? T_FAILED : T_PASSED;
}

/* The exit code of this program with `--run NAME`. */
static DWORD t_run(const struct t_test *test)
{
	STARTUPINFOA with = { .cb = sizeof(with) };
	int timeout = test->timeout_ms ? test->timeout_ms : T_TIMEOUT_MS;
	char self[MAX_PATH], line[MAX_PATH + 200];
	PROCESS_INFORMATION started;
	DWORD code = T_FAILED;

	GetModuleFileNameA(NULL, self, sizeof(self));
	snprintf(line, sizeof(line), "\"%s\" --run %s %llu", self, test->name,
		 (unsigned long long)t_seed);
	if (!CreateProcessA(self, line, NULL, NULL, TRUE, 0, NULL, NULL, &with, &started)) {
		t_note("cannot start a process: error %lu", GetLastError());
		return T_FAILED;
	}
	if (WaitForSingleObject(started.hProcess, (DWORD)(timeout * T_PATIENCE)) != WAIT_OBJECT_0) {
		t_note("not finished after %d ms; killed", timeout * T_PATIENCE);
		TerminateProcess(started.hProcess, T_FAILED);
		WaitForSingleObject(started.hProcess, INFINITE);
	}
	GetExitCodeProcess(started.hProcess, &code);
	CloseHandle(started.hProcess);
	CloseHandle(started.hThread);
	if (code != T_PASSED && code != T_FAILED && code != T_SKIPPED)
		t_note("exited with code 0x%lx in the middle of it", code);
	return code;
}

static bool t_is_wanted(const struct t_test *test, int argc, char **argv)
{
	bool wanted = argc < 2;

	for (int i = 1; i < argc; i++)
		wanted = wanted || strcmp(argv[i], test->name) == 0;
	return wanted;
}

int main(int argc, char **argv)
{
	t_seed = (uint64_t)time(NULL) << 16 ^ GetCurrentProcessId();
	if (argc == 4 && strcmp(argv[1], "--run") == 0) {
		t_seed = strtoull(argv[3], NULL, 0);
		return t_be_the_test(argv[2]);
	}
	t_note("seed %llu", (unsigned long long)t_seed);
	for (const struct t_test *test = first; test; test = test->next) {
		DWORD code;

		if (!t_is_wanted(test, argc, argv))
			continue;
		code = t_run(test);
		failed += code != T_PASSED && code != T_SKIPPED;
		skipped += code == T_SKIPPED;
		printf("%sok %d - %s%s\n", code == T_PASSED || code == T_SKIPPED ? "" : "not ",
		       ++number, test->name, code == T_SKIPPED ? " # SKIP see above" : "");
		fflush(stdout);
	}
	printf("1..%d\n", number);
	t_note("%d passed, %d failed, %d skipped", number - failed - skipped, failed, skipped);
	return failed > 0 || number == 0;
}
