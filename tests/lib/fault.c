/* fault.c - every allocation and every system call of open, call, refresh and close fails in turn.
 *
 *	fault [--all] [NAME...]
 *
 * The scenario runs in a process of its own that has faulty.c preloaded: once to count, then with
 *the n-th call failing, for some n or, with --all, for every one; each n alone, and from there on.
 *What must come of it: an error or an abort, no hang, no descriptor and no process left.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faulty.h"
#include "lab.h"

#define POINTS  6     /* of each kind in each scenario, without --all */
#define HANG_MS 30000 /* an answer that is lost is waited for; nothing here waits for longer */

enum { LEAKED = 3 };

static bool all;

/* --- the scenario, with faults --- */

static enum faulty_kind kind;
static long at;
static bool ever;

static const char *faulty_part;
static long counted;

/* A part begins, and with it the one before is over. */
static void begin(const char *part)
{
	long n = faulty_disarm();

	if (!strcmp(part, faulty_part))
		faulty_arm(kind, at, ever);
	else if (n > 0)
		counted = n;
}

static void call_all(struct killick_session *s)
{
	const struct killick_request requests[] = {
		KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = "a"),
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "a", .name = "echo",
				.args = "{\"text\":\"x\"}"),
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "b", .name = "progress"),
		KILLICK_REQUEST(.op = KILLICK_PING, .server = "b"),
	};
	struct killick_call *c = NULL;
	struct killick_request block =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "a", .name = "block");

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		struct killick_request rq = requests[i];
		struct killick_result *r = NULL;

		rq.timeout_ms = 2000;
		killick_do(s, &rq, &r);
		killick_result_free(r);
	}
	if (killick_start(s, &block, &c, NULL) == 0 && c) {
		killick_cancel(c);
		killick_wait(c, NULL);
		killick_call_free(c);
	}
}

static int scenario(void)
{
	struct killick_options options =
		KILLICK_OPTIONS(.keeper = t_program("KILLICK", "build/killick"));
	char *config = lab_config(SERVERS({ "a", .more = "\"startupTimeoutSec\":3" },
					  { "b", .more = "\"startupTimeoutSec\":3" }));
	char *other = lab_config(SERVERS({ "a", "dual", .more = "\"startupTimeoutSec\":3" },
					 { "b", .more = "\"startupTimeoutSec\":3" }));
	struct killick_session_options so =
		KILLICK_SESSION_OPTIONS(.config = config, .grace_ms = 200);
	struct killick_session *s = NULL;
	struct killick_error e = { 0 };
	struct killick *k = NULL;
	int fds = lab_fds();

	begin("open");
	if (killick_open(&options, &k, &e) == 0)
		killick_session_open(k, &so, &s, &e);
	begin("call");
	if (s)
		call_all(s);
	begin("refresh");
	if (s)
		killick_session_refresh(s, other, NULL, NULL, &e);
	begin("end");
	if (s)
		killick_session_close(s, NULL, NULL);
	killick_session_free(s);
	killick_free(k);
	begin("");
	free(config);
	free(other);
	printf("%ld\n", counted); /* for who counts */
	fflush(stdout);
	return lab_fds() == fds ? 0 : LEAKED;
}

static int scenario_main(char **argv)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	unsetenv("LD_PRELOAD");
	setenv("ZOO_LIFE_MS", "120000", 1);
	faulty_part = argv[0];
	kind = (enum faulty_kind)atoi(argv[1]);
	at = atol(argv[2]);
	ever = atoi(argv[3]);
	return scenario();
}

/* --- around it --- */

static const char *const kind_names[] = { "memory", "descriptor", "process",  "write",
					  "read",   "short",      "interrupt" };

/* Run it; the count of calls it saw, or -1. */
static long run(const char *part, enum faulty_kind which, long n, bool for_ever)
{
	char self[4096], kind_text[8], at_text[24], line[32] = "";
	char *argv[] = { self,    (char *)"--scenario",           (char *)part, kind_text,
			 at_text, (char *)(for_ever ? "1" : "0"), NULL };
	int out[2], status;
	pid_t pid;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	OK(len > 0 && pipe(out) == 0);
	self[len] = '\0';
	snprintf(kind_text, sizeof(kind_text), "%d", (int)which);
	snprintf(at_text, sizeof(at_text), "%ld", n);
	setenv("LD_PRELOAD", t_program("FAULTY", "build/tests/lib/libfaulty.so"), 1);
	pid = t_spawn(argv, (int[]){ -1, out[1], -1 });
	unsetenv("LD_PRELOAD");
	close(out[1]);
	status = t_wait_child(pid, HANG_MS);
	if (status == -1)
		FAIL("%s %ld%s in part %s: it hangs (pid %d)", kind_names[which], n,
		     for_ever ? " and on" : "", part, (int)pid);
	(void)!read(out[0], line, sizeof(line) - 1);
	close(out[0]);
	if (WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WTERMSIG(status) != SIGABRT)
		FAIL("%s %ld%s in part %s: %s %d", kind_names[which], n, for_ever ? " and on" : "",
		     part, WIFEXITED(status) ? "exit" : "signal",
		     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return WIFEXITED(status) ? atol(line) : -1;
}

static void expect_nobody(enum faulty_kind which, long n)
{
	double end = t_now_ms() + LAB_MS;
	char text[400];

	while (audit_count(&t_audit) > 0) {
		if (t_now_ms() > end) {
			audit_describe(&t_audit, text, sizeof(text));
			FAIL("%s %ld: %s", kind_names[which], n, text);
		}
		t_wait_fd(-1, 0, 5);
	}
	lab_reap();
}

static void fail_in_turn(const char *part, enum faulty_kind which)
{
	long count = run(part, which, 0, false), step;

	OK(count >= 0);
	lab_reap();
	step = all ? 1 : count / POINTS + 1;
	for (long n = 1; n <= count; n += step) {
		run(part, which, n, false);
		expect_nobody(which, n);
		if (which == FAULTY_INTERRUPT)
			continue; /* a call that is interrupted for ever is nothing that exists */
		run(part, which, n, true);
		expect_nobody(which, n);
	}
	t_note("%ld calls, every %ld.", count, step);
}

#define FAULTS(part_, name_, kind_)                                                                \
	TEST(part_##_##name_, .timeout_ms = 3600000)                                               \
	{                                                                                          \
		fail_in_turn(#part_, kind_);                                                       \
	}
#define ALL_FAULTS(part_)                                                                          \
	FAULTS(part_, memory, FAULTY_MEMORY)                                                       \
	FAULTS(part_, descriptor, FAULTY_DESCRIPTOR)                                               \
	FAULTS(part_, process, FAULTY_PROCESS)                                                     \
	FAULTS(part_, write, FAULTY_WRITE)                                                         \
	FAULTS(part_, read, FAULTY_READ)                                                           \
	FAULTS(part_, short, FAULTY_SHORT)                                                         \
	FAULTS(part_, interrupt, FAULTY_INTERRUPT)

ALL_FAULTS(open)
ALL_FAULTS(call)
ALL_FAULTS(refresh)
ALL_FAULTS(end)

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "--scenario")) {
		if (!faulty_arm)
			return 64;
		return scenario_main(argv + 2);
	}
	all = argc > 1 && !strcmp(argv[1], "--all");
	argv[all] = argv[0];
	return t_main(argc - all, argv + all);
}
