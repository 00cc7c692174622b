/* names.c - one name for each tool, whatever servers and tools are called. */
#include "session/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"

static const char *of(const struct names *n, const char *server, const char *tool)
{
	const char *name = names_of(n, server, tool);

	if (!name)
		FAIL("no name for %s %s", server, tool);
	return name;
}

/* Does the name end in "_" and so many hex digits, after `head`? */
static bool is_hashed(const char *name, const char *head, size_t digits)
{
	size_t len = strlen(head);

	return strncmp(name, head, len) == 0 && name[len] == '_' &&
	       strlen(name + len + 1) == digits &&
	       strspn(name + len + 1, "0123456789abcdef") == digits;
}

TEST(names_are_server_and_tool)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	EQ(names_add(&n, "files", "read_file"), 0);
	EQ(names_add(&n, "files", "write_file"), 0);
	EQ(names_add(&n, "git", "log"), 0);
	names_settle(&n);
	EQ(n.count, 3);
	STREQ(of(&n, "files", "read_file"), "files__read_file");
	STREQ(of(&n, "git", "log"), "git__log");
	STREQ(names_find(&n, "files__write_file")->server, "files");
	STREQ(names_find(&n, "files__write_file")->tool, "write_file");
	OK(!names_find(&n, "files__read"));
	OK(!names_find(&n, ""));
	OK(!names_of(&n, "git", "read_file"));
	OK(!names_of(&n, "", ""));
}

TEST(names_of_nothing_are_not_found)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	OK(!names_find(&n, "a__b"));
	OK(!names_of(&n, "a", "b"));
	names_remove(&n, "a");
	names_settle(&n);
	OK(!names_find(&n, "a__b"));
	OK(!names_of(&n, "a", "b"));
	names_done(&n); /* twice is fine */
}

TEST(names_other_characters_become_underscores)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	names_add(&n, "my-server.v2", "do it/now");
	names_add(&n, "gr\xc3\xbc\xc3\x9f", "\xe2\x9a\x93 anchor \xf0\x9f\x9a\xa2");
	names_add(&n, "", "");
	names_add(&n, "broken", "a\xff\x80\x80z\x80");
	names_settle(&n);
	STREQ(of(&n, "my-server.v2", "do it/now"), "my_server_v2__do_it_now");
	STREQ(of(&n, "gr\xc3\xbc\xc3\x9f", "\xe2\x9a\x93 anchor \xf0\x9f\x9a\xa2"),
	      "gr____" /* one for each character */
	      "__anchor__");
	STREQ(of(&n, "", ""), "____");
	STREQ(of(&n, "broken", "a\xff\x80\x80z\x80"), "broken__a_z_");
}

TEST(names_an_exact_duplicate_is_ignored)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	EQ(names_add(&n, "a", "b"), 0);
	EQ(names_add(&n, "a", "b"), 1);
	names_settle(&n);
	EQ(names_add(&n, "a", "b"), 1);
	EQ(n.count, 1);
	STREQ(of(&n, "a", "b"), "a__b");
}

TEST(names_servers_that_become_the_same_get_a_hash)
{
	AUTO(names_done) struct names n = NAMES_INIT;
	const char *dot, *dash;

	names_add(&n, "a.b", "x");
	names_add(&n, "a-b", "x");
	names_add(&n, "c", "x");
	names_settle(&n);
	dot = of(&n, "a.b", "x");
	dash = of(&n, "a-b", "x");
	OK(strcmp(dot, dash) != 0);
	EQ(strlen(dot), strlen("a_b_") + 12 + strlen("__x"));
	EQ(strncmp(dot, "a_b_", 4), 0);
	EQ(strncmp(dash, "a_b_", 4), 0);
	STREQ(dot + strlen(dot) - 3, "__x");
	STREQ(of(&n, "c", "x"), "c__x"); /* who has no part in it keeps its name */
	STREQ(names_find(&n, dot)->server, "a.b");
	STREQ(names_find(&n, dash)->server, "a-b");
}

TEST(names_tools_that_become_the_same_get_a_hash)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	names_add(&n, "s", "get-x");
	names_add(&n, "s", "get.x");
	names_add(&n, "s", "get_y");
	names_settle(&n);
	OK(is_hashed(of(&n, "s", "get-x"), "s__get_x", 12));
	OK(is_hashed(of(&n, "s", "get.x"), "s__get_x", 12));
	OK(strcmp(of(&n, "s", "get-x"), of(&n, "s", "get.x")) != 0);
	STREQ(of(&n, "s", "get_y"), "s__get_y");
}

