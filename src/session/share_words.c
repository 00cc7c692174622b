/* share_words.c - words in names of tools and packages that show whether a server keeps state. */
#include <string.h>

#include "base/strings.h"
#include "session/share_words.h"

/* Whole words of a name. A plural counts as well. */
static const char *const share_words[] = {
	"browser", "page",     "tab",     "navigate", "click",     "screenshot",  "snapshot",
	"session", "terminal", "shell",   "process",  "ssh",       "connect",     "login",
	"cursor",  "editor",   "buffer",  "document", "workspace", "transaction", "begin",
	"commit",  "thinking", "thought", "undo",     "history",   NULL,
};
/* Words that count only beside one of the verbs: activate_project changes the state of the server,
 * get_project does not. */
static const char *const share_selections[] = { "project", NULL };
static const char *const share_selecting[] = { "activate", "set", "switch", "use", NULL };
/* Words that are long enough to be looked for inside of a name without separators. */
static const char *const share_inside[] = {
	"browser",  "navigate", "screenshot", "session",   "terminal", "workspace", "transaction",
	"thinking", "thought",  "playwright", "puppeteer", "selenium", NULL,
};

struct share_word { /* one word of a name, in lower case */
	char text[64];
	size_t len;
};

static bool share_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool share_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* Bytes of other alphabets belong to words. */
static bool share_is_separator(char c)
{
	return !share_is_upper(c) && !share_is_lower(c) && !(c >= '0' && c <= '9') &&
	       !((unsigned char)c & 0x80);
}

/* Does a word of camel case begin at p? "runSSHCommand" has the words run, SSH and Command. */
static bool share_begins(const char *name, const char *p)
{
	if (p == name || !share_is_upper(*p))
		return false;
	return !share_is_upper(p[-1]) || share_is_lower(p[1]);
}

/* Read the next word at *p. False: the name is over. */
static bool share_next(const char *name, const char **p, struct share_word *out)
{
	*out = (struct share_word){ .len = 0 };
	while (**p && share_is_separator(**p))
		(*p)++;
	if (!**p)
		return false;
	do {
		if (out->len + 1 < sizeof(out->text))
			out->text[out->len++] = (char)(**p | (share_is_upper(**p) ? 0x20 : 0));
		(*p)++;
	} while (**p && !share_is_separator(**p) && !share_begins(name, *p));
	return true;
}

/* Returns the entry of the list that is the word or its singular; NULL: none. */
static const char *share_lookup(const char *const *list, const char *word)
{
	for (; *list; list++) {
		size_t len = strlen(*list);

		if (strncmp(word, *list, len) == 0 &&
		    (word[len] == '\0' || strcmp(word + len, "s") == 0 ||
		     strcmp(word + len, "es") == 0))
			return *list;
	}
	return NULL;
}

const char *share_stateful_word(const char *name)
{
	const char *p = name, *found, *selection = NULL;
	struct share_word w;
	bool selecting = false;

	while (share_next(name, &p, &w)) {
		found = share_lookup(share_words, w.text);
		if (found)
			return found;
		for (const char *const *i = share_inside; *i; i++)
			if (strstr(w.text, *i))
				return *i;
		if (!selection)
			selection = share_lookup(share_selections, w.text);
		selecting |= share_lookup(share_selecting, w.text) != NULL;
	}
	return selecting ? selection : NULL;
}

/* --- packages --- */

