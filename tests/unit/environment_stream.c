/* environment_stream.c - a stream over a connection that breaks at random places: every byte once,
 * in order, both ways */
#include "t.h"

#include "unit/fake_executor.h"

static void lose(void)
{
	fake_break(-ECONNRESET, "connection reset");
}

struct play {
	struct far f;
	struct user u;
	struct buf wrote, arrived, produced, answer;
	int pushed;         /* of what was produced, a letter each */
	int64_t last_write; /* writeId */
	bool lossy;
};

static void play_read(struct play *p, uint64_t id)
{
	int64_t after = 0;

	json_int(json_get(p->f.m.params, "afterSeq"), &after);
	buf_reset(&p->answer, BUF_ANY_SIZE);
	buf_adds(&p->answer, "{\"chunks\":[");
	for (size_t i = (size_t)after; i < p->produced.len; i++) {
		char chunk[5] = "";

		base64_encode(chunk, &p->produced.data[i], 1);
		buf_addf(&p->answer, "%s{\"seq\":%zu,\"stream\":\"stdout\",\"chunk\":\"%s\"}",
			 i > (size_t)after ? "," : "", i + 1, chunk);
	}
	buf_addf(&p->answer,
		 "],\"nextSeq\":%zu,\"exited\":false,\"exitCode\":null,\"closed\":false}",
		 p->produced.len + 1);
	far_answer(id, p->answer.data);
}

/* Taken once, and the answer may be lost. */
static void play_write(struct play *p, uint64_t id)
{
	struct json chunk = json_get(p->f.m.params, "chunk");
	char write_id[24] = "";

	json_string_into(json_get(p->f.m.params, "writeId"), write_id, sizeof(write_id));
	OK(atoll(write_id) <= p->last_write + 1);
	if (atoll(write_id) > p->last_write) {
		p->last_write++;
		EQ(base64_decode(&p->arrived, chunk.at + 1, chunk.len - 2), 0);
	}
	if (p->lossy && t_random() % 4 == 0)
		lose();
	else
		far_answer(id, "{\"status\":\"accepted\"}");
}

/* Answer what was asked next. False: nothing was. */
static bool play_serve_one(struct play *p)
{
	int64_t id = 0;

	if (!fake.channel || !*far_sent(&p->f))
		return false;
	json_int(p->f.m.id, &id);
	if (json_is(p->f.m.method, "initialize"))
		far_answer((uint64_t)id, FAR_KILLICK);
	else if (json_is(p->f.m.method, "process/read"))
		play_read(p, (uint64_t)id);
	else if (json_is(p->f.m.method, "process/write"))
		play_write(p, (uint64_t)id);
	return true;
}

static void play_serve(struct play *p)
{
	while (play_serve_one(p))
		;
}

static void play_push(struct play *p)
{
	char text[2] = "";

	if ((size_t)p->pushed == p->produced.len)
		return;
	text[0] = p->produced.data[p->pushed++];
	far_output("k1", p->pushed, "stdout", text);
}

static bool is_connected(void)
{
	return fake.channel && fake.channel->open;
}

static void play_step(struct play *p, char letter)
{
	unsigned what = (unsigned)(t_random() % 20);

	if (what < 6) {
		buf_add(&p->produced, &letter, 1);
	} else if (what < 9) {
		EQ(link_write(p->u.link, &letter, 1), 0);
		buf_add(&p->wrote, &letter, 1);
	} else if (what < 13 && is_connected()) {
		play_push(p);
	} else if (what == 13 && is_connected()) {
		p->pushed += (size_t)p->pushed < p->produced.len; /* is under way, and lost */
		lose();
	} else if (what < 16 && !is_connected()) {
		fake_pass(100);
		far_connected();
	} else {
		play_serve(p);
	}
}

TEST(no_byte_is_lost_or_doubled)
{
	struct play p = { .wrote = BUF_INIT(BUF_ANY_SIZE),
			  .arrived = BUF_INIT(BUF_ANY_SIZE),
			  .produced = BUF_INIT(BUF_ANY_SIZE),
			  .answer = BUF_INIT(BUF_ANY_SIZE),
			  .lossy = true };

	far_open(&p.f);
	OK(far_run(&p.f, &p.u, FAR_KILLICK));
	for (int step = 0; step < 5000; step++)
		play_step(&p, (char)('a' + step % 26));
	OK(p.u.lost > 20);
	p.lossy = false;
	if (!is_connected()) {
		fake_pass(100);
		far_connected();
	}
	play_serve(&p);
	while ((size_t)p.pushed < p.produced.len)
		play_push(&p);
	play_serve(&p);
	EQ(p.u.ended, 0);
	EQ(link_unwritten(p.u.link), 0);
	STREQ(p.arrived.data, p.wrote.data);
	STREQ(user_out(&p.u), p.produced.data);
	far_closed("k1", (int)p.produced.len + 1, FAR_REPORT);
	EQ(p.u.ended, 1);
	far_close(&p.f);
	user_done(&p.u);
	buf_done(&p.wrote);
	buf_done(&p.arrived);
	buf_done(&p.produced);
	buf_done(&p.answer);
}

/* Whoever writes without end has something new for every read. */
TEST(a_server_that_never_stops_to_write_comes_back)
{
	struct play p = { .produced = BUF_INIT(BUF_ANY_SIZE), .answer = BUF_INIT(BUF_ANY_SIZE) };

	far_open(&p.f);
	OK(far_run(&p.f, &p.u, FAR_KILLICK));
	lose();
	fake_pass(100);
	far_connected();
	for (int i = 0; i < 200; i++) {
		buf_add(&p.produced, "x", 1);
		if (play_serve_one(&p) && json_is(p.f.m.method, "process/read"))
			p.pushed = (int)p.produced.len; /* what was read is not pushed */
		if (p.pushed > 0) {
			buf_add(&p.produced, "y", 1);
			while ((size_t)p.pushed < p.produced.len)
				play_push(&p);
		}
	}
	EQ(p.u.lost, 1);
	EQ(p.u.back, 1);
	EQ(p.u.ended, 0);
	STREQ(far_sent(&p.f), "");
	far_closed("k1", (int)p.produced.len + 1, FAR_REPORT);
	EQ(p.u.ended, 1);
	STREQ(user_out(&p.u), p.produced.data);
	far_close(&p.f);
	user_done(&p.u);
	buf_done(&p.produced);
	buf_done(&p.answer);
}