TEST(names_two_ways_to_split_a_name_are_told_apart)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	names_add(&n, "a", "b__c");
	names_add(&n, "a__b", "c");
	names_settle(&n);
	OK(is_hashed(of(&n, "a", "b__c"), "a__b__c", 12));
	OK(is_hashed(of(&n, "a__b", "c"), "a__b__c", 12));
	STREQ(names_find(&n, of(&n, "a", "b__c"))->tool, "b__c");
	STREQ(names_find(&n, of(&n, "a__b", "c"))->tool, "c");
}

TEST(names_that_are_too_long_are_cut_and_get_a_hash)
{
	AUTO(names_done) struct names n = NAMES_INIT;
	char server[301], tool[301], most[NAME_MAX_LEN];

	memset(server, 's', sizeof(server) - 1);
	server[sizeof(server) - 1] = '\0';
	memset(tool, 't', sizeof(tool) - 1);
	tool[sizeof(tool) - 1] = '\0';
	memset(most, 'm', sizeof(most) - 1);
	most[NAME_MAX_LEN - 3] = '\0'; /* "s__" and this: just fits */
	names_add(&n, server, tool);
	names_add(&n, "s", most);
	names_add(&n, "s", tool);
	tool[299] = 'u';
	names_add(&n, "s", tool);
	names_settle(&n);
	EQ(strlen(of(&n, "s", most)), NAME_MAX_LEN);
	STREQ(of(&n, "s", most) + 3, most);
	EQ(strlen(of(&n, "s", tool)), NAME_MAX_LEN);
	for (size_t i = 0; i < n.count; i++) {
		EQ(strlen(n.list[i]->qualified), NAME_MAX_LEN);
		OK(names_find(&n, n.list[i]->qualified) == n.list[i]);
	}
}

TEST(names_with_the_same_hash_get_more_of_it)
{
	/* found by trying 2^24 names: the first 12 digits of both are 278f907558d2 */
	const char *one = ".-+.+-.--.+,----", *other = "+..,+,+.,,+.----";
	AUTO(names_done) struct names n = NAMES_INIT;

	names_add(&n, "s", one);
	names_add(&n, "s", other);
	names_add(&n, "s", "x.y");
	names_add(&n, "s", "x-y");
	names_settle(&n);
	OK(is_hashed(of(&n, "s", one), "s__________________", 40));
	OK(is_hashed(of(&n, "s", other), "s__________________", 40));
	OK(strcmp(of(&n, "s", one), of(&n, "s", other)) != 0);
	OK(is_hashed(of(&n, "s", "x.y"), "s__x_y", 12));
	STREQ(names_find(&n, of(&n, "s", one))->tool, one);
	STREQ(names_find(&n, of(&n, "s", other))->tool, other);
}

TEST(names_nobody_can_choose_the_name_another_gets)
{
	AUTO(names_done) struct names n = NAMES_INIT;
	char taken[NAME_MAX_LEN + 1], next[NAME_MAX_LEN + 1];

	names_add(&n, "s", "x.y");
	names_add(&n, "s", "x-y");
	names_settle(&n);
	snprintf(taken, sizeof(taken), "%s", of(&n, "s", "x.y"));
	for (int i = 0; i < 50; i++) { /* a chain of names that are called what others become */
		EQ(names_add(&n, "s", taken + 3), 0);
		names_settle(&n);
		snprintf(next, sizeof(next), "%s", of(&n, "s", taken + 3));
		OK(strcmp(names_find(&n, taken)->tool, taken + 3) != 0);
		snprintf(taken, sizeof(taken), "%s", next);
	}
	names_add(&n, "0123456789ab_0123456789ab", "0123456789ab");
	names_settle(&n);
	EQ(strlen(of(&n, "0123456789ab_0123456789ab", "0123456789ab")), 25 + 13 + 2 + 12 + 13);
	for (size_t i = 0; i < n.count; i++)
		OK(names_find(&n, n.list[i]->qualified) == n.list[i]);
}

TEST(names_added_later_are_found_once_settled)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	names_add(&n, "a", "x");
	OK(!names_of(&n, "a", "x"));
	OK(!names_find(&n, "a__x"));
	names_settle(&n);
	names_add(&n, "b", "y");
	OK(!names_find(&n, "b__y"));
	STREQ(names_find(&n, "a__x")->tool, "x");
	names_settle(&n);
	STREQ(names_find(&n, "b__y")->tool, "y");
}

