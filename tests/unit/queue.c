/* queue.c - bytes in blocks: what is added comes out again, however it is cut. */
#include "base/queue.h"

#include <string.h>

#include "t.h"

static char next_byte(size_t at)
{
	return (char)('a' + at % 23);
}

/* Add len bytes; *at counts the bytes of the whole stream. */
static void add(struct queue *q, size_t *at, size_t len)
{
	static char bytes[100000];

	for (size_t i = 0; i < len; i++)
		bytes[i] = next_byte((*at)++);
	queue_add(q, bytes, len);
}

/* Look at all pieces, then drop len bytes. */
static void drop(struct queue *q, size_t *at, size_t len)
{
	struct fd_piece pieces[64];
	int n = queue_pieces(q, pieces, 64);
	size_t seen = 0;

	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < pieces[i].len; k++, seen++)
			if (((char *)pieces[i].bytes)[k] != next_byte(*at + seen))
				FAIL("byte %zu is wrong", *at + seen);
	OK(n == 64 || seen == q->len);
	queue_drop(q, len);
	*at += len;
}

TEST(small_messages_share_a_block)
{
	struct queue q = { .len = 0 };
	struct fd_piece pieces[4];

	for (int i = 0; i < 64; i++)
		queue_add(&q, "0123456789", 10);
	EQ(q.len, 640);
	EQ(queue_pieces(&q, pieces, 4), 1);
	EQ(pieces[0].len, 640);
	queue_done(&q);
	EQ(q.len, 0);
	EQ(queue_pieces(&q, pieces, 4), 0);
	queue_done(&q); /* twice is nothing */
}

TEST(bytes_come_out_as_they_went_in)
{
	struct queue q = { .len = 0 };
	size_t in = 0, out = 0;

	for (int i = 0; i < 2000; i++) {
		if (t_random() % 2)
			add(&q, &in, t_random() % (t_random() % 8 ? 300 : 100000));
		if (q.len)
			drop(&q, &out, t_random() % (q.len + 1));
		EQ(q.len, in - out);
		if (q.len > 2000000)
			drop(&q, &out, q.len);
	}
	drop(&q, &out, q.len);
	EQ(out, in);
	queue_done(&q);
}

TEST(no_more_pieces_are_given_than_asked_for)
{
	static char large[40000];
	struct queue q = { .len = 0 };
	struct fd_piece pieces[2];

	for (int i = 0; i < 5; i++)
		queue_add(&q, large, sizeof(large));
	EQ(queue_pieces(&q, pieces, 2), 2);
	EQ(pieces[0].len, sizeof(large));
	queue_done(&q);
}
