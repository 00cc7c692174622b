/* client_shared.c - several owners of one client, and servers that do what they should not */
#include "t.h"

#include "base/auto.h"
#include "unit/fake.h"

static const struct client_spec legacy = { .era = ERA_LEGACY, .answers = ANSWERS_ALL };
static char alice, bob, carol; /* owners */

static void answer(struct world *w, unsigned id)
{
	world_say(w, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{}}", id);
}

static const struct asked *ask_for_roots(struct world *w)
{
	static unsigned id;
	unsigned before = w->ask_count;

	world_say(w, "{\"jsonrpc\":\"2.0\",\"id\":\"r%u\",\"method\":\"roots/list\"}", ++id);
	return w->ask_count == before ? NULL : &w->asks[before % WORLD_KEPT];
}

TEST(asks_are_of_the_only_owner_that_has_requests)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct client_call *call;
	struct world w;

	world_open_legacy(&w, &legacy);
	OK(!ask_for_roots(&w)->owner); /* nobody has */
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	OK(ask_for_roots(&w)->owner == &alice);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	OK(ask_for_roots(&w)->owner == &alice);
	call = world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	OK(!ask_for_roots(&w)->owner); /* two have */
	answer(&w, 2);
	answer(&w, 3);
	OK(ask_for_roots(&w)->owner == &bob);
	client_cancel(call); /* the server may still work for bob */
	OK(ask_for_roots(&w)->owner == &bob);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	OK(!ask_for_roots(&w)->owner);
	fake_pass(500);
	answer(&w, 4); /* now it does not */
	OK(ask_for_roots(&w)->owner == &alice);
	EQ(w.warnings, 0);
	world_close(&w);
}

TEST(cancelled_requests_count_for_a_minute)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	client_cancel(world_call_of(&w, &d, &bob, KILLICK_CALL, "t"));
	fake_pass(59000);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	OK(!ask_for_roots(&w)->owner);
	fake_pass(500);
	answer(&w, 3);
	fake_pass(1000);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	OK(ask_for_roots(&w)->owner == &alice);
	world_close(&w);
}

/* So many cancellations that the oldest are forgotten. */
TEST(cancellations_of_one_owner_do_not_hide_those_of_another)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	client_cancel(world_call_of(&w, &d, &bob, KILLICK_CALL, "t"));
	for (int i = 0; i < 3000; i++)
		client_cancel(world_call_of(&w, &d, &alice, KILLICK_CALL, "t"));
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	OK(!ask_for_roots(&w)->owner); /* the server may still work for bob */
	client_forget(w.client, &bob, "left");
	OK(!ask_for_roots(&w));
	fake_pass(61000);
	OK(ask_for_roots(&w)->owner == &alice);
	world_close(&w);
}

TEST(asks_of_an_owner_that_left_are_cancelled)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	client_forget(w.client, &bob, "the session was closed");
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	world_skip(&w);
	OK(!ask_for_roots(&w));
	OK(strstr(world_sent(&w), "\"error\""));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"elicitation/create\"}");
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"result\":{\"action\":\"cancel\"}}");
	answer(&w, 2);
	OK(ask_for_roots(&w)->owner == &alice);
	world_close(&w);
}

TEST(an_owner_that_leaves_ends_only_its_own_calls)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	AUTO(done_drop) struct done b = { .count = 0 };
	const struct asked *asked;
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call_of(&w, &a, &alice, KILLICK_CALL, "t");
	asked = ask_for_roots(&w);
	world_call_of(&w, &a, &alice, KILLICK_CALL, "t");
	world_call_of(&w, &b, &bob, KILLICK_CALL, "t");
	world_skip(&w);
	EQ(client_in_flight(w.client, &alice), 2);
	EQ(client_in_flight(w.client, &carol), 0);
	EQ(client_in_flight(w.client, NULL), 3);
	client_forget(w.client, &alice, "the session was closed");
	EQ(a.count, 2);
	EQ(a.code, KILLICK_ERR_CANCELLED);
	STREQ(a.text, "the session was closed");
	EQ(b.count, 0);
	OK(strstr(world_sent(&w), "-32603"));
	OK(strstr(world_sent(&w), "\"requestId\":2"));
	OK(strstr(world_sent(&w), "\"requestId\":3"));
	STREQ(world_sent(&w), "");
	client_answer(w.client, asked->number, "{\"roots\":[]}", 12);
	STREQ(world_sent(&w), "");
	client_forget(w.client, &alice, "again");
	client_forget(w.client, &carol, "never seen");
	EQ(client_in_flight(w.client, NULL), 1);
	world_call_of(&w, &a, &alice, KILLICK_CALL, "t"); /* another one of the same address */
	EQ(client_in_flight(w.client, &alice), 1);
	world_close(&w);
	EQ(a.count, 3);
	EQ(b.count, 1);
}

