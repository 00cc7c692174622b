/* report_text.c - see report_text.h */
#include "report_text.h"

#include <assert.h>

#include "conceal.h"

#define COMMAND_MAX 1000 /* bytes of the command in a report */

const char *report_why(enum why why)
{
	static const char *const names[] = {
		[WHY_EXIT] = "exit",     [WHY_STDIN] = "stdin", [WHY_SIGNAL] = "signal",
		[WHY_OWNER] = "owner",   [WHY_WATCH] = "watch", [WHY_HOLD] = "hold",
		[WHY_FAILED] = "failed",
	};

	assert((unsigned)why < sizeof(names) / sizeof(*names));
	return names[why];
}

const char *report_need(enum need need)
{
	static const char *const names[] = {
		[NEED_NONE] = "none",
		[NEED_EOF] = "eof",
		[NEED_TERM] = "term",
		[NEED_KILL] = "kill",
	};

	assert((unsigned)need < sizeof(names) / sizeof(*names));
	return names[need];
}

void report_command(const struct recipe *r, struct line *out)
{
	line_init(out);
	conceal_command(out, r->argv);
}

void report_head(struct line *l, const struct report_facts *f)
{
	struct line cmd;

	report_command(f->recipe, &cmd);
	if (cmd.len > COMMAND_MAX)
		cmd.text[COMMAND_MAX] = '\0';
	line_add(l, "{\"killick\":\"" KILLICK_VERSION "\",\"tree\":\"%s\",\"name\":", f->tree);
	line_json(l, f->recipe->name);
	line_add(l, ",\"session\":");
	line_json(l, f->recipe->session);
	line_add(l, ",\"command\":");
	line_json(l, cmd.text);
	line_add(l,
		 ",\"pid\":%d,\"owner\":%d,\"level\":\"%s\",\"why\":\"%s\",\"step\":\"%s\","
		 "\"exit\":",
		 f->pid, f->owner, level_name(f->level), report_why(f->why), report_need(f->need));
}

static void report_ms(struct line *l, const char *key, long long us)
{
	line_add(l, ",\"%s\":%lld.%03lld", key, us / 1000, us % 1000);
}

void report_times(struct line *l, long long stop_us, long long life_us)
{
	report_ms(l, "stop_ms", stop_us);
	report_ms(l, "life_ms", life_us);
}

void report_list(struct line *l, const char *key, const char *const *texts, int count)
{
	line_add(l, ",\"%s\":[", key);
	for (int i = 0; i < count; i++) {
		if (i)
			line_add(l, ",");
		line_json(l, texts[i]);
	}
	line_add(l, "]");
}

void report_notes(struct line *l, const struct notes *n)
{
	const char *texts[NOTES_MAX];

	for (int i = 0; i < n->count; i++)
		texts[i] = n->list[i];
	report_list(l, "notes", texts, n->count);
}

void report_shorten(struct line *l, const char *tree, bool has_survivors)
{
	line_init(l);
	line_add(l, "{\"killick\":\"" KILLICK_VERSION "\",\"tree\":\"%s\",\"survivors\":%s}\n",
		 tree, has_survivors ? "[null]" : "[]");
}
