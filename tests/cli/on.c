/* on.c - `killick run --on` and `killick ps --on`: a server elsewhere, as a user has it.
 *
 * The executor is on this machine, so the auditor sees it; all that leads there is its socket.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/outpost.h"
#include "shell.h"

static struct outpost far;
static char way[120], gate_way[120];

static void begin_far(const char *lease)
{
	begin();
	outpost_open(&far, lease);
	snprintf(way, sizeof(way), "unix:%s", far.socket);
	snprintf(gate_way, sizeof(gate_way), "unix:%s", far.gate_socket);
}

/* Nothing of any server is left, and the executor leaves with nothing. */
static void end_far(void)
{
	outpost_await_nobody();
	outpost_close(&far);
	nothing_left();
}

/* Start `killick run --on WHERE --cwd / WORDS...`; in: its stdin. */
static struct child run_on(const char *where, int in, const char *first, ...)
{
	char *argv[24] = { (char *)killick(), (char *)"run", (char *)"--on", (char *)where,
			   (char *)"--cwd",   (char *)"/",   (char *)first };
	va_list ap;
	int n = 7;

	va_start(ap, first);
	while (n < 23 && (argv[n] = va_arg(ap, char *)))
		n++;
	va_end(ap);
	argv[n] = NULL;
	return start(argv, in);
}

#define RUN_ON(want_, in_, ...)                                                                    \
	do {                                                                                       \
		struct child c_ = run_on(way, in_, __VA_ARGS__, NULL);                             \
		int status_ = finish(&c_);                                                         \
		if (status_ != (want_))                                                            \
			FAIL("exit status %d: %s%s", status_, out, err);                           \
	} while (0)

/* Run a line of shell, in which $K is killick and $ON the executor. */
static int shell(const char *line)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };
	struct child c;

	setenv("K", killick(), 1);
	setenv("ON", way, 1);
	c = start(argv, -1);
	return finish(&c);
}

static int null_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* --- what it is like --- */

TEST(run_on_exits_with_the_status_of_the_server, .timeout_ms = TEST_MS)
{
	int null = null_fd();

	begin_far(NULL);
	RUN_ON(0, null, "--", "true");
	RUN_ON(7, null, "--", "sh", "-c", "echo out; echo err >&2; exit 7");
	STREQ(out, "out\n");
	STREQ(err, "err\n");
	RUN_ON(128 + SIGSEGV, null, "--", "sh", "-c", "kill -SEGV $$");
	RUN_ON(127, null, "--", "/no/such/program");
	SAYS("/no/such/program");
	RUN_ON(127, null, "--", "no-such-program");
	RUN_ON(126, null, "--", "/etc/passwd");
	RUN_ON(126, null, "--cwd", "/no/such/place", "--", "true");
	SAYS("/no/such/place");
	close(null);
	end_far();
}

TEST(bytes_are_the_same_on_both_sides, .timeout_ms = TEST_MS)
{
	begin_far(NULL);
	EQ(shell("head -c 9000001 /dev/urandom > in && "
		 "$K run --on $ON --cwd / -- cat < in > back && cmp in back && "
		 "cat in | $K run --on $ON --cwd / -- sha256sum > sum1 && sha256sum < in > sum2 && "
		 "cmp sum1 sum2 && "
		 "$K run --on $ON --cwd / -- sh -c 'cat >&2' < in 2> back && cmp in back"),
	   0);
	STREQ(err, "");
	end_far();
}

TEST(a_failed_write_to_stdout_is_reported, .timeout_ms = TEST_MS)
{
	begin_far(NULL);
	EQ(shell("$K run --on $ON --cwd / -- echo x < /dev/null > /dev/full"), 75);
	SAYS("cannot write to stdout: No space left on device");
	end_far();
}

TEST(end_of_input_waits_for_the_start_of_the_server, .timeout_ms = TEST_MS)
{
	begin_far(NULL);
	EQ(shell("for i in 1 2 3 4 5 6 7 8; do echo $i | $K run --on $ON --cwd / -- cat; done"), 0);
	STREQ(out, "1\n2\n3\n4\n5\n6\n7\n8\n");
	EQ(shell("$K run --on $ON --cwd / -- cat < /dev/null; echo done"), 0);
	STREQ(out, "done\n");
	end_far();
}

