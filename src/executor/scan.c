/* scan.c - see scan.h */
#include "executor/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "wire/wire.h"
#include "rpc/message.h"

static void scan_request(struct scan *s, const struct message *m)
{
	if (m->id.len <= sizeof(s->id)) {
		memcpy(s->id, m->id.at, m->id.len);
		s->id_len = m->id.len;
	}
	json_string_into(m->method, s->method, sizeof(s->method));
	if (json_is(m->method, "process/write")) {
		s->result = SCAN_WRITE;
		orders_read_write(m->params, &s->write, &s->bytes, &s->e);
	} else if (json_is(m->method, "process/start")) {
		s->result = SCAN_START;
		spec_read(&s->spec, m->params, s->options->envp, &s->e);
	} else if (json_is(m->method, "fs/writeFile")) {
		s->result = SCAN_FILE;
		fsop_read(&s->file, s->method, m->params, s->options, &s->e);
	} else {
		s->result = SCAN_OTHER;
	}
}

/* Run by a thread. The text is freed here, because that takes time, too. */
static void scan_run(struct work *w)
{
	struct scan *s = CONTAINER_OF(w, struct scan, work);
	struct message m;

	if (message_parse_bare(s->text, s->len, &m, &s->reason) < 0)
		s->result = SCAN_BROKEN;
	else if (m.kind != MESSAGE_REQUEST)
		s->result = SCAN_NO_REQUEST;
	else
		scan_request(s, &m);
	free(s->text);
	s->text = NULL;
}

static void scan_done(struct work *w)
{
	struct scan *s = CONTAINER_OF(w, struct scan, work);

	connection_scanned(s->connection, s);
}

static void scan_drop(struct work *w)
{
	scan_free(CONTAINER_OF(w, struct scan, work));
}

struct scan *scan_begin(struct connection *c, char *text, size_t len)
{
	struct scan *s = mem_grow(NULL, 1, sizeof(*s));

	*s = (struct scan){ .work = { .run = scan_run, .done = scan_done, .drop = scan_drop },
			    .connection = c,
			    .options = &c->executor->o,
			    .text = text,
			    .len = len,
			    .reason = "",
			    .bytes = BUF_INIT(WIRE_MESSAGE_MAX) };
	workers_add(c->executor->scanners, &s->work);
	return s;
}

struct json scan_id(const struct scan *s)
{
	return s->id_len ? (struct json){ s->id, s->id_len } : JSON_NONE;
}

void scan_free(struct scan *s)
{
	free(s->text);
	orders_write_done(&s->write);
	buf_done(&s->bytes);
	if (s->result == SCAN_START)
		spec_done(&s->spec);
	if (s->result == SCAN_FILE)
		fsop_done(&s->file);
	free(s);
}
