/* face_hostile.c - clients that break the rules, do not read, or leave */
#include "mcp/face_internal.h"
#include "unit/face_check.h"

TEST(a_line_that_is_no_message_is_answered_with_an_error)
{
	static const struct {
		const char *line, *id;
		int code;
	} rows[] = {
		{ "garbage", "null", -32700 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", "null", -32700 },
		{ "\xff\xfe", "null", -32700 },
		{ "7", "null", -32600 },
		{ "[]", "null", -32600 },
		{ "[7]", "null", -32600 },
		{ "{}", "null", -32600 },
		{ "{\"id\":1,\"method\":\"ping\"}", "1", -32600 },
		{ "{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", "\"a\"", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "1", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":7}", "1", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", "null", -32600 }, /* an answer to what? */
	};

	world_open_legacy(&w, "2025-06-18", "{}");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		world_say(&w, "%s", rows[i].line);
		check_error(rows[i].id, rows[i].code);
		STREQ(world_got(&w), "");
	}
	world_say(&w, REQUEST("1", "ping", "")); /* the face goes on */
	STREQ(world_got(&w), RESULT("1", "{}"));
	EQ(w.count, 0);
	world_close(&w);
}

TEST(an_error_without_an_id_follows_the_schema_of_the_version)
{
	world_open(&w);
	world_say(&w, "x");
	check_error("null", -32700);
	world_close(&w);
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w, "x");
	check_error(NULL, -32700);
	world_close(&w);
	world_open_modern(&w);
	world_say(&w, "x");
	check_error(NULL, -32700);
	world_close(&w);
}

TEST(batches_are_part_of_one_version)
{
#define TWO "[" REQUEST("1", "ping", "") ", " REQUEST("2", "tools/list", "") "]"
	static const char *const versions[] = { "2024-11-05", "2025-06-18", "2025-11-25" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		world_open_legacy(&w, versions[i], "{}");
		world_say(&w, TWO);
		check_error(i == 2 ? NULL : "null", -32600);
		STREQ(world_got(&w), "");
		world_close(&w);
	}
	world_open_legacy(&w, "2025-03-26", "{}");
	w.keep = true;
	world_say(&w, TWO);
	STREQ(world_got(&w), RESULT("1", "{}"));
	EQ(w.count, 1);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	STREQ(world_got(&w), RESULT("2", "{}"));
	world_say(&w,
		  "[" REQUEST("3", "initialize", "") ",7," NOTE("roots/list_changed", "{}") "]");
	check_error("3", -32600);
	check_error("null", -32600);
	OK(strstr(w.notes, "roots"));
	world_say(&w, "[" REQUEST("4", "tools/list", MODERN) "]");
	check_error("4", -32600);
	world_say(&w, "[]");
	check_error("null", -32600);
	world_close(&w);
}

TEST(a_line_beyond_the_limit_is_dropped)
{
	char *line = malloc(WORLD_LIMIT + 100);

	world_open_legacy(&w, "2025-11-25", "{}");
	memset(line, 'x', WORLD_LIMIT + 100);
	line[WORLD_LIMIT + 99] = '\n';
	world_write(&w, line, WORLD_LIMIT + 100);
	world_say(&w, REQUEST("1", "ping", ""));
	check_error(NULL, -32600);
	STREQ(world_got(&w), RESULT("1", "{}"));
	free(line);
	world_close(&w);
}

TEST(lines_may_come_in_any_pieces)
{
	static const char text[] = "\n\n \n" REQUEST("1", "ping", "") "\r\n" REQUEST(
		"2", "tools/call", "\"name\":\"x\"") "\n" REQUEST("3", "ping",
								  "") "\n{\"jsonrpc\":";

	for (size_t chunk = 1; chunk < 20; chunk++) {
		world_open_legacy(&w, "2025-11-25", "{}");
		w.keep = true;
		for (size_t at = 0; at < sizeof(text) - 1; at += chunk)
			world_write(&w, text + at,
				    sizeof(text) - 1 - at < chunk ? sizeof(text) - 1 - at : chunk);
		check_error(NULL, -32700); /* the blank */
		STREQ(world_got(&w), RESULT("1", "{}"));
		STREQ(world_got(&w), RESULT("3", "{}"));
		EQ(w.count, 1);
		world_leave(&w); /* inside a line */
		EQ(w.closed, 1);
		EQ(w.cancelled, 1);
		world_close(&w);
	}
}

