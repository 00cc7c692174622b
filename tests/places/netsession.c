/* netsession.c - a session whose servers are behind a cable: what its owner is told when that is
 * cut, and what becomes of the servers. */
#include <stdlib.h>
#include <unistd.h>

#include <killick/killick.h>

#include "far.h"
#include "place.h"

struct lab {
	struct far far;
	struct killick *k;
	struct killick_session *s;
};

static void lab_open(struct lab *l, enum cable_kind kind, const char *lease)
{
	struct killick_options options = KILLICK_OPTIONS(.keeper = killick());
	struct killick_session_options session = KILLICK_SESSION_OPTIONS(.config_file = "mcp.json");
	struct killick_error e = { 0 };

	far_open(&l->far, kind, lease);
	place_config(l->far.environment, true, "mcp stays");
	if (killick_open(&options, &l->k, &e) || killick_session_open(l->k, &session, &l->s, &e))
		FAIL("%s", e.text);
}

static void lab_close(struct lab *l)
{
	killick_session_free(l->s);
	killick_free(l->k);
	place_nothing_left(GONE_MS);
	far_close(&l->far);
}

/* A call of `pid`: the code, and what it said. */
static int call(struct lab *l, char *text, size_t size)
{
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL, .server = "s",
						    .name = "pid", .timeout_ms = 120000);
	struct killick_result *r = NULL;
	int code = killick_do(l->s, &rq, &r);

	snprintf(text, size, "%s", code ? killick_result_error(r) : killick_result_text(r));
	killick_result_free(r);
	return code;
}

static void must_call(struct lab *l, char *text, size_t size)
{
	int code = call(l, text, size);

	if (code)
		FAIL("%s: %s", killick_code_name(code), text);
}

/* Until calls are lost at once; nothing may take as long as its own timeout. */
static void await_lost(struct lab *l)
{
	double began = t_now_ms();
	char text[600];
	int code = call(l, text, sizeof(text));

	if (code != KILLICK_ERR_LOST)
		FAIL("%s: %s", killick_code_name(code), text);
	OK(strstr(text, "'far'"));
	t_note("known after %.0f ms: %s", t_now_ms() - began, text);
	for (int i = 0; i < 3; i++) {
		began = t_now_ms();
		EQ(call(l, text, sizeof(text)), KILLICK_ERR_LOST);
		OK(strstr(text, "'far'"));
		OK(t_now_ms() - began < 1000);
	}
}

static void await_call(struct lab *l, char *text, size_t size)
{
	double until = t_now_ms() + RUN_MS;
	int code;

	while ((code = call(l, text, size))) {
		if (t_now_ms() > until)
			FAIL("%s: %s", killick_code_name(code), text);
		t_wait_fd(-1, 0, 20);
	}
}

static void close_proved(struct lab *l)
{
	struct killick_report *r = NULL;

	EQ(killick_session_close(l->s, &r, NULL), 0);
	OK(r && r->count > 0);
	for (size_t i = 0; i < r->count; i++)
		if (!r->proved)
			FAIL("why %s, proof %s: %s", r->endings[i]->why, r->endings[i]->proof,
			     r->endings[i]->text);
	killick_report_free(r);
}

TEST(lost_and_back, .timeout_ms = TEST_MS)
{
	char before[600], after[600];
	struct lab l;

	lab_open(&l, CABLE_VETH, "30s");
	must_call(&l, before, sizeof(before));
	cable_cut(&l.far.cable, CABLE_NEAR_END);
	cable_reset(&l.far.cable); /* so that it is known at once */
	await_lost(&l);
	cable_join(&l.far.cable);
	await_call(&l, after, sizeof(after));
	STREQ(after, before); /* the same process */
	EQ(started(), 1);
	close_proved(&l);
	lab_close(&l);
}

TEST(silent_and_back, .timeout_ms = TEST_MS)
{
	char before[600], after[600];
	struct lab l;

	lab_open(&l, CABLE_WIRE, "30s");
	must_call(&l, before, sizeof(before));
	cable_cut(&l.far.cable, CABLE_NEAR_END);
	await_lost(&l);
	cable_join(&l.far.cable);
	await_call(&l, after, sizeof(after));
	STREQ(after, before);
	EQ(started(), 1);
	close_proved(&l);
	lab_close(&l);
}

/* The lease is over while the cable is cut: a new process, by the usual rules, and one only. */
TEST(too_late, .timeout_ms = TEST_MS)
{
	char before[600], after[600];
	struct lab l;

	lab_open(&l, CABLE_VETH, "3s");
	must_call(&l, before, sizeof(before));
	cable_cut(&l.far.cable, CABLE_NEAR_END);
	cable_reset(&l.far.cable);
	await_lost(&l);
	place_nothing_left(20000);
	cable_join(&l.far.cable);
	await_call(&l, after, sizeof(after));
	OK(strcmp(after, before) != 0);
	EQ(started(), 2);
	close_proved(&l);
	lab_close(&l);
}

TEST(closed_while_cut, .timeout_ms = TEST_MS)
{
	struct killick_report *r = NULL;
	char text[600];
	struct lab l;

	lab_open(&l, CABLE_WIRE, "6s");
	must_call(&l, text, sizeof(text));
	cable_cut(&l.far.cable, CABLE_NEAR_END);
	EQ(killick_session_close(l.s, &r, NULL), 0);
	OK(r && r->count == 1);
	OK(!r->proved);
	STREQ(r->endings[0]->proof, "lease");
	STREQ(r->endings[0]->environment, "far");
	OK(strstr(r->endings[0]->text, "'far'"));
	t_note("%s", r->endings[0]->text);
	killick_report_free(r);
	place_nothing_left(20000);
	cable_join(&l.far.cable);
	lab_close(&l);
}

/* The cable is bad all the time: whatever was started again, nothing of it stays. */
TEST(a_bad_cable, .timeout_ms = 2 * TEST_MS)
{
	char text[600];
	struct lab l;

	lab_open(&l, CABLE_VETH, "3s");
	for (int i = 0; i < 8; i++) {
		await_call(&l, text, sizeof(text));
		cable_cut(&l.far.cable, i % 2 ? CABLE_NEAR_END : CABLE_FAR_END);
		cable_reset(&l.far.cable);
		t_wait_fd(-1, 0, (int)(t_random() % 300));
		cable_join(&l.far.cable);
	}
	await_call(&l, text, sizeof(text));
	close_proved(&l);
	lab_close(&l);
}
