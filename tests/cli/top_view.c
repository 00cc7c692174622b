/* top_view.c - `killick top` without a terminal and without a hub: model, keys and frames. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/top_keys.h"
#include "cli/top_lines.h"
#include "cli/top_link.h"
#include "cli/top_model.h"
#include "cli/top_view.h"
#include "json_text.h"
#include "t.h"

#define STATUS                                                                                     \
	"{\"pid\":99,\"uptimeMs\":11520000,\"savedMemory\":2306867200,\"sessions\":2,\"servers\":" \
	"3}"
#define SERVERS                                                                                    \
	"{\"servers\":["                                                                           \
	"{\"server\":\"v1\",\"name\":\"files\",\"state\":\"ready\",\"reason\":\"\",\"sessions\":"  \
	"[\"s1\",\"s2\",\"s1\"],\"shared\":true,\"why\":\"the server keeps no "                    \
	"state\",\"inFlight\":2,"                                                                  \
	"\"queued\":1,\"calls\":1234,\"errors\":5,\"p50Ms\":0.42,\"p99Ms\":12.4,\"pid\":501,"      \
	"\"processes\":3,\"memory\":100663296,\"restarts\":0,\"level\":\"cgroup\",\"ageMs\":5000," \
	"\"command\":\"npx files\",\"protocol\":\"2025-06-18\",\"tools\":[{\"name\":"              \
	"\"read\",\"bytes\":400},{\"name\":\"write\",\"bytes\":4000,\"tokens\":1000}],\"recent\":" \
	"[{\"agoMs\":3200,\"session\":\"s1\",\"tool\":\"read\",\"ms\":1.5,\"ok\":false}],"         \
	"\"stderr\":\"1\\n2\\n3\\n4\\n5\\n6\\nlast \\u001b[31mline\\n\"},"                         \
	"{\"server\":\"v2\",\"name\":\"github\",\"state\":\"gone\",\"reason\":\"it exited with "   \
	"status 1\",\"sessions\":[\"s1\"],\"inFlight\":0,\"calls\":0,\"p50Ms\":null,\"pid\":0,"    \
	"\"processes\":0,\"memory\":0,\"restarts\":3,\"level\":\"keeper\"},"                       \
	"{\"server\":\"v3\",\"name\":\"browser\",\"state\":\"resting\",\"sessions\":[],"           \
	"\"inFlight\":0,\"calls\":31,\"p50Ms\":140,\"p99Ms\":2100,\"pid\":0,\"memory\":0,"         \
	"\"processes\":0,\"restarts\":0,\"level\":\"\"}]}"
#define SESSIONS                                                                                   \
	"{\"sessions\":[{\"session\":\"s2\",\"tag\":\"turn-17\",\"client\":null,\"era\":"          \
	"\"modern\",\"ageMs\":40000,\"idleMs\":20,\"servers\":[\"v1\"],\"inFlight\":2,\"calls\":"  \
	"3},"                                                                                      \
	"{\"session\":\"s1\",\"tag\":null,\"client\":{\"name\":\"claude-code\",\"version\":"       \
	"\"2.1\"},\"era\":\"legacy\",\"ageMs\":7500000,\"idleMs\":3000,\"servers\":[\"v1\","       \
	"\"v2\"],"                                                                                 \
	"\"inFlight\":0,\"calls\":120}]}"

static struct ps_process process = { .pid = 601, .command = (char *)"sleep 9", .rss = 1 << 20 };
static struct ps_tree tree_list[] = {
	{ .rec = { .tree = "aaaaaaaaaaaaaaa1", .server = { .pid = 501 }, .owner = { .pid = 99 } },
	  .title = "files",
	  .state = "running",
	  .count = 3 },
	{ .rec = { .tree = "aaaaaaaaaaaaaaa2",
		   .server = { .pid = 601 },
		   .owner = { .pid = 77 },
		   .level = "group",
		   .command = "sleep 9" },
	  .title = "plain",
	  .state = "running",
	  .owner = "77 claude",
	  .has_owner = true,
	  .processes = &process,
	  .count = 1,
	  .rss = 1 << 20,
	  .age_ms = 61000 },
	{ .rec = { .tree = "aaaaaaaaaaaaaaa3", .server = { .pid = 701 }, .owner = { .pid = 99 } },
	  .title = "of the hub, just started",
	  .state = "running" },
};
static const struct ps_trees trees = { .list = tree_list, .count = 3 };
static const struct ps_trees no_trees = { .count = 0 };

static void build(const struct ps_trees *from, enum top_sort sort, struct top_model *m)
{
	struct top_answers a = { json_text(STATUS), json_text(SERVERS), json_text(SESSIONS) };

	top_model_build(&a, from, sort, m);
}

/* The names of the servers with spaces between them. */
static const char *order(const struct top_model *m)
{
	static char names[400];

	names[0] = '\0';
	for (size_t i = 0; i < m->server_count; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? " " : "",
			 m->servers[i].name);
	return names;
}

