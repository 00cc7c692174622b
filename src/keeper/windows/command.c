/* command.c - see command.h */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "keeper/exits.h"
#include "quote.h"
#include "wide.h"
#include "win.h"

static int command_refuse(struct line *why, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int command_refuse(struct line *why, int code, const char *fmt, ...)
{
	va_list ap;

	line_init(why);
	va_start(ap, fmt);
	line_vadd(why, fmt, ap);
	va_end(ap);
	return code;
}

/* Valid until the next call. Words of a command line that was split always fit. */
static const wchar_t *command_wide(const char *word)
{
	static wchar_t wide[COMMAND_LINE_MAX];

	if (wide_from_utf8(word, wide, COMMAND_LINE_MAX) > COMMAND_LINE_MAX)
		return NULL;
	return wide;
}

static int command_too_long(struct line *why, const char *name, unsigned max)
{
	return command_refuse(why, EXIT_CANNOT_RUN,
			      "cannot run '%s': its command line is longer than the %u characters "
			      "that Windows allows; shorten the arguments",
			      name, max);
}

/* The first word cannot have a quote: programs read it without escapes. */
static int command_make_native(struct command *c, const struct recipe *r, struct line *why)
{
	struct quote q = quote_init(c->line, COMMAND_LINE_MAX);
	const wchar_t *first = r->arg0 ? command_wide(r->arg0) : c->program;

	if (!first || wcschr(first, L'"'))
		return command_refuse(why, EXIT_CANNOT_RUN,
				      "--arg0: no program on Windows can be given a name with a "
				      "quote in it; choose another name");
	quote_add(&q, L"\"");
	quote_add(&q, first);
	quote_add(&q, L"\"");
	for (char **arg = r->argv + 1; *arg; arg++) {
		const wchar_t *wide = command_wide(*arg);

		if (!wide)
			return command_too_long(why, r->argv[0], COMMAND_LINE_MAX - 1);
		quote_native(&q, wide);
	}
	if (q.failed)
		return command_too_long(why, r->argv[0], COMMAND_LINE_MAX - 1);
	return 0;
}

/* /d: no AutoRun commands of the registry. /v:OFF: `!` is plain. /e:ON: the trick for `%` needs
 * it. The text after /c has a pair of quotes around it, which cmd.exe removes. */
static int command_make_batch(struct command *c, const struct recipe *r, struct line *why)
{
	struct quote q = quote_init(c->line, COMMAND_BATCH_MAX + 1);

	if (r->arg0)
		return command_refuse(why, EXIT_CANNOT_RUN,
				      "--arg0: '%s' is a batch file, which cannot be given another "
				      "name; remove --arg0",
				      r->argv[0]);
	quote_add(&q, L"cmd.exe /e:ON /v:OFF /d /c \"");
	quote_batch_path(&q, c->program);
	for (char **arg = r->argv + 1; *arg; arg++) {
		const wchar_t *wide = command_wide(*arg);

		if (wide && !quote_batch(&q, wide))
			return command_refuse(
				why, EXIT_CANNOT_RUN,
				"cannot run '%s': it is a batch file, and an argument "
				"with a line break cannot be passed to one; name the "
				"program that the batch file starts",
				r->argv[0]);
		if (!wide)
			q.failed = true;
	}
	quote_add(&q, L"\"");
	if (q.failed)
		return command_too_long(why, r->argv[0], COMMAND_BATCH_MAX);
	return 0;
}

static int command_use_cmd(struct command *c, struct line *why)
{
	static const wchar_t name[] = L"\\cmd.exe";
	UINT n = GetSystemDirectoryW(c->program, PROGRAM_MAX - sizeof(name) / sizeof(name[0]));

	if (n == 0 || n >= PROGRAM_MAX - sizeof(name) / sizeof(name[0]))
		return command_refuse(why, EXIT_UNAVAILABLE,
				      "cannot find the system directory, whose cmd.exe runs batch "
				      "files: %s",
				      win_error(GetLastError()));
	memcpy(c->program + n, name, sizeof(name));
	return 0;
}

/* `npx -y foo` as one word: does its first part name a program? */
static bool command_is_split_missing(const wchar_t *word)
{
	static wchar_t first[COMMAND_LINE_MAX], found[PROGRAM_MAX];
	size_t len = wcscspn(word, L" ");

	if (!word[len])
		return false;
	wmemcpy(first, word, len);
	first[len] = L'\0';
	return program_find(first, found) != PROGRAM_NONE;
}

static int command_explain_missing(const char *name, struct line *why)
{
	static wchar_t wide[PROGRAM_MAX];
	static char path[3 * PROGRAM_MAX];
	const wchar_t *word = command_wide(name);
	DWORD n = GetEnvironmentVariableW(L"PATH", wide, PROGRAM_MAX);

	if (word && command_is_split_missing(word))
		return command_refuse(why, EXIT_NOT_FOUND,
				      "cannot run '%s': no program has this name; give each "
				      "argument as a word of its own: -- %s",
				      name, name);
	if (strpbrk(name, "\\/:"))
		return command_refuse(why, EXIT_NOT_FOUND,
				      "cannot run '%s': no such file; check the path", name);
	if (n == 0 || n >= PROGRAM_MAX || wide_to_utf8(wide, path, sizeof(path)) > sizeof(path))
		snprintf(path, sizeof(path), "unset");
	return command_refuse(why, EXIT_NOT_FOUND,
			      "cannot run '%s': not found; install it or give its full path (PATH "
			      "is %s)",
			      name, path);
}

int command_make(struct command *c, const struct recipe *r, struct line *why)
{
	const wchar_t *word = command_wide(r->argv[0]);
	enum program_kind kind = word ? program_find(word, c->program) : PROGRAM_NONE;
	int code;

	switch (kind) {
	case PROGRAM_NATIVE:
		return command_make_native(c, r, why);
	case PROGRAM_BATCH:
		code = command_make_batch(c, r, why);
		return code ? code : command_use_cmd(c, why);
	case PROGRAM_OTHER:
		return command_refuse(why, EXIT_CANNOT_RUN,
				      "cannot run '%s': Windows starts only .exe, .com, .bat and "
				      ".cmd files; put its interpreter in front of it, such as "
				      "'node %s'",
				      r->argv[0], r->argv[0]);
	case PROGRAM_NONE:
		break;
	}
	return command_explain_missing(r->argv[0], why);
}
