/* wrap.c - `killick wrap` and `killick unwrap`: put `killick run --` or `killick connect --` in
 * front of the servers in the config files of MCP clients, and take it away again. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "base/text.h"
#include "cli.h"
#include "os/console.h"
#include "os/dirs.h"
#include "os/file.h"
#include "show.h"
#include "word.h"
#include "wrap.h"

enum { WRAP_DECLINED = 1, WRAP_FAULT = 65 };

#define WRAP_OPTIONS                                                                               \
	"  --yes           do not ask\n"                                                           \
	"  --dry-run       print the table and the changes, and change nothing\n"                  \
	"  --only CLIENT   only the files of this client: claude-code, codex, cursor, ...\n"       \
	"  --server NAME   only the server with this name\n"                                       \
	"  --json          print JSON, and change nothing without --yes\n"                         \
	"  --show-secrets  print secrets in commands and variables, too\n"

#define WRAP_EXITS                                                                                 \
	"\n"                                                                                       \
	"Exit status: 0 done, or nothing to do; 1 you declined, or there was no terminal\n"        \
	"to ask on; 64 usage; 65 a file could not be read and was left alone; 69 no\n"             \
	"killick to write; 75 a file could not be written, or another program changed it\n"        \
	"meanwhile.\n"

const char wrap_help[] =
	"usage: killick wrap [OPTION]... [FILE]...\n"
	"\n"
	"Put `killick run --` in front of the command of every MCP server in FILE, or in\n"
	"the config files of your MCP clients: those in your home directory and in this\n"
	"project. Print a table of all servers and the changes, then ask once.\n"
	"\n" WRAP_OPTIONS "  --hub           write `killick connect --server NAME --` in place of\n"
	"                  `killick run --`, also for servers that are wrapped already\n"
	"  --share WORD    with --hub: write '--share WORD', too: never, identical, auto\n"
	"  --idle TIME     with --hub: write '--idle TIME', too: the servers rest after\n"
	"                  TIME without a request, such as 5m\n"
	"                  --share and --idle also change servers that are wrapped with\n"
	"                  other values; an option that is not given stays\n"
	"\n"
	"With --hub the servers are held by the hub of this user, which lets sessions\n"
	"share equal servers where that is safe. A server of the legacy era is shared\n"
	"only with --share identical (always) or auto (if its tools look safe).\n"
	"\n"
	"Only the command and its arguments change; comments, order and spaces stay. The\n"
	"old file is kept as FILE" BACKUP_SUFFIX " until all its servers are unwrapped; in\n"
	"a git work tree, in " DIRS_STATE_BACKUPS ". Servers that are wrapped\n"
	"already, remote or disabled are left alone, and so are read-only files, and\n"
	"files that git tracks unless they are named. `killick unwrap` restores the\n"
	"commands.\n"
	"\n"
	"Clients that the desktop starts get the full path of killick, because their\n"
	"PATH is not that of your shell.\n" WRAP_EXITS;

const char unwrap_help[] =
	"usage: killick unwrap [OPTION]... [FILE]...\n"
	"\n"
	"Restore the commands that `killick wrap` changed in FILE, or in the config files\n"
	"of your MCP clients. Files that were not changed since are restored to the byte.\n"
	"A server that was wrapped before --hub is unwrapped completely.\n"
	"\n" WRAP_OPTIONS
	"  --all           also the files of other projects: all files that killick has\n"
	"                  wrapped\n" WRAP_EXITS;

struct wrap_killick {
	const char *name; /* "killick", if PATH has it; else NULL */
	char absolute[4200];
};

struct wrap {
	const char *verb;
	enum action action;
	bool yes, dry_run, json, hub, all;
	const char *only, *server, *share, *idle;
	const char *command; /* the words of the user without --dry-run, for a shell; borrowed */
	struct wrap_killick killick;
	struct wrap_files files;
	bool *written;                 /* for each file: was it written? */
	size_t servers, changed_files; /* in the plan */
	bool has_bare;                 /* a server in the plan is not wrapped yet */
	int status;
};