TEST(the_servers_are_sorted_by_memory_calls_name_and_state)
{
	static const char *const want[] = {
		[TOP_BY_MEMORY] = "files plain browser github",
		[TOP_BY_CALLS] = "files browser github plain",
		[TOP_BY_NAME] = "browser files github plain",
		[TOP_BY_STATE] = "github files plain browser",
	};

	for (enum top_sort sort = 0; sort < TOP_SORTS; sort++) {
		AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

		build(&trees, sort, &m);
		STREQ(order(&m), want[sort]);
	}
}

TEST(a_tree_of_the_hub_has_no_row_of_its_own)
{
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	build(&trees, TOP_BY_NAME, &m);
	EQ(m.server_count, 4);
	OK(!m.servers[1].tree);
	OK(m.servers[3].tree == &tree_list[1]);
	STREQ(m.servers[3].reason, "owner 77 claude");
	EQ(m.servers[3].sessions, -1);
	EQ(m.totals.trees, 3);
	EQ(m.totals.leaks, 0);
	EQ(m.totals.servers, 2);
	EQ(m.totals.resting, 1);
	EQ(m.totals.processes, 4);
	EQ(m.totals.memory, (96LL << 20) + (1 << 20));
}

TEST(the_facts_of_a_session_and_a_server)
{
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	const struct top_server *s;

	build(&no_trees, TOP_BY_NAME, &m);
	EQ(m.session_count, 2);
	STREQ(m.sessions[0].id, "s1"); /* the oldest first */
	STREQ(m.sessions[0].client, "claude-code 2.1");
	STREQ(m.sessions[0].tag, "");
	STREQ(m.sessions[1].client, "");
	STREQ(m.sessions[1].tag, "turn-17");
	OK(m.has_tags);
	EQ(m.sessions[0].servers, 2);
	EQ(m.sessions[1].in_flight, 2);
	s = &m.servers[1];
	STREQ(s->id, "v1");
	EQ(s->sessions, 2);
	EQ(s->in_flight, 2);
	EQ(s->queued, 1);
	EQ(s->errors, 5);
	OK(s->p50_ms > 0.41 && s->p50_ms < 0.43);
	EQ(s->health, TOP_WORKS);
	EQ(m.servers[2].health, TOP_FAILED);
	EQ(m.servers[2].restarts, 3);
	OK(m.servers[2].p50_ms < 0);
}

TEST(without_a_hub_every_tree_has_a_row_and_lost_trees_are_leaks)
{
	static struct ps_tree lost[] = {
		{ .rec = { .tree = "b1" }, .title = "kept", .state = "running", .count = 2 },
		{ .rec = { .tree = "b2" }, .title = "lost", .state = "abandoned", .count = 3 },
		{ .rec = { .tree = "b3" }, .title = "late", .state = "overdue", .count = 1 },
	};
	const struct ps_trees all = { .list = lost, .count = 3 };
	const struct top_answers none = { JSON_NONE, JSON_NONE, JSON_NONE };
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	top_model_build(&none, &all, TOP_BY_STATE, &m);
	STREQ(order(&m), "late lost kept");
	OK(!m.totals.has_hub);
	EQ(m.totals.trees, 3);
	EQ(m.totals.lost_trees, 2);
	EQ(m.totals.leaks, 4);
}

