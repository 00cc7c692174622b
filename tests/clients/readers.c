/* readers.c - the readers of TOML, YAML and JSON: what they find, where, and what they refuse. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "clients/clients.h"
#include "clients/configfile.h"
#include "clients/edit.h"
#include "clients/entry.h"
#include "clients/toml_tree.h"
#include "clients/wrapping.h"
#include "clients/yaml_tree.h"
#include "t.h"

static struct node *toml(const char *text)
{
	struct node *root = NULL;
	struct fault why;

	if (toml_tree(text, strlen(text), &root, &why) < 0)
		FAIL("line %u: %s in: %s", why.line, why.reason, text);
	return root;
}

static const char *at(const struct node *root, const char *a, const char *b)
{
	const struct node *n = node_get(root, a);

	n = b ? node_get(n, b) : n;
	return n && n->text ? n->text : "(none)";
}

TEST(toml_reads_strings_of_all_kinds)
{
	AUTO(node_drop)
	struct node *root = toml("a = \"x\\ty\\u00e9\\U0001F600\"\n"
				 "b = 'C:\\x'\n"
				 "c = \"\"\"\nfirst\\\n   second \"\"quoted\"\" \"\"\"\n"
				 "d = '''\nit's'''\n"
				 "e = \"\"\"two quotes\"\"\"\"\"\n"
				 "f = \"\\x41\\e\"\n");

	STREQ(at(root, "a", NULL), "x\ty\xc3\xa9\xf0\x9f\x98\x80");
	STREQ(at(root, "b", NULL), "C:\\x");
	STREQ(at(root, "c", NULL), "firstsecond \"\"quoted\"\" ");
	STREQ(at(root, "d", NULL), "it's");
	STREQ(at(root, "e", NULL), "two quotes\"\"");
	STREQ(at(root, "f", NULL), "A\033");
}

TEST(toml_reads_tables_keys_and_values_of_all_kinds)
{
	AUTO(node_drop)
	struct node *root =
		toml("# first\r\n\"a b\".c = 1_000 # comment\r\n\"a b\".'d' = 0xdead_beef\r\n"
		     "[ t . \"x y\" ]\r\nlist = [ # c\r\n 1, [2], {a = 3}, ]\r\n"
		     "when = 1979-05-27 07:32:00.5-07:00\r\nf = -1.5e+3\r\ng = +inf\r\n"
		     "[[many]]\r\nn = 1\r\n[[many]]\r\nn = true\r\n[many.sub]\r\nx=07:32:00\r\n");

	STREQ(at(root, "a b", "c"), "1_000");
	STREQ(at(root, "a b", "d"), "0xdead_beef");
	EQ(node_get(node_get(node_get(root, "t"), "x y"), "list")->count, 3);
	EQ(node_get(root, "many")->count, 2);
	OK(node_is_bool(node_get(node_get(root, "many")->items[1], "n"), true));
	STREQ(at(node_get(root, "many")->items[1], "sub", "x"), "07:32:00");
}

TEST(toml_knows_the_place_of_keys_and_values)
{
	static const char text[] = "\xef\xbb\xbf[mcp_servers.x]\nmcp . \"command\"  =  'npx' # c\n";
	AUTO(node_drop) struct node *root = toml(text);
	const struct node *n =
		node_get(node_get(node_get(node_get(root, "mcp_servers"), "x"), "mcp"), "command");

	OK(n);
	EQ(n->span.len, 5);
	OK(memcmp(text + n->span.at, "'npx'", 5) == 0);
	OK(memcmp(text + n->key.at, "mcp . \"command\"", n->key.len) == 0);
	OK(memcmp(text + n->key_last, "\"command\"", 9) == 0);
}

TEST(toml_refuses_what_is_not_toml_and_says_where)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *reason;
	} bad[] = {
		{ "a = 1\nb", 2, "= was expected behind a key" },
		{ "a = \n", 1, "a value was expected" },
		{ "a = npx\n", 1, "a value is not understood; strings need quotes" },
		{ "a = \"x\n", 1, "a string is not closed on its line" },
		{ "a = '''x\n", 1, "a string is not closed" },
		{ "a = \"\\q\"\n", 1, "an unknown escape" },
		{ "a = \"\\ud800\"\n", 1, "an escape is not a Unicode character" },
		{ "a = [1\n", 1, "an array is not closed" },
		{ "a = [1 2]\n", 1, "a comma or ] was expected in an array" },
		{ "a = {b=1\n", 1, "an inline table is not closed" },
		{ "a = 1 b = 2\n", 1, "a new line was expected" },
		{ "[a]\n[a]\n", 2, "a table is defined twice" },
		{ "a = 1\na = 2\n", 2, "a key is defined twice" },
		{ "a = {}\na.b = 1\n", 2, "a dotted key extends a value that is complete" },
		{ "a = {}\n[a.b]\n", 2, "a table is inside a value that is complete" },
		{ "a = []\n[[a]]\n", 2, "this is not an array of tables" },
		{ "[a\n", 1, "] was expected behind the name of a table" },
		{ "a = 01\n", 1, "a value is not understood; strings need quotes" },
		{ "a = 1979-13-01\n", 1, "a value is not understood; strings need quotes" },
		{ "a = \"\x01\"\n", 1, "a control character in a string" },
		{ "# \x01\n", 1, "a control character in a comment" },
		{ "a = '\xff'\n", 1, "a character is not UTF-8" },
		{ "= 1\n", 1, "a key was expected" },
		{ "\"\"\"a\"\"\" = 1\n", 1, "a string of several lines cannot be a key" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct node *root = NULL;
		struct fault why = { .line = 0 };

		EQ(toml_tree(bad[i].text, strlen(bad[i].text), &root, &why), -EBADMSG);
		STREQ(why.reason, bad[i].reason);
		EQ(why.line, bad[i].line);
		OK(!root);
	}
}

TEST(toml_that_is_nested_too_deep_is_refused)
{
	char text[4000] = "a = ";
	struct node *root = NULL;
	struct fault why;

	memset(text + 4, '[', 3000);
	OK(toml_tree(text, strlen(text), &root, &why) < 0);
	STREQ(why.reason, "too many values, or nested too deep");
}

static void need_yaml(void)
{
	if (!yaml_tree_is_built())
		SKIP("built without libyaml");
}

TEST(yaml_knows_the_place_of_values_beyond_ascii_and_crlf)
{
	static const char text[] = "\xef\xbb\xbf# \xc3\xa4\xe2\x82\xac\r\nk\xc3\xa9y:\r\n"
				   "  cmd: 'n\xc3\xa9' # c\r\n  args:\r\n  - \"a\"\r\n  - b\r\n";
	AUTO(node_drop) struct node *root = NULL;
	const struct node *n, *args;
	struct fault why;

	need_yaml();
	EQ(yaml_tree(text, sizeof(text) - 1, &root, &why), 0);
	n = node_get(node_get(root, "k\xc3\xa9y"), "cmd");
	STREQ(n->text, "n\xc3\xa9");
	EQ(n->span.len, 5);
	OK(memcmp(text + n->span.at, "'n\xc3\xa9'", 5) == 0);
	args = node_get(node_get(root, "k\xc3\xa9y"), "args");
	OK(args->block && text[args->span.at] == '-');
	OK(memcmp(text + args->items[1]->span.at, "b\r", 2) == 0);
}

TEST(yaml_tells_types_apart_and_marks_what_cannot_move)
{
	static const char text[] = "a: true\nb: 12\nc: ~\nd: 'true'\ne: &x npx\nf: *x\ng: >-\n  x\n"
				   "h: !!str y\ni: a,b\nj: npx\n";
	AUTO(node_drop) struct node *root = NULL;
	struct fault why;

	need_yaml();
	EQ(yaml_tree(text, sizeof(text) - 1, &root, &why), 0);
	OK(node_is_bool(node_get(root, "a"), true));
	EQ(node_get(root, "b")->kind, NODE_NUMBER);
	EQ(node_get(root, "c")->kind, NODE_NULL);
	EQ(node_get(root, "d")->kind, NODE_STRING);
	EQ(node_get(root, "f")->kind, NODE_OTHER);
	for (const char *k = "efghi"; *k; k++)
		OK(node_get(root, (char[]){ *k, '\0' })->fixed);
	OK(!node_get(root, "j")->fixed);
}

TEST(yaml_that_is_broken_or_has_two_documents_is_refused_with_a_line)
{
	static const char *const bad[] = { "a: 1\nb: [\n", "a: 1\n--- \nb: 2\n", "a: 1\n\tb: 2\n" };

	need_yaml();
	for (size_t i = 0; i < 3; i++) {
		struct node *root = NULL;
		struct fault why = { .line = 0 };

		OK(yaml_tree(bad[i], strlen(bad[i]), &root, &why) < 0);
		OK(why.line >= 2 && why.reason[0] && !root);
	}
}

static void find(const char *text, enum format format, struct entries *out)
{
	struct fault why;

	if (entries_find(text, strlen(text), format, KEYS_ANY, out, &why) < 0)
		FAIL("line %u: %s", why.line, why.reason);
}

TEST(servers_of_every_json_shape_are_found_with_their_lines)
{
	AUTO(entries_done) struct entries e = { .count = 0 };

	find("// c\n{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n"
	     "\"servers\": {\"b\": {\"command\": \"x\"}},\n"
	     "\"context_servers\": {\"c\": {\"command\": {\"path\": \"x\", \"args\": []}}},\n"
	     "\"mcp\": {\"d\": {\"type\": \"local\", \"command\": [\"x\"]},\n"
	     "\"servers\": {\"e\": {\"command\": [\"x\", \"y\"]}}},\n"
	     "\"amp.mcpServers\": {\"f\": {\"command\": \"x\"}},\n"
	     "\"projects\": {\"/p\": {\"mcpServers\": {\"g\": {\"command\": \"x\"}}}},}\n",
	     FORMAT_JSON, &e);
	EQ(e.count, 7);
	for (size_t i = 0; i < e.count; i++) {
		STREQ(e.list[i].name, ((char[]){ (char)('a' + i), '\0' }));
		EQ(e.list[i].state, ENTRY_BARE);
		EQ(e.list[i].line, i + 2);
	}
	STREQ(e.list[6].scope, "/p");
}

TEST(states_of_servers_are_told_apart)
{
	static const struct {
		const char *server;
		enum entry_state state;
		size_t inner;
	} rows[] = {
		{ "{\"command\":\"npx\"}", ENTRY_BARE, 0 },
		{ "{\"command\":\"docker\",\"args\":[\"run\",\"-i\",\"x\"]}", ENTRY_BARE, 0 },
		{ "{\"command\":\"npx\",\"url\":\"http://x\"}", ENTRY_BARE, 0 },
		{ "{\"url\":\"http://x\"}", ENTRY_REMOTE, 0 },
		{ "{\"serverUrl\":\"http://x\"}", ENTRY_REMOTE, 0 },
		{ "{\"httpUrl\":\"http://x\"}", ENTRY_REMOTE, 0 },
		{ "{\"type\":\"sse\",\"command\":\"x\"}", ENTRY_REMOTE, 0 },
		{ "{\"command\":\"npx\",\"disabled\":true}", ENTRY_DISABLED, 0 },
		{ "{\"command\":\"npx\",\"enabled\":false}", ENTRY_DISABLED, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"run\",\"--\",\"x\"]}", ENTRY_WRAPPED, 3 },
		{ "{\"command\":\"/o/killick\",\"args\":[\"run\",\"--grace\",\"1s\",\"--\",\"x\"]}",
		  ENTRY_WRAPPED, 0 },
		{ "{\"command\":\"npx\",\"args\":[\"-y\",\"killick@1\",\"run\",\"--\",\"x\"]}",
		  ENTRY_WRAPPED, 5 },
		{ "{\"command\":[\"killick\",\"run\",\"--\",\"x\"]}", ENTRY_WRAPPED, 3 },
		{ "{\"command\":\"killick run -- npx x\"}", ENTRY_WRAPPED, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"connect\",\"--\",\"x\"]}", ENTRY_WRAPPED,
		  3 },
		{ "{\"command\":\"killick\",\"args\":[\"connect\",\"--server\",\"a\",\"--\",\"x\"]"
		  "}",
		  ENTRY_WRAPPED, 5 },
		{ "{\"command\":\"killick\",\"args\":[\"connect\",\"--session\",\"a\",\"--\",\"x\"]"
		  "}",
		  ENTRY_WRAPPED, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"connect\",\"--server\",\"--\",\"x\"]}",
		  ENTRY_WRAPPED, 0 },
		{ "{\"command\":\"killick connect -- npx x\"}", ENTRY_WRAPPED, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"connect\"]}", ENTRY_OTHER, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"connect\",\"--config\",\"f\"]}",
		  ENTRY_OTHER, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"run\",\"--server\",\"a\",\"--\",\"x\"]}",
		  ENTRY_WRAPPED, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"run\",\"--\"]}", ENTRY_OTHER, 0 },
		{ "{\"command\":\"killick\",\"args\":[\"ps\"]}", ENTRY_OTHER, 0 },
		{ "{\"command\":\"\"}", ENTRY_OTHER, 0 },
		{ "{\"command\":3}", ENTRY_OTHER, 0 },
		{ "{\"command\":\"x\",\"args\":\"y\"}", ENTRY_OTHER, 0 },
		{ "{\"command\":\"x\",\"command\":\"y\"}", ENTRY_OTHER, 0 },
		{ "{}", ENTRY_OTHER, 0 },
		{ "\"x\"", ENTRY_OTHER, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO(entries_done) struct entries e = { .count = 0 };
		char text[300];

		snprintf(text, sizeof(text), "{\"mcpServers\":{\"a\":%s}}", rows[i].server);
		find(text, FORMAT_JSON, &e);
		EQ(e.count, 1);
		if (e.list[0].state != rows[i].state || e.list[0].inner != rows[i].inner)
			FAIL("%s: state %d, inner %zu", rows[i].server, e.list[0].state,
			     e.list[0].inner);
		OK((e.list[0].state == ENTRY_OTHER) <= (e.list[0].why != NULL));
	}
}

TEST(a_wrapped_server_with_options_of_its_own_names_them)
{
	AUTO(entries_done) struct entries e = { .count = 0 };

	find("{\"mcpServers\":{\"a\":{\"command\":\"killick\",\"args\":[\"run\",\"--on\",\"ssh://"
	     "host\","
	     "\"--token=secret\",\"--\",\"node\",\"s.js\"]}}}",
	     FORMAT_JSON, &e);
	EQ(e.count, 1);
	EQ(e.list[0].state, ENTRY_WRAPPED);
	EQ(e.list[0].inner, 0);
	STREQ(e.list[0].why, "it has options of its own: --on, --token; edit it by hand");
}

TEST(yaml_servers_with_merge_keys_anchors_or_aliases_are_left_alone)
{
	static const struct {
		const char *text, *why[3];
	} rows[] = {
		{ "base: &b\n  args: [foo, --secret]\nextensions:\n  s:\n    <<: *b\n    type: "
		  "stdio\n    cmd: npx\n",
		  { "a merge key" } },
		{ "mcpServers:\n  - &b\n    name: a\n    command: npx\n    args: [foo]\n  - <<: "
		  "*b\n    name: c\n    args: [bar]\n    command: npx\n  - *b\n",
		  { "an anchor", "a merge key", "an alias" } },
		{ "extensions:\n  s: &b {cmd: killick, args: [run, --, npx]}\n", { "an anchor" } },
		{ "extensions:\n  s: {cmd: &b {path: npx, args: [x]}}\n", { "an anchor" } },
	};

	need_yaml();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO(entries_done) struct entries e = { .count = 0 };

		find(rows[i].text, FORMAT_YAML, &e);
		for (size_t k = 0; k < e.count; k++) {
			const struct entry *s = &e.list[k];

			if (s->state == ENTRY_BARE || s->inner || !s->why ||
			    !strstr(s->why, rows[i].why[k]))
				FAIL("row %zu, server %zu: state %d, %s", i, k, s->state,
				     s->why ? s->why : "no reason");
		}
		EQ(e.count, i == 1 ? 3 : 1);
	}
}

/* Wrap the text; the result must be `want`, and unwrap must give the text back. */
static void wraps(enum format format, const char *text, const char *want)
{
	for (int back = 0; back < 2; back++) {
		AUTO(entries_done) struct entries e = { .count = 0 };
		AUTO(edits_done) struct edits edits = EDITS_INIT;
		AUTO(buf_done) struct buf out = BUF_INIT(BUF_ANY_SIZE);
		const char *from = back ? want : text;
		struct wrapping w = {
			.text = from, .len = strlen(from), .format = format, .killick = "killick"
		};

		find(from, format, &e);
		for (size_t i = 0; i < e.count; i++) {
			if (!back && e.list[i].state == ENTRY_BARE)
				wrapping_wrap(&w, &e.list[i], &edits);
			if (back && e.list[i].state == ENTRY_WRAPPED)
				wrapping_unwrap(&w, &e.list[i], &edits);
		}
		edits_apply(&edits, from, strlen(from), &out);
		STREQ(out.data, back ? text : want);
	}
}

