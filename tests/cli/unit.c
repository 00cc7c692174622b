/* unit.c - the parts of the second program that only compute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/emit.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/forest.h"
#include "cli/linux/mcp_look.h"
#include "cli/linux/orphan.h"
#include "cli/linux/trees.h"
#include "t.h"

/* A command line as people write it, words apart by one space; '~' stands for a space inside a
 * word. */
static bool looks(const char *words)
{
	char args[512];
	size_t len = strlen(words);

	memcpy(args, words, len + 1);
	for (size_t i = 0; i < len; i++)
		args[i] = args[i] == ' ' ? '\0' : args[i] == '~' ? ' ' : args[i];
	return mcp_look(args, len + 1);
}

TEST(mcp_servers_look_like_mcp_servers)
{
	static const char *const servers[] = {
		"mcp-server-time",
		"/usr/local/bin/mcp-server-fetch --x",
		"node /home/u/.npm/_npx/1/node_modules/.bin/mcp-server-filesystem /tmp",
		"node /home/u/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
		"npm~exec~@modelcontextprotocol/server-filesystem~/tmp",
		"npm exec @playwright/mcp@latest",
		"npx -y weather-mcp",
		"uvx mcp_server_git",
		"uv tool uvx --from git+https://github.com/x/mcp-foo foo",
		"uv --directory /home/u/mcp-weather run server.py",
		"/home/u/.venv/bin/python -m mcp_server_sqlite --db x.db",
		"python3 /home/u/src/mcp-weather/server.py",
		"python /home/u/weather_mcp.py",
		"fastmcp run server.py",
		"docker run -i --rm mcp/fetch",
		"docker run -i ghcr.io/github/github-mcp-server",
		"/opt/github-mcp-server stdio",
		"java -jar /opt/mcp-x-1.2.jar",
		"dotnet /opt/WeatherMcpServer.dll",
		"/opt/MCPServer",
		"codex mcp-server",
		"claude mcp serve",
		"node /usr/bin/codex mcp-server",
		"sh -c cd~/srv~&&~exec~mcp-server-time~--tz~UTC",
		"some-tool --mcp",
		"mcp-proxy http://localhost:3000/sse",
		"node /home/u/mcp-servers/weather/build/index.js",
		"/usr/bin/context7-mcp",
	};

	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		if (!looks(servers[i]))
			FAIL("not seen: %s", servers[i]);
}