/* All lines with newlines. */
static const char *text(const struct top_lines *l)
{
	static char all[1 << 16];
	size_t len = 0;

	all[0] = '\0';
	for (size_t i = 0; i < l->count; i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s\n", l->list[i]);
	return all;
}

static void check_width(const struct top_lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (text_width(l->list[i]) > l->width)
			FAIL("%zu columns of %zu: %s", text_width(l->list[i]), l->width,
			     l->list[i]);
}

TEST(a_frame_of_80_columns)
{
	static const char want[] =
		"killick top                                                     hub 99, up 3h12m\n"
		"held   97M    4 processes of 2 servers, 1 resting\n"
		"saved  2.1G   by sharing and rest\n"
		"leaks  0      proof: working keepers hold all 3 trees\n"
		"\n"
		"  SERVER          STATE       SESS BUSY    P50    P99   MEM PROCS RST  LEVEL\n"
		"> files           ready          2    2 0.42ms   12ms   96M     3   0  cgroup\n"
		"  plain           running        -    -      -      -  1.0M     1   -  group\n"
		"  browser         resting        0    0  140ms   2.1s     -     0   0  -\n"
		"  github          gone           1    0      -      -     -     0   3  keeper\n"
		"    it exited with status 1\n"
		"\n"
		"  SESSION TAG               CLIENT               AGE   IDLE SERVERS BUSY  CALLS\n"
		"  s1      -                 claude-code 2.1    2h05m     3s       2    0    120\n"
		"  s2      turn-17           -                    40s     0s       1    2      3\n"
		"\n\n\n"
		"q quit  s by memory  enter unfold  x stop  r restart  z rest\n";
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = TOP_BY_MEMORY };

	build(&trees, k.sort, &m);
	top_view_frame(&m, &k, 19, &l);
	check_width(&l);
	STREQ(text(&l), want);
}

TEST(a_frame_of_60_columns_leaves_columns_out)
{
	static const char want[] = "killick top                                 hub 99, up 3h12m\n"
				   "held   97M    4 processes of 2 servers, 1 resting\n"
				   "saved  2.1G   by sharing and rest\n"
				   "leaks  0      proof: working keepers hold all 3 trees\n"
				   "\n"
				   "  SERVER            STATE       SESS BUSY    P99   MEM PROCS\n"
				   "  files             ready          2    2   12ms   96M     3\n"
				   "  plain             running        -    -      -  1.0M     1\n"
				   "  browser           resting        0    0   2.1s     -     0\n"
				   "  github            gone           1    0      -     -     0\n"
				   "    it exited with status 1\n"
				   "\n"
				   "  SESSION TAG         CLIENT         AGE   IDLE BUSY  CALLS\n"
				   "  s1      -           claude-c...  2h05m     3s    0    120\n"
				   "  s2      turn-17     -              40s     0s    2      3\n";
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(60, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = TOP_BY_MEMORY };

	build(&trees, k.sort, &m);
	top_view_all(&m, &k, &l);
	check_width(&l);
	STREQ(text(&l), want);
}

TEST(an_unfolded_server_shows_tools_calls_and_stderr)
{
	static const char *const want[] = {
		"    command  npx files\n",
		"    sharing  the server keeps no state\n",
		"    sessions s1 s2\n",
		"    process  pid 501, up 5s, 1234 calls, 5 errors, 1 queued, MCP 2025-06-18\n",
		"    tools    2, about 1100 tokens in a model's context\n         1000  write\n",
		"    last calls\n          3s ago  s1    1.5ms  read  failed\n",
		"    stderr\n      2\n      3\n      4\n      5\n      6\n      last ?[31mline\n",
	};
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .unfolded = "v1" };

	build(&trees, k.sort, &m);
	top_view_all(&m, &k, &l);
	check_width(&l);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (!strstr(text(&l), want[i]))
			FAIL("no '%s' in:\n%s", want[i], text(&l));
}

TEST(the_selection_is_seen_in_a_low_terminal)
{
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	build(&trees, TOP_BY_NAME, &m);
	for (size_t rows = 1; rows < 30; rows++) {
		for (size_t i = 0; i < m.server_count; i++) {
			AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
			struct top_keys k = { .sort = TOP_BY_NAME };
			char mark[120];

			snprintf(k.selected, sizeof(k.selected), "%s", m.servers[i].id);
			snprintf(k.unfolded, sizeof(k.unfolded), "%s", m.servers[i].id);
			top_view_frame(&m, &k, rows, &l);
			OK(l.count == rows || rows < 9);
			snprintf(mark, sizeof(mark), "\nv %s ", m.servers[i].name);
			if (rows >= 9 && !strstr(text(&l), mark))
				FAIL("%zu rows: no '%s' in:\n%s", rows, mark, text(&l));
		}
	}
}

