/* killick.c - the small program: `run` and help; killick-more implements every other verb. Static
 * and libc only, so that `killick run` adds little to the start of a server. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "container.h"
#include "keeper.h"
#include "keeper/exits.h"
#include "keeper/help.h"
#include "keeper/line.h"
#include "keeper/options.h"
#include "step.h"
#include "watch.h"

extern char **environ;

static const char help_usage[] = HELP_USAGE(
	"  killick reap [--dry-run]              end trees whose keepers were killed\n"
	"  killick exec-server                   run and hold servers for other machines\n"
	"  killick doctor                        print what works here; list orphans\n"
	"  killick demo                          compare a plain client with killick\n",
	" 'man killick' describes everything.");

static const char run_usage[] =
	"usage: killick run [options] -- CMD ARGS...\n"
	"\n"
	"Runs CMD with the stdin, stdout and stderr of killick, and exits with its exit\n"
	"status. CMD and every process it starts are ended when CMD exits, when stdin\n"
	"hangs up, when the parent of killick dies, and when killick gets SIGTERM or is\n"
	"killed.\n"
	"\n"
	"  --grace TIME       wait this long after stdin hung up, and again after\n"
	"                     SIGTERM (2s); at most 500ms once the owner is dead\n"
	"  --contain LEVEL    auto (cgroup or keeper), namespace, cgroup, keeper, group\n"
	"  --owner WHO        end CMD with: parent, stdin or a process id (parent)\n"
	"  --max-procs N      at most N processes and threads in the tree\n"
	"  --memory SIZE      at most SIZE of memory for the tree, such as 512M\n"
	"  --name NAME        the name in 'killick ps' (the command's name)\n"
	"  --session TAG      a tag that 'killick ps' shows\n"
	"  --log FILE         append one line for each event\n"
	"  --report FILE|FD   append one JSON line at the end: the result and its proof\n"
	"  --no-container     leave the container of docker, podman, nerdctl alone\n"
	"  --rest TIME        end an MCP server after TIME without a call; the next call\n"
	"                     starts it again, and the client does not notice\n"
	"  --restart          start an MCP server again when it exits or crashes\n"
	"  --supersede        end the older copy of this command that the same client\n"
	"                     started, when it has no call in flight\n"
	"  --cwd, --linger, --arg0, --terminal, --sweep, --control, --users: see 'man\n"
	"                     killick'\n"
	"\n"
	"With --on PLACE, CMD runs on another machine: see 'killick help run-on'.\n"
	"\n"
	"Exit status: that of CMD; 64 usage, 69 a level or limit is not possible here,\n"
	"75 a process survived or no process could be started, 126 cannot run CMD,\n"
	"127 CMD not found.\n";

static int print(const char *text)
{
	return write(STDOUT_FILENO, text, strlen(text)) < 0 ? EXIT_TRY_AGAIN : 0;
}

static bool killick_main_is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int killick_main_run(int argc, char **argv)
{
	struct options opt;
	struct line why;

	if (argc > 0 && killick_main_is_help(argv[0]))
		return print(run_usage);
	if (options_parse(argc, argv, &opt, &why) < 0) {
		keeper_say("run: %s", why.text);
		return EXIT_USAGE;
	}
	if (opt.has_container) {
		opt.container = getenv(CONTAINER_VARIABLE);
		unsetenv(CONTAINER_VARIABLE); /* not for the server; the text itself stays */
	}
	return watch_run(&opt, environ);
}

static bool killick_main_is_option(const char *word, const char *option)
{
	size_t len = strlen(option);

	return strncmp(word, option, len) == 0 && (word[len] == '\0' || word[len] == '=');
}

/* These options are for killick-more: with --on no server runs here, the others put a relay between
 * the client and the server. */
static bool is_elsewhere(char **words)
{
	static const char *const options[] = { "--on", "--rest", "--restart", "--supersede" };

	for (; *words && strcmp(*words, "--") != 0; words++)
		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
			if (killick_main_is_option(*words, options[i]))
				return true;
	return false;
}

/* `run -- docker run ...` and the like are for killick-more first: it adds options to the command,
 * and executes this program again with --container (container.h). */
static bool is_for_engine(char **words)
{
	for (; *words && strcmp(*words, "--") != 0; words++) {
		if (strcmp(*words, "--no-container") == 0 ||
		    strncmp(*words, "--container", strlen("--container")) == 0)
			return false;
	}
	return *words && words[1] && container_engine(words[1]);
}

/* The second program is in the directory of this one in a build tree. When installed it is in
 * KILLICK_LIBEXEC, which is relative to that directory or absolute. `otherwise` ends the sentence
 * when the second program cannot be executed. */
static int dispatch(char **argv, const char *otherwise)
{
	static const char *const places[] = { ".", KILLICK_LIBEXEC };
	char self[PATH_MAX], copy[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *dir;

	if (n > 0)
		self[n] = '\0';
	else /* no /proc here: the name by which this program was executed */
		snprintf(self, sizeof(self), "%s", (const char *)getauxval(AT_EXECFN));
	memcpy(copy, self, sizeof(copy));
	dir = dirname(copy);
	argv[0] = self; /* killick-more executes this program again for container engines */
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i][0] == '/')
			snprintf(path, sizeof(path), "%s/killick-more", places[i]);
		else
			snprintf(path, sizeof(path), "%s/%s/killick-more", dir, places[i]);
		execv(path, argv);
	}
	keeper_say("%s: cannot start the program 'killick-more' for this verb: %s; reinstall "
		   "killick%s",
		   argv[1], strerror(errno), otherwise);
	return EXIT_UNAVAILABLE;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		if (write(STDERR_FILENO, help_usage, strlen(help_usage)) < 0)
			return EXIT_TRY_AGAIN;
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "run") == 0 && is_elsewhere(argv + 2))
		return dispatch(argv, "");
	if (strcmp(argv[1], "run") == 0 && is_for_engine(argv + 2))
		return dispatch(argv, ", or use --no-container");
	if (strcmp(argv[1], "run") == 0)
		return killick_main_run(argc - 2, argv + 2);
	if (strcmp(argv[1], "help") == 0 && argc > 2)
		return strcmp(argv[2], "run") == 0 ? print(run_usage) : dispatch(argv, "");
	if (killick_main_is_help(argv[1]) || strcmp(argv[1], "help") == 0)
		return print(help_usage);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0)
		return argc > 2 && strcmp(argv[2], "--json") == 0
			       ? dispatch(argv, "")
			       : print("killick " KILLICK_VERSION "\n");
#ifdef KILLICK_STEPS
	if (strcmp(argv[1], "steps") == 0) {
		step_list();
		return 0;
	}
#endif
	if (argv[1][0] == '-') {
		keeper_say("unknown option '%s'; 'killick --help' lists the verbs and options",
			   argv[1]);
		return EXIT_USAGE;
	}
	/* killick-more also says which verb may be meant by an unknown one */
	return dispatch(argv, "");
}