struct again {
	struct client_call call;
	struct world *w;
	struct done *d;
	bool called;
};

static void call_again(struct client_call *call, const struct client_result *r)
{
	struct again *a = (struct again *)call;

	(void)r;
	if (!a->called)
		world_call_of(a->w, a->d, &alice, KILLICK_CALL, "again");
	a->called = true;
}

TEST(a_handler_may_call_again_while_its_owner_leaves)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	struct again again = { .call = { .op = KILLICK_CALL,
					 .owner = &alice,
					 .timeout_ms = -1,
					 .on_done = call_again },
			       .w = &w,
			       .d = &d };

	world_open_legacy(&w, &legacy);
	client_call(w.client, &again.call);
	client_forget(w.client, &alice, "left");
	EQ(d.count, 0);
	EQ(client_in_flight(w.client, &alice), 1);
	world_close(&w);
	EQ(d.count, 1);
}

TEST(subscriptions_are_counted_per_owner)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	AUTO(done_drop) struct done b = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call_of(&w, &a, &alice, KILLICK_SUBSCRIBE, "file:///x");
	OK(strstr(world_sent(&w), "resources/subscribe"));
	answer(&w, 2);
	EQ(a.code, KILLICK_OK);
	world_call_of(&w, &b, &bob, KILLICK_SUBSCRIBE, "file:///x"); /* the server knows */
	STREQ(world_sent(&w), "");
	fake_pass(0);
	EQ(b.code, KILLICK_OK);
	world_call_of(&w, &b, &bob, KILLICK_SUBSCRIBE, "file:///y");
	world_sent(&w);
	answer(&w, 3);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
		      "updated\",\"params\":{\"uri\":\"file:///x\"}}");
	EQ(w.note_count, 2);
	OK(w.notes[0].owner == &alice && w.notes[1].owner == &bob);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
		      "updated\",\"params\":{\"uri\":\"file:///y/part\"}}");
	EQ(w.note_count, 3);
	OK(w.notes[2].owner == &bob);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
		      "updated\",\"params\":{\"uri\":\"file:///yz\"}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\"}");
	EQ(w.note_count, 3);
	EQ(w.warnings, 2);
	world_call_of(&w, &a, &alice, KILLICK_UNSUBSCRIBE, "file:///x"); /* bob still watches */
	STREQ(world_sent(&w), "");
	fake_pass(0);
	EQ(a.code, KILLICK_OK);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
		      "updated\",\"params\":{\"uri\":\"file:///x\"}}");
	EQ(w.note_count, 4);
	OK(w.notes[3].owner == &bob);
	client_forget(w.client, &bob, "left");
	OK(strstr(world_sent(&w), "\"resources/unsubscribe\",\"params\":{\"uri\":\"file:///x\"}"));
	OK(strstr(world_sent(&w), "\"resources/unsubscribe\",\"params\":{\"uri\":\"file:///y\"}"));
	STREQ(world_sent(&w), "");
	answer(&w, 4);
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"whatever\"}}");
	EQ(w.warnings, 2);
	world_close(&w);
}

TEST(failed_subscriptions_are_not_counted)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call_of(&w, &a, &alice, KILLICK_SUBSCRIBE, "u");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"no\"}}");
	EQ(a.code, KILLICK_ERR_ANSWER);
	world_skip(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
		      "updated\",\"params\":{\"uri\":\"u\"}}");
	EQ(w.note_count, 0);
	world_call_of(&w, &a, &alice, KILLICK_SUBSCRIBE, "u");
	OK(strstr(world_sent(&w), "resources/subscribe"));
	fake_pass(1000); /* given up: perhaps the server agreed */
	EQ(a.code, KILLICK_ERR_TIMEOUT);
	OK(strstr(world_sent(&w), "cancelled"));
	OK(strstr(world_sent(&w), "resources/unsubscribe"));
	world_close(&w);
}