TEST(json_is_wrapped_in_its_own_style)
{
	wraps(FORMAT_JSON, "{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\"]}}}",
	      "{\"mcpServers\":{\"a\":{\"command\":\"killick\",\"args\":[\"run\", \"--\", \"npx\", "
	      "\"-y\"]}}}");
	wraps(FORMAT_JSON, "{\"servers\":{\"a\":{\"args\":[ ],\"command\" : \"\\u006epx\"}}}",
	      "{\"servers\":{\"a\":{\"args\":[ \"run\", \"--\", \"\\u006epx\" ],\"command\" : "
	      "\"killick\"}}}");
	wraps(FORMAT_JSON, "{\"servers\":{\"a\":{\r\n\t\"command\": \"x\" // c\r\n}}}",
	      "{\"servers\":{\"a\":{\r\n\t\"command\": \"killick\",\r\n\t\"args\": "
	      "[\"run\",\"--\",\"x\"] // c\r\n}}}");
	wraps(FORMAT_JSON, "{\"servers\":{\"a\":{\"command\":\"x\",\"args\":[\n  \"y\",\n ]}}}",
	      "{\"servers\":{\"a\":{\"command\":\"killick\",\"args\":[\n  \"run\",\n  \"--\",\n  "
	      "\"x\",\n  \"y\",\n ]}}}");
	wraps(FORMAT_JSON, "{\"mcp\":{\"a\":{\"command\":[\"npx\", \"-y\"]}}}",
	      "{\"mcp\":{\"a\":{\"command\":[\"killick\", \"run\", \"--\", \"npx\", \"-y\"]}}}");
	wraps(FORMAT_JSON, "{\"context_servers\":{\"a\":{\"command\":{\"path\":\"x\"}}}}",
	      "{\"context_servers\":{\"a\":{\"command\":{\"path\":\"killick\", \"args\": "
	      "[\"run\",\"--\",\"x\"]}}}}");
}