static const struct {
	const char *name;
	enum share_state state;
} share_packages[] = {
	{ "server-filesystem", SHARE_STATE_NONE },
	{ "mcp-server-filesystem", SHARE_STATE_NONE },
	{ "server-memory", SHARE_STATE_NONE }, /* several copies lose updates of their file */
	{ "mcp-server-memory", SHARE_STATE_NONE },
	{ "server-github", SHARE_STATE_NONE },
	{ "mcp-server-github", SHARE_STATE_NONE },
	{ "github-mcp-server", SHARE_STATE_NONE },
	{ "server-postgres", SHARE_STATE_NONE },
	{ "mcp-server-postgres", SHARE_STATE_NONE },
	{ "context7-mcp", SHARE_STATE_NONE },
	{ "mcp-server-fetch", SHARE_STATE_NONE },
	{ "server-fetch", SHARE_STATE_NONE },
	{ "mcp-server-time", SHARE_STATE_NONE },
	{ "server-time", SHARE_STATE_NONE },
	{ "server-brave-search", SHARE_STATE_NONE },
	{ "brave-search-mcp-server", SHARE_STATE_NONE },
	{ "tavily-mcp", SHARE_STATE_NONE },
	{ "exa-mcp-server", SHARE_STATE_NONE },
	{ "duckduckgo-mcp-server", SHARE_STATE_NONE },
	{ "server-everything", SHARE_STATE_KEPT },
	{ "mcp-server-everything", SHARE_STATE_KEPT },
	{ "server-sequential-thinking", SHARE_STATE_KEPT },
	{ "mcp-server-sequential-thinking", SHARE_STATE_KEPT },
	{ "@playwright", SHARE_STATE_KEPT },
	{ "mcp-server-playwright", SHARE_STATE_KEPT },
	{ "playwright-mcp", SHARE_STATE_KEPT },
	{ "playwright-mcp-server", SHARE_STATE_KEPT },
	{ "server-puppeteer", SHARE_STATE_KEPT },
	{ "mcp-server-puppeteer", SHARE_STATE_KEPT },
	{ "chrome-devtools-mcp", SHARE_STATE_KEPT },
	{ "desktop-commander", SHARE_STATE_KEPT },
	{ "ssh-mcp", SHARE_STATE_KEPT },
	{ "mcp-ssh", SHARE_STATE_KEPT },
	{ "serena", SHARE_STATE_KEPT },
	{ "serena-agent", SHARE_STATE_KEPT },
};

/* Programs that run another program or a script, and words in between. */
static const char *const share_runners[] = { "npx",    "bunx",   "uvx",     "pipx", "npm",  "pnpm",
					     "pnpx",   "yarn",   "bun",     "uv",   "deno", "node",
					     "nodejs", "python", "python3", NULL };
static const char *const share_fillers[] = { "exec", "x", "dlx", "run", "tool", NULL };

static const char *share_base(const char *path)
{
	const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');

	if (back && (!slash || back > slash))
		slash = back;
	return slash ? slash + 1 : path;
}

static bool share_is_one_of(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

/* Is the name, of len bytes, the package: without its version and with '-' for '_'? */
static bool share_is_package(const char *name, size_t len, const char *package)
{
	size_t want = strlen(package);

	if (len < want ||
	    (len > want && name[want] != '@' && strncmp(name + want, ".exe", 4) != 0 &&
	     strncmp(name + want, "==", 2) != 0))
		return false;
	for (size_t i = 0; i < want; i++)
		if (name[i] != package[i] && !(name[i] == '_' && package[i] == '-'))
			return false;
	return true;
}

/* Looks at each part of a path or of "@scope/package@version". */
static const char *share_find_package(const char *word, enum share_state *out)
{
	for (size_t len; *word; word += len + (word[len] != '\0')) {
		len = strcspn(word, "/\\");
		for (size_t i = 0; i < sizeof(share_packages) / sizeof(share_packages[0]); i++) {
			if (!share_is_package(word, len, share_packages[i].name))
				continue;
			*out = share_packages[i].state;
			return share_packages[i].name;
		}
	}
	return NULL;
}

const char *share_known_package(char *const *argv, enum share_state *out)
{
	/* A later argument may be a path of any name, so only the program, or the first word behind
	 * a launcher or interpreter, says what the server is. */
	if (!argv[0])
		return NULL;
	if (!share_is_one_of(share_runners, share_base(*argv)))
		return share_find_package(share_base(*argv), out);
	for (argv++; *argv; argv++)
		if (**argv != '-' && !share_is_one_of(share_fillers, *argv))
			return share_find_package(*argv, out);
	return NULL;
}
