/* netns.c - the cable itself, and an executor behind one that is slow, or cut for a moment. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "far.h"
#include "place.h"

/* A byte there within the time? */
static bool crosses(int from, int to, int timeout_ms)
{
	char byte = 'x';

	OK(send(from, &byte, 1, MSG_NOSIGNAL) == 1);
	return t_wait_fd(to, POLLIN, timeout_ms) && recv(to, &byte, 1, 0) == 1;
}

static void check_cable(enum cable_kind kind, enum cable_end end)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int listener, near, far, port;
	struct cable c;

	place_begin();
	cable_open(&c, kind);
	listener = cable_listen_far(&c, &port);
	near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_port = htons((uint16_t)port);
	inet_pton(AF_INET, CABLE_FAR, &a.sin_addr);
	OK(connect(near, (struct sockaddr *)&a, sizeof(a)) == 0);
	far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	OK(crosses(near, far, GONE_MS) && crosses(far, near, GONE_MS));
	cable_cut(&c, end);
	OK(!crosses(near, far, 300));
	cable_join(&c);
	OK(t_wait_fd(far, POLLIN, GONE_MS)); /* sent again by TCP */
	OK(recv(far, (char[2]){ 0 }, 2, 0) == 1);
	if (kind == CABLE_WIRE) {
		double began = t_now_ms();

		cable_delay(&c, 150);
		OK(crosses(near, far, GONE_MS));
		OK(t_now_ms() - began > 140);
		cable_delay(&c, 0);
	}
	EQ(cable_reset(&c), 1);
	OK(t_wait_fd(far, POLLIN, GONE_MS));
	EQ(recv(far, (char[1]){ 0 }, 1, 0), -1);
	close(near);
	close(far);
	close(listener);
	cable_close(&c);
}

TEST(the_veth_cut_here, .timeout_ms = TEST_MS)
{
	check_cable(CABLE_VETH, CABLE_NEAR_END);
}

TEST(the_veth_cut_there, .timeout_ms = TEST_MS)
{
	check_cable(CABLE_VETH, CABLE_FAR_END);
}

TEST(the_wire, .timeout_ms = TEST_MS)
{
	check_cable(CABLE_WIRE, CABLE_NEAR_END);
}

TEST(a_slow_cable, .timeout_ms = TEST_MS)
{
	struct far f;

	far_open(&f, CABLE_WIRE, "30s");
	place_config(f.environment, true, "mcp stays");
	cable_delay(&f.cable, 150);
	PLACE_RUN(0, "call", "echo", "text=after a while");
	STREQ(out, "after a while\n");
	place_nothing_left(GONE_MS);
	far_close(&f);
}

/* The lease is all that holds its servers then, and whoever asks is told. */
TEST(the_session_is_killed, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "3s");
	place_config(f.environment, true, "mcp stays");
	c = place_hang("block");
	place_kill(&c);
	PLACE_RUN(0, "ps", "--on", f.url);
	PRINTS("owner away");
	place_nothing_left(20000);
	PLACE_RUN(0, "ps", "--on", "far");
	OK(!strstr(out, "mess"));
	far_close(&f);
}

/* A call that is under way when the cable is cut for a moment is answered. */
TEST(a_short_cut, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(), "call", "sleep", "ms:=3000", NULL };
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "30s");
	place_config(f.environment, true, "mcp stays");
	unlink("calls");
	c = start(argv, -1);
	place_await_text("calls", "\"sleep\"");
	cable_cut(&f.cable, CABLE_FAR_END);
	t_wait_fd(-1, 0, 1500); /* the cut itself takes time */
	cable_join(&f.cable);
	place_ends(&c, 0);
	place_nothing_left(GONE_MS);
	far_close(&f);
}

/* The executor is killed: its keepers end what it held, and calls fail with the reason. */
TEST(the_executor_is_killed, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "30s");
	place_config(f.environment, true, "mcp stays");
	c = place_hang("block");
	OK(kill(f.executor.daemon, SIGKILL) == 0);
	place_ends(&c, 69);
	SAYS("'far'");
	place_nothing_left(GONE_MS);
	far_close(&f);
}