TEST(only_named_variables_are_sent, .timeout_ms = TEST_MS)
{
	int null = null_fd();

	begin_far(NULL);
	setenv("MINE", "here", 1);
	setenv("SECRET", "here", 1);
	RUN_ON(0, null, "--env", "SAID=a=b", "--env=MINE", "--", "env");
	PRINTS("SAID=a=b\n");
	PRINTS("MINE=here\n");
	OK(!strstr(out, "SECRET"));
	RUN_ON(0, null, "--", "pwd");
	STREQ(out, "/\n");
	RUN_ON(64, null, "--env", "NOT_SET_HERE", "--", "env");
	close(null);
	end_far();
}

/* Without --cwd it is the directory of this name. */
TEST(the_default_directory_has_the_same_path, .timeout_ms = TEST_MS)
{
	char here[200];

	begin_far(NULL);
	snprintf(here, sizeof(here), "%s\n", t_audit.dir);
	EQ(shell("$K run --on $ON -- pwd < /dev/null"), 0);
	STREQ(out, here);
	/* one that has no name is not taken for another */
	EQ(shell("mkdir gone; cd gone; rmdir ../gone; $K run --on $ON -- pwd < /dev/null"), 69);
	SAYS("--cwd DIR");
	EQ(shell("$K run --on $ON --cwd /no/such -- pwd < /dev/null"), 126);
	SAYS("'/no/such'");
	end_far();
}

TEST(a_directory_may_be_a_file_url_or_a_path_of_windows, .timeout_ms = TEST_MS)
{
	char here[200];

	begin_far(NULL);
	snprintf(here, sizeof(here), "%s/50%% \xc3\xa4#?\n", t_audit.dir);
	EQ(shell("mkdir '50% \xc3\xa4#?'; $K run --on $ON --cwd "
		 "\"file://$PWD/50%25%20%c3%a4%23%3f\" "
		 "-- pwd </dev/null"),
	   0);
	STREQ(out, here);
	/* no directory of this executor, but not refused before the executor has seen it */
	EQ(shell("$K run --on $ON --cwd 'C:\\no\\such' -- pwd </dev/null"), 126);
	SAYS("'/C:/no/such'");
	EQ(shell("$K run --on $ON --cwd '\\\\server\\share' -- pwd </dev/null"), 69);
	SAYS("cwd: not a file: URI");
	end_far();
}

TEST(the_report_is_that_of_the_remote_keeper, .timeout_ms = TEST_MS)
{
	int p[2];

	begin_far(NULL);
	OK(pipe2(p, O_CLOEXEC) == 0);
	RUN_ON(3, p[0], "--report", "report", "--name", "reported", "--", "sh", "-c", "exit 3");
	OK(file_has("report", "\"proof\":[\"waitid\""));
	OK(file_has("report", "\"reported\""));
	close(p[0]);
	close(p[1]);
	end_far();
}

static long rss_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* Nobody reads: the server is to wait, and not our memory to grow. */
TEST(a_slow_reader_blocks_the_server, .timeout_ms = TEST_MS)
{
	enum { MANY = 96 << 20 };
	int null = null_fd();
	struct child c;
	static char bytes[1 << 16];
	size_t got = 0;
	long before, after = 0;
	ssize_t n;

	begin_far(NULL);
	c = run_on(way, null, "--", "sh", "-c", "echo up; head -c 100663296 /dev/zero", NULL);
	OK(t_wait_fd(c.out, POLLIN, RUN_MS));
	before = rss_kib(c.pid);
	for (int i = 0; i < 40; i++) { /* until what is on its way has come to a stop */
		poll(NULL, 0, 25);
		after = rss_kib(c.pid);
	}
	if (after - before > 32 << 10)
		FAIL("%ld KiB grew to %ld KiB", before, after);
	while ((n = read(c.out, bytes, sizeof(bytes))) > 0)
		got += (size_t)n;
	EQ(got, MANY + 3);
	close(c.out);
	c.out = -1;
	EQ(finish(&c), 0);
	close(null);
	end_far();
}

/* --- how it ends --- */