TEST(names_of_a_removed_server_are_forgotten)
{
	AUTO(names_done) struct names n = NAMES_INIT;

	for (int i = 0; i < 40; i++) {
		char tool[16];

		snprintf(tool, sizeof(tool), "t%d", i);
		names_add(&n, i % 2 ? "odd" : "even", tool);
	}
	names_add(&n, "e-ven", "x");
	names_add(&n, "e.ven", "x");
	names_settle(&n);
	names_remove(&n, "odd");
	EQ(n.count, 22);
	OK(!names_find(&n, "odd__t1"));
	OK(!names_of(&n, "odd", "t1"));
	STREQ(names_find(&n, "even__t2")->tool, "t2"); /* also before the next settle */
	names_remove(&n, "e-ven");
	names_settle(&n);
	STREQ(of(&n, "e.ven", "x"), "e_ven__x"); /* alone again */
	names_remove(&n, "even");
	names_remove(&n, "e.ven");
	EQ(n.count, 0);
	names_settle(&n);
	EQ(names_add(&n, "odd", "t1"), 0);
	names_settle(&n);
	STREQ(of(&n, "odd", "t1"), "odd__t1");
}

/* --- any set of names --- */

/* A name that is likely to collide with others: few letters, and the ends that hashes have. */
static void random_name(char *out, size_t size)
{
	static const char *const pieces[] = {
		"a",
		"b",
		"_",
		"__",
		"-",
		".",
		"A",
		"\xc3\xa4",
		"\xf0\x9f\x9a\xa2",
		"_0123456789ab",
		"0123456789ab",
		"_0123456789012345678901234567890123456789",
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	};
	size_t count = t_random() % 5, len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < count && len + 100 < size; i++) {
		uint64_t r = t_random();
		const char *piece = pieces[r % 16 < 13 ? r % 16 : r % 3];

		len += (size_t)snprintf(out + len, size - len, "%s", piece);
	}
}

static void check_all(const struct names *n)
{
	for (size_t i = 0; i < n->count; i++) {
		const struct name *name = n->list[i];
		size_t len = strlen(name->qualified);

		OK(len > 0 && len <= NAME_MAX_LEN);
		EQ(strspn(name->qualified, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_"),
		   len);
		OK(strstr(name->qualified, "__") != NULL);
		/* unique, because the way back leads here */
		OK(names_find(n, name->qualified) == name);
		STREQ(names_of(n, name->server, name->tool), name->qualified);
	}
}

TEST(names_of_any_set_are_unique_and_do_not_depend_on_the_order, .timeout_ms = 60000)
{
	enum { TOOLS = 60 };
	char servers[TOOLS][512], tools[TOOLS][512];

	for (int round = 0; round < 300; round++) {
		AUTO(names_done) struct names forth = NAMES_INIT;
		AUTO(names_done) struct names shuffled = NAMES_INIT;
		size_t count = t_random() % TOOLS, order[TOOLS];

		for (size_t i = 0; i < count; i++) {
			random_name(servers[i], sizeof(servers[i]));
			random_name(tools[i], sizeof(tools[i]));
			names_add(&forth, servers[i], tools[i]);
			order[i] = i;
		}
		names_settle(&forth);
		check_all(&forth);
		for (size_t i = count; i > 1; i--) {
			size_t k = t_random() % i, was = order[i - 1];

			order[i - 1] = order[k];
			order[k] = was;
		}
		for (size_t i = 0; i < count; i++) {
			names_add(&shuffled, servers[order[i]], tools[order[i]]);
			if (t_random() % 8 == 0)
				names_settle(&shuffled); /* what was in between leaves no trace */
		}
		names_settle(&shuffled);
		EQ(shuffled.count, forth.count);
		for (size_t i = 0; i < count; i++)
			STREQ(of(&shuffled, servers[i], tools[i]),
			      of(&forth, servers[i], tools[i]));
	}
}

TEST(names_of_many_tools_are_quick, .timeout_ms = 60000)
{
	AUTO(names_done) struct names n = NAMES_INIT;
	char tool[32];

	for (int i = 0; i < 100000; i++) {
		snprintf(tool, sizeof(tool), "tool%c%d", i % 2 ? '-' : '.', i / 2);
		EQ(names_add(&n, "big", tool), 0);
	}
	names_settle(&n); /* every one of them has a twin */
	EQ(n.count, 100000);
	OK(is_hashed(of(&n, "big", "tool-77"), "big__tool_77", 12));
	OK(names_find(&n, of(&n, "big", "tool.77")) != names_find(&n, of(&n, "big", "tool-77")));
}
