/* refuse.c - what cannot be done is refused in one clear line, and nothing is started. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"

/* Run killick with `words` (after "run"), expect this exit code and one line on stderr that holds
 * each of `says`. */
static void refused(const char *const *words, int code, const char *const *says)
{
	char text[4096];
	struct held h;
	int status;

	held_start(&h, words);
	status = held_status(&h);
	held_errors(&h, text, sizeof(text));
	OK(WIFEXITED(status));
	if (WEXITSTATUS(status) != code)
		FAIL("exit %d instead of %d: %s", WEXITSTATUS(status), code, text);
	for (; *says; says++) {
		if (!strstr(text, *says))
			FAIL("no '%s' in: %s", *says, text);
	}
	OK(strncmp(text, "killick: ", 9) == 0);
	OK(strchr(text, '\n') == text + strlen(text) - 1);
	held_done(&h);
	unlink(h.report);
}
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(bad_options_name_the_value_and_the_fix)
{
	refused(WORDS("--frob", "--", "true"), 64, WORDS("--frob", "--help"));
	refused(WORDS("true"), 64, WORDS("missing '--'", "killick run [options] -- true"));
	refused(WORDS("--grace", "2s"), 64, WORDS("missing '--'"));
	refused(WORDS("--"), 64, WORDS("no command"));
	refused(WORDS("--", ""), 64, WORDS("no command"));
	refused(WORDS("--grace", "--", "true"), 64, WORDS("--grace", "500ms"));
	refused(WORDS("--grace", "soon", "--", "true"), 64, WORDS("'soon'", "500ms"));
	refused(WORDS("--grace", "-1s", "--", "true"), 64, WORDS("'-1s'"));
	refused(WORDS("--grace", "61m", "--", "true"), 64, WORDS("'61m'", "1h"));
	refused(WORDS("--grace=", "--", "true"), 64, WORDS("--grace ''"));
	refused(WORDS("--memory", "lots", "--", "true"), 64, WORDS("'lots'", "512M"));
	refused(WORDS("--memory", "0", "--", "true"), 64, WORDS("'0'"));
	refused(WORDS("--max-procs", "0", "--", "true"), 64, WORDS("'0'", "1 to 1000000"));
	refused(WORDS("--contain", "tight", "--", "true"), 64,
		WORDS("'tight'", "namespace, cgroup"));
	refused(WORDS("--owner", "me", "--", "true"), 64, WORDS("'me'", "process id"));
	refused(WORDS("--owner", "4194305", "--", "true"), 64, WORDS("4194305", "no such process"));
	refused(WORDS("--name", "two\nlines", "--", "true"), 64, WORDS("printable"));
	refused(WORDS("--log", "/nonexistent/x", "--", "true"), 64,
		WORDS("--log", "/nonexistent/x", "No such file"));
	refused(WORDS("--report", "77", "--", "true"), 64, WORDS("--report", "descriptor '77'"));
}

TEST(commands_that_cannot_run_end_as_in_a_shell)
{
	char script[160], dir[160];
	int fd;

	snprintf(script, sizeof(script), "%s/plain", t_audit.dir);
	snprintf(dir, sizeof(dir), "%s/dir", t_audit.dir);
	fd = open(script, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	OK(fd >= 0 && mkdir(dir, 0755) == 0);
	close(fd);
	refused(WORDS("--", "no-such-command-anywhere"), 127,
		WORDS("'no-such-command-anywhere'", "PATH"));
	refused(WORDS("--", "/nonexistent/x"), 127, WORDS("'/nonexistent/x'", "check the path"));
	refused(WORDS("--", script), 126, WORDS(script, "Permission denied", "chmod"));
	refused(WORDS("--", dir), 126, WORDS(dir));
}

TEST(stdin_as_owner_must_be_able_to_hang_up)
{
	const char *const words[] = { "--owner", "stdin", "--", "cat", NULL };
	struct held h;
	char text[1024];
	int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	held_start_with(&h, words, file, -1);
	EQ(WEXITSTATUS(held_status(&h)), 64);
	held_errors(&h, text, sizeof(text));
	OK(strstr(text, "--owner stdin"));
	held_done(&h);
	close(file);
}

TEST(help_goes_to_stdout_and_fits_a_screen)
{
	const char *killick = t_program("KILLICK", "build/killick");
	const char *const calls[][4] = { { killick, "--help" },
					 { killick, "help" },
					 { killick, "run", "--help" } };

	for (int i = 0; i < 3; i++) {
		char text[8192];
		int fds[2], lines = 0, width = 0;
		ssize_t n, len = 0;

		OK(pipe2(fds, O_CLOEXEC) == 0);
		pid_t pid = t_spawn((char *const *)(void *)calls[i], (int[]){ -1, fds[1], -1 });
		close(fds[1]);
		while ((n = read(fds[0], text + len, sizeof(text) - 1 - (size_t)len)) > 0)
			len += n;
		close(fds[0]);
		EQ(t_wait_child(pid, HELD_MS), 0);
		for (ssize_t k = 0; k < len; k++) {
			width = text[k] == '\n' ? 0 : width + 1;
			lines += text[k] == '\n';
			if (width > 88)
				FAIL("line %d of 'killick %s' is too long", lines + 1, calls[i][1]);
		}
		OK(lines > 5 && lines <= 32);
	}
}

TEST(an_unknown_verb_is_refused)
{
	int fds[2];
	char text[512];

	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid_t pid = t_spawn(
		(char *const[]){ (char *)t_program("KILLICK", "build/killick"), "rum", NULL },
		(int[]){ -1, -1, fds[1] });
	close(fds[1]);
	EQ(WEXITSTATUS(t_wait_child(pid, HELD_MS)), 64);
	ssize_t n = read(fds[0], text, sizeof(text) - 1);
	close(fds[0]);
	OK(n > 0);
	text[n] = '\0';
	OK(strstr(text, "'rum'") && strstr(text, "killick --help"));
}