/* A server that ignores everything, with children; it runs when this returns. */
static struct child start_stubborn(int in)
{
	size_t count = started();
	struct child c = run_on(way, in, "--grace", "100ms", "--env", "ZOO_AUDIT", "--env",
				"ZOO_FIFO", "--env", "ZOO_PIDS", "--env", "ZOO_LIFE_MS", "--",
				zoo(), "mcp", "stays", NULL);
	double until = t_now_ms() + RUN_MS;

	while (started() == count) {
		OK(t_now_ms() < until);
		t_wait_fd(c.err, POLLIN, 10);
	}
	return c;
}

TEST(a_hang_up_of_stdin_ends_the_server, .timeout_ms = TEST_MS)
{
	int p[2];
	struct child c;

	begin_far(NULL);
	OK(pipe2(p, O_CLOEXEC) == 0);
	c = start_stubborn(p[0]);
	close(p[0]);
	close(p[1]);
	EQ(finish(&c), 128 + SIGKILL);
	EQ(lab_living(), 0); /* before we had left */
	end_far();
}

TEST(signals_end_the_server, .timeout_ms = TEST_MS)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	begin_far(NULL);
	for (size_t i = 0; i < 3; i++) {
		int p[2];
		struct child c;

		OK(pipe2(p, O_CLOEXEC) == 0);
		c = start_stubborn(p[0]);
		OK(kill(c.pid, signals[i]) == 0);
		EQ(finish(&c), 128 + SIGKILL);
		EQ(lab_living(), 0);
		close(p[0]);
		close(p[1]);
	}
	end_far();
}

/* There is nobody yet who could be ended. */
TEST(a_signal_ends_run_on_before_it_is_connected, .timeout_ms = TEST_MS)
{
	begin();
	write_file("slow.json", "{\"environments\": {\"slow\": {\"program\": [\"/bin/sh\", \"-c\", "
				"\"echo > up; cat > /dev/null\"]}}, \"mcpServers\": {}}");
	EQ(shell("$K run --config slow.json --on slow --cwd / -- true < /dev/null & p=$!;"
		 "until [ -e up ]; do sleep 0.05; done; kill -TERM $p; wait $p"),
	   128 + SIGTERM);
	STREQ(err, "");
	nothing_left();
}

TEST(the_end_of_the_owner_ends_the_server, .timeout_ms = TEST_MS)
{
	int p[2];
	pid_t owner;

	begin_far(NULL);
	OK(pipe2(p, O_CLOEXEC) == 0);
	owner = fork();
	if (owner == 0) { /* it starts the program and is killed */
		start_stubborn(p[0]);
		raise(SIGKILL);
	}
	OK(owner > 0 && t_wait_child(owner, RUN_MS) != -1);
	outpost_await_nobody(); /* with a stdin that is open */
	close(p[0]);
	close(p[1]);
	end_far();
}

TEST(the_lease_ends_the_server_when_killick_is_killed, .timeout_ms = TEST_MS)
{
	int p[2];
	struct child c;

	begin_far("1s");
	OK(pipe2(p, O_CLOEXEC) == 0);
	c = start_stubborn(p[0]);
	OK(kill(c.pid, SIGKILL) == 0);
	EQ(finish(&c), 128 + SIGKILL);
	close(p[0]);
	close(p[1]);
	end_far();
}

/* Also of one that has no stdin, which is as good a server as any. */
TEST(background_jobs_end_with_the_server, .timeout_ms = TEST_MS)
{
	static const char mess[] = "setsid sleep 1000 > /dev/null 2>&1 & exit 5";
	int null = null_fd(), p[2], before;

	begin_far(NULL);
	OK(pipe2(p, O_CLOEXEC) == 0);
	before = audit_count(&t_audit);
	for (int i = 0; i < 2; i++) {
		RUN_ON(5, i ? p[0] : null, "--env", "ZOO_AUDIT", "--report", "report", "--", "sh",
		       "-c", mess);
		EQ(audit_count(&t_audit), before);
		OK(file_has("report", "\"proof\":[\"waitid\""));
		OK(unlink("report") == 0);
	}
	close(null);
	close(p[0]);
	close(p[1]);
	end_far();
}

