/* roundtrip.c - unwrap(wrap(x)) is x, to the byte, over a corpus of all shapes (corpus.h). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "clients/edit.h"
#include "clients/entry.h"
#include "clients/wrapping.h"
#include "clients/yaml_tree.h"
#include "corpus.h"
#include "t.h"

enum { SAMPLES = 1800 }; /* 200 of each shape */

/* In a build without libyaml the other shapes are tested. */
static bool is_readable(const struct sample *s)
{
	return s->format != FORMAT_YAML || yaml_tree_is_built();
}

static void entries_of(const struct sample *s, const struct buf *text, struct entries *out)
{
	struct fault why;

	if (entries_find(text->data, text->len, s->format, KEYS_ANY, out, &why) < 0)
		FAIL("%s: line %u: %s in:\n%s", s->shape, why.line, why.reason, text->data);
}

static const char *share, *idle; /* the values of --share and --idle; NULL: none */

enum change { WRAP, WRAP_FOR_HUB, MOVE_TO_HUB, SET_OPTIONS, UNWRAP };

/* Change every entry that can be; the new text is in `out`. Returns their number. */
static size_t change(const struct sample *s, const struct buf *text, enum change how,
		     struct buf *out, struct edits *edits)
{
	AUTO(entries_done) struct entries found = { .count = 0 };
	struct wrapping w = { .text = text->data,
			      .len = text->len,
			      .format = s->format,
			      .killick = "killick",
			      .hub = how != WRAP && how != UNWRAP,
			      .share = share,
			      .idle = idle };
	size_t changed = 0;

	entries_of(s, text, &found);
	for (size_t i = 0; i < found.count; i++) {
		const struct entry *e = &found.list[i];

		bool wrapped = e->state == ENTRY_WRAPPED && e->inner;

		if ((how == WRAP || how == WRAP_FOR_HUB) && e->state == ENTRY_BARE)
			wrapping_wrap(&w, e, edits);
		else if (how == MOVE_TO_HUB && wrapped && !e->hub)
			wrapping_move_to_hub(&w, e, edits);
		else if (how == SET_OPTIONS && wrapped && wrapping_options_differ(&w, e))
			wrapping_set_options(&w, e, edits);
		else if (how == UNWRAP && wrapped)
			wrapping_unwrap(&w, e, edits);
		else
			continue;
		changed++;
	}
	edits_apply(edits, text->data, text->len, out);
	return changed;
}

/* Between the two texts only the ranges of the edits differ. */
static void check_outside(const struct edits *edits, const struct buf *old, const struct buf *now)
{
	size_t at = 0, to = 0;

	for (size_t i = 0; i <= edits->count; i++) {
		const struct edit *d = i < edits->count ? &edits->list[i] : NULL;
		size_t same = (d ? d->old.at : old->len) - at;

		OK(to + same <= now->len && memcmp(old->data + at, now->data + to, same) == 0);
		if (!d)
			break;
		at = span_end(d->old);
		to += same + d->len;
	}
	EQ(now->len - to, old->len - at);
}

static void check_states(const struct sample *s, const struct buf *old, const struct buf *now)
{
	AUTO(entries_done) struct entries before = { .count = 0 };
	AUTO(entries_done) struct entries after = { .count = 0 };

	entries_of(s, old, &before);
	entries_of(s, now, &after);
	EQ(before.count, after.count);
	for (size_t i = 0; i < before.count; i++) {
		const struct entry *a = &before.list[i], *b = &after.list[i];
		size_t skip = a->state == ENTRY_BARE ? b->inner : 0;

		STREQ(a->name, b->name);
		EQ(b->state, a->state == ENTRY_BARE ? ENTRY_WRAPPED : a->state);
		EQ(entry_word_count(b), entry_word_count(a) + skip);
		for (size_t k = 0; k < entry_word_count(a); k++)
			STREQ(entry_word(b, skip + k)->text, entry_word(a, k)->text);
	}
}