TEST(the_server_logs_at_the_lowest_level_of_all_owners)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call_of(&w, &d, &alice, KILLICK_LOG_LEVEL, "error");
	OK(strstr(world_sent(&w), "\"level\":\"error\""));
	answer(&w, 2);
	world_call_of(&w, &d, &bob, KILLICK_LOG_LEVEL, "debug");
	OK(strstr(world_sent(&w), "\"level\":\"debug\""));
	answer(&w, 3);
	world_call_of(&w, &d, &alice, KILLICK_LOG_LEVEL, "warning"); /* bob wants more */
	STREQ(world_sent(&w), "");
	fake_pass(0);
	EQ(d.code, KILLICK_OK);
	EQ(d.count, 3);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"info\",\"data\":1}}");
	EQ(w.note_count, 1);
	OK(w.notes[0].owner == &bob);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"error\",\"data\":1}}");
	EQ(w.note_count, 3);
	world_call_of(&w, &d, &carol, KILLICK_CALL,
		      "t"); /* now it is hers, as far as she hears it */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"info\",\"data\":1}}");
	EQ(w.note_count, 4);
	OK(w.notes[3].owner == &carol);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"debug\",\"data\":1}}");
	EQ(w.note_count, 4);
	answer(&w, 4);
	world_skip(&w);
	client_forget(w.client, &bob, "left"); /* nobody wants to hear that much any more */
	OK(strstr(world_sent(&w), "\"logging/setLevel\",\"params\":{\"level\":\"warning\"}"));
	world_call_of(&w, &d, &alice, KILLICK_LOG_LEVEL,
		      "emergency"); /* refused: the old one stays */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":6,\"error\":{\"code\":1,\"message\":\"no\"}}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"error\",\"data\":1}}");
	OK(w.note_count >= 5 && w.notes[4].owner == &alice);
	world_close(&w);
}

TEST(logs_without_levels_go_to_their_owner_or_to_all)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"debug\"}}");
	OK(w.note_count == 1 && !w.notes[0].owner);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"debug\"}}");
	OK(w.note_count == 2 && w.notes[1].owner == &alice);
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":7}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
	OK(w.note_count == 3 && !w.notes[2].owner);
	world_close(&w);
}

TEST(logs_without_a_clear_owner_are_dropped)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call_of(&w, &d, &alice, KILLICK_LOG_LEVEL, "debug");
	answer(&w, 2);
	world_call_of(&w, &d, &bob, KILLICK_LOG_LEVEL, "debug");
	answer(&w, 3);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"error\",\"data\":\"of one\"}}");
	OK(w.note_count == 1 && !w.notes[0].owner);
	answer(&w, 4); /* now it works for bob alone */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"error\",\"data\":\"of bob\"}}");
	OK(w.note_count == 2 && w.notes[1].owner == &bob);
	world_close(&w);
}

/* --- hostile --- */

TEST(invalid_messages_are_ignored)
{
	static const char *const lines[] = {
		"Server listening on stdio",
		"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":2.0,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}",
		"{\"jsonrpc\":\"1.0\",\"id\":99,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\xaf\",\"result\":{}}",
		"[]",
		"null",
		"{}",
		"\xef\xbb\xbf",
	};
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	for (int round = 0; round < 1000; round++)
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			world_say(&w, "%s", lines[i]);
	client_feed(w.client, "\0\0\n", 3);
	EQ(d.count, 0);
	OK(w.warnings > 8 && w.warnings < 40);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"still\":true}}");
	EQ(d.code, KILLICK_OK);
	STREQ(d.json, "{\"still\":true}");
	world_close(&w);
}

TEST(answers_before_the_question)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	answer(&w, 2);
	EQ(w.warnings, 1);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	EQ(d.count, 0);
	answer(&w, 2);
	EQ(d.count, 1);
	answer(&w, 2);
	EQ(d.count, 1);
	EQ(w.warnings, 2);
	world_close(&w);
}