TEST(the_server_ends_when_the_reader_of_stdout_is_gone, .timeout_ms = TEST_MS)
{
	begin_far(NULL);
	EQ(shell("mkfifo hold; exec 3<>hold; $K run --on $ON --cwd / -- yes <&3 | head -1"), 0);
	STREQ(out, "y\n");
	end_far();
}

/* --- the way is cut --- */

/* Read lines that count up from *next; false: EOF. */
static bool check_lines(int fd, long *next)
{
	static char bytes[1 << 16];
	static size_t held;
	ssize_t n = read(fd, bytes + held, sizeof(bytes) - held);
	char *line = bytes, *end;

	if (n <= 0)
		return false;
	held += (size_t)n;
	while ((end = memchr(line, '\n', held - (size_t)(line - bytes)))) {
		*end = '\0';
		if (atol(line) != *next)
			FAIL("'%s' where %ld should be", line, *next);
		++*next;
		line = end + 1;
	}
	held -= (size_t)(line - bytes);
	memmove(bytes, line, held);
	return true;
}

TEST(no_byte_is_lost_or_doubled_when_the_connection_is_cut, .timeout_ms = 2 * TEST_MS)
{
	enum { LINES = 400000 };
	char *argv[] = { (char *)"sh", (char *)"-c",
			 (char *)"seq 1 400000 | $K run --on $ON --cwd / -- cat", NULL };
	struct gate g;
	struct child c;
	long next = 1, cut_at = LINES / 8;

	begin_far(NULL);
	gate_open(&g, &far);
	setenv("K", killick(), 1);
	setenv("ON", gate_way, 1);
	c = start(argv, -1);
	while (check_lines(c.out, &next)) {
		if (next < cut_at)
			continue;
		gate_set(&g, GATE_SHUT);
		poll(NULL, 0, 150);
		gate_set(&g, GATE_OPEN);
		cut_at += LINES / 8;
	}
	EQ(next, LINES + 1);
	close(c.out);
	c.out = -1;
	EQ(finish(&c), 0);
	SAYS("killick: run: the connection to ");
	gate_close(&g);
	end_far();
}

TEST(a_connection_lost_beyond_the_lease_is_reported, .timeout_ms = 2 * TEST_MS)
{
	struct gate g;
	struct child c;
	int p[2];

	begin_far("1s");
	gate_open(&g, &far);
	OK(pipe2(p, O_CLOEXEC) == 0);
	c = run_on(gate_way, p[0], "--", "sh", "-c", "echo up; exec sleep 1000", NULL);
	listen_for(&c, "up");
	gate_set(&g, GATE_SHUT);
	listen_for(&c, "waiting for a new connection");
	poll(NULL, 0, 1500);
	gate_set(&g, GATE_OPEN);
	EQ(finish(&c), 69);
	SAYS("could not be resumed");
	close(p[0]);
	close(p[1]);
	gate_close(&g);
	end_far();
}

/* --- what is refused --- */

TEST(an_environment_is_found_by_its_name, .timeout_ms = TEST_MS)
{
	char text[600];

	begin_far(NULL);
	snprintf(text, sizeof(text),
		 "{\"environments\": {\"far\": {\"url\": \"%s\"}, \"dull\": {}, \"stdio\": "
		 "{\"program\": [\"%s\", \"exec-server\", \"--listen\", \"stdio\", \"--quiet\"]}},"
		 "\"mcpServers\": {}}",
		 way, killick());
	write_file("other.json", text);
	EQ(shell("$K run --on far -- true"), 64);
	SAYS("no config was found");
	EQ(shell("$K run --on far --config other.json --cwd / -- echo there < /dev/null"), 0);
	STREQ(out, "there\n");
	EQ(shell("$K run --on stdio --config other.json --cwd / -- echo by program < /dev/null"),
	   0);
	STREQ(out, "by program\n");
	EQ(shell("KILLICK_CONFIG=other.json $K run --on near --cwd / -- true"), 65);
	SAYS("defines no environment 'near'; it defines 'far', 'dull', 'stdio'");
	EQ(shell("$K run --on dull --config other.json -- true"), 65);
	SAYS("environment 'dull' cannot be used: 'url', 'ssh' and 'program' are missing");
	write_file("mcp.json", "{");
	EQ(shell("$K run --on far -- true"), 65);
	SAYS("mcp.json:1:");
	end_far();
}

