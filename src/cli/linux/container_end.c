/* container_end.c - `killick container-end`: removes the container of a tree that has ended. For
 * keepers and janitors only (keeper/linux/container.h).
 *
 * Asks the engine for the containers with the label of that tree, stops and removes each by its id,
 * and asks again. Only containers with the label are touched: a file with an id may be forged, or
 * contain the id of another container. The exit status is an enum container_fate.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "engine.h"
#include "engine_call.h"
#include "engine_spec.h"
#include "keeper/linux/clock.h"
#include "keeper/linux/container.h"

enum {
	OUTPUT_MAX = 16384, /* bytes of an answer; an id takes 65 */
	SPEC_MAX = 65536,   /* capacity of a pipe */
};

const char container_end_help[] =
	"usage: killick container-end --grace TIME --time TIME --lost yes|no\n"
	"\n"
	"For killick itself: removes the container of a tree that has ended. Standard input\n"
	"says which one.\n";

struct container_end {
	struct engine_spec spec;
	bool lost; /* the spec is from a record, which may be forged */
	unsigned grace_ms;
	long long deadline_us;
};

/* Run the engine with these words. CONTAINER_GONE: the command succeeded; CONTAINER_UNKNOWN: the
 * command failed; or CONTAINER_LATE. */
static enum container_fate container_end_call(const struct container_end *e,
					      const char *const *words, struct buf *out)
{
	int r;

	buf_reset(out, OUTPUT_MAX);
	r = engine_call(e->lost ? e->spec.program : NULL, e->spec.words, words, e->deadline_us,
			out);
	return r == 0 ? CONTAINER_GONE : r == -ETIMEDOUT ? CONTAINER_LATE : CONTAINER_UNKNOWN;
}
#define CALL(e, out, ...) container_end_call(e, (const char *const[]){ __VA_ARGS__, NULL }, out)

/* Ask for the ids of the containers with the label. CONTAINER_GONE: no container has the label. */
static enum container_fate container_end_ask(const struct container_end *e, struct buf *out_ids)
{
	char filter[64];
	enum container_fate fate;

	snprintf(filter, sizeof(filter), "label=" ENGINE_LABEL "=%s", e->spec.label);
	fate = CALL(e, out_ids, "ps", "-a", "-q", "--no-trunc", "--filter", filter);
	if (fate != CONTAINER_GONE || !out_ids->len)
		return fate;
	return out_ids->data[strspn(out_ids->data, " \t\r\n")] ? CONTAINER_THERE : CONTAINER_GONE;
}

/* Stop and remove one container. Failures are ignored, because the engine is asked again: a
 * container may end and be removed by itself at any moment. */
static enum container_fate container_end_one(const struct container_end *e, const char *id)
{
	AUTO(buf_done) struct buf out = BUF_INIT(OUTPUT_MAX);
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%u", (e->grace_ms + 999) / 1000);
	if (CALL(e, &out, "stop", "-t", seconds, id) == CONTAINER_LATE)
		return CONTAINER_LATE;
	return CALL(e, &out, "rm", "-f", id);
}

static bool is_container_id(const char *text, size_t len)
{
	return len > 0 && len <= CONTAINER_ID_MAX && strspn(text, "0123456789abcdef") >= len;
}

static enum container_fate container_end_all(const struct container_end *e)
{
	AUTO(buf_done) struct buf ids = BUF_INIT(OUTPUT_MAX);
	enum container_fate fate = container_end_ask(e, &ids);

	if (fate != CONTAINER_THERE)
		return fate;
	for (const char *p = ids.data; *(p += strspn(p, " \t\r\n"));) {
		size_t len = strcspn(p, " \t\r\n");
		char id[CONTAINER_ID_MAX + 1];

		if (is_container_id(p, len)) {
			memcpy(id, p, len);
			id[len] = '\0';
			fate = container_end_one(e, id);
			if (fate == CONTAINER_LATE)
				return fate;
		}
		p += len;
	}
	return container_end_ask(e, &ids);
}

/* The keepers of a tree have the environment of its command. A janitor has another environment,
 * which must not choose another daemon or store: the engine gets only the variables of the spec. */
static void container_end_set_places(const struct engine_spec *spec)
{
	for (int i = 0; engine_place(i); i++)
		unsetenv(engine_place(i));
	for (char **entry = spec->env; entry && *entry; entry++)
		putenv(*entry); /* must stay valid until the program ends */
}

/* Read the spec up to the end of input. A read error is not taken for the end, because a text that
 * is cut off could have another meaning. */
static bool container_end_read(struct buf *out)
{
	char text[1024];
	ssize_t n;

	while ((n = read(STDIN_FILENO, text, sizeof(text))) > 0)
		if (buf_add(out, text, (size_t)n) < 0)
			return false;
	return n == 0 && out->len > 0;
}

int verb_container_end(int argc, char **argv)
{
	struct container_end e = { .lost = true };
	AUTO(buf_done) struct buf spec = BUF_INIT(SPEC_MAX);
	unsigned time_ms = CONTAINER_BUDGET_MS;
	const struct option options[] = {
		{ "grace", OPTION_TIME, "a time", .ms = &e.grace_ms },
		{ "time", OPTION_TIME, "a time", .ms = &time_ms },
		{ "lost", OPTION_YES_NO, "yes or no", .flag = &e.lost },
		{ .name = NULL },
	};
	int status;

	if (!cli_options(argc, argv, container_end_help, options, &status))
		return status;
	if (!container_end_read(&spec) || engine_spec_read(spec.data, e.lost, &e.spec) < 0)
		return CONTAINER_UNKNOWN;
	e.deadline_us = clock_us() + time_ms * 1000LL;
	if (e.lost)
		container_end_set_places(&e.spec);
	status = container_end_all(&e);
	engine_spec_done(&e.spec);
	return status;
}
