/* hub_share.c - which sessions of the hub share a server: the rule, with real servers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hubs.h"

#define NONE  (&(struct hubs_spec){ 0 })
#define LAZY  (&(struct hubs_spec){ .lazy = true })
#define ROOTS (&(struct hubs_spec){ .features = KILLICK_ROOTS })

static bool is_decided(void *ctx)
{
	struct killick_session *s = ctx;

	for (size_t i = 0; i < s->count; i++)
		if (s->table[i]->server->verdict.answer == SHARE_UNKNOWN)
			return false;
	return true;
}

/* Two sessions, one after the other; do they share? */
static void expect(const struct lab_server *list, const struct hubs_spec *spec, bool shared,
		   const char *why)
{
	struct killick *k = LAB();
	struct killick_session *a = hubs_session(k, list, spec), *b;
	struct share_verdict v;

	hubs_await(k, is_decided, a);
	b = hubs_session(k, list, spec);
	hubs_await(k, is_decided, b);
	EQ(lab_pid(a, "zoo") == lab_pid(b, "zoo"), shared);
	EQ(lab_living(), shared ? 1 : 2);
	v = hubs_verdict(b, "zoo");
	if (!strstr(v.why, why))
		FAIL("why: %s", v.why);
	lab_end(a);
	lab_pid(b, "zoo");
	lab_end(b);
	EQ(lab_living(), 0);
	lab_close(k);
}

TEST(the_config_decides)
{
	expect(SERVERS({ "zoo", .more = "\"share\":\"identical\"" }), NONE, true, "identical");
	expect(SERVERS({ "zoo", "modern", .more = "\"share\":\"never\",\"era\":\"modern\"" }), NONE,
	       false, "never");
}

TEST(the_server_decides_without_a_word_in_the_config)
{
	expect(SERVERS({ "zoo", "says", "shared" }), NONE, true, "\"shared\"");
	expect(SERVERS({ "zoo", "says", "isolated", .more = "\"share\":\"auto\"" }), NONE, false,
	       "\"isolated\"");
}

TEST(modern_servers_are_shared_unless_tool_names_show_state)
{
	expect(SERVERS({ "zoo", "modern", .more = "\"era\":\"modern\"" }), NONE, true, "modern");
	expect(SERVERS({ "zoo", "browsesnew", .more = "\"era\":\"modern\"" }), NONE, false,
	       "browser_open");
}

TEST(legacy_servers_are_shared_only_with_auto)
{
	expect(SERVERS({ "zoo", "reads" }), NONE, false, "legacy");
	expect(SERVERS({ "zoo", "reads", .more = "\"share\":\"auto\"" }), NONE, true, "read-only");
	expect(SERVERS({ "zoo", "good", .more = "\"share\":\"auto\"" }), NONE, false, "not marked");
	expect(SERVERS({ "zoo", "reads", .more = "\"share\":\"auto\"" }),
	       &(struct hubs_spec){ .features = KILLICK_ELICITATION }, false, "answers requests");
}

TEST(roots_are_not_declared_to_a_shared_server)
{
	const struct lab_server *list = SERVERS({ "zoo", "modern", .more = "\"era\":\"modern\"" });
	struct killick *k = LAB();
	struct killick_session *a = hubs_session(k, list, ROOTS), *b, *c;
	struct share_verdict v;

	hubs_await(k, is_decided, a);
	v = hubs_verdict(a, "zoo");
	OK(v.answer == SHARE_NO && strstr(v.why, "roots"));
	b = hubs_session(k, list, ROOTS);
	c = hubs_session(k, list, NONE); /* declares nothing: the same key */
	OK(lab_pid(a, "zoo") != lab_pid(b, "zoo"));
	EQ(lab_pid(b, "zoo"), lab_pid(c, "zoo"));
	EQ(lab_living(), 2);
	lab_end(a);
	lab_end(b);
	lab_end(c);
	lab_close(k);
}

#define CROWD 12

