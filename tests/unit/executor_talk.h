/* executor_talk.h - what the tests of the executor say, and how they look at the answers. */
#pragma once

#include "t.h"
#include "unit/fake_owners.h"

#define START(id, more)                                                                            \
	"{\"id\":7,\"method\":\"process/start\",\"params\":{\"processId\":\"" id                   \
	"\",\"argv\":[\"/bin/x\",\"a\"],\"cwd\":\"file:///tmp\",\"env\":{},\"tty\":false" more     \
	"}}"
#define PIPED     ",\"pipeStdin\":true"
#define READ(how) "{\"id\":3,\"method\":\"process/read\",\"params\":{\"processId\":\"p\"" how "}}"
#define TERMINATE(how)                                                                             \
	"{\"id\":4,\"method\":\"process/terminate\",\"params\":{\"processId\":\"p\"" how "}}"
#define READ_TAIL ",\"failure\":null,\"sandboxDenied\":false}}"

static inline struct fake_link *start(struct channel *c, const char *text)
{
	int before = far.link_count;

	far_say(c, "%s", text);
	EQ(far.link_count, before + 1);
	far_run(far_link());
	OK(strstr(far_heard(c), "\"sandboxType\":\"none\""));
	return far_link();
}

static inline void ask(struct channel *c, const char *request, const char *expected)
{
	far_say(c, "%s", request);
	STREQ(far_heard(c), expected);
}

/* A member of the next message, as a number; -1: there is none. */
static inline long long number(struct channel *c, const char *path)
{
	int64_t value = -1;
	struct json v;

	far_heard(c);
	if (json_check(c->line, strlen(c->line), 0, &v, NULL) == 0)
		json_int(json_find(v, path), &value);
	return value;
}

static inline struct channel *come_back(const char *session, const char *expected)
{
	struct channel *c = far_connect("1.2.3.4:9", false);

	far_say(c,
		"{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\","
		"\"resumeSessionId\":\"%s\"}}",
		session);
	far_heard(c);
	if (!strstr(c->line, expected))
		FAIL("%s", c->line);
	return c;
}