TEST(rows_below_the_terminal_are_counted_and_can_be_selected)
{
	static const struct {
		const char *keys, *want;
		size_t rows;
	} rows[] = {
		{ "",
		  "\n  plain           running        -    -      -      -  1.0M     1   -  group\n"
		  "  + 2 servers, 2 sessions below\nq quit",
		  10 },
		{ "", "    it exited with status 1\n  + 2 sessions below\nq quit", 13 },
		{ "jjj", "\n  + 2 sessions below\nq quit", 13 },
		{ "jjjj", "\n> s1      -", 13 },
		{ "jjjj", "\n  + 1 session below\nq quit", 13 },
		{ "jjjjj", "\n> s2      turn-17 ", 13 },
		{ "\r", "\n  + 3 servers, 2 sessions below\nq quit", 13 },
	};
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	build(&trees, TOP_BY_MEMORY, &m);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
		struct top_keys k = { .sort = TOP_BY_MEMORY };

		top_keys_read(&k, &m, rows[i].keys, strlen(rows[i].keys));
		top_view_frame(&m, &k, rows[i].rows, &l);
		EQ(l.count, rows[i].rows);
		if (!strstr(text(&l), rows[i].want))
			FAIL("row %zu: no '%s' in:\n%s", i, rows[i].want, text(&l));
	}
}

TEST(no_line_is_wider_than_the_terminal)
{
	static const char odd[] =
		"{\"servers\":[{\"name\":\"a name\\u0007 of many many words that goes on and on\","
		"\"state\":\"a state that nobody has seen before\",\"reason\":\"a reason of one "
		"hundred columns and more, which does not fit into any usual terminal at all, or "
		"does it?\",\"sessions\":7,\"inFlight\":123456789,\"calls\":1e300,\"p50Ms\":1e18,"
		"\"memory\":9e17,\"processes\":\"x\",\"tools\":[{},7,null],\"recent\":{\"a\":1},"
		"\"stderr\":[]},{},7,null,\"x\"]}";
	struct top_answers a = { json_text("7"), json_text(odd),
				 json_text("{\"sessions\":[{},7,[]]}") };
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	top_model_build(&a, &trees, TOP_BY_STATE, &m);
	for (size_t width = 20; width < 240; width++) {
		for (enum top_sort sort = 0; sort < TOP_SORTS; sort++) {
			AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(width, false);
			struct top_keys k = { .sort = sort, .asked = TOP_STOP };

			snprintf(k.asked_name, sizeof(k.asked_name), "%s", m.servers[0].name);
			snprintf(k.note, sizeof(k.note), "%0250d", 7);
			top_view_frame(&m, &k, 40, &l);
			check_width(&l);
			EQ(l.count, 40);
		}
	}
}

TEST(colours_do_not_change_the_columns)
{
	AUTO(top_lines_done) struct top_lines plain = TOP_LINES_INIT(80, false);
	AUTO(top_lines_done) struct top_lines coloured = TOP_LINES_INIT(80, true);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .unfolded = "v1" };

	build(&trees, k.sort, &m);
	top_view_frame(&m, &k, 40, &plain);
	top_view_frame(&m, &k, 40, &coloured);
	for (size_t i = 0; i < plain.count; i++) {
		char bare[1024];
		size_t n = 0;

		for (const char *c = coloured.list[i]; *c; c++) {
			if (*c == '\033')
				c = strchr(c, 'm');
			else
				bare[n++] = *c;
		}
		bare[n] = '\0';
		STREQ(bare, plain.list[i]);
	}
}