TEST(other_programs_do_not_look_like_mcp_servers)
{
	static const char *const others[] = {
		"",
		"mcpelauncher-client",
		"/usr/games/MCPELauncher --version 1.20",
		"mcpd -f",
		"amcp",
		"python /home/pi/mcp3008.py", /* a chip */
		"scmcpx run",
		"sleep 100",
		"tmux new -s mcp",
		"tmux:~server~mcp",
		"SCREEN -S mcp-work",
		"vim /home/u/mcp-server.py",
		"tail -f /var/log/mcp-server.log",
		"tail -f mcp.log",
		"claude --mcp-config /home/u/mcp.json",
		"node /usr/bin/claude --mcp-config mcp.json",
		"node client.js {\"mcpServers\":{\"x\":{\"command\":\"mcp-server-x\"}}}",
		"node client.js --mcp-config={\"mcpServers\":{}}",
		"some-daemon --config=/etc/mcp.conf",
		"some-daemon /etc/mcp.conf",
		"/home/u/mcp-work/.venv/bin/python -m http.server",
		"/home/u/mcp-work/node_modules/@esbuild/linux-x64/bin/esbuild --service=0.20",
		"node /home/u/mcp-work/node_modules/.bin/vite",
		"python /home/u/mcp-work/.venv/bin/uvicorn app:app",
		"git clone https://github.com/modelcontextprotocol/servers",
		"/opt/mcp/bin/otherd",
		"/usr/lib/systemd/systemd --user",
		"bash",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (looks(others[i]))
			FAIL("taken for a server: %s", others[i]);
}

TEST(mcp_look_does_not_read_past_len)
{
	char args[] = { 's', 'l', 'e', 'e', 'p', '\0', 'm', 'c', 'p' };

	OK(!mcp_look(args, 6));
	OK(!mcp_look(args, 8)); /* "mc" */
	OK(mcp_look(args, 9));  /* no NUL at the end, as when it was cut */
	OK(!mcp_look(args, 0));
}

TEST(inits_collect_orphans_and_shells_do_not)
{
	OK(orphan_is_collector("systemd"));
	OK(orphan_is_collector("tini"));
	OK(orphan_is_collector("containerd-shim-runc-v2"));
	OK(orphan_is_collector("containerd-shim"));
	OK(orphan_is_collector("Relay(412)"));
	OK(!orphan_is_collector("systemd-journal"));
	OK(!orphan_is_collector("bash"));
	OK(!orphan_is_collector("node"));
	OK(!orphan_is_collector("initdb"));
	OK(!orphan_is_collector("killick"));
}

TEST(text_clean_replaces_control_characters)
{
	char out[64];

	text_set_utf8(true);
	text_clean("a\0b\nc\td", 7, out, sizeof(out));
	STREQ(out, "a b c d");
	text_clean("\033[31mred\007\177", 10, out, sizeof(out));
	STREQ(out, "?[31mred??");
	text_clean("\xc2\x9b"
		   "31m",
		   5, out, sizeof(out)); /* C1 CSI */
	STREQ(out, "?31m");
	text_clean("\xe2\x80\xae"
		   "x",
		   4, out, sizeof(out)); /* right-to-left override */
	STREQ(out, "?x");
	text_clean("\xff\xc3", 2, out, sizeof(out));
	STREQ(out, "??");
	text_clean("\xc0\xaf\xed\xa0\x80", 5, out, sizeof(out)); /* overlong, surrogate */
	STREQ(out, "?????");
	text_clean("\xc3\xa4  ", 4, out, sizeof(out));
	STREQ(out, "\xc3\xa4");
	text_clean("abcdef", 6, out, 4);
	STREQ(out, "abc");
	text_clean("ab\xc3\xa4", 4, out, 4); /* never half a character */
	STREQ(out, "ab");
	text_set_utf8(false);
	text_clean("\xc3\xa4", 2, out, sizeof(out));
	STREQ(out, "?");
}

TEST(text_cut_fits_and_marks_the_cut)
{
	char out[32];

	text_set_utf8(false);
	text_cut("abcdefghij", 10, out, sizeof(out));
	STREQ(out, "abcdefghij");
	text_cut("abcdefghij", 9, out, sizeof(out));
	STREQ(out, "abcdef...");
	text_cut("abcdefghij", 5, out, sizeof(out));
	STREQ(out, "abcd~");
	text_cut("abcdefghij", 0, out, sizeof(out));
	STREQ(out, "");
	text_set_utf8(true);
	text_cut("abcdefghij", 9, out, sizeof(out));
	STREQ(out, "abcdefgh\xe2\x80\xa6");
	EQ(text_width(out), 9);
	for (size_t n = 0; n < 12; n++) {
		text_cut("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc",
			 n, out, sizeof(out));
		OK(text_width(out) <= n);
	}
}

TEST(a_path_is_cut_in_the_middle_and_keeps_the_name_of_the_file)
{
	static const char path[] = "~/.config/goose/config.yaml";
	char out[64];

	text_set_utf8(false);
	text_cut_middle(path, 27, out, sizeof(out));
	STREQ(out, path);
	text_cut_middle(path, 24, out, sizeof(out));
	STREQ(out, "~/.co...oose/config.yaml");
	text_cut_middle(path, 16, out, sizeof(out));
	STREQ(out, "~/.~/config.yaml");
	text_set_utf8(true);
	text_cut_middle("~/.config/\xc3\xa4\xc3\xb6\xc3\xbc/\xc3\xa4.json", 15, out, sizeof(out));
	STREQ(out, "~/.conf\xe2\x80\xa6/\xc3\xa4.json");
	for (size_t n = 0; n < 30; n++) {
		text_cut_middle(path, n, out, sizeof(out));
		OK(text_width(out) <= n);
	}
}

TEST(sizes_and_spans_are_short)
{
	char out[24];

	STREQ(text_size(0, out), "0K");
	STREQ(text_size(1536, out), "2K");
	STREQ(text_size(1023 * 1024, out), "1.0M");
	STREQ(text_size(1289748, out), "1.2M");
	STREQ(text_size(120ULL << 20, out), "120M");
	STREQ(text_size(3500ULL << 20, out), "3.4G");
	STREQ(text_span(-5, out), "0ms");
	STREQ(text_span(999, out), "999ms");
	STREQ(text_span(3210, out), "3.2s");
	STREQ(text_span(59999, out), "59s");
	STREQ(text_span(60000, out), "1m");
	STREQ(text_span(11520000, out), "3h12m");
	STREQ(text_span(187200000, out), "2d4h");
	for (unsigned long long n = 1; n; n *= 2)
		OK(strlen(text_size(n, out)) <= 5);
}

/* Print a table into text. */
static char *print(struct table *t, size_t indent, size_t width)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	table_print(t, f, indent, width);
	fclose(f);
	return text;
}