/* Is the file in the list already? Paths may differ by symbolic links. */
static bool wrap_files_have(const struct wrap_files *f, const char *path)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].file.path && strcmp(f->list[i].file.path, path) == 0)
			return true;
	return false;
}

/* Find the files that wrap has changed, and that are not in the list: those of other projects, and
 * those of clients that were moved. `add`: append them to the list. Returns their number. */
static size_t wrap_find_remembered(struct wrap_files *f, bool add, const char *only)
{
	char **paths = backup_remembered();
	size_t count = 0;

	for (char **path = paths; path && *path; path++) {
		struct client_file file = { .client = clients_of_path(*path),
					    .path = *path,
					    .named = true };

		if (wrap_files_have(f, *path) ||
		    (only && (!file.client || strcmp(only, file.client->name) != 0)))
			continue;
		count++;
		if (!add)
			continue;
		f->list = mem_grow(f->list, f->count + 1, sizeof(*f->list));
		configfile_open(&f->list[f->count++], &file);
	}
	strings_free(paths);
	return count;
}

void wrap_files_open(struct wrap_files *f, char *const *paths, size_t count, const char *only)
{
	AUTO(clients_done) struct client_files found = { .count = 0 };

	if (!count)
		clients_find(only, &found);
	f->count = count ? count : found.count;
	f->list = mem_grow(NULL, f->count + 1, sizeof(*f->list));
	for (size_t i = 0; i < f->count; i++) {
		struct client_file given = { .path = count ? paths[i] : NULL, .named = true };

		if (count)
			given.client = only ? clients_get(only) : clients_of_path(paths[i]);
		configfile_open(&f->list[i], count ? &given : &found.list[i]);
	}
}

void wrap_files_done(struct wrap_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		configfile_done(&f->list[i]);
	mem_drop(&f->list);
	f->count = 0;
}

/* Find killick: in PATH, or in this installation. The directories that npx and npm put into PATH
 * while they run are skipped, because clients do not have them. False: an error was printed. */
static bool wrap_find_killick(const char *verb, struct wrap_killick *out)
{
	char found[PATH_MAX + 32], real[PATH_MAX];

	out->name = NULL;
	if (machine_find_killick(&machine_here, out->absolute, sizeof(out->absolute))) {
		out->name = "killick";
		return true;
	}
	if (!cli_find_keeper(found, sizeof(found)) ||
	    file_real_path(found, real, sizeof(real)) < 0) {
		cli_say(verb, "the program 'killick' was not found: it is neither in PATH nor "
			      "beside this program; reinstall killick");
		return false;
	}
	if (machine_is_npx_cache(real, strlen(real))) {
		cli_say(verb,
			"killick runs from the cache of npx, which npm may delete; install it "
			"with 'npm install -g killick' and try again");
		return false;
	}
	snprintf(out->absolute, sizeof(out->absolute), "%s", real);
	return true;
}

static void wrap_fail(struct wrap *w, int status)
{
	if (!w->status)
		w->status = status;
}

static void wrap_plan(struct wrap *w)
{
	struct configfile_plan plan = { .action = w->action,
					.server = w->server,
					.system = machine_here.system,
					.show_secrets = cli_show_secrets,
					.hub = w->hub,
					.share = w->share,
					.idle = w->idle,
					.name = w->killick.name,
					.absolute = w->killick.absolute };

	for (size_t i = 0; i < w->files.count; i++) {
		struct configfile *c = &w->files.list[i];

		if (*c->fault) {
			wrap_fail(w, WRAP_FAULT);
			continue;
		}
		configfile_plan(c, &plan);
		w->servers += c->change_count;
		w->changed_files += c->change_count > 0;
		for (size_t k = 0; k < c->entries.count; k++)
			w->has_bare |= c->planned[k] && c->entries.list[k].state == ENTRY_BARE;
	}
}

static void wrap_print_faults(const struct wrap *w)
{
	for (size_t i = 0; i < w->files.count; i++)
		if (*w->files.list[i].fault)
			cli_say(w->verb, "%s; the file is left alone", w->files.list[i].fault);
}

