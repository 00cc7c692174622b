/* tab.c - the Tab key in bash, zsh and fish, with names that somebody else chose.
 *
 * Each shell runs on a terminal. The test types a line with a Tab and presses Enter. `killick` is a
 * script that calls the real killick for `killick complete`, and else writes its words to a file.
 * So a test sees that Tab and Enter executed nothing but killick, and that the name arrived.
 */
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell.h"

/* "touch x" in a name makes the file x when a shell executes it. */
static const char *const nasty[] = {
	"$(touch x)",
	"`touch x`",
	"${x:=$(touch x)}",
	"$((a[$(touch x)]))",
	"; touch x",
	"a;touch x;b",
	"& touch x",
	"|touch x",
	"a&&touch x",
	"<(touch x)",
	">x",
	"a >x",
	"'$(touch x)'",
	"a'b",
	"'; touch x; '",
	"\"; touch x; \"",
	"a\"b$(touch x)",
	"a\\",
	"a\\$(touch x)",
	"\\",
	"~",
	"~root/x",
	"*",
	"?*[a]",
	"{a,b}",
	"$HOME",
	"$'\\ntouch x'",
	"#a",
	"a b",
	" a",
	"!touch",
	"a!!b",
	"a\\!b",
	"(touch x)",
	"a=b",
	"%x",
	"^a^touch x",
	"a/b",
	"caf\303\251",
};
enum { NASTY = sizeof(nasty) / sizeof(nasty[0]) };

static struct child shell;
static bool is_fish;

/* fish does not quote a ~ of a completed word, which then is the home directory: wrong, but nothing
 * is executed. */
static bool is_expanded(const char *name)
{
	return is_fish && *name == '~';
}

static void type(const char *text)
{
	OK(write(shell.out, text, strlen(text)) == (ssize_t)strlen(text));
}

/* Wait for a text behind what was waited for before. */
static void await(const char *text)
{
	listen_for(&shell, text);
	shell.out_len = 0;
	out[0] = '\0';
}

/* A config with servers of these names. */
static void write_names(const char *const *names)
{
	char text[8192];
	size_t len = (size_t)snprintf(text, sizeof(text), "{\"mcpServers\": {");

	for (const char *const *name = names; *name; name++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\"",
					name > names ? "," : "");
		for (const unsigned char *p = (const unsigned char *)*name; *p; p++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						*p < ' '                  ? "\\u%04x"
						: *p == '"' || *p == '\\' ? "\\%c"
									  : "%c",
						*p);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"\": {\"command\": \"no\"}");
	}
	snprintf(text + len, sizeof(text) - len, "}}\n");
	write_file("mcp.json", text);
}

static void begin_shell(const char *program, const char *const *words)
{
	const char *script = t_program("COMPLETIONS", "packaging/completions/killick.bash");
	char *argv[8] = { (char *)program }, text[1024], path[1024];
	size_t n = 1;

	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(0, "tools", "--config", "mcp.json"); /* stores the names of the tools */
	if (access(script, R_OK) != 0)
		SKIP("the completions cannot be read: %s", script);
	OK(mkdir("bin", 0755) == 0);
	snprintf(text, sizeof(text),
		 "#!/bin/sh\n[ \"$1\" != complete ] || exec '%s' \"$@\"\n"
		 "printf '%%s\\n' \"$@\" >'%s/words'\necho 'r''an'\n",
		 killick(), t_audit.dir);
	write_file("bin/killick", text);
	OK(chmod("bin/killick", 0755) == 0);
	snprintf(path, sizeof(path), "%s/bin:/usr/local/bin:/usr/bin:/bin", t_audit.dir);
	setenv("PATH", path, 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(script, '/') - script), script);
	setenv("COMPLETIONS_DIR", path, 1);
	setenv("HISTFILE", "", 1);
	columns = 300;
	for (; *words; words++)
		argv[n++] = (char *)*words;
	shell = start_on_terminal(argv);
}

static void begin_bash(void)
{
	if (access("/bin/bash", X_OK) != 0)
		SKIP("no bash: apt-get install bash");
	begin_shell("/bin/bash", (const char *const[]){ "--norc", "--noprofile", "-i", NULL });
	type("PS1=; PS2=; bind 'set enable-bracketed-paste off'; . "
	     "\"$COMPLETIONS_DIR/killick.bash\"; echo re''ady\r");
	await("ready");
}

static void begin_zsh(void)
{
	if (access("/usr/bin/zsh", X_OK) != 0 && access("/bin/zsh", X_OK) != 0)
		SKIP("no zsh: apt-get install zsh");
	begin_shell("zsh", (const char *const[]){ "-f", "-i", NULL });
	type("PS1=; unset zle_bracketed_paste; fpath=($COMPLETIONS_DIR $fpath); autoload -U "
	     "compinit; "
	     "compinit -D -u; echo re''ady\r");
	await("ready");
}

static void begin_fish(void)
{
	if (access("/usr/bin/fish", X_OK) != 0)
		SKIP("no fish: apt-get install fish");
	is_fish = true;
	begin_shell("fish", (const char *const[]){ "--no-config", "-i", NULL });
	type("function fish_prompt; end; source $COMPLETIONS_DIR/killick.fish; echo re''ady\r");
	await("ready");
}

static void end_shell(void)
{
	type("exit\r");
	EQ(finish(&shell), 0);
	nothing_left();
}

