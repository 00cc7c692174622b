/* event.c - how much news may wait for a host */
#include "t.h"

#include "session/event.h"
#include "session/session.h"

/* As event_put and event_progress do, but for the news itself. */
static bool put(struct killick_session *s, size_t bytes)
{
	if (!event_room(s, bytes))
		return false;
	s->events++;
	s->event_bytes += bytes + 10; /* names and the like */
	return true;
}

TEST(the_event_queue_is_bounded)
{
	struct killick_session s = { .dropped = 0 };
	int count = 0;

	while (count < 1000 && put(&s, EVENT_BYTES_MAX / 8))
		count++;
	EQ(count, 7);
	while (put(&s, 1)) /* the last one goes over the edge by its name */
		count++;
	EQ(count, EVENTS_MAX);
	EQ(s.dropped, 2);
}

TEST(the_last_event_may_exceed_the_limit)
{
	struct killick_session s = { .dropped = 0 };

	OK(put(&s, EVENT_BYTES_MAX - 20));
	OK(put(&s, 9));
	OK(s.event_bytes > EVENT_BYTES_MAX);
	OK(!put(&s, 1));
	OK(!put(&s, 0));
	event_taken(&s, EVENT_BYTES_MAX - 10);
	OK(put(&s, EVENT_BYTES_MAX / 2));
}

/* A message may be larger than all that: alone it passes, and nothing passes with it. */
TEST(a_large_event_passes_when_the_queue_is_empty)
{
	struct killick_session s = { .dropped = 0 };

	OK(put(&s, 4 * EVENT_BYTES_MAX));
	OK(!put(&s, 4 * EVENT_BYTES_MAX));
	OK(!put(&s, 1));
	event_taken(&s, 4 * EVENT_BYTES_MAX + 10);
	OK(put(&s, 1));
	OK(!put(&s, 4 * EVENT_BYTES_MAX));
}