TEST(keys_sort_select_unfold_and_ask)
{
	static const struct {
		const char *keys, *selected, *unfolded;
		enum top_sort sort;
		enum top_order asked, given;
		bool quit;
	} rows[] = {
		{ "", "", "", 0, 0, 0, false },
		{ "q", "", "", 0, 0, 0, true },
		{ "s", "", "", TOP_BY_CALLS, 0, 0, false },
		{ "ssss", "", "", TOP_BY_MEMORY, 0, 0, false },
		{ "S", "", "", TOP_BY_STATE, 0, 0, false },
		{ "j", "aaaaaaaaaaaaaaa2", "", 0, 0, 0, false },
		{ "\033[B\033[B", "v3", "", 0, 0, 0, false },
		{ "\033OB\033OA", "v1", "", 0, 0, 0, false },
		{ "G", "s2", "", 0, 0, 0, false },
		{ "jjjjj", "s2", "", 0, 0, 0, false },
		{ "jjjjjjjjk", "s1", "", 0, 0, 0, false },
		{ "G\r", "s2", "", 0, 0, 0, false }, /* a session cannot be unfolded */
		{ "Gxy", "s2", "", 0, 0, 0, false },
		{ "\033[F\033[H", "v1", "", 0, 0, 0, false },
		{ "\033[6~", "s2", "", 0, 0, 0, false },
		{ "\033[99~", "", "", 0, 0, 0, false },
		{ "\r", "v1", "v1", 0, 0, 0, false },
		{ " ", "v1", "v1", 0, 0, 0, false },
		{ "\r\r", "v1", "", 0, 0, 0, false },
		{ "\033[C\033[C", "v1", "v1", 0, 0, 0, false },
		{ "\033[C\033[D", "v1", "", 0, 0, 0, false },
		{ "\r\033", "v1", "", 0, 0, 0, false },
		{ "x", "", "", 0, TOP_STOP, 0, false },
		{ "xy", "", "", 0, 0, TOP_STOP, false },
		{ "ry", "", "", 0, 0, TOP_RESTART, false },
		{ "zY", "", "", 0, 0, TOP_REST, false },
		{ "xn", "", "", 0, 0, 0, false },
		{ "xq", "", "", 0, 0, 0, false }, /* the answer to the question is no */
		{ "x\033[B", "", "", 0, 0, 0, false },
		{ "y", "", "", 0, 0, 0, false },
		{ "jr", "aaaaaaaaaaaaaaa2", "", 0, 0, 0, false }, /* a tree cannot be restarted */
		{ "jxy", "aaaaaaaaaaaaaaa2", "", 0, 0, TOP_STOP, false },
		{ "\xff\xc3\xa4", "", "", 0, 0, 0, false },
	};
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	build(&trees, TOP_BY_MEMORY, &m);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct top_keys k = { .sort = 0 };
		enum top_order given = top_keys_read(&k, &m, rows[i].keys, strlen(rows[i].keys));

		if (strcmp(k.selected, rows[i].selected) || strcmp(k.unfolded, rows[i].unfolded) ||
		    k.sort != rows[i].sort || k.asked != rows[i].asked || given != rows[i].given ||
		    k.quit != rows[i].quit)
			FAIL("row %zu: selected '%s', unfolded '%s', sort %d, asked %d, given %d, "
			     "quit %d",
			     i, k.selected, k.unfolded, k.sort, k.asked, given, k.quit);
		EQ(k.asked_tree && given, strcmp(rows[i].keys, "jxy") == 0);
	}
}

TEST(a_key_of_several_bytes_may_come_in_pieces)
{
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = 0 };

	build(&trees, TOP_BY_MEMORY, &m);
	top_keys_read(&k, &m, "\033[", 2);
	STREQ(k.selected, "");
	top_keys_read(&k, &m, "B", 1);
	STREQ(k.selected, "aaaaaaaaaaaaaaa2");
}

TEST(keys_without_servers_say_that_there_is_none)
{
	const struct top_answers none = { JSON_NONE, JSON_NONE, JSON_NONE };
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = 0 };

	top_model_build(&none, &no_trees, 0, &m);
	EQ(top_keys_read(&k, &m, "jkG\rxyr \033[6~z", 13), TOP_NO_ORDER);
	top_view_frame(&m, &k, 10, &l);
	OK(strstr(text(&l), "no servers: killick holds nothing for this user"));
	OK(strstr(text(&l), "there is no server to rest\n"));
	OK(!strstr(text(&l), "fold"));
	OK(strstr(text(&l), "proof: no record of a tree is left"));
}

#define NOT_SET(session) REFUSED(session, LONG_NAME, "4", "variable 'NOPE' is not set")
#define NO_COMMAND       REFUSED("s3", LONG_NAME, "5", "'command' is missing")
#define REFUSED_SERVERS                                                                            \
	"{\"servers\":[" NOT_SET("s1") "," NOT_SET("s2") "," NOT_SET("s15") "," NO_COMMAND "]}"

#define REFUSED(session, name, line, cause)                                                        \
	"{\"server\":null,\"name\":\"" name "\",\"state\":\"failed\",\"reason\":"                  \
	"\"/home/ann/many.json:" line ": server '" name "': " cause "\",\"sessions\":[\"" session  \
	"\"]}"