static const struct table_col cols[] = {
	{ .title = "NAME", .min = 4 },
	{ .title = "N", .right = true },
	{ .title = "NOTE", .drop = true },
	{ .title = "COMMAND", .drop = true, .min = 7 },
};

static void add_row(struct table *t, const char *a, const char *b, const char *c, const char *d)
{
	table_add(t, a);
	table_add(t, b);
	table_add(t, c);
	table_add(t, d);
}

TEST(tables_fit)
{
	AUTO(table_done) struct table t = TABLE_INIT(cols);
	AUTO(mem_drop) char *wide = NULL;
	AUTO(mem_drop) char *fit = NULL;
	AUTO(mem_drop) char *narrow = NULL;

	text_set_utf8(false);
	add_row(&t, "abcdef", "1", "", "some command");
	add_row(&t, "b", "23", "", "x");
	wide = print(&t, 0, 0);
	STREQ(wide, "NAME     N  COMMAND\nabcdef   1  some command\nb       23  x\n");
	fit = print(&t, 2, 22);
	STREQ(fit, "  NAME     N  COMMAND\n  abcdef   1  some ...\n  b       23  x\n");
	narrow = print(&t, 0, 8);
	STREQ(narrow, "NAME   N\nabc~   1\nb     23\n");
}

TEST(tables_never_end_a_line_in_spaces)
{
	AUTO(table_done) struct table t = TABLE_INIT(cols);
	AUTO(mem_drop) char *text = NULL;

	add_row(&t, "a", "", "note", "");
	add_row(&t, "", "1", "", "c");
	text = print(&t, 0, 0);
	STREQ(text, "NAME  N  NOTE  COMMAND\na        note\n      1        c\n");
}

static char *write_json(void (*fn)(struct emit *j))
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&b);

	fn(&j);
	emit_print(&j, f);
	fclose(f);
	return text;
}

static void some_json(struct emit *j)
{
	emit_open(j, NULL, '{');
	emit_str(j, "a\"b", "x\\\n\x01\x7f\xc3\xa4\xff");
	emit_str(j, "none", NULL);
	emit_open(j, "list", '[');
	emit_int(j, NULL, -3);
	emit_bool(j, NULL, true);
	emit_open(j, NULL, '{');
	emit_close(j);
	emit_close(j);
	emit_null(j, "n");
	emit_close(j);
}

static void json_list(struct emit *j)
{
	emit_open(j, NULL, '[');
	emit_int(j, NULL, 1);
	emit_int(j, NULL, 2);
	emit_close(j);
}

static void json_empty(struct emit *j)
{
	emit_open(j, NULL, '[');
	emit_close(j);
}

TEST(json_is_json)
{
	AUTO(mem_drop) char *object = write_json(some_json);
	AUTO(mem_drop) char *list = write_json(json_list);
	AUTO(mem_drop) char *empty = write_json(json_empty);

	STREQ(object, "{\"a\\\"b\":\"x\\\\\\u000a\\u0001\\u007f\xc3\xa4\\ufffd\",\"none\":null,"
		      "\"list\":[-3,true,{}],\"n\":null}\n");
	STREQ(list, "[\n1,\n2\n]\n");
	STREQ(empty, "[]\n");
}

