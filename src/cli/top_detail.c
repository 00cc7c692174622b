/* top_detail.c - what `killick top` shows below an unfolded server; see top_view.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "top_view.h"

enum {
	DETAIL_INDENT = 4,
	DETAIL_NAME = 14, /* a longer name may be cut in the row */
	DETAIL_TOOLS = 6, /* 24 rows must show the last calls, too */
	DETAIL_CALLS = 6,
	DETAIL_STDERR = 6,
	DETAIL_PROCS = 12
};

#define DIM "2"
#define RED "31"

struct detail_tool {
	char name[100];
	long long tokens, bytes;
};

static void detail_line(struct top_lines *out, const char *style, const char *text)
{
	top_lines_space(out, DETAIL_INDENT);
	top_lines_put(out, style, text);
	top_lines_end(out);
}

/* A line "label  text", if there is a text. */
static void detail_fact(struct top_lines *out, const char *label, const char *text)
{
	if (!*text)
		return;
	top_lines_space(out, DETAIL_INDENT);
	top_lines_cell(out, DIM, label, 9, false);
	top_lines_put(out, NULL, text);
	top_lines_end(out);
}

/* The same for a sentence, which is wrapped. */
static void detail_sentence(struct top_lines *out, const char *style, const char *label,
			    const char *text)
{
	size_t room = out->width > DETAIL_INDENT + 9 ? out->width - DETAIL_INDENT - 9 : 1, len;

	for (; *text; text += len + strspn(text + len, " "), label = "") {
		len = top_lines_fit(text, room);
		top_lines_space(out, DETAIL_INDENT);
		top_lines_cell(out, DIM, label, 9, false);
		top_lines_putf(out, style, "%.*s", (int)len, text);
		top_lines_end(out);
	}
}

static const char *detail_s(long long n)
{
	return n == 1 ? "" : "s";
}

static long long detail_known(long long n)
{
	return n < 0 ? 0 : n;
}

/* Why the server failed, or failed last; the owner of a tree has a line of its own. */
static void detail_reason(const struct top_server *s, struct top_lines *out)
{
	bool failed = s->health == TOP_FAILED;

	if (s->tree && s->health > TOP_MOVING)
		return;
	detail_sentence(out, failed ? RED : NULL, failed || s->tree ? "reason" : "failure",
			s->reason);
	detail_sentence(out, NULL, "config", s->place);
}

static void detail_process(const struct top_server *s, struct top_lines *out)
{
	char text[300] = "none", calls[100] = "", age[24], protocol[40];
	long long pid = top_model_number(s->raw, "pid");

	top_model_text(s->raw, "protocol", protocol, sizeof(protocol));
	if (pid > 0 || s->calls > 0)
		snprintf(calls, sizeof(calls), ", %lld call%s, %lld error%s, %lld queued",
			 detail_known(s->calls), detail_s(s->calls), detail_known(s->errors),
			 detail_s(s->errors), detail_known(s->queued));
	if (pid > 0)
		snprintf(text, sizeof(text), "pid %lld, up %s", pid, top_view_age(s->age_ms, age));
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s", calls,
		 *protocol ? ", MCP " : "", protocol);
	detail_fact(out, "process", text);
}

static void detail_facts(const struct top_server *s, struct top_lines *out)
{
	char text[1024], line[1100] = "", more[40];

	top_model_text(s->raw, "command", text, sizeof(text));
	detail_fact(out, "command", text);
	top_model_text(s->raw, "environment", text, sizeof(text));
	detail_fact(out, "place", text);
	if (s->health != TOP_FAILED) {
		top_model_text(s->raw, "why", text, sizeof(text));
		detail_sentence(out, NULL, "sharing", text);
	}
	top_model_text(s->raw, "difference", text, sizeof(text));
	top_model_text(s->raw, "differsFrom", more, sizeof(more));
	if (*text)
		snprintf(line, sizeof(line), "from %s: %s", more, text);
	detail_sentence(out, NULL, "differs", line);
	detail_sentence(out, NULL, "sessions", s->users);
	detail_process(s, out);
}

static int detail_by_tokens(const void *a, const void *b)
{
	const struct detail_tool *x = a, *y = b;

	return (x->tokens < y->tokens) - (x->tokens > y->tokens);
}