TEST(a_command_that_is_one_string_is_split_by_a_shell)
{
	setenv("PATH", "/usr/bin:/bin", 1);
	wraps(FORMAT_JSON, "{\"servers\":{\"a\":{\"command\":\"cat -u\",\"args\":[\"-\"]}}}",
	      "{\"servers\":{\"a\":{\"command\":\"killick\",\"args\":[\"run\", \"--\", "
	      "\"/bin/sh\", \"-fc\", \"eval \\\"$0\\\" '\\\"$@\\\"'\", \"cat -u\", \"-\"]}}}");
	/* the path of a program, with a space, perhaps of another machine */
	wraps(FORMAT_JSON, "{\"servers\":{\"a\":{\"command\":\"/no/such dir/x\",\"args\":[]}}}",
	      "{\"servers\":{\"a\":{\"command\":\"killick\",\"args\":[\"run\", \"--\", "
	      "\"/no/such dir/x\"]}}}");
}

TEST(a_command_that_is_one_string_is_wrapped_in_the_same_way_whatever_path_has)
{
	static const char *const paths[] = { "/usr/bin:/bin", "/nowhere", "" };

	for (size_t i = 0; i < 3; i++) {
		setenv("PATH", paths[i], 1);
		wraps(FORMAT_JSON, "{\"servers\":{\"a\":{\"command\":\"npx -y x\",\"args\":[]}}}",
		      "{\"servers\":{\"a\":{\"command\":\"killick\",\"args\":[\"run\", "
		      "\"--\", \"/bin/sh\", \"-fc\", \"eval \\\"$0\\\" '\\\"$@\\\"'\", "
		      "\"npx -y x\"]}}}");
	}
	unsetenv("PATH");
	wraps(FORMAT_JSON, "{\"servers\":{\"a\":{\"command\":\"/bin/cat -u\",\"args\":[]}}}",
	      "{\"servers\":{\"a\":{\"command\":\"killick\",\"args\":[\"run\", \"--\", "
	      "\"/bin/sh\", \"-fc\", \"eval \\\"$0\\\" '\\\"$@\\\"'\", \"/bin/cat -u\"]}}}");
}

