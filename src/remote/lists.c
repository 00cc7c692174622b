/* lists.c - see lists.h */
#include "remote/lists.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct list {
	struct ring in_env;
	struct rpc_request rq;
	struct environment *env;
	environment_list_fn done;
	void *ctx;
};

static void lists_finish(struct list *l, const char *result, size_t len, const struct err *e)
{
	struct environment *env = l->env;

	ring_remove(&l->in_env);
	rpc_drop(&env->rpc, &l->rq);
	env->users--;
	l->done(l->ctx, result, len, e);
	free(l);
	environment_review(env);
}

static void lists_on_answer(struct rpc_request *p, const struct message *m)
{
	struct list *l = CONTAINER_OF(p, struct list, rq);
	char text[ENVIRONMENT_TEXT];
	struct err e;

	if (m->kind == MESSAGE_RESULT) {
		lists_finish(l, m->result.at, m->result.len, NULL);
		return;
	}
	if (environment_error_code(m) == RPC_UNKNOWN_METHOD) {
		err_set(&e, -ENOTSUP, "%s cannot list its processes: its executor is not killick's",
			l->env->title);
	} else {
		environment_error_text(m, text);
		err_set(&e, -EIO, "%s cannot list its processes: %.100s", l->env->title, text);
	}
	lists_finish(l, NULL, 0, &e);
}

static const struct rpc_handler list_handler = { .on_answer = lists_on_answer };

static void lists_ask(struct list *l)
{
	struct emit j;

	if (!rpc_id(&l->rq) && environment_begin(l->env, &j, &l->rq, "process/list", &list_handler))
		environment_commit(l->env, &j);
}

void lists_add(struct environment *env, environment_list_fn done, void *ctx)
{
	struct list *l = mem_grow(NULL, 1, sizeof(*l));

	*l = (struct list){ .env = env, .done = done, .ctx = ctx };
	ring_add(&env->lists, &l->in_env);
	env->users++;
	lists_ask(l);
}

void lists_send(struct environment *env)
{
	RING_EACH(r, &env->lists)
		lists_ask(CONTAINER_OF(r, struct list, in_env));
}

/* A handler may ask for another list, which must not fail with these: so these leave the ring
 * first. */
void lists_fail(struct environment *env, const struct err *e)
{
	struct ring failed;

	ring_init(&failed);
	for (struct ring *r; (r = ring_first(&env->lists)) != NULL;) {
		ring_remove(r);
		ring_add(&failed, r);
	}
	for (struct ring *r; (r = ring_first(&failed)) != NULL;)
		lists_finish(CONTAINER_OF(r, struct list, in_env), NULL, 0, e);
}
