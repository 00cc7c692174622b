/* record_text.c - see record_text.h */
#include "record_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void record_line(struct line *l, const char *key, const char *fmt, va_list ap)
{
	line_init(l);
	line_add(l, "%s=", key);
	line_vadd(l, fmt, ap);
	line_flatten(l);
	if (l->cut)
		l->len--;
	line_add(l, "\n");
}

static void record_copy(char *to, size_t size, const char *from, size_t len)
{
	snprintf(to, size, "%.*s", (int)(len < size ? len : size), from);
}

/* One line `key=value`, value[0..len). */
static void record_take_line(struct record *r, const char *key, const char *value, size_t len)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{ "tree", r->tree, sizeof(r->tree) },
		{ "boot", r->boot, sizeof(r->boot) },
		{ "name", r->name, sizeof(r->name) },
		{ "session", r->session, sizeof(r->session) },
		{ "level", r->level, sizeof(r->level) },
		{ "command", r->command, sizeof(r->command) },
		{ "cidfile", r->cidfile, sizeof(r->cidfile) },
		{ "engine", r->engine, sizeof(r->engine) },
	};
	const struct {
		const char *key;
		struct who *to;
	} ids[] = {
		{ "owner", &r->owner },
		{ "watch", &r->watch },
		{ "hold", &r->hold },
		{ "server", &r->server },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(key, texts[i].key) == 0) {
			record_copy(texts[i].to, texts[i].size, value, len);
			return;
		}
	}
	if (strcmp(key, "cgroup") == 0) {
		int n = 0;
		while (n < RECORD_CGROUPS - 1 && r->cgroups[n][0])
			n++;
		record_copy(r->cgroups[n], sizeof(r->cgroups[n]), value, len);
		return;
	}
	record_copy(text, sizeof(text), value, len);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (strcmp(key, ids[i].key) == 0) {
			struct who w = { .pid = 0 };
			sscanf(text, "%d %llu", &w.pid, &w.start);
			/* watch and hold both write the hold, and only one of the lines has the
			 * start time */
			if (w.start || w.pid != ids[i].to->pid)
				*ids[i].to = w;
			return;
		}
	}
	if (strcmp(key, "pidns") == 0)
		sscanf(text, "%llu", &r->pidns);
	else if (strcmp(key, "timens") == 0)
		sscanf(text, "%llu", &r->timens);
	else if (strcmp(key, "grace_ms") == 0)
		sscanf(text, "%u", &r->grace_ms);
	else if (strcmp(key, "started_ms") == 0)
		sscanf(text, "%lld", &r->started_ms);
	else if (strcmp(key, "stopping") == 0)
		sscanf(text, "%lld %lld %23s", &r->stopping_ms, &r->deadline_ms, r->why);
	else if (strcmp(key, "survivors") == 0)
		sscanf(text, "%d", &r->survivors);
	else if (strcmp(key, "swept") == 0)
		r->swept = true;
	else if (strcmp(key, "orphaned") == 0 && !r->orphaned_ms) /* the first line is kept */
		sscanf(text, "%lld", &r->orphaned_ms);
}

int record_parse(const char *text, struct record *out)
{
	if (strncmp(text, RECORD_FIRST_LINE, sizeof(RECORD_FIRST_LINE) - 1) != 0)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	for (const char *line = text + sizeof(RECORD_FIRST_LINE) - 1; *line;) {
		const char *end = line + strcspn(line, "\n");
		const char *eq = memchr(line, '=', (size_t)(end - line));
		char key[24];

		/* a last line without a newline is an incomplete write: ignore it */
		if (eq && *end && (size_t)(eq - line) < sizeof(key)) {
			record_copy(key, sizeof(key), line, (size_t)(eq - line));
			record_take_line(out, key, eq + 1, (size_t)(end - eq - 1));
		}
		line = *end ? end + 1 : end;
	}
	return 0;
}