TEST(a_client_has_a_limit_of_open_requests)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	for (unsigned i = 0; i < FACE_OPEN_MAX; i++)
		world_say(&w, REQUEST("%u", "tools/list", ""), i);
	EQ(w.count, FACE_OPEN_MAX);
	STREQ(world_got(&w), "");
	world_say(&w, REQUEST("\"more\"", "tools/list", ""));
	check_error("\"more\"", -32600);
	world_say(&w, REQUEST("\"p\"", "ping", ""));
	STREQ(world_got(&w), RESULT("\"p\"", "{}"));
	world_say(&w, CANCEL("17"));
	world_say(&w, REQUEST("\"more\"", "tools/list", ""));
	EQ(w.count, FACE_OPEN_MAX + 1);
	world_close(&w);
	EQ(w.cancelled, FACE_OPEN_MAX + 1);
}

TEST(an_id_has_a_limit)
{
	char *id = malloc(70000);

	memset(id, 'x', 70000);
	id[0] = id[69998] = '"';
	id[69999] = '\0';
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w, REQUEST("%s", "tools/list", ""), id);
	OK(strstr(world_got(&w), "\"code\":-32600,"));
	id[20000] = '"';
	id[20001] = '\0';
	world_say(&w, REQUEST("%s", "tools/list", ""), id);
	EQ(w.count, 1);
	free(id);
	world_close(&w);
}

/* Requests that wait for face_welcome have at most FACE_UNSENT_MAX bytes. */
TEST(a_request_that_does_not_wait_leaves_room_for_others)
{
#define LONG_REQUEST REQUEST("%u", "tools/call", "\"name\":\"t\",\"arguments\":\"%s\"")
	size_t len = 1000000;
	char *pad = malloc(len + 1);
	unsigned fit = FACE_UNSENT_MAX / (unsigned)len;

	memset(pad, 'x', len);
	pad[len] = '\0';
	world_open(&w);
	w.welcome = false;
	world_initialize(&w, "2025-11-25", "{}");
	for (unsigned i = 1; i <= fit; i++)
		world_say(&w, LONG_REQUEST, i, pad);
	STREQ(world_got(&w), "");
	world_say(&w, LONG_REQUEST, 100u, pad); /* is refused, */
	check_error("100", -32603);
	world_say(&w, REQUEST("101", "tools/list", "")); /* a shorter request is not */
	STREQ(world_got(&w), "");
	world_say(&w, CANCEL("1"));
	world_say(&w, LONG_REQUEST, 102u, pad);
	STREQ(world_got(&w), "");
	world_say(&w, LONG_REQUEST, 103u, pad);
	check_error("103", -32603);
	face_welcome(w.face, &w.offer);
	world_turn();
	EQ(w.count, fit + 1);
	EQ(w.face->waiting_bytes, 0);
	free(pad);
	world_close(&w);
}

/* The client reads nothing: its requests wait, and the owner is told to read no answers. */
TEST(a_client_that_does_not_read_is_not_served_and_keeps_its_connection)
{
	size_t len = 1u << 20;
	char *result = malloc(len + 20);
	int head = snprintf(result, 20, "{\"t\":\"");
	unsigned answered = 0;

	memset(result + head, 'x', len);
	snprintf(result + head + len, 10, "\"}");
	world_open_legacy(&w, "2025-11-25", "{}");
	for (unsigned i = 1; i < 100; i++) {
		world_say(&w, REQUEST("%u", "tools/list", ""), i);
		while (answered < w.count)
			face_answer_result(world_take(&w, answered++), world_json(result));
		world_turn();
		OK(channel_unsent(w.face->channel) <= CHANNEL_FULL + 2 * len);
	}
	OK(w.full && answered > 30 && answered < 40);
	EQ(w.closed, 0);
	EQ(face_stalled_ms(w.face), 0);
	world_pass(60000);
	EQ(face_stalled_ms(w.face), 60000);
	EQ(w.closed, 0);                    /* the owner decides */
	for (unsigned i = 0; i < 60; i++) { /* the client reads, and the rest is served */
		OK(*world_got(&w));
		while (answered < w.count)
			face_answer_result(world_take(&w, answered++), world_json(result));
	}
	OK(answered > 60);
	world_pass(60000);
	face_cut(w.face, "too slow");
	world_turn();
	EQ(w.closed, 1);
	STREQ(w.why, "too slow");
	free(result);
	world_close(&w);
}