TEST(servers_of_a_toml_array_have_the_names_of_their_tables)
{
	AUTO(entries_done) struct entries e = { .count = 0 };

	find("[[mcp_servers]]\nname = 'a'\ncommand = 'x'\n[[mcp_servers]]\ncommand = 'y'\n",
	     FORMAT_TOML, &e);
	EQ(e.count, 2);
	STREQ(e.list[0].name, "a");
	STREQ(e.list[1].name, "?");
}

TEST(toml_is_wrapped_in_its_own_style)
{
	wraps(FORMAT_TOML, "[mcp_servers.a]\n  command = 'npx' # c\n",
	      "[mcp_servers.a]\n  args = [\"run\",\"--\",'npx']\n  command = \"killick\" # c\n");
	wraps(FORMAT_TOML, "mcp_servers.a.command=\"x\"",
	      "mcp_servers.a.args = [\"run\",\"--\",\"x\"]\nmcp_servers.a.command=\"killick\"");
	wraps(FORMAT_TOML, "[mcp_servers]\na = {command = \"x\"}\n",
	      "[mcp_servers]\na = {command = \"killick\", args = [\"run\",\"--\",\"x\"]}\n");
	wraps(FORMAT_TOML, "[mcp_servers.a]\ncommand = 'x'\nargs = [ # c\n 'y' ]\n",
	      "[mcp_servers.a]\ncommand = \"killick\"\nargs = [ \"run\", \"--\", 'x', # c\n 'y' "
	      "]\n");
}