TEST(a_flood_of_notifications_is_passed_on_in_constant_memory)
{
	struct world w;

	world_open_legacy(&w, &legacy);
	for (int i = 0; i < 100000; i++)
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	EQ(w.note_count, 100000);
	EQ(w.warnings, 0);
	world_close(&w);
}

TEST(an_answer_that_is_too_long_ends_its_call_alone)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	AUTO(done_drop) struct done b = { .count = 0 };
	struct client_spec spec = legacy;
	char big[2001];
	struct world w;

	spec.message_limit = 1000;
	world_open(&w, &spec);
	world_greet(&w, "2025-11-25");
	memset(big, 'x', sizeof(big));
	big[2000] = '\0';
	world_call(&w, &a, KILLICK_CALL, "t", NULL);
	world_call(&w, &b, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"result\":{\"x\":\"%s\"},\"jsonrpc\":\"2.0\",\"id\":2}", big);
	EQ(a.code, KILLICK_ERR_PROTOCOL);
	STREQ(a.text, "its answer is longer than 1000 bytes");
	EQ(b.count, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":\"%s\"}}", big);
	EQ(b.code, KILLICK_ERR_PROTOCOL);
	EQ(w.warnings, 2);
	world_close(&w);
}

TEST(chunks_of_any_size_make_no_difference)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\r\n"
		"junk\n\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"b\"}}\n";

	for (size_t size = 1; size < sizeof(text); size++) {
		AUTO(done_drop) struct done d = { .count = 0 };
		struct world w;

		world_open_legacy(&w, &legacy);
		world_call(&w, &d, KILLICK_CALL, "t", NULL);
		for (size_t at = 0; at < sizeof(text) - 1; at += size)
			client_feed(w.client, text + at,
				    size < sizeof(text) - 1 - at ? size : sizeof(text) - 1 - at);
		STREQ(d.json, "{\"a\":\"b\"}");
		EQ(w.note_count, 1);
		EQ(w.warnings, 1);
		world_close(&w);
	}
}

/* Anything, in any order: each call ends exactly once. */
TEST(random_events_keep_the_promise)
{
	static struct done done[400];
	struct client_call *calls[400];

	for (unsigned round = 0; round < 200; round++) {
		unsigned count = 0, ends = 0;
		struct world w;

		memset(done, 0, sizeof(done));
		world_open(&w, &(struct client_spec){ .era = round % 3,
						      .answers = ANSWERS_ALL,
						      .max_in_flight = 20 });
		for (int step = 0; step < 400; step++) {
			uint64_t r = t_random();
			unsigned id = 1 + (unsigned)(r >> 8) % (count + 4);

			switch (r % 12) {
			case 0:
			case 1:
			case 2:
				calls[count] =
					world_call_of(&w, &done[count], r & 512 ? &alice : &bob,
						      (enum killick_op)((r >> 10) % 12), "info");
				count++;
				break;
			case 3:
				id = count ? id % count : 0;
				if (count && !done[id].count)
					client_cancel(calls[id]);
				break;
			case 4:
				fake_pass((int64_t)((r >> 20) % 300));
				break;
			case 5:
				world_greet(&w, "2025-03-26");
				break;
			case 6:
				world_discover(&w, id);
				break;
			case 7:
				world_say(&w,
					  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"tools\":[],"
					  "\"nextCursor\":\"%d\"}}",
					  id, step);
				break;
			case 8:
				world_say(&w,
					  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{"
					  "\"resultType\":\"input_required\","
					  "\"inputRequests\":{\"a\":{\"method\":\"elicitation/"
					  "create\"}}}}",
					  id);
				break;
			case 9:
				world_say(&w,
					  "{\"jsonrpc\":\"2.0\",\"id\":\"x%d\",\"method\":\"roots/"
					  "list\"}",
					  step);
				break;
			case 10:
				client_answer(w.client, 1 + (r >> 8) % (w.ask_count + 1), "{}", 2);
				break;
			default:
				if (r % 7 == 0)
					client_forget(w.client, r & 512 ? &alice : &bob, "left");
				w.link.error = r % 5 == 0 ? -ENOBUFS : 0;
				break;
			}
		}
		world_close(&w);
		for (unsigned i = 0; i < count; i++) {
			EQ(done[i].count, 1);
			ends++;
			done_drop(&done[i]);
		}
		EQ(ends, count);
	}
}
