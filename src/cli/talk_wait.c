/* talk_wait.c - waits until the servers of a talk are ready or have failed; see talk.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "talk.h"

enum { NAMED = 4 }; /* largest number of names in one message */

/* Write the servers that are not ready yet: "files, git, ...". Returns how many there are. */
static size_t talk_awaited(const struct talk *t, char *out, size_t size)
{
	size_t count = 0, len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < t->status->count; i++) {
		const struct killick_server_status *sv = t->status->servers[i];

		if (sv->settled || count++ > NAMED)
			continue;
		if (len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%.40s", len ? ", " : "",
						count > NAMED ? "..." : sv->name);
	}
	return count;
}

/* Show "2 of 5 ready, waiting for files, git". */
static void talk_wait_note(struct talk *t)
{
	size_t ready = 0, all = 0;
	char names[240], text[320];

	for (size_t i = 0; i < t->status->count; i++) {
		ready += talk_is_ready(t->status->servers[i]);
		all += !talk_is_off(t->status->servers[i]);
	}
	talk_awaited(t, names, sizeof(names));
	snprintf(text, sizeof(text), "%zu of %zu ready, waiting for %s", ready, all, names);
	bar_note(&t->bar, text);
}

/* Call on_ready for the servers that have become ready. */
static void talk_tell_ready(struct talk *t, bool *told)
{
	for (size_t i = 0; t->on_ready && i < t->status->count; i++) {
		const struct killick_server_status *sv = t->status->servers[i];

		if (told[i] || !talk_is_ready(sv))
			continue;
		told[i] = true;
		t->on_ready(t, sv);
	}
}

static void talk_say_late(struct talk *t)
{
	char names[240], span[24];
	size_t count = talk_awaited(t, names, sizeof(names));

	bar_clear(&t->bar);
	talk_say(t,
		 "the handshake timed out after %s: %s; give a longer '--timeout', or use "
		 "'--verbose' to see what %s",
		 text_span(t->timeout_ms, span), names,
		 count == 1 ? "the server does" : "the servers do");
	talk_fail(t, EXIT_TRY_AGAIN);
}

bool talk_wait(struct talk *t, long long until_us)
{
	AUTO(mem_drop) bool *told = NULL;
	char names[240];

	talk_look(t);
	told = mem_grow(NULL, t->status->count + 1, sizeof(*told));
	memset(told, 0, (t->status->count + 1) * sizeof(*told));
	for (;;) {
		talk_tell_ready(t, told);
		if (talk_awaited(t, names, sizeof(names)) == 0)
			break;
		talk_wait_note(t);
		t->changed = false;
		if (!talk_pump(t, &t->changed, until_us)) {
			if (!t->caught)
				talk_say_late(t);
			break;
		}
		talk_look(t);
	}
	bar_clear(&t->bar);
	t->bar.message[0] = '\0';
	return !t->caught;
}