TEST(wrong_command_lines_are_refused, .timeout_ms = TEST_MS)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "$K run --on local -- true", "'local' is this machine" },
		{ "$K run --on -- true", "option '--on' needs a value" },
		{ "$K run --on '' -- true", "'--on' needs an environment" },
		{ "$K run --on $ON", "missing '--'" },
		{ "$K run --on $ON true", "missing '--'" },
		{ "$K run --on $ON --cwd x -- true", "'--cwd' must be an absolute path" },
		{ "$K run --on $ON --cwd C:x -- true", "'--cwd' must be an absolute path" },
		{ "$K run --on $ON --log x -- true", "'--log' cannot be used with '--on'" },
		{ "$K run --on $ON --control 9 -- true", "'--control' cannot be used with '--on'" },
		{ "$K run --on $ON --sweep no -- true", "'--sweep' cannot be used with '--on'" },
		{ "$K run --no-container --on $ON -- true",
		  "'--no-container' cannot be used with '--on'" },
		{ "$K run --container --on $ON -- true",
		  "'--container' cannot be used with '--on'" },
		{ "$K run --name --on $ON -- true", "missing '--' before 'unix:/nowhere'" },
		{ "$K run --on $ON --nam --grace -- true", "unknown option '--nam'" },
		{ "$K run --on $ON --grace never -- true", "--grace 'never' is not" },
		{ "$K run --on $ON --env =x -- true", "is not NAME=VALUE" },
		{ "$K run --on $ON --owner 2147483646 -- true", "no such process" },
		{ "$K run --on http://x -- true", "an address to connect to is" },
		{ "$K run --on ssh:-x -- true", "would be an option of ssh" },
		{ "T=x $K run --on ws://far.example:1 --token-env T -- true", "use wss://" },
		{ "$K run --on far --token-env T -- true", "'--token-env' is for a URL" },
		{ "$K ps --config x", "'--config' needs '--on'" },
		{ "$K ps --all", "'--all' needs '--on'" },
		{ "$K ps --on local", "'local' is this machine" },
		{ "$K ps --on $ON --tree", "'--tree' with '--on'" },
	};

	begin();
	snprintf(way, sizeof(way), "unix:/nowhere");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(shell(cases[i].line), 64);
		SAYS(cases[i].says);
	}
	EQ(shell("$K run --on $ON --cwd / -- true < /dev/null"), 69);
	SAYS("environment 'unix:/nowhere'");
	EQ(shell("$K ps --on $ON"), 69);
	EQ(shell("$K help run-on"), 0);
	PRINTS("usage: killick run --on PLACE");
	EQ(shell("$K run --on x --help"), 0);
	PRINTS("usage: killick run --on PLACE");
	nothing_left();
}

/* --- ps --- */

TEST(ps_lists_what_an_executor_holds, .timeout_ms = TEST_MS)
{
	struct child c;
	int p[2];

	begin_far(NULL);
	EQ(shell("$K ps --on $ON"), 0);
	PRINTS("no processes");
	EQ(shell("$K ps --on $ON --json"), 0);
	STREQ(out, "[]\n");
	OK(pipe2(p, O_CLOEXEC) == 0);
	c = run_on(way, p[0], "--name", "sleeper", "--session", "mine", "--", "sh", "-c",
		   "echo up; exec sleep 1000", NULL);
	listen_for(&c, "up");
	EQ(shell("$K ps --on $ON"), 0);
	PRINTS("NAME");
	PRINTS("sleeper");
	PRINTS("running");
	PRINTS("mine");
	PRINTS("killick run, pid ");
	EQ(shell("$K ps --on $ON --json"), 0);
	PRINTS("\"name\":\"sleeper\"");
	close(p[0]);
	close(p[1]);
	finish(&c);
	EQ(shell("$K ps --on $ON"), 0); /* what is over is not held */
	PRINTS("no processes");
	EQ(shell("$K ps --on $ON --json"), 0);
	STREQ(out, "[]\n");
	EQ(shell("$K ps --on $ON --all"), 0);
	PRINTS("sleeper");
	PRINTS("closed");
	EQ(shell("$K ps --on $ON --all --json"), 0);
	PRINTS("\"state\":\"closed\"");
	end_far();
}