#define LONG_NAME "very-long-server-name-for-the-company"

static void build_refused(struct top_model *m)
{
	struct top_answers a = { json_text(STATUS), json_text(REFUSED_SERVERS),
				 json_text(SESSIONS) };

	top_model_build(&a, &no_trees, TOP_BY_NAME, m);
}

/* Is the text in these lines, when the breaks and the indents are taken out? */
static bool has_wrapped(const struct top_lines *l, const char *want)
{
	char flat[1 << 14];
	size_t len = 0;

	for (const char *c = text(l); *c && len + 1 < sizeof(flat); c++)
		if (*c != '\n' && *c != ' ')
			flat[len++] = *c;
	flat[len] = '\0';
	return strstr(flat, want) != NULL;
}

TEST(an_unfolded_server_shows_its_whole_reason_and_name)
{
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	build_refused(&m);
	for (size_t width = 40; width <= 200; width += 20) {
		AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(width, false);
		struct top_keys k = { .sort = TOP_BY_NAME };

		for (size_t i = 0; i < m.server_count; i++)
			if (m.servers[i].sessions > 1)
				snprintf(k.unfolded, sizeof(k.unfolded), "%s", m.servers[i].id);
		top_view_frame(&m, &k, 40, &l);
		check_width(&l);
		OK(has_wrapped(&l, "reasonvariable'NOPE'isnotset"));
		OK(has_wrapped(&l, "config/home/ann/many.json:4"));
		OK(has_wrapped(&l, "name" LONG_NAME));
		OK(has_wrapped(&l, "sessionss1s2s15"));
		OK(!strstr(text(&l), "server '"));
	}
}

TEST(a_row_does_not_repeat_the_name_of_its_server_in_the_reason)
{
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(60, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = TOP_BY_NAME };

	build_refused(&m);
	top_view_frame(&m, &k, 30, &l);
	OK(strstr(text(&l), "\n    variable 'NOPE' is not set\n"));
	OK(strstr(text(&l), "\n    'command' is missing\n"));
}

TEST(the_cause_of_a_failure_is_found_in_its_reason)
{
	static const struct {
		const char *reason, *cause, *place;
	} rows[] = {
		{ "/a b.json:4: server 'x': bad", "bad", "/a b.json:4" },
		{ "server 'x' is remote", "is remote", "" },
		{ "server 'x': bad", "bad", "" },
		{ "/a.json:4: server 'y': bad", "/a.json:4: server 'y': bad", "" },
		{ "it says server 'x': bad", "it says server 'x': bad", "" },
		{ "/a.json:4: server 'x'", "/a.json:4: server 'x'", "" },
		{ "exited with status 1", "exited with status 1", "" },
		{ "", "", "" },
	};
	char place[100];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		STREQ(top_model_cause(rows[i].reason, "x", place, sizeof(place)), rows[i].cause);
		STREQ(place, rows[i].place);
	}
}

TEST(sessions_with_the_same_error_in_the_config_share_a_row)
{
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = TOP_BY_NAME };

	build_refused(&m);
	EQ(m.server_count, 2);
	top_view_frame(&m, &k, 30, &l);
	OK(strstr(text(&l), " s1 failed         3 ") || strstr(text(&l), " s1  failed         3 "));
	OK(!strstr(text(&l), "s1/"));
}

TEST(a_server_that_does_not_run_has_no_process_and_no_stderr)
{
	struct top_answers a = {
		json_text(STATUS),
		json_text(
			"{\"servers\":[{\"server\":\"v1\",\"name\":\"a\",\"state\":\"failed\","
			"\"reason\":"
			"\"it exited\",\"why\":\"not known before the handshake\",\"sessions\":[],"
			"\"calls\":0,\"pid\":0,\"stderr\":\"\\n \\r\\n\"}]}"),
		json_text(SESSIONS)
	};
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .unfolded = "v1" };

	top_model_build(&a, &no_trees, TOP_BY_NAME, &m);
	top_view_all(&m, &k, &l);
	OK(strstr(text(&l), "    process  none\n"));
	OK(!strstr(text(&l), "not running"));
	OK(!strstr(text(&l), "stderr"));
	OK(!strstr(text(&l), "handshake"));
}

