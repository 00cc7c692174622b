/* trace.c - see trace.h */
#include "base/trace.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "os/env.h"
#include "os/fd.h"
#include "os/thread.h"
#include "os/time.h"

#define LINE_SIZE  512
#define WORD_SHOWN 40 /* bytes shown of a word that names no area */

static const char *const names[] = {
	[TRACE_SESSION] = "session", [TRACE_SERVER] = "server",
	[TRACE_CLIENT] = "client",   [TRACE_CALL] = "call",
	[TRACE_LINK] = "link",       [TRACE_ENVIRONMENT] = "environment",
	[TRACE_CHANNEL] = "channel", [TRACE_EXECUTOR] = "executor",
	[TRACE_LOOP] = "loop",
};
_Static_assert(sizeof(names) / sizeof(*names) == TRACE_AREAS, "each area has a name");

atomic_uint trace_areas;

static struct {
	void (*fn)(void *ctx, const char *line); /* NULL: stderr */
	void *ctx;
} trace_receiver;

void trace_send_to(void (*fn)(void *ctx, const char *line), void *ctx)
{
	trace_receiver.fn = fn;
	trace_receiver.ctx = ctx;
}

/* One write, so that lines of several threads and processes do not mix. */
static void trace_write(char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = ' ';
	line[len] = '\0';
	if (trace_receiver.fn) {
		trace_receiver.fn(trace_receiver.ctx, line);
		return;
	}
	line[len] = '\n';
	(void)!fd_write_ours(2, line, len + 1); /* stderr */
}

static size_t trace_fits(int len, size_t room)
{
	return len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

void trace_print(enum trace_area area, const char *fmt, ...)
{
	char line[LINE_SIZE];
	int64_t now_us = time_now_us();
	size_t len;
	va_list ap;

	len = trace_fits(snprintf(line, sizeof(line), "trace %lld.%06d %s ",
				  (long long)(now_us / 1000000), (int)(now_us % 1000000),
				  names[area]),
			 sizeof(line));
	va_start(ap, fmt);
	len += trace_fits(vsnprintf(line + len, sizeof(line) - len, fmt, ap), sizeof(line) - len);
	va_end(ap);
	trace_write(line, len);
}

static void trace_refuse(const char *word, size_t len)
{
	char line[LINE_SIZE];
	size_t used = trace_fits(
		snprintf(line, sizeof(line),
			 "killick: KILLICK_TRACE: unknown area '%.*s'; the areas are all",
			 (int)(len < WORD_SHOWN ? len : WORD_SHOWN), word),
		sizeof(line));

	for (size_t i = 0; i < TRACE_AREAS; i++)
		used += trace_fits(snprintf(line + used, sizeof(line) - used, ", %s", names[i]),
				   sizeof(line) - used);
	trace_write(line, used);
}

/* Returns the bits of one word; 0: no area has this name. */
static unsigned trace_find(const char *word, size_t len)
{
	if (len == 3 && memcmp(word, "all", 3) == 0)
		return (1u << TRACE_AREAS) - 1;
	for (size_t i = 0; i < TRACE_AREAS; i++)
		if (strlen(names[i]) == len && memcmp(names[i], word, len) == 0)
			return 1u << i;
	return 0;
}

void trace_set(const char *areas)
{
	unsigned bits = 0;

	while (areas && *areas) {
		size_t len = strcspn(areas, ",");
		unsigned found = trace_find(areas, len);

		if (!found && len > 0)
			trace_refuse(areas, len);
		bits |= found;
		areas += len + (areas[len] == ',');
	}
	atomic_store_explicit(&trace_areas, bits, memory_order_relaxed);
}

static void trace_read_variable(void)
{
	trace_set(env_get_secure("KILLICK_TRACE"));
}

void trace_init(void)
{
	static struct once once = ONCE_INIT;

	once_run(&once, trace_read_variable);
}
