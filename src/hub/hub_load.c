/* hub_load.c - reads the config of a session: see hub_internal.h
 *
 *	[a thread reads the file] -> [threads look at the programs of its servers, and read what
 *	the catalogue has about the servers] -> done
 *
 * Any of these files may be on a file system that hangs. Then the config is refused, or one of its
 * servers fails, with a sentence that names the file. Configs without a file skip the first step.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strings.h"
#include "base/workers.h"
#include "hub/hub_internal.h"
#include "session/look.h"
#include "session/runtime.h"

struct hub_read { /* of a file, by a thread, which may outlive the load */
	struct work work;
	struct hub_load *load;    /* used by the loop alone */
	struct hub_source source; /* file, digest, environ_ and cwd: copies */
	struct config config;
	struct err error;
};

struct hub_look { /* at one server of the config */
	struct hub_load *load;
	struct config_server *server;
	struct look *look; /* NULL: done */
};

struct hub_load {
	struct hub *hub;
	struct hub_source source; /* file and only: copies */
	struct hub_read *read;    /* NULL: done */
	struct config config;
	struct err error; /* code 0: none */
	struct hub_look *looks;
	struct catalogue_fetch *fetch; /* NULL: done */
	size_t count, left;            /* left: looks and the fetch */
	struct loop_timer turn;        /* everything is known */
	hub_loaded_fn done;
	void *ctx;
};

static void hub_load_free(struct hub_load *l)
{
	loop_timer_stop(l->hub->loop, &l->turn);
	hub_source_done(&l->source);
	config_done(&l->config);
	free(l->looks);
	free(l);
}

static void hub_load_finish(struct loop_timer *t)
{
	struct hub_load *l = CONTAINER_OF(t, struct hub_load, turn);

	l->done(l->ctx, &l->config, l->error.code ? &l->error : NULL);
	hub_load_free(l);
}

static void hub_load_settle(struct hub_load *l)
{
	assert(!l->read && l->left == 0);
	loop_timer_set(l->hub->loop, &l->turn, 0, hub_load_finish);
}

/* --- the programs --- */

static void hub_load_on_look(void *ctx, const struct look_result *result, const char *late)
{
	struct hub_look *look = ctx;
	struct config_server *cs = look->server;
	struct buf text = BUF_INIT(BUF_ANY_SIZE);

	look->look = NULL;
	if (late) {
		buf_addf(&text, "server '%s' ", cs->name);
		cs->reason_at = text.len;
		buf_addf(&text, "was not started: %s", late);
		cs->problem = buf_take(&text);
	}
	cs->looked = true;
	cs->program = result->program;
	memcpy(cs->stamp, result->stamp, sizeof(cs->stamp));
	if (--look->load->left == 0)
		hub_load_settle(look->load);
}

static void hub_load_on_fetch(void *ctx)
{
	struct hub_load *l = ctx;

	l->fetch = NULL;
	if (--l->left == 0)
		hub_load_settle(l);
}

static void hub_load_look(struct hub_load *l)
{
	struct config *c = &l->config;

	l->fetch = catalogue_fetch(&l->hub->k->catalogue, c, hub_load_on_fetch, l);
	l->left = l->fetch != NULL;
	l->count = c->count;
	l->looks = mem_grow(NULL, c->count + 1, sizeof(*l->looks));
	for (size_t i = 0; i < c->count; i++) {
		struct config_server *cs = &c->servers[i];

		l->looks[i] = (struct hub_look){ .load = l, .server = cs };
		if (cs->problem || cs->disabled || cs->recipe.environment)
			continue;
		l->left++;
		l->looks[i].look = look_begin(l->hub->k, &cs->recipe, l->source.owner,
					      hub_load_on_look, &l->looks[i]);
	}
	if (l->left == 0)
		hub_load_settle(l);
}

/* --- the text --- */

/* The config was read, or not. */
static void hub_load_go_on(struct hub_load *l)
{
	if (!l->error.code)
		hub_source_narrow(&l->source, &l->config, &l->error);
	if (l->error.code)
		hub_load_settle(l);
	else
		hub_load_look(l);
}

static void hub_read_free(struct hub_read *r)
{
	hub_source_done(&r->source);
	config_done(&r->config);
	free(r);
}

static void hub_read_run(struct work *w)
{
	struct hub_read *r = CONTAINER_OF(w, struct hub_read, work);

	hub_source_parse(&r->source, r->source.environ_, &r->config, &r->error);
}

static void hub_read_done(struct work *w)
{
	struct hub_read *r = CONTAINER_OF(w, struct hub_read, work);
	struct hub_load *l = r->load;

	l->read = NULL;
	l->config = r->config;
	l->error = r->error;
	r->config = (struct config){ .count = 0 };
	hub_read_free(r);
	hub_load_go_on(l);
}

static void hub_read_drop(struct work *w)
{
	hub_read_free(CONTAINER_OF(w, struct hub_read, work));
}

static void hub_load_refuse_late(struct hub_load *l)
{
	l->read = NULL;
	err_set(&l->error, HUB_SOURCE_CONFIG, "config " WORKERS_LATE_TEXT, l->source.file,
		WORKERS_TRY_MS / 1000);
	hub_load_settle(l);
}

static void hub_read_late(struct work *w)
{
	hub_load_refuse_late(CONTAINER_OF(w, struct hub_read, work)->load);
}

/* Have a thread read the file. */
static void hub_load_read(struct hub_load *l, struct workers *workers, const struct hub_source *s,
			  char *const *variables)
{
	struct hub_read *r = mem_grow(NULL, 1, sizeof(*r));

	*r = (struct hub_read){ .load = l,
				.source = { .file = mem_dup(s->file),
					    .digest = mem_dup(s->digest),
					    .environ_ = strings_copy(variables),
					    .cwd = mem_dup(s->cwd) } };
	r->work = (struct work){ .run = hub_read_run,
				 .done = hub_read_done,
				 .drop = hub_read_drop,
				 .late = hub_read_late,
				 .about = r->source.file,
				 .owner = s->owner };
	l->read = r;
	if (workers_try(workers, &r->work)) { /* it hangs since an earlier attempt */
		hub_read_free(r);
		hub_load_refuse_late(l);
	}
}

struct hub_load *hub_load_begin(struct hub *h, const struct hub_source *s, hub_loaded_fn done,
				void *ctx)
{
	char *const *variables = s->environ_ ? s->environ_ : h->o.environ_;
	struct workers *workers = s->file ? runtime_workers(h->k) : NULL;
	struct hub_load *l = mem_grow(NULL, 1, sizeof(*l));

	*l = (struct hub_load){ .hub = h,
				.source = { .alone = s->alone,
					    .owner = s->owner,
					    .file = mem_dup(s->file),
					    .only = strings_copy(s->only) },
				.done = done,
				.ctx = ctx };
	if (workers) {
		hub_load_read(l, workers, s, variables);
	} else {
		hub_source_parse(s, variables, &l->config, &l->error);
		hub_load_go_on(l);
	}
	return l;
}

void hub_load_cancel(struct hub_load *l)
{
	if (l->read)
		workers_abandon(&l->read->work);
	if (l->fetch)
		catalogue_fetch_cancel(l->fetch);
	for (size_t i = 0; i < l->count; i++)
		if (l->looks[i].look)
			look_cancel(l->looks[i].look);
	hub_load_free(l);
}