/* The answers to lists are made by the owner: they do not grow without limit either. */
TEST(notifications_are_dropped_and_lists_refused_while_far_too_much_is_unread)
{
	size_t len = FACE_UNSENT_MAX + (4u << 20); /* more than the socket takes */
	char *result = malloc(len + 20);
	int head = snprintf(result, 20, "{\"t\":\"");
	size_t unsent;

	memset(result + head, 'x', len);
	snprintf(result + head + len, 10, "\"}");
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w, REQUEST("1", "tools/list", ""));
	world_say(&w, REQUEST("2", "tools/list", ""));
	EQ(w.count, 2);
	face_answer_result(world_take(&w, 0), world_json(result));
	unsent = channel_unsent(w.face->channel);
	OK(unsent > FACE_UNSENT_MAX);
	for (int i = 0; i < 100; i++) {
		face_note(w.face, NULL, KILLICK_EVENT_LOG, world_json("{\"level\":\"error\"}"));
		face_notify(w.face, "notifications/x", world_json("{}"));
	}
	EQ(channel_unsent(w.face->channel), unsent);
	face_answer_result(world_take(&w, 1), world_json(result));
	OK(channel_unsent(w.face->channel) < unsent + 1000);
	OK(strstr(world_got(&w), "\"id\":1,"));
	check_error("2", -32603);
	free(result);
	world_close(&w);
}

TEST(a_client_that_leaves_cancels_its_requests)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w, REQUEST("1", "tools/list", ""));
	world_say(&w, REQUEST("2", "tools/list", ""));
	world_leave(&w);
	EQ(w.closed, 1);
	EQ(w.cancelled, 2);
	STREQ(w.why, "the other side closed the stream");
	world_close(&w);
}

TEST(a_face_that_is_closed_sends_what_is_unsent)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w, REQUEST("1", "tools/list", ""));
	world_say(&w, REQUEST("2", "tools/list", ""));
	face_answer_result(world_take(&w, 0), world_json("{}"));
	face_close(w.face);
	EQ(w.cancelled, 0);
	face_answer_result(world_take(&w, 1), world_json("{}")); /* too late */
	STREQ(world_got(&w), RESULT("1", "{}"));
	STREQ(world_got(&w), "");
	EQ(w.closed, 1);
	STREQ(w.why, "closed by killick");
	world_close(&w);
}

/* --- the end of input --- */

TEST(requests_before_the_end_of_input_are_answered)
{
	static const char text[] =
		REQUEST("0", "initialize", "\"protocolVersion\":\"2025-06-18\"") "\n" REQUEST(
			"1", "tools/list", "") "\n";
	int in;

	world_open_pipes(&w, &in);
	w.welcome = false;
	EQ(write(in, text, sizeof(text) - 1), sizeof(text) - 1);
	close(in);
	world_turn();
	EQ(w.closed, 0);
	face_welcome(w.face, &w.offer);
	OK(strstr(world_got(&w), "2025-06-18"));
	EQ(w.count, 1);
	EQ(w.closed, 0);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	STREQ(world_got(&w), RESULT("1", "{}"));
	EQ(w.closed, 1);
	world_close(&w);
}

TEST(the_end_of_input_without_open_requests_closes)
{
	int in;

	world_open_pipes(&w, &in);
	close(in);
	world_turn();
	EQ(w.closed, 1);
	world_close(&w);
}

/* Answers still come: the rest of the requests is not cancelled. */
TEST(answers_after_the_end_of_input_keep_the_connection)
{
	static const char text[] = REQUEST("1", "tools/list", MODERN) "\n" REQUEST(
		"2", "tools/list", MODERN) "\n" REQUEST("3", "tools/list", MODERN) "\n";
	int in;

	world_open_pipes(&w, &in);
	EQ(write(in, text, sizeof(text) - 1), sizeof(text) - 1);
	close(in);
	world_turn();
	EQ(w.count, 3);
	for (unsigned i = 0; i < 2; i++) {
		world_pass(FACE_LINGER_MS - 1);
		EQ(w.closed, 0);
		face_answer_result(world_take(&w, i), world_json("{}"));
		OK(*world_got(&w));
	}
	world_pass(FACE_LINGER_MS - 1);
	EQ(w.closed, 0);
	world_pass(1);
	EQ(w.closed, 1);
	EQ(w.cancelled, 1);
	world_close(&w);
}

TEST(requests_are_cancelled_some_time_after_the_end_of_input)
{
	static const char text[] = REQUEST("1", "tools/list", MODERN) "\n";
	int in;

	world_open_pipes(&w, &in);
	EQ(write(in, text, sizeof(text) - 1), sizeof(text) - 1);
	close(in);
	world_pass(FACE_LINGER_MS - 1);
	EQ(w.closed, 0);
	world_pass(1);
	EQ(w.closed, 1);
	EQ(w.cancelled, 1);
	world_close(&w);

	/* at once, when nobody reads the answers */
	world_open_pipes(&w, &in);
	EQ(write(in, text, sizeof(text) - 1), sizeof(text) - 1);
	close(in);
	world_turn();
	EQ(w.closed, 0);
	world_leave(&w);
	EQ(w.closed, 1);
	world_close(&w);
}
