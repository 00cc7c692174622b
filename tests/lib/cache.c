/* cache.c - lists of tools that are kept: how often a server is really asked. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

static char wire[128]; /* the file with the lines that the server has read */

static struct killick_session *counted(struct killick *k, const char *way, const char *argument,
				       const char *more)
{
	char text[256];

	snprintf(wire, sizeof(wire), "%s/wire", t_audit.dir);
	unlink(wire);
	snprintf(text, sizeof(text), "\"env\":{\"ZOO_WIRE\":\"%s\"}%s", wire, more);
	return lab_session(k, SERVERS({ "zoo", way, argument, text }));
}

/* How often the first page of the tools was asked for so far. */
static int lists(void)
{
	FILE *f = fopen(wire, "re");
	char *line = NULL;
	size_t room = 0;
	int count = 0;

	OK(f);
	while (getline(&line, &room, f) > 0)
		count += strstr(line, "\"tools/list\"") && !strstr(line, "\"cursor\"");
	free(line);
	fclose(f);
	return count;
}

/* The list as it comes, which has all 15 tools. */
static char *list(struct killick_session *s, const char *server, bool refresh)
{
	struct killick_result *r = lab_do(
		s, &KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = server, .refresh = refresh), 0);
	size_t len, item;
	const char *json = killick_result_json(r, &len);
	char *copy = strdup(json);

	OK(copy && killick_json_find(json, len, "tools.14.name", &item) &&
	   !killick_json_find(json, len, "tools.15", &item));
	killick_result_free(r);
	return copy;
}

static void expect_list(struct killick_session *s, bool refresh, int asked)
{
	free(list(s, "zoo", refresh));
	EQ(lists(), asked);
}

static void change(struct killick_session *s)
{
	lab_call(s, "zoo", "notify", "{\"what\":\"tools\"}", 0, NULL, 0);
}

TEST(a_server_that_tells_of_changes_is_asked_once)
{
	struct killick *k = LAB();
	struct killick_session *s = counted(k, "good", NULL, "");
	char *first = list(s, "zoo", false), *again = list(s, "zoo", false), *all;

	EQ(lists(), 1);
	STREQ(first, again);
	all = list(s, NULL, false); /* qualified, from the same list */
	OK(strstr(all, "\"zoo__echo\""));
	EQ(lists(), 1);
	change(s);
	expect_list(s, false, 2);
	expect_list(s, false, 2);
	expect_list(s, true, 3);
	expect_list(s, false, 3);
	free(all);
	free(again);
	free(first);
	lab_end(s);
	lab_close(k);
}

TEST(a_server_that_does_not_tell_of_changes_is_asked_each_time)
{
	struct killick *k = LAB();
	struct killick_session *s = counted(k, "unannounced", NULL, "");

	expect_list(s, false, 1);
	expect_list(s, false, 2);
	lab_end(s);
	lab_close(k);
}

TEST(a_server_that_was_started_again_is_asked_again)
{
	struct killick *k = LAB();
	struct killick_session *s = counted(k, "good", NULL, "");

	expect_list(s, false, 1);
	lab_call(s, "zoo", "crash", "{\"code\":1}", KILLICK_ERR_EXITED, NULL, 0);
	expect_list(s, false, 2);
	lab_end(s);
	lab_close(k);
}

TEST(a_modern_server_is_asked_again_when_its_ttl_is_over)
{
	struct killick *k = LAB();
	struct killick_session *s = counted(k, "ttl", "400", ",\"era\":\"modern\"");

	expect_list(s, false, 1);
	expect_list(s, false, 1);
	poll(NULL, 0, 450);
	expect_list(s, false, 2);
	lab_end(s);
	lab_close(k);
}

TEST(a_modern_server_tells_of_a_change_before_its_ttl_is_over)
{
	struct killick *k = LAB();
	struct killick_session *s = counted(k, "ttl", "60000", ",\"era\":\"modern\"");

	expect_list(s, false, 1);
	expect_list(s, false, 1);
	change(s);
	expect_list(s, false, 2);
	lab_end(s);
	lab_close(k);
}

TEST(a_ttl_of_zero_is_not_kept)
{
	struct killick *k = LAB();
	struct killick_session *s = counted(k, "ttl", "0", ",\"era\":\"modern\"");

	expect_list(s, false, 1);
	expect_list(s, false, 2);
	lab_end(s);
	lab_close(k);
}

TEST(sessions_that_share_a_server_share_its_list)
{
	struct killick *k = LAB();
	struct killick_session *s = counted(k, "good", NULL, ",\"share\":\"identical\"");
	char text[256];
	struct killick_session *other;

	snprintf(text, sizeof(text),
		 "\"env\":{\"ZOO_WIRE\":\"%s\"},\"share\":\"identical\",\"enabledTools\":[\"pid\"]",
		 wire);
	other = lab_session(k, SERVERS({ "zoo", "good", NULL, text }));
	expect_list(s, false, 1);
	for (int i = 0; i < 2; i++) { /* each has the tools that its config allows */
		struct killick_result *r =
			lab_do(other, &KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = "zoo"), 0);

		OK(strstr(killick_result_json(r, NULL), "\"pid\"") &&
		   !strstr(killick_result_json(r, NULL), "\"echo\""));
		killick_result_free(r);
	}
	EQ(lists(), 1);
	lab_end(other);
	lab_end(s);
	lab_close(k);
}
