/* ws.c - the same messages however the bytes are cut, and none from bytes that are wrong. */
#include "net/ws.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"
#include "base/sha1.h"

struct seen {
	struct buf text; /* messages in [], pings in <>, pongs in (), closes in {} */
	struct ws *ws;
	const char *borrowed, *borrowed_end; /* messages must lie here; NULL: wherever */
	int halt_at;                         /* stop at this message, from 1 */
	int messages;
};

static void add(struct seen *s, char open, const char *bytes, size_t len, char close)
{
	OK(buf_add(&s->text, &open, 1) == 0);
	OK(buf_add(&s->text, bytes, len) == 0);
	OK(buf_add(&s->text, &close, 1) == 0);
}

static void on_message(void *ctx, char *text, size_t len)
{
	struct seen *s = ctx;

	if (s->borrowed)
		OK(text >= s->borrowed && text + len <= s->borrowed_end);
	add(s, '[', text, len, ']');
	memset(text, 'z', len); /* it is ours */
	if (++s->messages == s->halt_at)
		ws_halt(s->ws);
}

static void on_control(void *ctx, enum ws_op op, const char *bytes, size_t len)
{
	struct seen *s = ctx;

	OK(len <= WS_CONTROL_MAX);
	if (op == WS_CLOSE)
		add(s, '{', bytes, len, '}');
	else
		add(s, op == WS_PING ? '<' : '(', bytes, len, op == WS_PING ? '>' : ')');
}

static const struct ws_events events = { on_message, on_control };

/* Feed a copy that ends where it ends. */
static int feed(struct ws *w, struct seen *s, const char *bytes, size_t len, const char **reason)
{
	AUTO(mem_drop) char *copy = malloc(len ? len : 1);

	OK(copy != NULL);
	if (len)
		memcpy(copy, bytes, len);
	return ws_feed(w, copy, len, &events, s, reason);
}

/* Append a frame: op with 0x80 for its last, masked as a client does it. */
static void frame(struct buf *b, unsigned op, const char *payload, size_t len, bool masked)
{
	const unsigned char mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
	unsigned char header[WS_HEADER_MAX];
	size_t n = ws_header(header, (enum ws_op)(op & 15), len, masked ? mask : NULL);

	header[0] = (unsigned char)op;
	EQ(buf_add(b, header, n), 0);
	EQ(buf_add(b, payload, len), 0);
	if (masked)
		ws_mask(b->data + b->len - len, len, mask);
}

/* What comes of bytes in two pieces, and the error's name at the end; until the next call. */
static const char *cut(enum ws_role role, const char *bytes, size_t len, size_t at, size_t limit)
{
	static struct seen s;
	const char *reason = NULL;
	struct ws w;
	int r;

	buf_done(&s.text);
	s = (struct seen){ .text = BUF_INIT(BUF_ANY_SIZE) };
	EQ(buf_adds(&s.text, ""), 0);
	ws_init(&w, role, limit);
	r = feed(&w, &s, bytes, at, &reason);
	if (r == 0)
		r = feed(&w, &s, bytes + at, len - at, &reason);
	else
		EQ(feed(&w, &s, bytes + at, len - at, &reason), r);
	OK((r == 0) == (reason == NULL));
	EQ(buf_adds(&s.text, r == -EPROTO ? "!" : r == -EMSGSIZE ? "#" : ""), 0);
	ws_done(&w);
	ws_done(&w);
	return s.text.data;
}

/* The same, whatever the cut. */
static const char *every(enum ws_role role, const char *bytes, size_t len, size_t limit)
{
	AUTO(mem_drop) char *whole = strdup(cut(role, bytes, len, 0, limit));

	for (size_t at = 1; at < len; at++)
		STREQ(cut(role, bytes, len, at, limit), whole);
	return cut(role, bytes, len, len, limit);
}
#define CLIENT(bytes_) every(WS_CLIENT, bytes_, sizeof(bytes_) - 1, 1000)
#define SERVER(bytes_) every(WS_SERVER, bytes_, sizeof(bytes_) - 1, 1000)

