/* mcp_look.c - see mcp_look.h */
#include "mcp_look.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Programs that often have the word in an argument but are no server: the name of a session, a file
 * that is edited. */
static const char *const bystanders[] = {
	"tmux", "screen", "vi",     "vim",  "nvim",   "nano",   "emacs", "less",
	"more", "man",    "tail",   "cat",  "grep",   "rg",     "find",  "git",
	"make", "ninja",  "rsync",  "tar",  "curl",   "wget",   "ps",    "top",
	"htop", "gdb",    "strace", "code", "cursor", "claude", "codex", NULL,
};

static const char *const data_files[] = {
	".json", ".jsonc", ".toml", ".yaml", ".yml",  ".log",    ".md",   ".txt", ".conf",
	".ini",  ".pid",   ".sock", ".db",   ".html", ".sqlite", ".lock", ".env", NULL,
};

static const char *const serving_options[] = { "--mcp", "--mcp-server", "--mcp-stdio",
					       "--stdio-mcp", NULL };

static bool is_one_of(const char *s, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && strncasecmp(s, *list, len) == 0)
			return true;
	return false;
}

static bool ends_like(const char *s, size_t len, const char *const *list)
{
	for (; *list; list++) {
		size_t n = strlen(*list);

		if (n <= len && strncasecmp(s + len - n, *list, n) == 0)
			return true;
	}
	return false;
}

static bool has_text(const char *s, size_t len, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i + n <= len; i++)
		if (strncasecmp(s + i, text, n) == 0)
			return true;
	return false;
}

static bool starts_word(const char *s, size_t i)
{
	return i == 0 || !isalnum((unsigned char)s[i - 1]) ||
	       (s[i] == 'M' && !isupper((unsigned char)s[i - 1])); /* weatherMcp */
}

static bool ends_word(const char *s, size_t len, size_t i)
{
	unsigned char next = i < len ? (unsigned char)s[i] : 0;

	if (!isalnum(next)) /* mcp3008 is a chip */
		return true;
	/* mcpServer, McpServer, MCPServer; not MCPE */
	return isupper(next) && (islower((unsigned char)s[i - 1]) ||
				 (i + 1 < len && islower((unsigned char)s[i + 1])));
}

static bool mcp_look_has_word(const char *s, size_t len)
{
	for (size_t i = 0; i + 3 <= len; i++)
		if (strncasecmp(s + i, "mcp", 3) == 0 && starts_word(s, i) &&
		    ends_word(s, len, i + 3))
			return true;
	return has_text(s, len, "modelcontextprotocol") || has_text(s, len, "fastmcp");
}

/* Returns where the checked part of a path begins: behind the last directory of installed
 * packages. */
static size_t telling_part(const char *s, size_t len)
{
	static const char *const installed[] = { "/node_modules/",
						 "/site-packages/",
						 "/dist-packages/",
						 "/bin/",
						 "/Scripts/",
						 "/libexec/",
						 NULL };
	size_t from = 0;

	for (const char *const *dir = installed; *dir; dir++) {
		size_t n = strlen(*dir);

		for (size_t i = from; i + n <= len; i++)
			if (memcmp(s + i, *dir, n) == 0)
				from = i + n;
	}
	return from;
}

static size_t base_part(const char *s, size_t len)
{
	size_t i = len;

	while (i > 0 && s[i - 1] != '/')
		i--;
	return i;
}

/* Does one word of the command line look like a server? `program`: the word is the program itself,
 * not an argument. */
static bool word_looks(const char *s, size_t len, bool program)
{
	size_t from;

	if (len == 0)
		return false;
	if (s[0] == '-')
		return is_one_of(s, len, serving_options);
	if (!program && ends_like(s, len, data_files))
		return false;
	from = program ? base_part(s, len) : telling_part(s, len);
	return mcp_look_has_word(s + from, len - from);
}

/* An argument may be a command line: sh -c 'cd x && exec mcp-server-y'. */
static bool argument_looks(const char *s, size_t len)
{
	static const char stops[] = " \t\n;&|()'\"`<>=";

	if (len && s[0] == '-')
		return word_looks(s, len, false);
	if (len && s[0] == '{') /* the config of a client */
		return false;
	for (size_t i = 0; i < len;) {
		size_t n = 0;

		while (i + n < len && !memchr(stops, s[i + n], sizeof(stops) - 1))
			n++;
		if (word_looks(s + i, n, false))
			return true;
		i += n + 1;
	}
	return false;
}

/* A bystander is a server if its next word is a subcommand that serves: codex mcp-server, claude
 * mcp serve. */
static bool bystander_serves(const char *s, size_t len)
{
	return is_one_of(s, len, (const char *const[]){ "mcp-server", "mcp-serve", "mcp", NULL });
}

bool mcp_look(const char *args, size_t len)
{
	size_t n = strnlen(args, len), base = base_part(args, n), name = base;
	bool bystander;

	while (name < n && args[name] != ' ' && args[name] != ':')
		name++;
	bystander = is_one_of(args + base, name - base, bystanders);
	if (memchr(args, ' ',
		   n)) /* a title that the program set: "npm exec x-mcp", "tmux: server" */
		return !bystander && argument_looks(args, n);
	if (!bystander && word_looks(args, n, true))
		return true;
	for (size_t i = n + 1; i < len; i += n + 1) {
		n = strnlen(args + i, len - i);
		if (bystander)
			return bystander_serves(args + i, n);
		if (argument_looks(args + i, n))
			return true;
	}
	return false;
}
