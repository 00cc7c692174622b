/* passed.h - requests of other clients that the client of fake.h passes on. Included once per
 * program, after fake.h. */
#pragma once

#include "base/mem.h"
#include "rpc/message.h"

struct passed {
	struct client_call call;
	struct client_forward fw;
	unsigned count; /* of on_done */
	int code;
	char *line, *text;
	unsigned reports;
	char report[200];
};

static inline void passed_on_done(struct client_call *call, const struct client_result *r)
{
	struct passed *p = CONTAINER_OF(call, struct passed, call);

	p->count++;
	p->code = r->code;
	free(p->line);
	free(p->text);
	p->line = r->line ? mem_text(r->line->whole.at, r->line->whole.len) : NULL;
	p->text = r->text ? mem_dup(r->text) : NULL;
	client_forward_done(&p->fw);
}

static inline void passed_on_report(struct client_call *call, struct json params)
{
	struct passed *p = CONTAINER_OF(call, struct passed, call);

	p->reports++;
	snprintf(p->report, sizeof(p->report), "%.*s", (int)params.len, params.at);
}

static inline void passed_done(struct passed *p)
{
	free(p->line);
	free(p->text);
	*p = (struct passed){ .count = 0 };
}

/* Pass the line on for an owner; name may be NULL. The line is gone afterwards. */
static inline void pass(struct world *w, struct passed *p, void *owner, enum client_era era,
			const char *name, const char *line)
{
	char *copy = mem_dup(line);
	const char *reason;
	struct message m;
	int r = message_parse(copy, strlen(copy), &m, &reason);

	assert(r == 0);
	*p = (struct passed){
		.call = { .op = KILLICK_RAW,
			  .owner = owner,
			  .timeout_ms = 1000,
			  .forward = &p->fw,
			  .on_done = passed_on_done },
	};
	r = client_forward_read(&p->fw, &m);
	assert(r == 0);
	(void)r;
	p->fw.era = era;
	p->fw.on_report = passed_on_report;
	if (name)
		p->fw.name = (struct json){ name, strlen(name) };
	client_call(w->client, &p->call);
	assert(p->count == 0);
	memset(copy, 'x', strlen(copy));
	free(copy);
}
