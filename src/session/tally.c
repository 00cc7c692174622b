/* tally.c - see tally.h */
#include "session/tally.h"

#include <string.h>

/* Four buckets per power of two: 0, 1, 2, 3, then 4-4, 5-5, 6-6, 7-7, 8-9, 10-11, ... */
static size_t tally_bucket(uint64_t us)
{
	unsigned power, low;
	size_t at;

	if (us < 4)
		return (size_t)us;
	power = 63u - (unsigned)__builtin_clzll(us);
	low = (unsigned)(us >> (power - 2)) & 3u;
	at = (power - 1u) * 4u + low;
	return at < TALLY_BUCKETS ? at : TALLY_BUCKETS - 1;
}

/* The middle of a bucket. */
static double tally_middle(size_t bucket)
{
	unsigned power;
	double width;

	if (bucket < 4)
		return (double)bucket;
	power = (unsigned)(bucket / 4) + 1u;
	width = (double)(UINT64_C(1) << (power - 2));
	return width * (4.0 + (double)(bucket % 4) + 0.5);
}

static void tally_copy(char *out, size_t size, const char *text)
{
	size_t len = text ? strnlen(text, size - 1) : 0;

	/* not in the middle of a character */
	while (len && text[len] && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	if (len)
		memcpy(out, text, len);
	out[len] = '\0';
}

void tally_add(struct tally *t, struct tally_lease *tl, const struct tally_note *note)
{
	struct tally_call *c = &t->recent[t->calls % TALLY_RECENT];
	int64_t us = note->ended_us - note->began_us;

	if (us < 0)
		us = 0;
	t->calls++;
	tl->calls++;
	if (!note->ok) {
		t->errors++;
		tl->errors++;
	}
	t->last_us = note->ended_us;
	t->buckets[tally_bucket((uint64_t)us)]++;
	c->at_us = note->ended_us;
	c->session = note->session;
	c->ms = (double)us / 1000;
	c->ok = note->ok;
	tally_copy(c->label, sizeof(c->label), note->label);
	tally_copy(c->name, sizeof(c->name), note->name);
}

double tally_quantile(const struct tally *t, double q)
{
	uint64_t all = 0, sum = 0;

	for (size_t i = 0; i < TALLY_BUCKETS; i++)
		all += t->buckets[i];
	for (size_t i = 0; i < TALLY_BUCKETS; i++) {
		sum += t->buckets[i];
		if (sum && (double)sum >= q * (double)all)
			return tally_middle(i) / 1000;
	}
	return 0;
}

const struct tally_call *tally_recent(const struct tally *t, size_t i)
{
	if (i >= TALLY_RECENT || i >= t->calls)
		return NULL;
	return &t->recent[(t->calls - 1 - i) % TALLY_RECENT];
}