/* Say which files get the full path, and why. */
static void wrap_print_path_note(const struct wrap *w)
{
	bool desktop = false;

	if (w->action == ACTION_UNWRAP)
		return;
	for (size_t i = 0; i < w->files.count; i++) {
		const struct configfile *c = &w->files.list[i];

		desktop |= c->change_count && c->client && c->client->desktop;
	}
	if (w->killick.name && !desktop)
		return;
	putchar('\n');
	show_block(stdout,
		   !w->killick.name
			   ? "killick is not in your PATH, so its full path is written:"
			   : "The desktop starts some of these clients without the PATH of your "
			     "shell; these clients get the full path of killick:",
		   0, cli_width());
	printf("  %s\n", w->killick.absolute);
}

static void wrap_print_plan(const struct wrap *w)
{
	wrap_print_table(&w->files, w->action, w->server);
	if (!w->servers)
		return;
	wrap_print_path_note(w);
	for (size_t i = 0; i < w->files.count; i++) {
		char shown[1024];

		if (!w->files.list[i].change_count)
			continue;
		putchar('\n');
		wrap_show_path(w->files.list[i].path, shown, sizeof(shown));
		configfile_diff(&w->files.list[i], shown, stdout);
	}
	putchar('\n');
}

static const char *wrap_plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* What will be done to the servers of the plan. */
static const char *wrap_deed(const struct wrap *w)
{
	return w->action == ACTION_UNWRAP ? "Unwrap" : w->has_bare ? "Wrap" : "Change";
}

/* Ctrl-C and Ctrl-D mean no. */
static bool wrap_ask_yes(const struct wrap *w)
{
	char question[120], answer[64] = "";

	snprintf(question, sizeof(question), "%s %zu server%s in %zu file%s? [y/N] ", wrap_deed(w),
		 w->servers, wrap_plural(w->servers), w->changed_files,
		 wrap_plural(w->changed_files));
	return console_ask(stdout, question, answer, sizeof(answer)) &&
	       (*answer == 'y' || *answer == 'Y');
}

/* May the files be changed? */
static bool wrap_ask(struct wrap *w)
{
	if (w->dry_run && !w->json)
		printf("Nothing was changed; `killick%s` %swrites.\n", w->command,
		       w->yes ? "" : "asks and ");
	if (w->dry_run)
		return false;
	if (w->yes)
		return true;
	if (w->json)
		return false;
	if (!console_is_terminal(FILE_STDIN) || !console_is_terminal(FILE_STDOUT)) {
		cli_say(w->verb, "nothing was changed: no terminal to ask on; add '--yes'");
		wrap_fail(w, WRAP_DECLINED);
		return false;
	}
	if (wrap_ask_yes(w))
		return true;
	puts("Nothing was changed.");
	wrap_fail(w, WRAP_DECLINED);
	return false;
}

/* Print the copies that wrap keeps, or the copies that unwrap did not remove. */
static void wrap_print_backups(const struct wrap *w)
{
	size_t count = 0;
	char path[1024];

	for (size_t i = 0; i < w->files.count; i++)
		count += w->files.list[i].backup != NULL;
	if (!count)
		return;
	if (w->action == ACTION_WRAP)
		puts(count == 1 ? "The file as it was before:" : "The files as they were before:");
	else
		puts(count == 1 ? "This copy differs from the restored file and was not removed:"
				: "These copies differ from the restored files and were not "
				  "removed:");
	for (size_t i = 0; i < w->files.count; i++) {
		if (!w->files.list[i].backup)
			continue;
		wrap_show_path(w->files.list[i].backup, path, sizeof(path));
		printf("  %s\n", path);
	}
}

static void wrap_write(struct wrap *w)
{
	size_t servers = 0, files = 0;
	char text[200];

	for (size_t i = 0; i < w->files.count; i++) {
		struct configfile *c = &w->files.list[i];
		struct err e = ERR_INIT;

		if (!c->change_count)
			continue;
		if (configfile_write(c, w->action, &e) < 0) {
			cli_say(w->verb, "%s", e.text);
			w->status = EXIT_TRY_AGAIN;
			continue;
		}
		w->written[i] = true;
		servers += c->change_count;
		files++;
	}
	if (w->json || !files)
		return;
	snprintf(text, sizeof(text),
		 "%s %zu server%s in %zu file%s. Clients that are running must be restarted.",
		 w->action == ACTION_UNWRAP ? "Unwrapped"
		 : w->has_bare              ? "Wrapped"
					    : "Changed",
		 servers, wrap_plural(servers), files, wrap_plural(files));
	show_block(stdout, text, 0, cli_width());
	wrap_print_backups(w);
}

