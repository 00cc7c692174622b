/* look.c - see look.h */
#include "session/look.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "base/workers.h"
#include "config/expand.h"
#include "os/env.h"
#include "session/runtime.h"

struct look {
	struct work work;
	struct killick *k;
	struct recipe recipe; /* argv, envp and cwd: copies */
	char *about;
	atomic_uint word; /* of argv: the thread is there; results of earlier words are valid */
	struct look_result result;
	look_fn done;
	void *ctx;
	struct loop_timer turn; /* the answer is known without a thread */
	bool hangs;             /* then: a thread of an earlier look hangs at `word` */
};

static void look_hash_file(struct sha256 *h, const struct metadata *m)
{
	const unsigned long long words[] = { m->device, m->inode, (unsigned long long)m->size,
					     (unsigned long long)m->modified_ms };

	sha256_add(h, words, sizeof(words));
}

static bool look_at_program(const struct recipe *r, struct metadata *out)
{
	const char *program = r->argv[0];
	char file[4096];

	if (!strchr(program, '/')) {
		if (!env_find_program(expand_lookup(r->envp, "PATH", 4), program, file,
				      sizeof(file)))
			return false;
		program = file;
	}
	return metadata_of(program, out) == 0;
}

static void look_at(const struct recipe *r, struct look_result *out, atomic_uint *word)
{
	struct metadata m = { .size = 0 };
	char file[4096];
	struct sha256 h;

	*out = (struct look_result){ .stamp = "" };
	if (r->environment || !r->argv[0])
		return;
	sha256_init(&h);
	if (look_at_program(r, &m)) {
		out->program = m;
		look_hash_file(&h, &m);
	}
	for (unsigned i = 1; r->argv[i]; i++) {
		const char *arg = r->argv[i];
		bool relative = *arg != '/' && r->cwd;
		int len = snprintf(file, sizeof(file), "%s%s%s", relative ? r->cwd : "",
				   relative ? "/" : "", arg);

		if (word)
			atomic_store(word, i);
		if (*arg == '-' || len < 0 || (size_t)len >= sizeof(file) ||
		    metadata_of(file, &m) < 0 || !m.file)
			continue;
		look_hash_file(&h, &m);
		break;
	}
	sha256_hex(&h, out->stamp);
}

void look_now(const struct recipe *r, struct look_result *out)
{
	look_at(r, out, NULL);
}

static void look_free(struct look *l)
{
	strings_free(l->recipe.argv);
	strings_free(l->recipe.envp);
	free((char *)l->recipe.cwd);
	free(l->about);
	free(l);
}

static void look_run(struct work *w)
{
	struct look *l = CONTAINER_OF(w, struct look, work);

	look_at(&l->recipe, &l->result, &l->word);
}

static void look_drop(struct work *w)
{
	look_free(CONTAINER_OF(w, struct look, work));
}

static void look_done(struct work *w)
{
	struct look *l = CONTAINER_OF(w, struct look, work);

	l->done(l->ctx, &l->result, NULL);
	look_free(l);
}

/* The thread hangs at this word. */
static void look_tell_late(const struct look *l, unsigned word)
{
	struct look_result result = { .stamp = "" };
	const char *program = l->recipe.argv[0];
	char text[400];

	if (word > 0)
		result.program = l->result.program;
	if (strchr(program, '/'))
		snprintf(text, sizeof(text), WORKERS_LATE_TEXT, program, WORKERS_TRY_MS / 1000);
	else
		snprintf(text, sizeof(text),
			 "the search for '%.100s' in PATH did not answer within %d s; is a "
			 "directory of PATH on a file system that is not reachable?",
			 program, WORKERS_TRY_MS / 1000);
	l->done(l->ctx, &result, word ? NULL : text);
}

static void look_late(struct work *w)
{
	struct look *l = CONTAINER_OF(w, struct look, work);

	look_tell_late(l, atomic_load(&l->word));
}

static void look_on_turn(struct loop_timer *t)
{
	struct look *l = CONTAINER_OF(t, struct look, turn);

	if (l->hangs)
		look_tell_late(l, atomic_load(&l->word));
	else
		l->done(l->ctx, &l->result, NULL);
	look_free(l);
}

struct look *look_begin(struct killick *k, const struct recipe *r, long owner, look_fn done,
			void *ctx)
{
	struct look *l = mem_grow(NULL, 1, sizeof(*l));
	struct buf about = BUF_INIT(BUF_ANY_SIZE);
	const char *path = expand_lookup(r->envp, "PATH", 4);
	struct workers *workers = runtime_workers(k);
	struct work *hung = NULL;

	*l = (struct look){ .k = k, .done = done, .ctx = ctx };
	if (r->environment || !workers) {
		look_now(r, &l->result); /* at most a file; no descriptor is left for a thread */
		loop_timer_set(k->loop, &l->turn, 0, look_on_turn);
		return l;
	}
	l->recipe = (struct recipe){ .argv = strings_copy(r->argv),
				     .envp = strings_copy(r->envp),
				     .cwd = mem_dup(r->cwd) };
	buf_addf(&about, "%s %s", path ? path : "", r->cwd ? r->cwd : "");
	for (char *const *arg = r->argv; *arg; arg++)
		buf_addf(&about, " %s", *arg);
	l->about = buf_take(&about);
	l->work = (struct work){ .run = look_run,
				 .done = look_done,
				 .drop = look_drop,
				 .late = look_late,
				 .about = l->about,
				 .owner = owner };
	hung = workers_try(workers, &l->work);
	if (hung) {
		const struct look *earlier = CONTAINER_OF(hung, struct look, work);

		l->hangs = true;
		l->word = atomic_load(&earlier->word);
		l->result.program = earlier->result.program;
		loop_timer_set(k->loop, &l->turn, 0, look_on_turn);
	}
	return l;
}

void look_cancel(struct look *l)
{
	if (l->turn.slot) {
		loop_timer_stop(l->k->loop, &l->turn);
		look_free(l);
	} else {
		workers_abandon(&l->work);
	}
}