/* RFC 6455, 5.7. */
TEST(ws_examples_of_the_standard)
{
	AUTO(buf_done) struct buf b = BUF_INIT(100000);
	AUTO(mem_drop) char *payload = calloc(1, 65536);
	const char *got;

	STREQ(CLIENT("\x81\x05\x48\x65\x6c\x6c\x6f"), "[Hello]");
	STREQ(SERVER("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "[Hello]");
	STREQ(CLIENT("\x01\x03\x48\x65\x6c\x80\x02\x6c\x6f"), "[Hello]");
	STREQ(CLIENT("\x89\x05\x48\x65\x6c\x6c\x6f"), "<Hello>");
	STREQ(SERVER("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "(Hello)");
	OK(payload != NULL);
	memset(payload, 'a', 65535);
	EQ(buf_add(&b, "\x82\x7e\x01\x00", 4), 0);
	EQ(buf_add(&b, payload, 256), 0);
	got = cut(WS_CLIENT, b.data, b.len, 0, 65536);
	EQ(strlen(got), 258);
	b.len = 0;
	EQ(buf_add(&b, "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10), 0);
	EQ(buf_add(&b, payload, 65535), 0);
	EQ(buf_adds(&b, "b"), 0);
	got = cut(WS_CLIENT, b.data, b.len, 30000, 65536);
	EQ(strlen(got), 65538);
	STREQ(got + 65535, "ab]");
}

TEST(ws_answers_the_key)
{
	char out[WS_ACCEPT_SIZE];

	OK(ws_accept("dGhlIHNhbXBsZSBub25jZQ==", 24, out)); /* RFC 6455, 1.3 */
	STREQ(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	OK(!ws_accept("dGhlIHNhbXBsZSBub25jZQ=", 23, out));
	STREQ(out, "");
	OK(!ws_accept("dGhlIHNhbXBsZSBub25jZQ", 22, out));
	OK(!ws_accept("dGhlIHNhbXBsZSBub25jZR==", 24, out)); /* a bit too many */
	OK(!ws_accept("dGhlIHNhbXBsZSBub25jZXg=", 24, out)); /* 17 bytes */
	OK(!ws_accept("dGhlIHNhbXBsZ\0BBub25jZQ==", 24, out));
	OK(!ws_accept("dGhlIHNhbXBsZSBub25jZQ==dGhl", 28, out));
	OK(!ws_accept(NULL, 0, out));
}

static const char *digest(const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	static char hex[2 * SHA1_SIZE + 1];
	unsigned char out[SHA1_SIZE];

	sha1(bytes, len, out);
	for (size_t i = 0; i < SHA1_SIZE; i++) {
		hex[2 * i] = digits[out[i] >> 4];
		hex[2 * i + 1] = digits[out[i] & 15];
	}
	return hex;
}

/* FIPS 180-4 and its examples. */
TEST(sha1_of_the_standard)
{
	static char a[1000000];

	STREQ(digest("", 0), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	STREQ(digest("abc", 3), "a9993e364706816aba3e25717850c26c9cd0d89d");
	STREQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
	      "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	STREQ(digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		     "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		     112),
	      "a49b2446a02c645bf419f995b67091253a04a259");
	memset(a, 'a', sizeof(a));
	STREQ(digest(a, sizeof(a)), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
	/* Around the end of a block, where the padding needs another one. */
	STREQ(digest(a, 55), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
	STREQ(digest(a, 56), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
	STREQ(digest(a, 63), "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
	STREQ(digest(a, 64), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
	STREQ(digest(a, 65), "11655326c708d70319be2610e8a57d9a5b959d3b");
}

TEST(ws_messages_one_after_the_other)
{
	STREQ(CLIENT("\x81\x01"
		     "a\x82\x00\x81\x02"
		     "bc\x89\x00\x8a\x01x"),
	      "[a][][bc]<>(x)");
	STREQ(CLIENT("\x81\x02"
		     "a"),
	      "");
	STREQ(CLIENT(""), "");
}

TEST(ws_control_between_fragments)
{
	STREQ(CLIENT("\x01\x02"
		     "ab\x89\x02hi\x00\x00\x8a\x00\x00\x01"
		     "c\x89\x00\x80\x01"
		     "d\x81\x01"
		     "e"),
	      "<hi>()<>[abcd][e]");
	STREQ(CLIENT("\x02\x00\x80\x00"), "[]");
	STREQ(CLIENT("\x01\x00\x00\x00\x89\x00\x80\x03xyz"), "<>[xyz]");
	STREQ(CLIENT("\x01\x03xyz\x80\x00"), "[xyz]");
}

TEST(ws_ignores_frames_after_close)
{
	STREQ(CLIENT("\x88\x00\x81\x01"
		     "a"),
	      "{}");
	STREQ(CLIENT("\x01\x01"
		     "a\x88\x05\x03\xe8"
		     "bye\x80\x01x\xff\xff"),
	      "{\x03\xe8"
	      "bye}");
	STREQ(CLIENT("\x88\x02\x0b\xb8"), "{\x0b\xb8}");
	STREQ(CLIENT("\x88\x02\x13\x87"), "{\x13\x87}");
	STREQ(CLIENT("\x88\x01\x03"), "!");
	STREQ(CLIENT("\x88\x02\x00\x00"), "!");
	STREQ(CLIENT("\x88\x02\x03\xe7"), "!"); /* 999 */
	STREQ(CLIENT("\x88\x02\x03\xec"), "!"); /* 1004 */
	STREQ(CLIENT("\x88\x02\x03\xed"), "!");
	STREQ(CLIENT("\x88\x02\x03\xee"), "!"); /* 1006 */
	STREQ(CLIENT("\x88\x02\x03\xf7"), "!"); /* 1015 */
	STREQ(CLIENT("\x88\x02\x13\x88"), "!"); /* 5000 */
}

/* Two bytes are enough to know. */
TEST(ws_refuses_bad_frames_at_once)
{
	for (unsigned first = 0; first < 256; first++) {
		unsigned op = first & 15;
		bool known = op <= 2 || (op >= 8 && op <= 10);
		bool good = known && op != 0 && !(first & 0x70) && (op < 8 || first & 0x80);

		for (unsigned second = 0; second < 256; second++) {
			char bytes[] = { (char)first, (char)second };
			bool short_enough = op < 8 || (second & 127) <= 125;
			bool empty = (first & 0x80) && second == 0;

			STREQ(cut(WS_SERVER, bytes, 2, 1, 1000),
			      good && short_enough && second & 0x80 ? "" : "!");
			if (!empty && (second & 127) < 127)
				STREQ(cut(WS_CLIENT, bytes, 2, 1, 1000),
				      good && short_enough && !(second & 0x80) ? "" : "!");
		}
	}
}

TEST(ws_refuses_messages_out_of_order)
{
	STREQ(CLIENT("\x81\x01"
		     "a\x80\x01"
		     "b"),
	      "[a]!");
	STREQ(CLIENT("\x00\x01"
		     "b"),
	      "!");
	STREQ(CLIENT("\x01\x01"
		     "a\x81\x01"
		     "b"),
	      "!");
	STREQ(CLIENT("\x01\x00\x02\x00"), "!");
	STREQ(CLIENT("\x01\x01"
		     "a\x80\x01"
		     "b\x80\x00"),
	      "[ab]!");
}

TEST(ws_refuses_lengths_that_are_not_the_shortest)
{
	STREQ(CLIENT("\x81\x7e\x00\x00"), "!");
	STREQ(CLIENT("\x81\x7e\x00\x7d"), "!");
	STREQ(CLIENT("\x81\x7e\x00\x7e"), "");
	STREQ(CLIENT("\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x01"), "!");
	STREQ(CLIENT("\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff"), "!");
	STREQ(cut(WS_CLIENT, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10, 5, 65536), "");
	STREQ(CLIENT("\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00"), "!");
	STREQ(CLIENT("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"), "!");
	STREQ(CLIENT("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"), "#");
	STREQ(CLIENT("\x89\x7e\x00\x7e"), "!");
}

/* Before the bytes have come, and over all frames of a message. */
TEST(ws_limits_messages)
{
	static const char pieces[] = "\x01\x03"
				     "abc\x89\x01x\x00\x02"
				     "de\x80\x01"
				     "f\x81\x06uvwxyz";

	STREQ(every(WS_CLIENT, pieces, sizeof(pieces) - 1, 6), "<x>[abcdef][uvwxyz]");
	STREQ(every(WS_CLIENT, pieces, sizeof(pieces) - 1, 5), "<x>#");
	STREQ(every(WS_CLIENT, pieces, sizeof(pieces) - 1, 4), "<x>#");
	STREQ(every(WS_CLIENT, pieces, sizeof(pieces) - 1, 2), "#");
	STREQ(every(WS_CLIENT, "\x81\x05", 2, 4), "#");
	STREQ(every(WS_CLIENT, "\x89\x02zz\x81\x00\x81\x01", 8, 0), "<zz>[]#");
	STREQ(every(WS_CLIENT, "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 10, BUF_ANY_SIZE), "#");
}

TEST(ws_limit_may_change)
{
	AUTO(buf_done) struct buf b = BUF_INIT(1000);
	struct seen s = { .text = BUF_INIT(1000) };
	const char *reason;
	struct ws w;

	ws_init(&w, WS_SERVER, 10);
	frame(&b, 0x01, "abcdefgh", 8, true);
	EQ(feed(&w, &s, b.data, 9, &reason), 0);
	w.limit = 4; /* what has begun may end */
	EQ(feed(&w, &s, b.data + 9, b.len - 9, &reason), 0);
	w.limit = 9;
	b.len = 0;
	frame(&b, 0x80, "i", 1, true);
	EQ(feed(&w, &s, b.data, b.len, &reason), 0);
	STREQ(s.text.data, "[abcdefghi]");
	b.len = 0;
	frame(&b, 0x01, "abcdefgh", 8, true);
	EQ(feed(&w, &s, b.data, b.len, &reason), 0);
	w.limit = 4;
	b.len = 0;
	frame(&b, 0x80, "", 0, true);
	EQ(feed(&w, &s, b.data, b.len, &reason), -EMSGSIZE);
	ws_done(&w);
	buf_done(&s.text);
}

TEST(ws_hands_on_whole_messages_without_a_copy)
{
	AUTO(buf_done) struct buf b = BUF_INIT(1000);
	struct seen s = { .text = BUF_INIT(1000) };
	const char *reason;
	struct ws w;

	for (int i = 0; i < 3; i++)
		frame(&b, 0x81, "{\"some\":\"message\"}", 18, true);
	s.borrowed = b.data;
	s.borrowed_end = b.data + b.len;
	ws_init(&w, WS_SERVER, 1000);
	EQ(ws_feed(&w, b.data, b.len, &events, &s, &reason), 0);
	EQ(s.messages, 3);
	EQ(w.message.cap, 0);
	ws_done(&w);
	buf_done(&s.text);
}

TEST(ws_halts_for_good)
{
	static const char bytes[] = "\x81\x01"
				    "a\x89\x00\x81\x01"
				    "b\x89\x00\x81\x01"
				    "c\xff\xff";
	const size_t len = sizeof(bytes) - 1;

	for (size_t at = 0; at < len; at++) {
		struct seen s = { .text = BUF_INIT(1000), .halt_at = 2 };
		const char *reason;
		struct ws w;

		s.ws = &w;
		ws_init(&w, WS_CLIENT, 1000);
		EQ(feed(&w, &s, bytes, at, &reason), 0);
		EQ(feed(&w, &s, bytes + at, len - at, &reason), 0);
		STREQ(s.text.data, "[a]<>[b]");
		ws_done(&w);
		buf_done(&s.text);
	}
}

/* A length is a claim. Memory is for what has come. */
TEST(ws_does_not_allocate_by_the_announced_length)
{
	struct seen s = { .text = BUF_INIT(1000) };
	const char *reason;
	char bytes[1000];
	struct ws w;

	memset(bytes, 'x', sizeof(bytes));
	ws_init(&w, WS_CLIENT, BUF_ANY_SIZE);
	EQ(feed(&w, &s, "\x81\x7f\x00\x00\x00\x00\x10\x00\x00\x00", 10, &reason), 0);
	OK(w.message.cap <= 4096);
	EQ(feed(&w, &s, bytes, sizeof(bytes), &reason), 0);
	OK(w.message.cap <= 4096);
	ws_done(&w);
	/* Frames without a byte in them, and without an end. */
	ws_init(&w, WS_CLIENT, 100);
	EQ(feed(&w, &s, "\x01\x00", 2, &reason), 0);
	memset(bytes, 0, sizeof(bytes));
	for (int i = 0; i < 1000; i++)
		EQ(feed(&w, &s, bytes, sizeof(bytes), &reason), 0);
	OK(w.message.cap <= 4096);
	ws_done(&w);
	EQ(s.text.len, 0);
	buf_done(&s.text);
}

TEST(ws_gives_back_the_memory_of_a_long_message)
{
	AUTO(buf_done) struct buf b = BUF_INIT(10000000);
	AUTO(mem_drop) char *payload = malloc(4000000);
	struct seen s = { .text = BUF_INIT(10000000) };
	const char *reason;
	struct ws w;

	OK(payload != NULL);
	memset(payload, 'x', 4000000);
	frame(&b, 0x81, payload, 4000000, true);
	ws_init(&w, WS_SERVER, 4000000);
	for (size_t at = 0, n; at < b.len; at += n) {
		n = b.len - at < 100 ? b.len - at : 100;
		EQ(ws_feed(&w, b.data + at, n, &events, &s, &reason), 0);
	}
	EQ(s.text.len, 4000002);
	OK(memcmp(s.text.data + 1, payload, 4000000) == 0);
	OK(w.message.cap <= 262144);
	frame(&b, 0x01, payload, 1000000, true);
	EQ(ws_feed(&w, b.data + b.len - 1000014, 1000014, &events, &s, &reason), 0);
	EQ(feed(&w, &s, "\xff\xff", 2, &reason), -EPROTO);
	EQ(w.message.cap, 0); /* of no use any more */
	ws_done(&w);
	buf_done(&s.text);
}

TEST(ws_masks_every_byte)
{
	const unsigned char mask[4] = { 1, 0x82, 3, 0xf4 };
	char bytes[200];

	for (size_t at = 0; at < 8; at++) {
		for (size_t len = 0; len < 150; len++) {
			for (size_t i = 0; i < sizeof(bytes); i++)
				bytes[i] = (char)i;
			ws_mask(bytes + at, len, mask);
			for (size_t i = 0; i < sizeof(bytes); i++) {
				bool in = i >= at && i < at + len;

				EQ((unsigned char)bytes[i], in ? i ^ mask[(i - at) % 4] : i);
			}
		}
	}
}

TEST(ws_headers)
{
	static const uint64_t lens[] = { 0, 1, 125, 126, 127, 65535, 65536, (uint64_t)1 << 40 };
	static const size_t sizes[] = { 2, 2, 2, 4, 4, 4, 10, 10 };
	const unsigned char mask[4] = "mask";
	unsigned char out[WS_HEADER_MAX];

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		EQ(ws_header(out, WS_TEXT, lens[i], NULL), sizes[i]);
		EQ(out[0], 0x81);
		OK(!(out[1] & 0x80));
		EQ(ws_header(out, WS_BINARY, lens[i], mask), sizes[i] + 4);
		EQ(out[0], 0x82);
		OK(out[1] & 0x80);
		OK(memcmp(out + sizes[i], "mask", 4) == 0);
	}
	EQ(ws_header(out, WS_CLOSE, 2, NULL), 2);
	OK(memcmp(out, "\x88\x02", 2) == 0);
	EQ(ws_header(out, WS_TEXT, 0x0102030405060708, NULL), 10);
	OK(memcmp(out, "\x81\x7f\1\2\3\4\5\6\7\x8", 10) == 0);
}

/* Random frames: bytes for b, what must come of them in want. */
static void random_frames(struct buf *b, struct seen *want, bool masked)
{
	bool in_message = false;
	AUTO(buf_done) struct buf message = BUF_INIT(BUF_ANY_SIZE);

	for (int i = 0; i < 20; i++) {
		char payload[400];
		size_t len = (size_t)(t_random() % (t_random() % 4 ? 10 : sizeof(payload)));
		unsigned fin = t_random() % 2 ? 0x80 : 0;

		for (size_t k = 0; k < len; k++)
			payload[k] = (char)(1 + t_random() % 255);
		if (t_random() % 3 == 0) {
			len = len > WS_CONTROL_MAX ? WS_CONTROL_MAX : len;
			frame(b, 0x80 | (fin ? WS_PING : WS_PONG), payload, len, masked);
			on_control(want, fin ? WS_PING : WS_PONG, payload, len);
			continue;
		}
		frame(b, fin | (in_message ? WS_CONT : WS_TEXT), payload, len, masked);
		EQ(buf_add(&message, payload, len), 0);
		in_message = !fin;
		if (fin) {
			on_message(want, message.data, message.len);
			message.len = 0;
		}
	}
}

TEST(ws_in_pieces_is_the_same)
{
	for (int round = 0; round < 2000; round++) {
		AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
		struct seen got = { .text = BUF_INIT(100000) }, want = { .text = BUF_INIT(100000) };
		enum ws_role role = round % 2 ? WS_SERVER : WS_CLIENT;
		size_t step = round % 3 ? 20 : 500;
		const char *reason;
		struct ws w;

		random_frames(&b, &want, role == WS_SERVER);
		ws_init(&w, role, 100000);
		for (size_t at = 0, n; at < b.len; at += n) {
			n = (size_t)(t_random() % step);
			n = n < b.len - at ? n : b.len - at;
			EQ(feed(&w, &got, b.data + at, n, &reason), 0);
		}
		EQ(got.text.len, want.text.len);
		OK(!got.text.len || memcmp(got.text.data, want.text.data, got.text.len) == 0);
		ws_done(&w);
		buf_done(&got.text);
		buf_done(&want.text);
	}
}