static void wrap_print_nothing(const struct wrap *w)
{
	size_t entries = 0, faults = 0;

	for (size_t i = 0; i < w->files.count; i++) {
		entries += w->files.list[i].entries.count;
		faults += *w->files.list[i].fault != '\0';
	}
	if (w->json || (faults && !entries))
		return;
	if (!w->files.count)
		show_block(stdout,
			   "No config file of an MCP client was found here or in your home "
			   "directory.",
			   0, cli_width());
	else if (!entries)
		puts(w->files.count == 1 ? "The config file has no MCP servers."
					 : "The config files have no MCP servers.");
	else
		printf("\nNothing to %s.\n", w->verb);
}

static void wrap_print_json(const struct wrap *w)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	emit_open(&j, NULL, '{');
	emit_int(&j, "servers", (long long)w->servers);
	wrap_emit(&j, &w->files, w->action, w->written);
	emit_close(&j);
	emit_print(&j, stdout);
}

/* Name the files that `unwrap` did not look at. */
static void wrap_print_elsewhere(struct wrap *w)
{
	size_t count = wrap_find_remembered(&w->files, false, w->only);
	char text[200];

	if (!count)
		return;
	snprintf(text, sizeof(text),
		 "\n%zu more file%s with wrapped servers: `killick unwrap --all` lists %s.", count,
		 count == 1 ? "" : "s", count == 1 ? "it" : "them");
	show_block(stdout, text, 0, cli_width());
}

/* Is there a server with the name of --server? False: an error was printed. A file that is not
 * understood may have this server, so such files are named, too. */
static bool wrap_has_server(struct wrap *w)
{
	AUTO(buf_done) struct buf names = BUF_INIT(BUF_ANY_SIZE);
	char name[300];

	for (size_t i = 0; w->server && i < w->files.count; i++) {
		const struct entries *e = &w->files.list[i].entries;

		for (size_t k = 0; k < e->count; k++) {
			if (strcmp(e->list[k].name, w->server) == 0)
				return true;
			text_clean(e->list[k].name, strlen(e->list[k].name), name, sizeof(name));
			buf_adds(&names, names.len ? ", " : "; there are ");
			buf_adds(&names, name);
		}
	}
	if (!w->server)
		return true;
	text_clean(w->server, strlen(w->server), name, sizeof(name));
	wrap_print_faults(w);
	w->status = cli_usage(w->verb, "no server '%s'%s", name, names.len ? names.data : "");
	return false;
}

/* Is a word the name of a client in place of a file? */
static int wrap_check_words(const struct wrap *w, const struct cli_words *words)
{
	for (int i = 0; i < words->count; i++)
		if (clients_get(words->list[i]) && !file_exists(words->list[i]))
			return cli_usage(w->verb,
					 "there is no file '%s'; for the files of this client "
					 "write '--only %s'",
					 words->list[i], words->list[i]);
	return 0;
}

/* Returns the first name that begins with the word or is similar to it, or NULL. */
static const char *wrap_near_client(const char *word)
{
	const struct client *c;

	for (size_t i = 0; *word && (c = clients_at(i)) != NULL; i++)
		if (strncmp(c->name, word, strlen(word)) == 0 || option_is_near(word, c->name))
			return c->name;
	return NULL;
}

