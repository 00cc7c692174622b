/* limits.c - how many servers run, and how much memory they use: per session, per server, in all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hubs.h"
#include "session/limits.h"

#define NONE (&(struct hubs_spec){ 0 })

static void measure(struct killick_session *s, const char *server, unsigned long long *bytes,
		    unsigned *processes)
{
	EQ(runtime_enter(s->k, NULL), 0);
	s->k->pool.measured_us = 0; /* do not wait for a second */
	server_memory(session_find(s, server)->server, bytes, processes);
	runtime_leave(s->k);
}

TEST(memory_is_that_of_the_tree)
{
	struct killick *k = LAB();
	struct killick_session *s = hubs_session(k, SERVERS({ "a" }, { "b" }), NONE);
	unsigned long long bytes, other;
	unsigned processes;

	lab_pid(s, "a");
	measure(s, "a", &bytes, &processes);
	OK(bytes > 50000 && bytes < 100000000);
	EQ(processes, 1);
	lab_call(s, "a", "spawn", "{}", 0, NULL, 0); /* leaves its parent */
	measure(s, "a", &bytes, &processes);
	OK(processes >= 2);
	measure(s, "b", &other, &processes);
	EQ(processes, 1);
	lab_end(s);
	lab_close(k);
}

TEST(the_longest_idle_server_of_the_session_rests_first)
{
	const struct hubs_spec *two = &(struct hubs_spec){ .top = "\"maxServers\":2," };
	struct killick *k = LAB();
	struct killick_session *s = hubs_session(k, SERVERS({ "a" }, { "b" }, { "c" }), two);

	EQ(lab_living(), 2);
	for (int i = 0; i < 3; i++) { /* each use makes the other two take turns */
		lab_pid(s, "a");
		lab_pid(s, "b");
		OK(lab_living() <= 2);
		EQ(lab_state(s, "c"), KILLICK_RESTING);
		lab_pid(s, "c");
		EQ(lab_state(s, "a"), KILLICK_RESTING);
		EQ(lab_state(s, "b"), KILLICK_READY);
		OK(lab_living() <= 2);
	}
	lab_end(s);
	lab_close(k);
}

/* A session of a host. */
TEST(a_host_has_limits_as_well)
{
	struct killick *k = LAB();
	char *servers = lab_config(SERVERS({ "a" }, { "b" })), *config = NULL;
	struct killick_session *s = NULL;
	char level[16];

	OK(asprintf(&config, "{\"maxServers\":1,%s", servers + 1) > 0);
	EQ(killick_session_open(k, &KILLICK_SESSION_OPTIONS(.config = config), &s, NULL), 0);
	killick_result_free(lab_do(
		s, &KILLICK_REQUEST(.op = KILLICK_LOG_LEVEL, .server = "a", .name = "error"), 0));
	for (int i = 0; i < 3; i++) {
		lab_pid(s, "b");
		EQ(lab_state(s, "a"), KILLICK_RESTING);
		lab_seen(s, "a", "level", level, sizeof(level));
		STREQ(level, "\"error\"");
		EQ(lab_state(s, "b"), KILLICK_RESTING);
		EQ(lab_living(), 1);
	}
	free(config);
	free(servers);
	lab_end(s);
	lab_close(k);
}

TEST(a_start_that_exceeds_a_limit_fails_with_its_name)
{
	const struct hubs_spec *one = &(struct hubs_spec){ .top = "\"maxServers\":1," };
	struct killick *k = LAB();
	struct killick_session *s = hubs_session(
		k,
		SERVERS({ "a", .more = "\"stateful\":true" },
			{ "b", .more = "\"startupTimeoutSec\":0.4,\"stateful\":true" }),
		one);
	const char *full, *empty;
	char error[512];

	full = lab_state(s, "a") == KILLICK_READY ? "a" : "b";
	empty = *full == 'a' ? "b" : "a";
	STREQ(empty, "b"); /* the first in the config is the first in the queue */
	lab_errors(s, empty, error, sizeof(error), NULL, 0);
	STREQ(error, "server 'b' was not started within 0.4 s, because of maxServers (1) of the "
		     "session, and no other server could rest; end sessions that are not needed, "
		     "or raise the limit");
	lab_call(s, empty, "pid", "{}", KILLICK_ERR_BUSY, NULL, 0); /* tried again */
	EQ(lab_living(), 1);
	lab_end(s);
	lab_close(k);
}

TEST(a_start_waits_for_the_end_of_another_session)
{
	struct killick *k = LAB();
	const struct lab_server *list = SERVERS({ "zoo", .more = "\"stateful\":true" });
	struct killick_session *a, *b;
	struct hubs_opening o;
	pid_t pids[4];

	EQ(runtime_enter(k, NULL), 0);
	limits_set(k, 1, 0);
	runtime_leave(k);
	a = hubs_session(k, list, NONE);
	hubs_begin(k, list, NONE, &o);
	lab_pid(a, "zoo");
	EQ(lab_pids(pids, 4), 1);
	lab_end(a);
	b = hubs_opened(&o);
	EQ(lab_state(b, "zoo"), KILLICK_READY);
	EQ(lab_living(), 1);
	lab_end(b);
	lab_close(k);
}

TEST(memory_of_all_sessions_is_limited)
{
	struct killick *k = LAB();
	const struct lab_server *list = SERVERS({ "zoo" });
	struct killick_session *a = hubs_session(k, list, NONE), *b;
	unsigned long long bytes;
	unsigned processes;

	measure(a, "zoo", &bytes, &processes);
	EQ(runtime_enter(k, NULL), 0);
	limits_set(k, 0, bytes / 2);
	runtime_leave(k);
	b = hubs_session(k, list, NONE); /* the first one rests for it */
	EQ(lab_state(a, "zoo"), KILLICK_RESTING);
	lab_pid(b, "zoo");
	EQ(lab_living(), 1);
	lab_end(a);
	lab_end(b);
	lab_close(k);
}

TEST(memory_of_one_server_is_limited)
{
	struct killick *k = LAB();
	const struct lab_server *list = SERVERS(
		{ "zoo",
		  .more = "\"maxMemory\":4096,\"stateful\":true,\"startupTimeoutSec\":0.4" });
	struct killick_session *a = hubs_session(k, list, NONE), *b;
	char error[512];

	EQ(runtime_enter(k, NULL), 0);
	k->pool.measured_us = 0;
	runtime_leave(k);
	b = hubs_session(k, list, NONE);
	EQ(lab_state(b, "zoo"), KILLICK_GONE);
	lab_errors(b, "zoo", error, sizeof(error), NULL, 0);
	OK(strstr(error, "maxMemory (4096 bytes; ") && strstr(error, "are used) of the server"));
	EQ(lab_living(), 1);
	lab_end(a);
	lab_end(b);
	lab_close(k);
}