static void draw_line(void *ctx, size_t index, const char *prefix)
{
	char *out = ctx;

	snprintf(out + strlen(out), 256 - strlen(out), "%s%zu\n", prefix, index);
}

TEST(forests_are_drawn)
{
	static const struct forest_node nodes[] = {
		{ 10, 1 }, { 11, 10 }, { 12, 11 }, { 13, 10 }, { 20, 1 }
	};
	static const struct forest_node cycle[] = { { 1, 2 }, { 2, 1 } };
	char out[256] = "";

	text_set_utf8(false);
	forest_draw(nodes, 5, "", false, draw_line, out);
	STREQ(out, "0\n|- 1\n|  `- 2\n`- 3\n4\n");
	out[0] = '\0';
	forest_draw(nodes, 5, " ", true, draw_line, out);
	STREQ(out, " |- 0\n |  |- 1\n |  |  `- 2\n |  `- 3\n `- 4\n");
	text_set_utf8(true);
	out[0] = '\0';
	forest_draw(nodes + 3, 2, "", true, draw_line, out);
	STREQ(out, "├─ 0\n└─ 1\n");
	out[0] = '\0';
	forest_draw(cycle, 2, "", true, draw_line, out);
	STREQ(out, "0\n1\n");
	forest_draw(NULL, 0, "", true, draw_line, out);
}

TEST(state_of_a_tree)
{
	struct record rec = { .kept = true };

	EQ(held_state_at(&rec, JANITOR_KEPT, 100), HELD_RUNNING);
	EQ(held_state_at(&rec, JANITOR_ORPHANED, 100), HELD_ORPHANED);
	rec.stopping_ms = 50;
	rec.deadline_ms = 100;
	EQ(held_state_at(&rec, JANITOR_KEPT, 100), HELD_STOPPING);
	EQ(held_state_at(&rec, JANITOR_ORPHANED, 100), HELD_STOPPING);
	EQ(held_state_at(&rec, JANITOR_KEPT, 101), HELD_OVERDUE);
	rec.survivors = 1;
	EQ(held_state_at(&rec, JANITOR_KEPT, 60), HELD_OVERDUE);
	EQ(held_state_at(&rec, JANITOR_LOST, 60), HELD_ABANDONED);
	EQ(held_state_at(&rec, JANITOR_LAST_BOOT, 60), HELD_ABANDONED);
	EQ(held_state_at(&rec, JANITOR_OTHER, 60), HELD_ELSEWHERE);
}

TEST(title_of_a_tree)
{
	struct record rec = { .tree = "00112233aabbccdd" };
	char out[64];

	held_title(&rec, out, sizeof(out));
	STREQ(out, "00112233aabbccdd");
	snprintf(rec.command, sizeof(rec.command), "/usr/bin/npx -y a/b");
	held_title(&rec, out, sizeof(out));
	STREQ(out, "npx");
	snprintf(rec.name, sizeof(rec.name), "my\033server");
	held_title(&rec, out, sizeof(out));
	STREQ(out, "my?server");
}

TEST(err_set_returns_its_code)
{
	struct err e = ERR_INIT;

	EQ(err_set(&e, -2, "no '%s'", "x"), -2);
	EQ(e.code, -2);
	STREQ(e.text, "no 'x'");
	EQ(err_set(NULL, -5, "x"), -5);
}

TEST(families_are_found_whatever_the_order_of_pids)
{
	struct proc list[] = { { .st = { .pid = 2, .ppid = 9 } },
			       { .st = { .pid = 5, .ppid = 1 } },
			       { .st = { .pid = 9, .ppid = 5 } },
			       { .st = { .pid = 10, .ppid = 1 } } };
	struct procs ps = { .list = list, .count = 4 };
	pid_t out[8];

	EQ(procs_family(&ps, 5, out, 8), 3);
	EQ(procs_family(&ps, 10, out, 8), 1);
	EQ(procs_family(&ps, 77, out, 8), 0);
	EQ(procs_family(&ps, 5, out, 2), 2);
}