static int wrap_refuse_client(const struct wrap *w)
{
	const char *near = wrap_near_client(w->only);
	char names[400];

	clients_names(names, sizeof(names));
	return cli_usage(w->verb, "unknown client '%.60s'%s%s%s; known are %s", w->only,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", names);
}

/* Carry out the verb, after the options were read. */
static int wrap_do(struct wrap *w, const struct cli_words *words)
{
	if (w->action == ACTION_WRAP && !wrap_find_killick(w->verb, &w->killick))
		return EXIT_UNAVAILABLE;
	wrap_files_open(&w->files, words->list, (size_t)words->count, w->only);
	if (w->all)
		wrap_find_remembered(&w->files, true, w->only);
	w->written = mem_grow(NULL, w->files.count + 1, sizeof(*w->written));
	memset(w->written, 0, w->files.count + 1);
	if (!wrap_has_server(w))
		return w->status;
	wrap_plan(w);
	if (!w->json)
		wrap_print_plan(w);
	wrap_print_faults(w);
	if (!w->servers)
		wrap_print_nothing(w);
	else if (wrap_ask(w))
		wrap_write(w);
	if (w->json)
		wrap_print_json(w);
	else if (w->action == ACTION_UNWRAP && !w->all && !words->count)
		wrap_print_elsewhere(w);
	return w->status;
}

static bool wrap_is_share(const char *word)
{
	return strcmp(word, "never") == 0 || strcmp(word, "identical") == 0 ||
	       strcmp(word, "auto") == 0;
}

/* Check the options that belong to --hub. 0 or an exit status. */
static int wrap_check_hub(const struct wrap *w)
{
	unsigned ms;

	if ((w->share || w->idle) && !w->hub)
		return cli_usage(w->verb, "'--%s' needs '--hub'", w->share ? "share" : "idle");
	if (w->share && !wrap_is_share(w->share))
		return cli_usage(w->verb, "'--share' is never, identical or auto");
	if (w->idle && (option_time(w->idle, &ms) < 0 || !ms))
		return cli_usage(w->verb, "'--idle' is a time such as 5m, at most 1h");
	if (w->hub && machine_here.system == MACHINE_WINDOWS)
		return cli_usage(w->verb, "the hub has no shared socket on Windows yet; write "
					  "'killick wrap' without '--hub'");
	return 0;
}

/* Write the words of the user, except --dry-run. */
static void wrap_write_command(int argc, char *const *argv, struct buf *out)
{
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--dry-run") != 0)
			word_add(out, argv[i]);
}

static int wrap_verb(int argc, char **argv, enum action action, const char *help)
{
	AUTO(buf_done) struct buf command = BUF_INIT(BUF_ANY_SIZE);
	struct wrap w = { .verb = argv[0], .action = action };
	const struct option options[] = {
		{ "yes", .flag = &w.yes, .letter = 'y' },
		{ "dry-run", .flag = &w.dry_run },
		{ "only", OPTION_WORD, .text = &w.only },
		{ "server", OPTION_WORD, .text = &w.server },
		{ "json", .flag = &w.json },
		{ "show-secrets", .flag = &cli_show_secrets },
		{ action == ACTION_WRAP ? "hub" : "all",
		  .flag = action == ACTION_WRAP ? &w.hub : &w.all },
		{ action == ACTION_WRAP ? "share" : NULL, OPTION_WORD, .text = &w.share },
		{ "idle", OPTION_WORD, .text = &w.idle },
		{ .name = NULL },
	};
	struct cli_words words;
	int status;

	wrap_write_command(argc, argv, &command); /* before cli_words, which moves words */
	w.command = command.data;
	if (!cli_words(argc, argv, help, options, &words, &status))
		return status;
	if (words.command)
		return cli_usage(w.verb, "unexpected argument '--'");
	if (w.only && !clients_get(w.only))
		return wrap_refuse_client(&w);
	status = wrap_check_hub(&w);
	if (!status)
		status = wrap_check_words(&w, &words);
	if (status)
		return status;
	status = wrap_do(&w, &words);
	wrap_files_done(&w.files);
	mem_drop(&w.written);
	return cli_finish(w.verb, status);
}

int verb_wrap(int argc, char **argv)
{
	return wrap_verb(argc, argv, ACTION_WRAP, wrap_help);
}

int verb_unwrap(int argc, char **argv)
{
	return wrap_verb(argc, argv, ACTION_UNWRAP, unwrap_help);
}