TEST(yaml_is_wrapped_in_its_own_style)
{
	need_yaml();
	wraps(FORMAT_YAML, "extensions:\n  a:\n    cmd: npx # c\n    args:\n      - -y\n",
	      "extensions:\n  a:\n    cmd: \"killick\" # c\n    args:\n      - \"run\"\n      - "
	      "\"--\"\n      - npx\n      - -y\n");
	wraps(FORMAT_YAML, "extensions:\n  a:\n    cmd: npx\n    args: []\n",
	      "extensions:\n  a:\n    cmd: \"killick\"\n    args: [\"run\", \"--\", npx]\n");
	wraps(FORMAT_YAML, "mcpServers:\r\n- command: npx\r\n  name: a\r\n",
	      "mcpServers:\r\n- args: [\"run\",\"--\",npx]\r\n  command: \"killick\"\r\n  name: "
	      "a\r\n");
	wraps(FORMAT_YAML, "extensions: {a: {cmd: 'x'}}\n",
	      "extensions: {a: {cmd: \"killick\", args: [\"run\",\"--\",'x']}}\n");
}

/* A client that writes its file anew drops our spaces; the words must still be right. */
static void unwraps(enum format format, const char *text, const char *want)
{
	AUTO(entries_done) struct entries e = { .count = 0 };
	AUTO(edits_done) struct edits edits = EDITS_INIT;
	AUTO(buf_done) struct buf out = BUF_INIT(BUF_ANY_SIZE);
	struct wrapping w = {
		.text = text, .len = strlen(text), .format = format, .killick = "killick"
	};

	find(text, format, &e);
	for (size_t i = 0; i < e.count; i++)
		wrapping_unwrap(&w, &e.list[i], &edits);
	edits_apply(&edits, text, strlen(text), &out);
	STREQ(out.data, want);
}