static size_t check_sample(const struct sample *s, enum change how)
{
	AUTO(buf_done) struct buf wrapped = BUF_INIT(BUF_ANY_SIZE), back = BUF_INIT(BUF_ANY_SIZE);
	AUTO(buf_done) struct buf again = BUF_INIT(BUF_ANY_SIZE);
	AUTO(edits_done) struct edits there = EDITS_INIT, none = EDITS_INIT, home = EDITS_INIT;
	size_t count = change(s, &s->text, how, &wrapped, &there);

	check_outside(&there, &s->text, &wrapped);
	check_states(s, &s->text, &wrapped);
	EQ(change(s, &wrapped, how, &again, &none), 0); /* wrapping twice is wrapping once */
	EQ(change(s, &wrapped, UNWRAP, &back, &home), count);
	if (back.len != s->text.len || memcmp(back.data, s->text.data, back.len) != 0)
		FAIL("%s: not the old bytes:\n%s\n-- wrapped:\n%s\n-- unwrapped:\n%s", s->shape,
		     s->text.data, wrapped.data, back.data);
	return count;
}

/* A server that is wrapped and then moved to the hub has the bytes of one wrapped for the hub at
 * once. */
static size_t check_move(const struct sample *s)
{
	AUTO(buf_done) struct buf wrapped = BUF_INIT(BUF_ANY_SIZE), want = BUF_INIT(BUF_ANY_SIZE);
	AUTO(buf_done) struct buf moved = BUF_INIT(BUF_ANY_SIZE);
	AUTO(edits_done) struct edits a = EDITS_INIT, b = EDITS_INIT, c = EDITS_INIT;
	size_t count = change(s, &s->text, WRAP_FOR_HUB, &want, &a);

	EQ(change(s, &s->text, WRAP, &wrapped, &b), count);
	EQ(change(s, &wrapped, MOVE_TO_HUB, &moved, &c), count);
	if (moved.len != want.len || memcmp(moved.data, want.data, want.len) != 0)
		FAIL("%s: wrapped for the hub:\n%s\n-- moved to the hub:\n%s", s->shape, want.data,
		     moved.data);
	return count;
}

/* A server with other options, or without options, gets the bytes of one that was wrapped with the
 * new options at once. An option that is not given stays. Returns the number of changed servers. */
static size_t check_options(const struct sample *s, uint64_t n)
{
	static const char *const shares[] = { NULL, "auto", "identical", "never" };
	static const char *const idles[] = { NULL, "5m", "90s" };
	AUTO(buf_done) struct buf old = BUF_INIT(BUF_ANY_SIZE), want = BUF_INIT(BUF_ANY_SIZE);
	AUTO(buf_done) struct buf now = BUF_INIT(BUF_ANY_SIZE), again = BUF_INIT(BUF_ANY_SIZE);
	AUTO(edits_done) struct edits a = EDITS_INIT, b = EDITS_INIT, c = EDITS_INIT;
	AUTO(edits_done) struct edits none = EDITS_INIT;
	const char *old_share = shares[n % 4], *old_idle = idles[n / 4 % 3];
	const char *new_share = shares[n / 12 % 4], *new_idle = idles[n / 48 % 3];
	size_t changed;

	share = old_share;
	idle = old_idle;
	change(s, &s->text, WRAP_FOR_HUB, &old, &a);
	share = new_share ? new_share : old_share;
	idle = new_idle ? new_idle : old_idle;
	change(s, &s->text, WRAP_FOR_HUB, &want, &b);
	share = new_share;
	idle = new_idle;
	changed = change(s, &old, SET_OPTIONS, &now, &c);
	if (now.len != want.len || memcmp(now.data, want.data, want.len) != 0)
		FAIL("%s: wrapped at once:\n%s\n-- with changed options:\n%s", s->shape, want.data,
		     now.data);
	EQ(change(s, &now, SET_OPTIONS, &again, &none), 0);
	return changed;
}