static void detail_tools(struct json tools, struct top_lines *out)
{
	AUTO(mem_drop) struct detail_tool *list = NULL;
	struct json_iter it = json_iter(tools);
	long long all = 0;
	size_t count = 0;

	while (json_each(&it)) {
		struct detail_tool *t;

		list = mem_grow(list, count + 1, sizeof(*list));
		t = &list[count++];
		top_model_text(it.value, "name", t->name, sizeof(t->name));
		t->bytes = top_model_number(it.value, "bytes");
		t->tokens = top_model_number(it.value, "tokens");
		if (t->tokens < 0)
			t->tokens = t->bytes < 0 ? 0 : t->bytes / 4;
		all += t->tokens;
	}
	if (!count)
		return;
	qsort(list, count, sizeof(*list), detail_by_tokens);
	top_lines_space(out, DETAIL_INDENT);
	top_lines_cell(out, DIM, "tools", 9, false);
	top_lines_putf(out, NULL, "%zu, about %lld tokens in a model's context", count, all);
	top_lines_end(out);
	for (size_t i = 0; i < count && i < DETAIL_TOOLS; i++) {
		char number[24];

		top_lines_space(out, DETAIL_INDENT + 2);
		snprintf(number, sizeof(number), "%lld", list[i].tokens);
		top_lines_cell(out, NULL, number, 7, true);
		top_lines_space(out, 2);
		top_lines_put(out, NULL, list[i].name);
		top_lines_end(out);
	}
	if (count > DETAIL_TOOLS) {
		top_lines_space(out, DETAIL_INDENT + 2 + 7 + 2);
		top_lines_putf(out, DIM, "and %zu more", count - DETAIL_TOOLS);
		top_lines_end(out);
	}
}

static void detail_calls(struct json recent, struct top_lines *out)
{
	struct json_iter it = json_iter(recent);
	size_t count = 0;

	while (json_each(&it) && count < DETAIL_CALLS) {
		char session[40], tool[100], ago[24], took[24], when[40];
		bool ok = true;
		long long ago_ms = top_model_number(it.value, "agoMs");

		if (count++ == 0)
			detail_line(out, DIM, "last calls");
		top_model_text(it.value, "session", session, sizeof(session));
		top_model_text(it.value, "tool", tool, sizeof(tool));
		json_bool(json_get(it.value, "ok"), &ok);
		snprintf(when, sizeof(when), "%s ago", top_view_age(ago_ms, ago));
		top_lines_space(out, DETAIL_INDENT + 2);
		top_lines_cell(out, DIM, when, 10, true);
		top_lines_space(out, 2);
		top_lines_cell(out, DIM, session, 5, false);
		top_lines_cell(out, NULL, top_view_time(top_model_time(it.value, "ms"), took), 6,
			       true);
		top_lines_space(out, 2);
		top_lines_put(out, ok ? NULL : RED, tool);
		top_lines_put(out, RED, ok ? "" : "  failed");
		top_lines_end(out);
	}
}

/* The last lines of stderr. */
static void detail_stderr(struct json v, struct top_lines *out)
{
	AUTO(mem_drop) char *text = NULL;
	const char *from, *end;
	size_t lines = 0;

	if (!json_string(v, &text) || !*text)
		return;
	end = text + strlen(text);
	while (end > text && strchr("\r\n\t ", end[-1]))
		end--;
	for (from = end; from > text; from--)
		if (from[-1] == '\n' && ++lines == DETAIL_STDERR)
			break;
	if (from < end)
		detail_line(out, DIM, "stderr");
	while (from < end) {
		const char *newline = memchr(from, '\n', (size_t)(end - from));
		const char *to = newline ? newline : end;
		char clean[1024];

		text_clean(from, (size_t)(to - from), clean, sizeof(clean));
		top_lines_space(out, DETAIL_INDENT + 2);
		top_lines_put(out, NULL, clean);
		top_lines_end(out);
		from = to + 1;
	}
}

static void detail_tree(const struct ps_tree *t, struct top_lines *out)
{
	char text[1024], span[24];

	text_clean(t->rec.command, strlen(t->rec.command), text, sizeof(text));
	detail_fact(out, "command", text);
	detail_fact(out, "owner", t->owner);
	text_clean(t->rec.session, strlen(t->rec.session), text, sizeof(text));
	detail_fact(out, "session", text);
	snprintf(text, sizeof(text), "tree %s, pid %d, up %s", t->rec.tree, t->rec.server.pid,
		 top_view_age(t->age_ms, span));
	detail_fact(out, "process", text);
	for (size_t i = 0; i < t->count && i < DETAIL_PROCS; i++) {
		const struct ps_process *p = &t->processes[i];
		char number[24], size[16];

		top_lines_space(out, DETAIL_INDENT + 2);
		snprintf(number, sizeof(number), "%d", p->pid);
		top_lines_cell(out, DIM, number, 7, true);
		top_lines_space(out, 2);
		top_lines_cell(out, NULL, text_size(p->rss, size), 5, true);
		top_lines_space(out, 2);
		text_clean(p->command, strlen(p->command), text, sizeof(text));
		top_lines_put(out, NULL, text);
		top_lines_end(out);
	}
	if (t->count > DETAIL_PROCS) {
		snprintf(text, sizeof(text), "  and %zu more processes", t->count - DETAIL_PROCS);
		detail_line(out, DIM, text);
	}
}

void top_detail(const struct top_server *s, struct top_lines *out)
{
	if (text_width(s->name) > DETAIL_NAME)
		detail_sentence(out, NULL, "name", s->name);
	detail_reason(s, out);
	if (s->tree) {
		detail_tree(s->tree, out);
		return;
	}
	detail_facts(s, out);
	detail_tools(json_get(s->raw, "tools"), out);
	detail_calls(json_get(s->raw, "recent"), out);
	detail_stderr(json_get(s->raw, "stderr"), out);
}