/* All come before anything is known of the server. */
static void crowd(const struct lab_server *list, size_t processes)
{
	struct killick *k = LAB();
	struct hubs_opening o[CROWD];
	struct killick_session *s[CROWD];
	pid_t first, pids[2 * CROWD];

	for (size_t i = 0; i < CROWD; i++)
		hubs_begin(k, list, NONE, &o[i]);
	for (size_t i = 0; i < CROWD; i++)
		s[i] = hubs_opened(&o[i]);
	first = lab_pid(s[0], "zoo");
	for (size_t i = 1; i < CROWD; i++)
		EQ(lab_pid(s[i], "zoo") == first, processes == 1);
	EQ(lab_living(), processes);
	EQ(lab_pids(pids, 2 * CROWD), processes); /* no other process was ever started */
	EQ(hubs_servers(k), processes);
	for (size_t i = 0; i < CROWD; i++)
		lab_end(s[i]);
	EQ(lab_living(), 0);
	lab_close(k);
}

TEST(sessions_that_come_together_wait_for_the_verdict)
{
	crowd(SERVERS({ "zoo", "modern", .more = "\"era\":\"modern\"" }), 1);
}

TEST(sessions_that_come_together_start_if_the_verdict_is_no)
{
	crowd(SERVERS({ "zoo", "good" }), CROWD);
}

/* The first session is closed while its server starts; another one takes its place. */
TEST(the_verdict_comes_also_if_the_first_session_leaves)
{
	const struct lab_server *list =
		SERVERS({ "zoo", "slowstart", "400", .more = "\"share\":\"auto\"" });
	struct killick *k = LAB();
	struct hubs_opening o[3];
	struct killick_session *b, *c;

	for (size_t i = 0; i < 3; i++)
		hubs_begin(k, list, NONE, &o[i]);
	lab_await_pids(1);
	EQ(runtime_enter(k, NULL), 0);
	session_close(CONTAINER_OF(ring_first(&k->sessions), struct killick_session, in_runtime),
		      NULL);
	runtime_leave(k);
	b = hubs_opened(&o[1]);
	c = hubs_opened(&o[2]);
	lab_pid(b, "zoo");
	lab_pid(c, "zoo");
	EQ(runtime_enter(k, NULL), 0);
	waiter_wait(k, &o[0].o.waiter);
	runtime_leave(k);
	EQ(o[0].o.error.code, KILLICK_ERR_CANCELLED);
	lab_end(b);
	lab_end(c);
	lab_close(k);
}

TEST(waiting_sessions_start_their_own_server_if_the_first_fails)
{
	const struct lab_server *list = SERVERS({ "zoo", "diesnow" });
	struct killick *k = LAB();
	struct hubs_opening o[3];

	for (size_t i = 0; i < 3; i++)
		hubs_begin(k, list, NONE, &o[i]);
	for (size_t i = 0; i < 3; i++) {
		struct killick_session *s = hubs_opened(&o[i]);

		EQ(lab_state(s, "zoo"), KILLICK_GONE);
		lab_end(s);
	}
	lab_close(k);
}

/* A server that asked gets further processes for other sessions, up to maxInstances. */
TEST(a_shared_server_that_asks_gets_more_instances)
{
	const struct lab_server *list =
		SERVERS({ "zoo", .more = "\"share\":\"identical\",\"maxInstances\":2" });
	const struct hubs_spec *spec = &(struct hubs_spec){ .features = KILLICK_SAMPLING };
	struct killick *k = LAB();
	struct killick_session *s[5];

	s[0] = hubs_session(k, list, spec);
	s[1] = hubs_session(k, list, spec);
	EQ(lab_living(), 1);
	lab_call(s[0], "zoo", "ask", "{\"method\":\"sampling/createMessage\",\"params\":{}}", 0,
		 NULL, 0);
	for (size_t i = 2; i < 5; i++)
		s[i] = hubs_session(k, list, spec);
	EQ(lab_living(), 2);
	for (size_t i = 0; i < 5; i++)
		lab_end(s[i]);
	lab_close(k);
}

TEST(the_difference_of_two_sessions_is_named)
{
	struct killick *k = LAB();
	struct killick_session *a = hubs_session(
		k, SERVERS({ "zoo", .more = "\"share\":\"identical\",\"env\":{\"TOKEN\":\"a\"}" }),
		NONE);
	struct killick_session *b = hubs_session(
		k, SERVERS({ "zoo", .more = "\"share\":\"identical\",\"env\":{\"TOKEN\":\"b\"}" }),
		NONE);
	const struct server *x, *y;
	char text[200];

	EQ(lab_living(), 2);
	EQ(runtime_enter(k, NULL), 0);
	x = session_find(a, "zoo")->server;
	y = session_find(b, "zoo")->server;
	OK(server_difference(x, text, sizeof(text)) == y);
	STREQ(text, "environment variable TOKEN differs");
	OK(server_difference(y, text, sizeof(text)) == x);
	runtime_leave(k);
	lab_end(a);
	lab_end(b);
	lab_close(k);
}