TEST(files_that_a_client_wrote_again_are_unwrapped)
{
	unwraps(FORMAT_JSON,
		"{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"killick\",\n      "
		"\"args\": [\n        \"run\",\n        \"--\",\n        \"npx\",\n        "
		"\"-y\"\n      ]\n    }\n  }\n}\n",
		"{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\",\n      "
		"\"args\": [\n        \"-y\"\n      ]\n    }\n  }\n}\n");
	unwraps(FORMAT_JSON,
		"{\"mcpServers\":{\"a\":{\"command\":\"/o/"
		"killick\",\"args\":[\"run\",\"--\",\"npx\","
		"\"-y\"]}}}",
		"{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\"]}}}");
	unwraps(FORMAT_JSON,
		"{\"mcpServers\":{\"a\":{\"args\":[\"run\",\"--\",\"npx\"],\"command\":\"killick\"}"
		"}}",
		"{\"mcpServers\":{\"a\":{\"args\":[],\"command\":\"npx\"}}}");
	need_yaml();
	unwraps(FORMAT_YAML,
		"extensions:\n  a:\n    cmd: killick\n    args:\n    - run\n    - --\n    - npx\n",
		"extensions:\n  a:\n    cmd: npx\n    args: []\n");
}

TEST(a_plan_that_cannot_be_undone_leaves_the_server_alone)
{
	static const char text[] = "extensions:\n  a:\n    cmd: npx\n    args: [# c\n    ]\n"
				   "  b:\n    cmd: npx\n    args: [x]\n";
	struct client_file given = { .path = "config.yaml" };
	struct configfile_plan plan = { .action = ACTION_WRAP, .absolute = "/o/killick" };
	struct configfile c;
	FILE *f;

	need_yaml();
	OK(chdir(t_audit.dir) == 0);
	f = fopen("config.yaml", "we");
	OK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	configfile_open(&c, &given);
	STREQ(c.fault, "");
	configfile_plan(&c, &plan);
	EQ(c.entries.count, 2);
	EQ(c.change_count, 1);
	OK(!c.planned[0] && c.planned[1]);
	OK(strstr(c.entries.list[0].why, "edit it by hand"));
	configfile_done(&c);
}