/* Another's executor may not have the request: this one has nothing but `initialize`. */
TEST(ps_of_an_executor_that_cannot_list_says_so, .timeout_ms = TEST_MS)
{
	begin();
	write_file("dull",
		   "while read -r line; do\n"
		   "id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n"
		   "case $line in\n"
		   "*'\"initialize\"'*) echo \"{\\\"id\\\":$id,\\\"result\\\":"
		   "{\\\"sessionId\\\":\\\"x\\\"}}\" ;;\n"
		   "*process/list*) echo \"{\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":-32601,"
		   "\\\"message\\\":\\\"no\\\"}}\" ;;\n"
		   "esac\ndone\n");
	write_file("mcp.json", "{\"environments\": {\"dull\": {\"program\": [\"sh\", \"dull\"]}}, "
			       "\"mcpServers\": {}}");
	EQ(shell("$K ps --on dull"), 69);
	SAYS("cannot list its processes");
	nothing_left();
}

/* Write a program that speaks as an executor. `list` are commands of a shell that run for
 * process/list, where $id is the id of the request. When stdin is closed and the file `deaf`
 * exists, only SIGKILL ends the program. */
static void write_executor(const char *list)
{
	char text[2000];

	snprintf(text, sizeof(text),
		 "trap '' TERM\necho $$ > pid\nwhile read -r line; do\n"
		 "id=$(printf '%%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n"
		 "case $line in\n"
		 "*process/list*) %s ;;\n"
		 "*'\"id\":'*) echo '{\"id\":'$id',\"result\":{\"sessionId\":\"x\"}}' ;;\n"
		 "esac\ndone\n[ -e deaf ] && exec sleep 1000\n",
		 list);
	write_file("fake", text);
	write_file("mcp.json", "{\"environments\": {\"fake\": {\"program\": [\"sh\", \"fake\"]}}, "
			       "\"mcpServers\": {}}");
}

TEST(ps_shows_words_of_a_command_that_are_no_strings_as_unknown, .timeout_ms = TEST_MS)
{
	begin();
	write_executor("echo '{\"id\":'$id',\"result\":{\"processes\":[{\"name\":\"n\","
		       "\"state\":\"running\",\"argv\":[7,\"ls\",[],\"-l\",null]}]}}'");
	EQ(shell("$K ps --on fake"), 0);
	PRINTS("? ls ? -l ?");
	nothing_left();
}

/* The executor answers heartbeats, so the connection is not lost. */
TEST(ps_ends_the_program_of_an_executor_that_does_not_answer, .timeout_ms = TEST_MS)
{
	begin();
	write_executor(": > deaf");
	EQ(shell("$K ps --on fake; status=$?; kill -0 $(cat pid) && exit 99; exit $status"), 69);
	SAYS("'fake' has not answered within 20 s");
	nothing_left();
}

/* An executor of its own would hold nothing, so the verb itself runs there. */
TEST(ps_over_ssh_runs_ps_on_the_other_machine, .timeout_ms = TEST_MS)
{
	begin();
	OK(mkdir("bin", 0700) == 0);
	write_file("bin/ssh", "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 9\n");
	OK(chmod("bin/ssh", 0700) == 0);
	write_file("mcp.json",
		   "{\"environments\": {\"far\": {\"ssh\": \"me@host\", \"args\": [\"-4\"], "
		   "\"killick\": \"/opt/my killick\"}}, \"mcpServers\": {}}");
	EQ(shell("PATH=$PWD/bin:$PATH $K ps --on far --json"), 9);
	STREQ(out, "<-4><-T><-oBatchMode=yes><-oServerAliveInterval=5><-oServerAliveCountMax=3><-->"
		   "<me@host><'/opt/my killick' ps --json>");
	EQ(shell("PATH=$PWD/bin:$PATH $K ps --on ssh:host --tree"), 9);
	PRINTS("<--><host><killick ps --tree>");
	nothing_left();
}
