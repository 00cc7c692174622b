/* looks.c - see looks.h */
#include "link/looks.h"

#include <assert.h>
#include <stdio.h>

#include "os/thread.h"

/* The links of all loops. This lock protects the ring; the lock of a loop protects the state of its
 * links. */
static struct mutex lock = MUTEX_INIT;
static struct ring all = { &all, &all };

/* Returns the first link of this loop in this state, or NULL. */
static struct looks *looks_find(const struct loop *loop, enum looks_state state)
{
	struct looks *found = NULL;

	mutex_lock(&lock);
	RING_EACH(r, &all) {
		struct looks *l = CONTAINER_OF(r, struct looks, in_all);

		if (l->loop == loop && l->state == state) {
			found = l;
			break;
		}
	}
	mutex_unlock(&lock);
	return found;
}

static void looks_go(struct looks *l, enum looks_state state)
{
	l->state = state;
	loop_timer_stop(l->loop, &l->late);
}

/* Send one word to all links that follow. Sending may end a link, so the search begins again each
 * time. */
static void looks_tell(const struct loop *loop, const char *word)
{
	struct looks *l;

	while ((l = looks_find(loop, LOOKS_FOLLOWS))) {
		looks_go(l, LOOKS_NONE);
		l->say(l, word);
	}
}

/* Tell one of the keepers that asked to look, unless a keeper looks already. */
static void looks_begin(const struct loop *loop)
{
	struct looks *leader = looks_find(loop, LOOKS_ASKED), *l;

	if (!leader || looks_find(loop, LOOKS_LEADS))
		return;
	assert(leader->loop == loop);
	looks_go(leader, LOOKS_LEADS);
	while ((l = looks_find(loop, LOOKS_ASKED)))
		looks_go(l, LOOKS_FOLLOWS);
	leader->say(leader, "look");
}

static void looks_begin_if_complete(const struct loop *loop)
{
	if (!looks_find(loop, LOOKS_PROMISED))
		looks_begin(loop);
}

static void looks_on_late(struct loop_timer *t)
{
	looks_begin(CONTAINER_OF(t, struct looks, late)->loop);
}

void looks_join(struct looks *l, struct loop *loop, void (*say)(struct looks *l, const char *word))
{
	assert(say && loop && !l->loop);
	l->say = say;
	mutex_lock(&lock);
	l->loop = loop;
	ring_add(&all, &l->in_all);
	mutex_unlock(&lock);
}

static bool looks_is_alone(const struct looks *l)
{
	bool alone = true;

	mutex_lock(&lock);
	RING_EACH(r, &all) {
		const struct looks *other = CONTAINER_OF(r, struct looks, in_all);

		if (other != l && other->loop == l->loop) {
			alone = false;
			break;
		}
	}
	mutex_unlock(&lock);
	return alone;
}

bool looks_promise(struct looks *l)
{
	if (l->state == LOOKS_NONE && !looks_is_alone(l))
		l->state = LOOKS_PROMISED;
	return l->state != LOOKS_NONE;
}

void looks_ask(struct looks *l)
{
	if (l->state != LOOKS_PROMISED)
		return;
	assert(l->loop);
	l->state = LOOKS_ASKED;
	loop_timer_set(l->loop, &l->late, LOOKS_WAIT_MS, looks_on_late);
	looks_begin_if_complete(l->loop);
}

void looks_answer(struct looks *l, const char *who)
{
	char word[80];

	if (l->state != LOOKS_LEADS)
		return;
	looks_go(l, LOOKS_NONE);
	snprintf(word, sizeof(word), "clear %s", who);
	looks_tell(l->loop, word);
	looks_begin(l->loop); /* for the keepers that asked meanwhile */
}

void looks_leave(struct looks *l)
{
	enum looks_state state = l->state;
	struct loop *loop = l->loop;

	if (!loop)
		return;
	looks_go(l, LOOKS_NONE);
	mutex_lock(&lock);
	ring_remove(&l->in_all);
	l->loop = NULL;
	mutex_unlock(&lock);
	if (state == LOOKS_LEADS) {
		looks_tell(loop, "look");
		looks_begin(loop);
	} else if (state == LOOKS_PROMISED) {
		looks_begin_if_complete(loop);
	}
}