/* The hub has no id for a server with an error in its config. */
TEST(a_server_with_an_error_in_its_config_has_no_orders)
{
	struct top_answers a = {
		json_text(STATUS),
		json_text("{\"servers\":[{\"server\":null,\"name\":\"a\",\"state\":\"failed\","
			  "\"reason\":"
			  "\"'command' is "
			  "missing\",\"sessions\":[\"s1\"]},{\"server\":null,\"name\":\"a\","
			  "\"state\":\"failed\",\"reason\":\"x\",\"sessions\":[\"s2\"]}]}"),
		json_text(SESSIONS)
	};
	struct top_keys k = { .sort = TOP_BY_NAME };
	struct top_model m;

	top_model_build(&a, &no_trees, TOP_BY_NAME, &m);
	EQ(m.server_count, 2);
	OK(strcmp(m.servers[0].id, m.servers[1].id) != 0);
	EQ(top_keys_read(&k, &m, "x", 1), TOP_NO_ORDER);
	EQ(k.asked, TOP_NO_ORDER);
	OK(k.note_bad && strstr(k.note, "a has an error in its config"));
	top_model_done(&m);
}

#define ROW(id, state)                                                                             \
	"{\"server\":\"" id "\",\"name\":\"" state "\",\"state\":\"" state "\",\"sessions\":[]}"

/* A row for each state, and a tree and a session. */
static void build_states(struct top_model *m)
{
	struct top_answers a = {
		json_text(STATUS),
		json_text("{\"servers\":[" ROW("v1", "ready") "," ROW("v2", "resting") "," ROW(
			"v3", "failed") "," ROW("v4",
						"idle") "," ROW("v5",
								"gone") "," ROW("v6",
										"starting") "]}"),
		json_text(SESSIONS)
	};

	top_model_build(&a, &trees, TOP_BY_NAME, m);
}

TEST(the_footer_has_the_keys_of_the_selected_row)
{
	static const struct {
		const char *row, *want;
	} rows[] = {
		{ "v1", "\nq quit  s by name  enter unfold  x stop  r restart  z rest\n" },
		{ "v2", "\nq quit  s by name  enter unfold  r restart\n" },
		{ "v3", "\nq quit  s by name  enter unfold  r restart\n" },
		{ "v4", "\nq quit  s by name  enter unfold  r restart\n" },
		{ "v5", "\nq quit  s by name  enter unfold  x stop  r restart\n" },
		{ "v6", "\nq quit  s by name  enter unfold  x stop  r restart  z rest\n" },
		{ "aaaaaaaaaaaaaaa2", "\nq quit  s by name  enter unfold  x stop\n" },
		{ "s1", "\nq quit  s by name\n" },
	};
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	build_states(&m);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
		struct top_keys k = { .sort = TOP_BY_NAME };

		snprintf(k.selected, sizeof(k.selected), "%s", rows[i].row);
		top_view_frame(&m, &k, 30, &l);
		if (!strstr(text(&l), rows[i].want))
			FAIL("row %zu: no '%s' in:\n%s", i, rows[i].want, text(&l));
	}
}

TEST(fold_is_offered_for_the_unfolded_row_only)
{
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = TOP_BY_NAME, .unfolded = "v2" };
	static const char *const rows[] = { "v1", "v2" };

	build_states(&m);
	for (size_t i = 0; i < 2; i++) {
		AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);

		snprintf(k.selected, sizeof(k.selected), "%s", rows[i]);
		top_view_frame(&m, &k, 30, &l);
		OK(strstr(text(&l), i ? "enter fold " : "enter unfold "));
	}
}

TEST(a_key_that_is_not_possible_says_why)
{
	static const struct {
		const char *row, *key, *want;
	} rows[] = {
		{ "v2", "z", "resting rests already" },
		{ "v2", "x", "resting rests: there is no process to stop" },
		{ "v3", "x", "failed has failed: there is no process to end" },
		{ "v3", "z", "failed has failed: there is no process to end" },
		{ "v4", "x", "idle does not run" },
		{ "v4", "z", "idle does not run" },
		{ "v5", "z", "gone does not run" },
		{ "aaaaaaaaaaaaaaa2", "z",
		  "plain is held by `killick run`, not by the hub: it can only be stopped" },
		{ "s1", "x", "s1 is a session: select a server to stop" },
		{ "s1", "\r", "a session cannot be unfolded; select a server" },
	};
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;

	build_states(&m);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(80, false);
		struct top_keys k = { .sort = TOP_BY_NAME };

		snprintf(k.selected, sizeof(k.selected), "%s", rows[i].row);
		EQ(top_keys_read(&k, &m, rows[i].key, 1), TOP_NO_ORDER);
		EQ(k.asked, TOP_NO_ORDER);
		OK(k.note_bad);
		STREQ(k.note, rows[i].want);
		top_view_frame(&m, &k, 30, &l);
		OK(strstr(text(&l), rows[i].want));
	}
}

