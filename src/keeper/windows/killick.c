/* killick.c - the small program on Windows: `run` and help; killick-more.exe implements every other
 * verb. Nothing but the C runtime and the libraries of Windows, so that `killick run` adds little
 * to the start of a server. */
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "hold.h"
#include "keeper.h"
#include "keeper/exits.h"
#include "keeper/help.h"
#include "line_handle.h"
#include "program.h"
#include "wide.h"

static const char help_usage[] = HELP_USAGE(
	"  killick reap                          say that nothing is left behind here\n"
	"  killick exec-server                   run and hold servers for other machines\n"
	"  killick doctor                        print what works here\n"
	"  killick demo                          compare a plain client with killick\n",
	" 'killick help VERB' describes a verb.");

static const char run_usage[] =
	"usage: killick run [options] -- CMD ARGS...\n"
	"\n"
	"Runs CMD with the stdin, stdout and stderr of killick, and exits with its exit\n"
	"code. CMD and every process it starts are ended when CMD exits, when stdin is\n"
	"closed, when the parent of killick ends, when Ctrl-C or Ctrl-Break comes from the\n"
	"console, and when killick is terminated.\n"
	"\n"
	"  --grace TIME       wait this long after stdin was closed, and again after\n"
	"                     Ctrl-Break (2s); at most 500ms once the owner has ended\n"
	"  --contain LEVEL    auto or job, which are the same on Windows\n"
	"  --owner WHO        end CMD with: parent, stdin or a process id (parent)\n"
	"  --max-procs N      at most N processes in the tree\n"
	"  --memory SIZE      at most SIZE of committed memory for the tree, such as 512M\n"
	"  --name NAME        the name in 'killick ps' (the command's name)\n"
	"  --session TAG      a tag that 'killick ps' shows\n"
	"  --log FILE         append one line for each event\n"
	"  --report FILE|FD   append one JSON line at the end: the result and its proof\n"
	"  --cwd, --linger, --arg0: see the manual\n"
	"  --rest, --restart and --supersede need Linux\n"
	"\n"
	"CMD is found in the directories of PATH, with the extensions of PATHEXT that\n"
	"name programs: .exe, .com, .bat, .cmd. The current directory is not searched.\n"
	"\n"
	"Exit status: that of CMD, or 137 when killick had to end it; 64 usage, 69 a level\n"
	"or option is not possible here, 75 a process survived or no process could be\n"
	"started, 126 cannot run CMD, 127 CMD not found.\n";

static int print(const char *text)
{
	return line_write_text(text, GetStdHandle(STD_OUTPUT_HANDLE)) ? 0 : EXIT_TRY_AGAIN;
}

static bool killick_main_is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The parser takes the text after the last slash for the name of a command. */
static void killick_main_cut_name(struct recipe *r)
{
	const char *backslash = strrchr(r->argv[0], '\\');

	if (r->name >= r->argv[0] && backslash >= r->name && backslash[1])
		r->name = backslash + 1;
}

/* Everything until the server runs. 0, or an exit code after one line on stderr. */
static int killick_main_start(struct keeper *k, const struct options *opt)
{
	DWORD error;
	int r = keeper_init(k, opt);

	if (r == 0)
		r = keeper_prepare(k);
	if (r)
		return r;
	error = hold_ready();
	if (error) {
		keeper_say("cannot hear the console: %s", win_error(error));
		return EXIT_UNAVAILABLE;
	}
	r = keeper_start(k);
	return r ? keeper_fail(k, r) : 0;
}

/* no server runs here: for killick-more */
static const char *const place_options[] = { "--on", NULL };
/* options of Linux, which put a relay between the client and the server */
static const char *const relay_options[] = { "--rest", "--restart", "--supersede", NULL };

/* The first of the options that is among the words before "--", or NULL. */
static const char *killick_main_find(char **words, const char *const *options)
{
	for (; *words && strcmp(*words, "--") != 0; words++) {
		for (size_t i = 0; options[i]; i++) {
			size_t len = strlen(options[i]);

			if (strncmp(*words, options[i], len) == 0 &&
			    ((*words)[len] == '\0' || (*words)[len] == '='))
				return options[i];
		}
	}
	return NULL;
}

static int killick_main_run(int argc, char **argv)
{
	static struct keeper keeper;
	struct options opt;
	const char *missing;
	struct line why;
	int r;

	if (argc > 0 && killick_main_is_help(argv[0]))
		return print(run_usage);
	missing = killick_main_find(argv, relay_options);
	if (missing) {
		keeper_say("run: %s does not work on Windows: only Linux has the relay that it "
			   "needs; omit %s, and the server runs until its client ends",
			   missing, missing);
		return EXIT_UNAVAILABLE;
	}
	if (options_parse(argc, argv, &opt, &why) < 0) {
		keeper_say("run: %s", why.text);
		return EXIT_USAGE;
	}
	killick_main_cut_name(&opt.recipe);
	r = killick_main_start(&keeper, &opt);
	if (r) {
		control_refused_as(r);
		return r;
	}
	hold_run(&keeper);
	r = keeper_end(&keeper);
	hold_done();
	return r;
}

/* Ctrl-C reaches the second program, too, which decides. */
static BOOL WINAPI dispatch_on_console(DWORD event)
{
	(void)event;
	return TRUE;
}

