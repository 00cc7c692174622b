/* executor_greedy.c - requests that would take for ever, or all of the memory: they are refused,
 * soon.
 */
#include "unit/executor_talk.h"

/* A '#' in an item is its number. */
static char *repeat(const char *head, const char *first, const char *item, int count,
		    const char *tail)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_adds(&b, head);
	buf_adds(&b, first);
	for (int i = 0; i < count; i++) {
		const char *hole = strchr(item, '#');

		buf_adds(&b, ",");
		buf_add(&b, item, hole ? (size_t)(hole - item) : strlen(item));
		if (hole)
			buf_addf(&b, "%d%s", i, hole + 1);
	}
	buf_adds(&b, tail);
	return buf_take(&b);
}

#define START_HEAD                                                                                 \
	"{\"id\":7,\"method\":\"process/start\",\"params\":{\"processId\":\"p\",\"cwd\":"          \
	"\"file:///\",\"tty\":false,"
#define POLICY_HEAD                                                                                \
	START_HEAD "\"argv\":[\"x\"],\"env\":{},\"envPolicy\":{\"inherit\":\"none\","              \
		   "\"ignoreDefaultExcludes\":true,\"exclude\":[],"

/* Refused at once: if it were done it would take longer than a test may. */
static void is_too_much(char *request, const char *why)
{
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	far_say_bytes(c, request, strlen(request));
	far_heard(c);
	if (!strstr(c->line, why))
		FAIL("%.300s", c->line);
	free(request);
	far_close();
}

TEST(too_many_patterns, .timeout_ms = 30000)
{
	char *set = repeat(POLICY_HEAD "\"set\":{", "\"A\":\"\"", "\"V#\":\"\"", 2000, "}");
	char *all = repeat(set, ",\"includeOnly\":[\"\"", "\"\"", 4000000, "]}}}");

	free(set);
	is_too_much(all, "more than 4096 patterns");
}

TEST(too_many_variables, .timeout_ms = 30000)
{
	char *env = repeat(START_HEAD "\"argv\":[\"x\"],\"env\":{", "\"A\":\"\"", "\"V#\":\"\"",
			   4000, "");

	is_too_much(repeat(env, "", "\"V3999\":\"\"", 1000000, "}}}"), "more than 4096 variables");
	free(env);
}

TEST(variables_that_differ_in_the_end, .timeout_ms = 30000)
{
	char item[3020];

	memset(item, 'x', sizeof(item));
	memcpy(item, "\"", 1);
	snprintf(item + 3000, 20, "#\":\"\"");
	is_too_much(
		repeat(START_HEAD "\"argv\":[\"x\"],\"env\":{", "\"A\":\"\"", item, 4095, "}}}"),
		"is too large");
}

TEST(too_many_members, .timeout_ms = 30000)
{
	is_too_much(repeat(START_HEAD, "\"a\":1", "\"a\":1", 2000000, "}}"),
		    "more than 1024 members");
}

TEST(too_many_words, .timeout_ms = 30000)
{
	is_too_much(repeat(START_HEAD "\"env\":{},\"argv\":[", "\"\"", "\"\"", 4000000, "]}}"),
		    "more than ");
}

/* What costs us memory counts, also when nothing is to be written. */
TEST(writes_of_nothing_that_wait)
{
	const struct executor_options few = { .write_queue = 100000 };
	struct channel *c;
	struct fake_link *f;
	char session[37];

	far_open(&few);
	c = far_client("1.2.3.4:5", session);
	f = start(c, START("p", PIPED));
	f->stuck = true;
	f->waits = f->limit;
	for (int i = 0; i < 500; i++)
		far_say(c,
			"{\"id\":%d,\"method\":\"process/write\",\"params\":{\"processId\":\"p\","
			"\"chunk\":\"%s\",\"writeId\":\"%d\"}}",
			i, i ? "" : "QUFB", i);
	OK(strstr(far_heard(c), "the process does not read"));
	far_close();
}