TEST(a_note_that_is_longer_than_the_terminal_is_wrapped)
{
	AUTO(top_lines_done) struct top_lines l = TOP_LINES_INIT(60, false);
	AUTO(top_model_done) struct top_model m = TOP_MODEL_INIT;
	struct top_keys k = { .sort = TOP_BY_NAME };

	build_refused(&m);
	top_keys_read(&k, &m, "x", 1);
	top_view_frame(&m, &k, 20, &l);
	check_width(&l);
	EQ(l.count, 20);
	OK(strstr(text(&l), "has an error in"));
	OK(has_wrapped(&l, "hasanerrorinitsconfig:correcttheconfig,then`killickhubreload`"));
}

TEST(a_note_is_shown_for_three_seconds)
{
	struct top_keys k = { .sort = 0 };

	EQ(top_keys_expire(&k, 1000), -1);
	top_keys_say(&k, true, "no %d", 7);
	EQ(top_keys_expire(&k, 1000), 3000);
	EQ(top_keys_expire(&k, 2001000), 1000);
	STREQ(k.note, "no 7");
	EQ(top_keys_expire(&k, 3001000), -1);
	STREQ(k.note, "");
	OK(!k.note_bad);
	top_keys_say(&k, false, "stop ...");
	k.note_stays = true; /* an order is under way */
	EQ(top_keys_expire(&k, 4000000), -1);
	EQ(top_keys_expire(&k, 40000000), -1);
	STREQ(k.note, "stop ...");
	top_keys_say(&k, false, "done");
	EQ(top_keys_expire(&k, 50000000), 3000);
}

TEST(the_result_of_an_order_replaces_the_note_about_it)
{
	static const struct {
		enum top_order order;
		const char *answer, *want;
	} rows[] = {
		{ TOP_REST, "\"result\":{\"ending\":null}",
		  "files did not run: there was nothing to end" },
		{ TOP_STOP, "\"result\":{\"ending\":null}",
		  "files did not run: there was nothing to stop" },
		{ TOP_REST, "\"result\":{\"ending\":{\"survivors\":0}}",
		  "files rests; proof: no process is left" },
		{ TOP_RESTART, "\"result\":{\"ending\":null}", "files was restarted" },
		{ TOP_REST, "\"error\":{\"code\":1,\"message\":\"busy\"}",
		  "files: rest failed: busy" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct top_link link = TOP_LINK_INIT;
		struct top_keys k = { .asked_id = "v1", .asked_name = "files" };
		char request[400] = "", answer[400];
		const char *id;
		int ends[2], n;

		OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
		link.talk.fd = ends[0];
		OK(top_link_order(&link, rows[i].order, &k));
		OK(k.note_stays && strstr(k.note, "files: "));
		OK(read(ends[1], request, sizeof(request) - 1) > 0);
		id = strstr(request, "\"id\":");
		OK(id);
		n = snprintf(answer, sizeof(answer), "{\"jsonrpc\":\"2.0\",\"id\":%d,%s}\n",
			     atoi(id + 5), rows[i].answer);
		EQ(write(ends[1], answer, (size_t)n), n);
		OK(top_link_read(&link, &k));
		STREQ(k.note, rows[i].want);
		OK(!k.note_stays);
		EQ(top_keys_expire(&k, 1), 3000);
		close(ends[1]);
		top_link_close(&link);
	}
}

TEST(times_have_at_most_six_characters)
{
	static const struct {
		double ms;
		const char *want;
	} rows[] = { { -1, "-" },        { 0, "0.00ms" },   { 0.999, "1.00ms" },
		     { 1, "1.0ms" },     { 9.94, "9.9ms" }, { 9.96, "10ms" },
		     { 180.4, "180ms" }, { 1300, "1.3s" },  { 75000, "1m" } };
	char out[24];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		STREQ(top_view_time(rows[i].ms, out), rows[i].want);
}