TEST(servers_of_one_launcher_with_other_names_and_arguments_are_not_compared)
{
	struct killick *k = LAB();
	struct killick_session *a = hubs_session(
		k, SERVERS({ "files", .more = "\"env\":{\"X\":\"a\"}" }, { "other", "modern" }),
		NONE);
	struct killick_session *b =
		hubs_session(k, SERVERS({ "same", .more = "\"env\":{\"X\":\"b\"}" }), NONE);
	const struct server *same;
	char text[200];

	EQ(runtime_enter(k, NULL), 0);
	same = session_find(b, "same")->server;
	OK(server_difference(session_find(a, "files")->server, text, sizeof(text)) == same);
	STREQ(text, "environment variable X differs");
	OK(!server_difference(session_find(a, "other")->server, text, sizeof(text)));
	STREQ(text, "");
	runtime_leave(k);
	lab_end(a);
	lab_end(b);
	lab_close(k);
}

static bool has_lists(void *ctx)
{
	const struct catalogue_entry *e =
		lease_catalogue(((struct killick_session *)ctx)->table[0]);

	if (!e)
		return false;
	for (int i = 0; i < CATALOGUE_KINDS; i++)
		if (!e->lists[i].at)
			return false;
	return true;
}

TEST(a_lazy_session_starts_a_known_server_with_its_first_call)
{
	const struct lab_server *list = SERVERS({ "zoo" });
	struct killick *k = lab_open(&KILLICK_OPTIONS(.cache_dir = t_audit.dir));
	struct killick_session *a = hubs_session(k, list, LAZY), *b;
	pid_t pids[4];
	char *tools;

	lab_pid(a, "zoo"); /* not known: it was started */
	hubs_await(k, has_lists, a);
	lab_end(a);
	lab_close(k);
	EQ(lab_living(), 0);

	k = lab_open(&KILLICK_OPTIONS(.cache_dir = t_audit.dir)); /* another hub */
	b = hubs_session(k, list, LAZY);
	EQ(lab_pids(pids, 4), 1); /* not started */
	EQ(lab_state(b, "zoo"), KILLICK_IDLE);
	tools = hubs_list(b, "zoo", CATALOGUE_TOOLS);
	OK(strstr(tools, "\"echo\"") && strstr(tools, "\"env\"")); /* of all pages */
	free(tools);
	lab_pid(b, "zoo");
	EQ(lab_pids(pids, 4), 2);
	lab_end(b);
	lab_close(k);
}

/* A server may change without a sign that the hub could see: new versions come with npx. */
TEST(a_lazy_session_starts_a_server_whose_lists_are_old)
{
	const struct lab_server *list = SERVERS({ "zoo" });
	struct killick *k = LAB();
	struct killick_session *a = hubs_session(k, list, LAZY), *b, *c;

	hubs_await(k, has_lists, a);
	b = hubs_session(k, list, LAZY);
	EQ(lab_state(b, "zoo"), KILLICK_IDLE);
	EQ(runtime_enter(k, NULL), 0);
	((struct catalogue_entry *)lease_catalogue(b->table[0]))->told_ms = 0;
	runtime_leave(k);
	lab_end(b);
	c = hubs_session(k, list, LAZY);
	EQ(lab_state(c, "zoo"), KILLICK_READY);
	b = hubs_session(k, list, LAZY); /* the start of c has made the entry new */
	EQ(lab_state(b, "zoo"), KILLICK_IDLE);
	lab_end(a);
	lab_end(b);
	lab_end(c);
	lab_close(k);
}

static bool has_no_tools(void *ctx)
{
	const struct catalogue_entry *e =
		lease_catalogue(((struct killick_session *)ctx)->table[0]);

	return e && !e->lists[CATALOGUE_TOOLS].at && e->lists[CATALOGUE_PROMPTS].at;
}

TEST(a_changed_list_is_dropped_from_the_catalogue)
{
	struct killick *k = LAB();
	struct killick_session *s = hubs_session(k, SERVERS({ "zoo" }), NONE);

	hubs_await(k, has_lists, s);
	lab_call(s, "zoo", "notify", "{\"what\":\"tools\"}", 0, NULL, 0);
	hubs_await(k, has_no_tools, s);
	lab_end(s);
	lab_close(k);
}