TEST(clients_are_known_by_the_path_of_a_file)
{
	STREQ(clients_of_path("/home/me/.cursor/mcp.json")->name, "cursor");
	STREQ(clients_of_path(".mcp.json")->name, "claude-code");
	STREQ(clients_of_path("/x/.codex/config.toml")->name, "codex");
	STREQ(clients_of_path("/x/.config/Code - Insiders/User/mcp.json")->name, "vscode");
	STREQ(clients_of_path(".continue/mcpServers/a.yaml")->name, "continue");
	STREQ(clients_of_path("/p[id]/.continue/mcpServers/my a.json")->name, "continue");
	STREQ(clients_of_path("/x/Code/User/profiles/-1f/mcp.json")->name, "vscode");
	OK(!clients_of_path("/x/my.json"));
	OK(!clients_of_path("/x/not.mcp.json"));
	OK(!clients_of_path(".continue/mcpServers/a/b.yaml"));
	OK(!clients_of_path(".continue/mcpServers/.a.yaml"));
	OK(!clients_of_path(".continue/mcpServers/a.yaml.orig"));
	OK(!clients_of_path("/x/my.continue/mcpServers/a.yaml"));
	EQ(clients_format("a.toml"), FORMAT_TOML);
	EQ(clients_format("a.yml"), FORMAT_YAML);
	EQ(clients_format("a.jsonc"), FORMAT_JSON);
}

TEST(the_diff_is_one_that_patch_applies)
{
	static const char text[] =
		"extensions:\n  a:\n    cmd: npx\n    type: stdio\n    args:\n    - "
		"x\n  b:\n    enabled: true\n    x: 1\n    y: 1\n    z: 1\n    "
		"cmd: u # c\n";
	AUTO(entries_done) struct entries e = { .count = 0 };
	AUTO(edits_done) struct edits edits = EDITS_INIT;
	AUTO(mem_drop) char *diff = NULL;
	struct wrapping w = {
		.text = text, .len = strlen(text), .format = FORMAT_YAML, .killick = "killick"
	};
	size_t size;
	FILE *f = open_memstream(&diff, &size);

	need_yaml();
	find(text, FORMAT_YAML, &e);
	for (size_t i = 0; i < e.count; i++)
		wrapping_wrap(&w, &e.list[i], &edits);
	edits_diff(&edits, text, strlen(text), "f", f);
	fclose(f);
	STREQ(diff,
	      "--- f\n+++ f\n@@ -1,8 +1,11 @@\n extensions:\n   a:\n-    cmd: npx\n+    cmd: "
	      "\"killick\"\n     type: stdio\n     args:\n-    - x\n+    - \"run\"\n+    - "
	      "\"--\"\n+    - npx\n+    - x\n   b:\n     enabled: true\n@@ -10,3 +13,4 @@\n "
	      "    y: 1\n     z: 1\n-    cmd: u # c\n+    args: [\"run\",\"--\",u]\n+    cmd: "
	      "\"killick\" # c\n");
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	OK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

TEST(a_file_that_changed_meanwhile_is_not_replaced)
{
	struct fd_piece fresh = { "new", 3 };
	char text[16] = "";
	FILE *f;

	OK(chdir(t_audit.dir) == 0);
	for (int how = 0; how < 3; how++) {
		struct replace r = REPLACE_INIT;
		struct err e = ERR_INIT;
		struct stat st;

		write_text("f", "old");
		EQ(replace_read(&r, "f", &e), 0);
		OK(stat("f", &st) == 0);
		if (how == 0)
			write_text("f", "longer");
		if (how == 1) { /* the same length and time */
			write_text("f", "OLD");
			OK(utimensat(AT_FDCWD, "f", (struct timespec[]){ st.st_atim, st.st_mtim },
				     0) == 0);
		}
		if (how == 2) { /* another file in its place */
			write_text("g", "old");
			OK(rename("g", "f") == 0);
		}
		EQ(replace_write(&r, &fresh, 1, &e), -ESTALE);
		OK(strstr(e.text, "was changed by another program meanwhile"));
		replace_done(&r);
	}
	f = fopen("f", "re");
	OK(f && fgets(text, sizeof(text), f) && fclose(f) == 0);
	STREQ(text, "old");
	OK(access("f.before-killick", F_OK) < 0);
}

TEST(a_file_is_replaced_whole_and_refused_if_it_has_two_names)
{
	struct fd_piece pieces[] = { { "a", 1 }, { "", 0 }, { "bc", 2 } };
	struct replace r = REPLACE_INIT;
	struct err e = ERR_INIT;

	OK(chdir(t_audit.dir) == 0);
	write_text("f", "old");
	EQ(replace_read(&r, "f", &e), 0);
	EQ(replace_write(&r, pieces, 3, &e), 0);
	EQ(replace_write(&r, pieces, 3, &e), -ESTALE); /* it is another file now */
	OK(access("f.before-killick", F_OK) < 0);
	replace_done(&r);
	EQ(replace_read(&r, "f", &e), 0);
	STREQ(r.text.data, "abc");
	replace_done(&r);
	OK(link("f", "g") == 0);
	EQ(replace_read(&r, "f", &e), 0);
	EQ(replace_write(&r, pieces, 3, &e), -EMLINK);
	OK(strstr(e.text, "a hard link"));
	replace_done(&r);
	OK(mkdir("d", 0700) == 0);
	EQ(replace_read(&r, "d", &e), -EINVAL);
	replace_done(&r);
	EQ(replace_read(&r, "none", &e), -ENOENT);
	replace_done(&r);
}

TEST(extended_attributes_stay)
{
	struct fd_piece fresh = { "new", 3 };
	struct replace r = REPLACE_INIT;
	struct err e = ERR_INIT;
	char value[16] = "";

	OK(chdir(t_audit.dir) == 0);
	write_text("f", "old");
	if (setxattr("f", "user.killick-test", "mine", 4, 0) < 0)
		SKIP("the file system has no extended attributes for users");
	EQ(replace_read(&r, "f", &e), 0);
	EQ(replace_write(&r, &fresh, 1, &e), 0);
	EQ(getxattr("f", "user.killick-test", value, sizeof(value)), 4);
	STREQ(value, "mine");
	replace_done(&r);
}

TEST(a_directory_that_is_exchanged_meanwhile_is_not_written)
{
	struct fd_piece fresh = { "new", 3 };
	struct replace r = REPLACE_INIT;
	struct err e = ERR_INIT;
	struct stat st;

	OK(chdir(t_audit.dir) == 0 && mkdir("d", 0700) == 0 && mkdir("other", 0700) == 0);
	write_text("d/f", "old");
	write_text("other/f", "old");
	EQ(replace_read(&r, "d/f", &e), 0);
	OK(rename("d", "moved") == 0 && symlink("other", "d") == 0);
	EQ(replace_write(&r, &fresh, 1, &e), 0);
	OK(stat("moved/f", &st) == 0 && st.st_size == 3);
	replace_done(&r);
	EQ(replace_read(&r, "moved/f", &e), 0);
	STREQ(r.text.data, "new");
	replace_done(&r);
	EQ(replace_read(&r, "other/f", &e), 0);
	STREQ(r.text.data, "old");
	replace_done(&r);
}

TEST(toml_with_60000_keys_in_a_table_is_read_in_bounded_time, .timeout_ms = 60000)
{
	enum { KEYS = 60000 };
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	AUTO(node_drop) struct node *root = NULL;
	struct timespec before, after;
	char line[40];
	double ms;

	for (int i = 0; i < KEYS; i++) {
		snprintf(line, sizeof(line), "a-long-name-of-a-key-%d = 1\n", i);
		buf_adds(&text, line);
	}
	OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before) == 0);
	root = toml(text.data);
	OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after) == 0);
	ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
	     (double)(after.tv_nsec - before.tv_nsec) / 1e6;
	EQ(root->count, KEYS);
	t_note("%d keys in %.0f ms of CPU time", KEYS, ms);
	OK(ms < 2000 * T_PATIENCE);
}

