/* stream.c - see stream.h */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "show.h"
#include "stream.h"

struct stream_request {
	struct stream *stream;
	char *server;
};

/* Add a row with the name that a model sees, and that `killick call` accepts. */
static void stream_add_row(struct stream *s, struct table *table, const char *server,
			   struct json tool)
{
	AUTO(mem_drop) char *name = NULL;
	const char *qualified;
	char text[1024];

	if (!json_string(json_get(tool, "name"), &name))
		return;
	qualified = names_of(&s->names, server, name);
	text_clean(qualified ? qualified : name, strlen(qualified ? qualified : name), text,
		   sizeof(text));
	table_add(table, text);
	show_member(tool, "description", text, sizeof(text));
	if (!*text)
		show_member(tool, "title", text, sizeof(text));
	table_add(table, text);
	s->printed++;
}

static void stream_print(struct stream *s, const char *server, struct json tools)
{
	static const struct table_col cols[] = {
		{ .title = "", .min = 20 },
		{ .title = "", .min = 20, .drop = true },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	struct json_iter it = json_iter(tools);
	size_t count = json_count(tools);

	while (json_each(&it)) {
		AUTO(mem_drop) char *name = NULL;

		if (json_string(json_get(it.value, "name"), &name)) {
			names_add(&s->names, server, name);
			toolnames_add(&s->listed, server, name);
		}
	}
	names_settle(&s->names);
	for (it = json_iter(tools); json_each(&it);)
		stream_add_row(s, &table, server, it.value);
	table.bare = true;
	bar_clear(&s->talk->bar);
	printf(cli_has_colour() ? "\033[1m%s\033[0m  %zu tool%s\n" : "%s  %zu tool%s\n", server,
	       count, count == 1 ? "" : "s");
	table_print(&table, stdout, 2, cli_width());
	fflush(stdout);
}

static void stream_on_done(void *ctx, struct killick_result *r)
{
	struct stream_request *rq = ctx;
	struct stream *s = rq->stream;

	s->done = --s->waiting == 0;
	if (!s->over && killick_result_code(r) == KILLICK_OK)
		stream_print(s, rq->server, json_get(talk_json(r), "tools"));
	else if (!s->over)
		talk_refused(s->talk, r);
	killick_result_free(r);
	free(rq->server);
	free(rq);
}

static void stream_on_ready(struct talk *t, const struct killick_server_status *sv)
{
	struct stream *s = t->ready_ctx;
	struct stream_request *one;
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = sv->name,
				.timeout_ms = t->timeout_ms, .on_done = stream_on_done);

	if (talk_only(t) || !talk_offers(sv, "tools"))
		return;
	one = mem_grow(NULL, 1, sizeof(*one));
	*one = (struct stream_request){ .stream = s, .server = mem_dup(sv->name) };
	rq.ctx = one;
	s->waiting++;
	s->done = false;
	if (killick_start(t->s, &rq, NULL, NULL) != 0)
		abort(); /* cannot fail: the request is valid, and callbacks run in this thread */
}

void stream_begin(struct stream *s, struct talk *t)
{
	*s = (struct stream){
		.talk = t, .names = NAMES_INIT, .listed = TOOLNAMES_INIT, .done = true
	};
	t->on_ready = stream_on_ready;
	t->ready_ctx = s;
}

bool stream_end(struct stream *s)
{
	struct talk *t = s->talk;
	bool used = t->s && t->status && t->status->count && !talk_only(t);

	if (used && !t->caught)
		talk_pump(t, &s->done, 0);
	bar_clear(&t->bar);
	s->over = true; /* other answers arrive when the session is closed, and are dropped */
	if (used && t->source)
		toolnames_save(&s->listed, t->source);
	names_done(&s->names);
	toolnames_done(&s->listed);
	return used;
}