TEST(other_options_of_the_hub_give_the_bytes_of_wrap_with_these_options, .timeout_ms = 60000)
{
	size_t all = 0;

	for (uint64_t seed = 0; seed < SAMPLES; seed++) {
		struct sample s;

		corpus_make(seed, &s);
		if (is_readable(&s))
			all += check_options(&s, seed / CORPUS_SHAPES);
		corpus_done(&s);
	}
	t_note("%d files, the options of %zu servers changed", SAMPLES, all);
	OK(all > 900);
}

TEST(wrap_and_then_the_hub_gives_the_bytes_of_wrap_for_the_hub, .timeout_ms = 60000)
{
	size_t all = 0;

	for (uint64_t seed = 0; seed < SAMPLES; seed++) {
		struct sample s;

		corpus_make(seed, &s);
		if (is_readable(&s)) {
			share = seed / CORPUS_SHAPES % 2 ? "auto" : NULL;
			idle = seed / CORPUS_SHAPES % 3 ? "5m" : NULL;
			check_sample(&s, WRAP_FOR_HUB);
			all += check_move(&s);
		}
		corpus_done(&s);
	}
	t_note("%d files, %zu servers wrapped for the hub and unwrapped", SAMPLES, all);
	OK(all > 900);
}

TEST(unwrap_restores_every_byte_of_1800_files_of_nine_shapes, .timeout_ms = 60000)
{
	size_t servers[CORPUS_SHAPES] = { 0 }, fewest = SIZE_MAX, all = 0;

	for (uint64_t seed = 0; seed < SAMPLES; seed++) {
		struct sample s;

		corpus_make(seed, &s);
		if (is_readable(&s))
			servers[seed % CORPUS_SHAPES] += check_sample(&s, WRAP);
		corpus_done(&s);
	}
	for (size_t i = 0; i < CORPUS_SHAPES; i++) {
		all += servers[i];
		if (servers[i] < fewest && (servers[i] || yaml_tree_is_built()))
			fewest = servers[i];
	}
	if (!yaml_tree_is_built())
		t_note("built without libyaml: the two YAML shapes were NOT tested");
	t_note("%d files, %zu servers wrapped and unwrapped, at least %zu of each shape", SAMPLES,
	       all, fewest);
	OK(fewest > 100);
}

static void save(const char *dir, uint64_t seed, const struct sample *s, const char *what,
		 const struct buf *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%04llu-%s-%s%s", dir, (unsigned long long)seed, s->shape,
		 what, s->suffix);
	f = fopen(path, "we");
	OK(f && fwrite(text->data, 1, text->len, f) == text->len);
	OK(fclose(f) == 0);
}

/* Write each file and its wrapped form to `dir`. */
static void save_corpus(const char *dir)
{
	for (uint64_t seed = 0; seed < SAMPLES; seed++) {
		AUTO(buf_done) struct buf wrapped = BUF_INIT(BUF_ANY_SIZE);
		AUTO(edits_done) struct edits edits = EDITS_INIT;
		struct sample s;

		corpus_make(seed, &s);
		if (is_readable(&s)) {
			change(&s, &s.text, seed / CORPUS_SHAPES % 2 ? WRAP_FOR_HUB : WRAP,
			       &wrapped, &edits);
			save(dir, seed, &s, "old", &s.text);
			save(dir, seed, &s, "new", &wrapped);
		}
		corpus_done(&s);
	}
}

TEST(parsers_of_python_read_the_same_words_behind_killick, .timeout_ms = 120000)
{
	char dir[200],
		*argv[] = { "python3", (char *)t_program("PARSERS", "tests/clients/parsers.py"),
			    dir, NULL };
	int status;

	if (access("/usr/bin/python3", X_OK) != 0)
		SKIP("python3 is not installed: apt-get install python3 python3-yaml");
	snprintf(dir, sizeof(dir), "%s/corpus", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	save_corpus(dir);
	status = t_wait_child(t_spawn(argv, (int[]){ -1, -1, -1 }), 100000);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("python3 has no tomllib or no yaml: apt-get install python3-yaml");
	EQ(status, 0);
}