TEST(the_diff_does_not_print_the_values_of_variables_and_headers)
{
	static const char text[] =
		"[mcp_servers.a]\nenv = { KEY = \"secret-1\", B = 'secret-2' }\ncommand = 'x'\n"
		"[mcp_servers.a.http_headers]\nX = \"\"\"secret-3\nsecret-4\"\"\"\n";
	static const char one[] =
		"{\"mcpServers\":{\"a\":{\"env\":{\"K\":\"secret-5\"},\"command\":"
		"\"x\",\"headers\":{\"A\":\"secret-6\"}}}}";
	static const char *const texts[] = { text, one }, *const paths[] = { "a.toml", "a.json" };

	OK(chdir(t_audit.dir) == 0);
	for (int i = 0; i < 2; i++) {
		struct client_file given = { .path = (char *)paths[i] };
		struct configfile_plan plan = { .action = ACTION_WRAP, .name = "killick" };
		AUTO(mem_drop) char *diff = NULL;
		struct configfile c;
		size_t size;
		FILE *f = open_memstream(&diff, &size);

		write_text(paths[i], texts[i]);
		configfile_open(&c, &given);
		STREQ(c.fault, "");
		configfile_plan(&c, &plan);
		EQ(c.change_count, 1);
		configfile_diff(&c, "f", f);
		fclose(f);
		configfile_done(&c);
		if (strstr(diff, "secret"))
			FAIL("%s", diff);
		if (!strstr(diff, i ? "\"K\":\"...\"" : "KEY = \"...\", B = '...'"))
			FAIL("%s", diff);
	}
}
