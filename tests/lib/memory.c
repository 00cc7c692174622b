/* memory.c - servers that send more than there is memory for. The host goes on.
 *
 * The address space is limited. Answers of all sizes are asked for: small ones arrive, and for
 * larger ones the line, the result or its text finds no memory. Each must be an error of that one
 * call.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lab.h"

#define MIB (1u << 20)

/* A runtime for large messages. One arena for all threads: otherwise malloc reserves 64 MiB of
 * address space when a thread first meets another one in malloc, and if that happens after
 * limit_memory, nothing is left for the messages. */
static struct killick *open_runtime(void)
{
	EQ(mallopt(M_ARENA_MAX, 1), 1);
	return lab_open(&KILLICK_OPTIONS(.message_limit = 512 * MIB));
}

/* Let the process have this much more than it has now. */
static void limit_memory(size_t more)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	struct rlimit lim;

	OK(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	lim.rlim_cur = lim.rlim_max = pages * 4096 + more;
	EQ(setrlimit(RLIMIT_AS, &lim), 0);
}

/* Ask for a text of so many bytes. True: it arrived, whole. */
static bool arrives(struct killick_session *s, size_t bytes)
{
	struct killick_result *r;
	char args[64];
	bool whole;
	int code;

	snprintf(args, sizeof(args), "{\"bytes\":%zu}", bytes);
	r = lab_try(s, "zoo", "big", args, 60000);
	code = killick_result_code(r);
	if (code != 0 && code != KILLICK_ERR_SYSTEM && code != KILLICK_ERR_PROTOCOL)
		FAIL("%zu bytes: %s: %s", bytes, killick_code_name(code), killick_result_error(r));
	if (code != 0)
		OK(strstr(killick_result_error(r), "memory"));
	whole = code == 0 && strlen(killick_result_text(r)) == bytes;
	killick_result_free(r);
	return whole;
}

TEST(answers_for_which_there_is_no_memory_are_errors, .timeout_ms = 60000)
{
	struct killick *k = open_runtime();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	int good = 0, bad = 0;

	lab_pid(s, "zoo"); /* all threads are there */
	limit_memory(96 * MIB);
	for (size_t bytes = 4 * MIB; bytes <= 128 * MIB; bytes += bytes / 2) {
		if (arrives(s, bytes))
			good++;
		else
			bad++;
		lab_pid(s, "zoo"); /* the session goes on */
	}
	OK(good >= 2 && bad >= 2);
	lab_end(s);
	lab_close(k);
}

TEST(events_and_asks_for_which_there_is_no_memory_do_not_end_the_host, .timeout_ms = 60000)
{
	struct lab_events ev;
	struct killick *k;
	struct killick_session *s;
	char args[96];

	lab_events_init(&ev);
	ev.answer = "{\"roots\":[]}";
	k = open_runtime();
	s = lab_session_with(
		k, SERVERS({ "zoo" }),
		&KILLICK_SESSION_OPTIONS(.handlers = lab_handlers(&ev, KILLICK_ROOTS)));
	lab_pid(s, "zoo");
	limit_memory(64 * MIB);
	for (size_t bytes = 4 * MIB; bytes <= 64 * MIB; bytes *= 2) {
		snprintf(args, sizeof(args), "{\"bytes\":%zu}", bytes);
		killick_result_free(lab_try(s, "zoo", "log", args, LAB_MS));
		/* an ask that is dropped with its line is never answered */
		snprintf(args, sizeof(args), "{\"method\":\"roots/list\",\"bytes\":%zu}", bytes);
		killick_result_free(lab_try(s, "zoo", "ask", args, 1000));
		lab_pid(s, "zoo"); /* the session goes on */
	}
	lab_await(&ev.count[KILLICK_EVENT_LOG], 1); /* small ones came */
	lab_await(&ev.asks, 1);
	lab_await(&ev.count[KILLICK_EVENT_WARNING], 1); /* and what was dropped was told */
	lab_end(s);
	lab_close(k);
}