/* The path of killick-more.exe, which is in the directory of this program. */
static bool dispatch_path(wchar_t out[PROGRAM_MAX])
{
	static const wchar_t more[] = L"killick-more.exe";
	const size_t more_len = sizeof(more) / sizeof(more[0]);
	DWORD n = GetModuleFileNameW(NULL, out, PROGRAM_MAX);
	wchar_t *slash = n && n < PROGRAM_MAX ? wcsrchr(out, L'\\') : NULL;

	if (!slash || (size_t)(slash + 1 - out) + more_len > PROGRAM_MAX)
		return false;
	wmemcpy(slash + 1, more, more_len);
	return true;
}

/* Windows cannot replace a program. So the second one is started in a job, and ends when this one
 * ends. */
static DWORD dispatch_start(const wchar_t *path, HANDLE *out_process)
{
	const unsigned long long no_limits[LIMIT_COUNT] = { 0 };
	HANDLE standard[] = { GetStdHandle(STD_INPUT_HANDLE), GetStdHandle(STD_OUTPUT_HANDLE),
			      GetStdHandle(STD_ERROR_HANDLE) };
	struct job_start start = { .program = path,
				   .line = GetCommandLineW(),
				   .inherit = standard,
				   .in = standard[0],
				   .out = standard[1],
				   .err = standard[2] };
	HANDLE inherit[3] = { NULL };
	struct job job;
	DWORD error = job_open(&job, no_limits, 0), pid;

	/* each handle once: the list of a new process may not name one twice */
	for (int i = 0; i < 3; i++) {
		bool named = !standard[i] || standard[i] == INVALID_HANDLE_VALUE;

		for (unsigned j = 0; j < start.inherit_count; j++)
			named = named || inherit[j] == standard[i];
		if (!named)
			inherit[start.inherit_count++] = standard[i];
	}
	start.inherit = inherit;
	for (unsigned i = 0; i < start.inherit_count; i++)
		SetHandleInformation(inherit[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
	return error ? error : job_spawn(&job, &start, out_process, &pid);
}

static int dispatch(char **argv)
{
	static wchar_t path[PROGRAM_MAX];
	HANDLE process;
	DWORD error = dispatch_path(path) ? 0 : ERROR_FILENAME_EXCED_RANGE, code;

	SetConsoleCtrlHandler(dispatch_on_console, TRUE);
	if (error == 0)
		error = dispatch_start(path, &process);
	if (error == 0 && WaitForSingleObject(process, INFINITE) == WAIT_OBJECT_0 &&
	    GetExitCodeProcess(process, &code))
		return (int)code;
	keeper_say("%s: cannot start the program 'killick-more.exe' for this verb: %s; reinstall "
		   "killick",
		   argv[1], win_error(error ? error : GetLastError()));
	return EXIT_UNAVAILABLE;
}

static int killick_main(int argc, char **argv)
{
	if (argc < 2) {
		line_write_text(help_usage, GetStdHandle(STD_ERROR_HANDLE));
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "run") == 0 && !killick_main_find(argv + 2, place_options))
		return killick_main_run(argc - 2, argv + 2);
	if (strcmp(argv[1], "ear") == 0 && argc == 3)
		return ear_main(argv[2]);
	if (strcmp(argv[1], "event") == 0 && argc == 4)
		return terminal_event_main(argv[2], argv[3]);
	if (strcmp(argv[1], "help") == 0 && argc > 2)
		return strcmp(argv[2], "run") == 0 ? print(run_usage) : dispatch(argv);
	if (killick_main_is_help(argv[1]) || strcmp(argv[1], "help") == 0)
		return print(help_usage);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0)
		return argc > 2 && strcmp(argv[2], "--json") == 0
			       ? dispatch(argv)
			       : print("killick " KILLICK_VERSION "\n");
	if (argv[1][0] == '-') {
		keeper_say("unknown option '%s'; 'killick --help' lists the verbs and options",
			   argv[1]);
		return EXIT_USAGE;
	}
	/* killick-more also says which verb may be meant by an unknown one */
	return dispatch(argv);
}

/* The words as UTF-8, in one block that lives as long as the process; NULL: no memory. */
static char **utf8_words(int argc, wchar_t **wide)
{
	size_t count = (size_t)argc, size = (count + 1) * sizeof(char *);
	char **argv, *text;

	for (size_t i = 0; i < count; i++)
		size += wide_to_utf8(wide[i], NULL, 0);
	argv = malloc(size);
	if (!argv)
		return NULL;
	text = (char *)(argv + count + 1);
	for (size_t i = 0; i < count; i++) {
		argv[i] = text;
		text += wide_to_utf8(wide[i], text, size);
	}
	argv[count] = NULL;
	return argv;
}

int wmain(int argc, wchar_t **wide); /* the runtime calls it */
int wmain(int argc, wchar_t **wide)
{
	char **argv = utf8_words(argc, wide);

	if (!argv) {
		keeper_say("out of memory");
		return EXIT_TRY_AGAIN;
	}
	/* without the clean-up of a returning main: a thread of line_offer may still write */
	ExitProcess((UINT)killick_main(argc, argv));
}
