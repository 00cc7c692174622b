/* seats.c - see seats.h */
#include "net/seats.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "os/random.h"

void seats_init(struct seats *s, const struct seats_limits *limits)
{
	assert(limits->start <= limits->full && limits->rate <= 100 && limits->full > 0);
	*s = (struct seats){ .limits = *limits };
	random_fill(&s->random, sizeof(s->random));
}

void seats_done(struct seats *s)
{
	assert(!s->unknown.count && !s->known.count && !s->let_in);
	free(s->unknown.all);
	free(s->known.all);
	s->unknown.all = s->known.all = NULL;
}

/* splitmix64, with a secret seed. */
static unsigned seats_random(struct seats *s, unsigned below)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (unsigned)((z >> 32) * below >> 32);
}

static struct seats_list *seats_list_of(struct seat *t)
{
	return t->known ? &t->in->known : &t->in->unknown;
}

static void seats_add(struct seat *t)
{
	struct seats_list *l = seats_list_of(t);

	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 16;
		l->all = mem_grow(l->all, l->room, sizeof(struct seat *));
	}
	t->place = l->count;
	l->all[l->count++] = t;
}

/* The last seat takes the place of the removed one. */
static void seats_remove(struct seat *t)
{
	struct seats_list *l = seats_list_of(t);

	assert(t->place < l->count && l->all[t->place] == t);
	l->all[t->place] = l->all[--l->count];
	l->all[t->place]->place = t->place;
}

/* Decide at random whether one of `count` greetings must be dropped. */
static bool seats_is_unlucky(struct seats *s, unsigned count)
{
	const struct seats_limits *l = &s->limits;
	uint64_t percent;

	if (count < l->start)
		return false;
	if (count >= l->full)
		return true;
	percent = l->rate + (uint64_t)(100 - l->rate) * (count - l->start) / (l->full - l->start);
	return seats_random(s, 100) < percent;
}

bool seats_make_room(struct seats *s)
{
	struct seats_list *l = s->unknown.count ? &s->unknown : &s->known;
	struct seat *victim;

	if (!l->count || !seats_is_unlucky(s, s->unknown.count + s->known.count))
		return false;
	victim = l->all[seats_random(s, l->count)];
	victim->drop(victim->ctx);
	return true;
}

void seat_take(struct seats *s, struct seat *t)
{
	*t = (struct seat){ .in = s };
	seats_add(t);
}

void seat_know(struct seat *t)
{
	if (t->known || t->was_let_in)
		return;
	seats_remove(t);
	t->known = true;
	seats_add(t);
}

bool seat_let_in(struct seat *t, bool always)
{
	struct seats *s = t->in;

	if (t->was_let_in)
		return true;
	if (!always && s->let_in >= s->limits.max)
		return false;
	seats_remove(t);
	t->was_let_in = true;
	s->let_in++;
	return true;
}

void seat_leave(struct seat *t)
{
	if (t->was_let_in)
		t->in->let_in--;
	else
		seats_remove(t);
}