/* Type the line with its Tab, press Enter, and check the words of killick. */
static void press(const char *line, const char *want)
{
	char words[1024];
	FILE *f;

	unlink("words");
	type(line);
	type("\r");
	await("ran");
	f = fopen("words", "re");
	OK(f);
	words[fread(words, 1, sizeof(words) - 1, f)] = '\0';
	OK(fclose(f) == 0);
	if (strcmp(words, want) != 0)
		FAIL("'%s' gives '%s', not '%s'", line, words, want);
	if (access("x", F_OK) == 0)
		FAIL("'%s' with '%s' executed the name", line, want);
}

static void press_for_server(const char *line, const char *name)
{
	char want[256];

	snprintf(want, sizeof(want), "tools\n--server\n%s\n", name);
	press(line, want);
}

/* Every name alone, so that the Tab key inserts the name. */
static void check_names(void)
{
	for (size_t i = 0; i < NASTY; i++) {
		if (is_expanded(nasty[i]))
			continue;
		write_names((const char *const[]){ nasty[i], NULL });
		press_for_server("killick tools --server \t", nasty[i]);
	}
}

/* Names with control characters are not names: the shell gets no byte of them. */
static void check_control_characters(void)
{
	write_names(
		(const char *const[]){ "a\ntouch x\n", "b\033]0;title\a\033[2J", "c\r\t\b", NULL });
	type("killick tools --server \t\t");
	type("d\r");
	listen_for(&shell, "ran");
	OK(!strstr(out, "\033]0;title") && !strstr(out, "\033[2J"));
	OK(access("x", F_OK) != 0);
	await("ran");
}

/* Several names: the first Tab key inserts the part that is the same, the user types on. */
static void check_common_part(void)
{
	write_names((const char *const[]){ "$(touch x)one", "$(touch x)two", NULL });
	press_for_server("killick tools --server \tt\t", "$(touch x)two");
}

/* Replace the stored names of the tools of the server "one". */
static void write_tool(const char *tool)
{
	char text[256];
	glob_t g;

	OK(glob("killick/tools-*", 0, NULL, &g) == 0 && g.gl_pathc == 1);
	snprintf(text, sizeof(text), "one\t%s\n", tool);
	write_file(g.gl_pathv[0], text);
	globfree(&g);
}

static void check_tools(void)
{
	CONFIG("mcp.json", "one", "good");
	for (size_t i = 0; i < NASTY; i++) {
		char want[256];

		if (is_expanded(nasty[i]))
			continue;
		write_tool(nasty[i]);
		snprintf(want, sizeof(want), "call\n%s\n", nasty[i]);
		press("killick call \t", want);
	}
}

static void check_shell(void)
{
	check_names();
	check_common_part();
	check_control_characters();
	check_tools();
	end_shell();
}

TEST(tab_in_bash_executes_no_name_and_quotes_it, .timeout_ms = TEST_MS)
{
	begin_bash();
	check_shell();
}

TEST(tab_in_zsh_executes_no_name_and_quotes_it, .timeout_ms = TEST_MS)
{
	begin_zsh();
	check_shell();
}

TEST(tab_in_fish_executes_no_name_and_quotes_it, .timeout_ms = TEST_MS)
{
	begin_fish();
	check_shell();
}

TEST(tab_in_bash_keeps_a_quote_that_the_user_opened, .timeout_ms = TEST_MS)
{
	begin_bash();
	for (size_t i = 0; i < NASTY; i++) {
		write_names((const char *const[]){ nasty[i], NULL });
		press_for_server("killick tools --server '\t", nasty[i]);
		if (!strchr(nasty[i], '!')) /* not offered: "" does not quote ! */
			press_for_server("killick tools --server \"\t", nasty[i]);
	}
	end_shell();
}

TEST(tab_in_bash_quotes_the_names_of_files, .timeout_ms = TEST_MS)
{
	begin_bash();
	for (size_t i = 0; i < NASTY; i++) {
		char path[128], want[256];

		if (strchr(nasty[i], '/'))
			continue;
		OK(mkdir("files", 0755) == 0);
		snprintf(path, sizeof(path), "files/%s", nasty[i]);
		write_file(path, "");
		snprintf(want, sizeof(want), "tools\n--config\nfiles/%s\n", nasty[i]);
		press("killick tools --config files/\t", want);
		snprintf(want, sizeof(want), "wrap\nfiles/%s\n", nasty[i]);
		press("killick wrap files/\t", want);
		OK(unlink(path) == 0 && rmdir("files") == 0);
	}
	end_shell();
}

TEST(tab_runs_no_killick_of_the_working_directory, .timeout_ms = TEST_MS)
{
	begin_bash();
	write_file("killick.sh", "#!/bin/sh\ntouch x\n");
	OK(mkdir("repo", 0755) == 0);
	OK(rename("killick.sh", "repo/killick") == 0 && chmod("repo/killick", 0755) == 0);
	write_names((const char *const[]){ "a", NULL });
	type("repo/killick tools --server \t");
	await("--server a");
	OK(access("x", F_OK) != 0);
	type("\025"); /* Ctrl-U: the line is deleted */
	end_shell();
}

TEST(a_tool_whose_name_is_an_option_is_not_offered, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(0, "tools", "--config", "mcp.json");
	write_tool("--config=other.json");
	RUN(0, "complete", "tools", "--config", "mcp.json");
	STREQ(out, "");
}
