/* netcut.c - the cable to an executor is cut during calls and closes, for longer than anybody
 * waits. */
#include <signal.h>

#include "far.h"
#include "place.h"

/* Nobody is told of it; that nothing is heard is how it is known. Long before the call's timeout,
 * which is five minutes. */
TEST(a_call_during_a_silent_cut, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_WIRE, "8s");
	place_config(f.environment, true, "mcp stays");
	c = place_hang("block");
	cable_cut(&f.cable, CABLE_NEAR_END);
	place_ends(&c, 69);
	SAYS("'far'");
	place_nothing_left(20000); /* the lease */
	cable_join(&f.cable);
	far_close(&f);
}

/* The owner is away for longer than the lease. Once the cable is whole all is as before. */
TEST(a_cut_longer_than_the_lease, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "3s");
	place_config(f.environment, true, "mcp stays");
	c = place_hang("block");
	cable_cut(&f.cable, CABLE_NEAR_END);
	cable_reset(&f.cable); /* so that it is known at once */
	place_ends(&c, 69);
	SAYS("'far'");
	place_nothing_left(20000);
	cable_join(&f.cable);
	PLACE_RUN(0, "call", "echo", "text=again");
	STREQ(out, "again\n");
	place_nothing_left(GONE_MS);
	far_close(&f);
}

/* Whoever closes cannot have a proof, and is told until when the lease holds what is there. */
TEST(a_close_during_a_cut, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_WIRE, "8s");
	place_config(f.environment, true, "mcp stays");
	c = place_hang("block");
	cable_cut(&f.cable, CABLE_NEAR_END);
	OK(kill(c.pid, SIGINT) == 0);
	place_ends(&c, 130);
	SAYS("'far' cannot be reached");
	SAYS("by itself within");
	place_nothing_left(20000);
	cable_join(&f.cable);
	far_close(&f);
}

TEST(the_session_is_killed_during_a_cut, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "5s");
	place_config(f.environment, true, "mcp stays");
	c = place_hang("block");
	cable_cut(&f.cable, CABLE_FAR_END);
	place_kill(&c);
	place_nothing_left(20000);
	cable_join(&f.cable);
	far_close(&f);
}
