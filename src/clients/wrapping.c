/* wrapping.c - see wrapping.h */
#include "wrapping.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/utf8.h"

enum { WRAPPING_NAME_MAX = 63 }; /* bytes of a server's name that killick connect takes */

/* Write a word behind `between`. JSON quotes and escapes are also valid in TOML and YAML. */
static void wrapping_word(const char *between, const char *word, struct buf *out)
{
	buf_adds(out, between);
	emit_quoted(out, word, strlen(word));
}

/* May the name be a word of the command? Clients expand $NAME, ${NAME} and %NAME%, and a name that
 * begins with a dash would be an option. */
static bool wrapping_can_name(const char *name)
{
	size_t left = strlen(name), n;

	if (!left || left > WRAPPING_NAME_MAX || *name == '-' || strcmp(name, "?") == 0)
		return false;
	for (; left; name += n, left -= n) {
		n = utf8_len(name, left);
		if (!n || (unsigned char)*name < ' ' || strchr("$%{}`\\\x7f", *name))
			return false;
	}
	return true;
}

/* Write an option of the hub, if it has a value. */
static void wrapping_option(const struct wrapping *w, const char *name, const char *value,
			    const char *between, struct buf *out)
{
	if (!w->hub || !value)
		return;
	wrapping_word(between, name, out);
	wrapping_word(between, value, out);
}

/* Write the verb and its options. */
static void wrapping_verb(const struct wrapping *w, const struct entry *e, const char *between,
			  struct buf *out)
{
	wrapping_word("", w->hub ? "connect" : "run", out);
	wrapping_option(w, "--server", wrapping_can_name(e->name) ? e->name : NULL, between, out);
	wrapping_option(w, "--share", w->share, between, out);
	wrapping_option(w, "--idle", w->idle, between, out);
}

/* Write the words in front of the old command: the verb, -- and, if a shell must split the command,
 * the words of the shell. */
static void wrapping_words(const struct wrapping *w, const struct entry *e, const char *between,
			   struct buf *out)
{
	bool shell = entry_is_one_string(e);

	wrapping_verb(w, e, between, out);
	wrapping_word(between, "--", out);
	for (const char *const *word = entry_shell; shell && *word; word++)
		wrapping_word(between, *word, out);
}

/* Write the words that stand in front of the command of a wrapped entry. */
static void wrapping_same_words(const struct entry *e, const char *between, struct buf *out)
{
	for (size_t i = e->verb; i < e->inner; i++) {
		const char *text = node_string(entry_word(e, i));

		wrapping_word(i > e->verb ? between : "", text ? text : "", out);
	}
}

/* Returns the white space between `[` and the first item. */
static struct span wrapping_indent(const struct wrapping *w, const struct node *list)
{
	size_t begin = list->span.at + 1, end = begin;

	while (end < span_end(list->span) && strchr(" \t\r\n", w->text[end]) && w->text[end])
		end++;
	return (struct span){ begin, end - begin };
}

/* Write "," and the indent again, or ", ". */
static void wrapping_comma(const struct wrapping *w, struct span indent, struct buf *out)
{
	buf_adds(out, ",");
	if (indent.len)
		buf_add(out, w->text + indent.at, indent.len);
	else
		buf_adds(out, " ");
}

/* Insert the new words and the old command at the front of a list with brackets. */
static void wrapping_into_list(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE), comma = BUF_INIT(BUF_ANY_SIZE);
	struct span indent = wrapping_indent(w, e->args);

	wrapping_comma(w, indent, &comma);
	if (indent.len)
		buf_add(&text, w->text + indent.at, indent.len);
	wrapping_words(w, e, comma.data, &text);
	buf_add(&text, comma.data, comma.len);
	buf_add(&text, w->text + e->command->span.at, e->command->span.len);
	if (e->args->count > 0)
		buf_adds(&text, indent.len ? "," : ", ");
	edits_add(out, (struct span){ indent.at, 0 }, &text);
}

/* The command is a list of all words: insert only the words of killick at its front. */
static void wrapping_into_words(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE), comma = BUF_INIT(BUF_ANY_SIZE);
	struct span indent = wrapping_indent(w, e->command);

	wrapping_comma(w, indent, &comma);
	if (indent.len)
		buf_add(&text, w->text + indent.at, indent.len);
	emit_quoted(&text, w->killick, strlen(w->killick));
	buf_add(&text, comma.data, comma.len);
	wrapping_words(w, e, comma.data, &text);
	buf_adds(&text, indent.len ? "," : ", ");
	edits_add(out, (struct span){ indent.at, 0 }, &text);
}

/* Returns the position of the dash of an item in a list without brackets. */
static size_t wrapping_dash(const struct wrapping *w, const struct node *item)
{
	size_t at = item->span.at;

	while (at > 0 && w->text[at - 1] != '-')
		at--;
	return at ? at - 1 : 0;
}

static void wrapping_newline(const struct wrapping *w, struct buf *out)
{
	const char *nl = memchr(w->text, '\n', w->len);

	buf_adds(out, nl && nl > w->text && nl[-1] == '\r' ? "\r\n" : "\n");
}

/* Begin a new line, with spaces up to the column of `at`. */
static void wrapping_line(const struct wrapping *w, size_t at, struct buf *out)
{
	size_t begin = at;

	wrapping_newline(w, out);
	while (begin > 0 && w->text[begin - 1] != '\n')
		begin--;
	for (; begin < at; begin++) {
		char c = w->text[begin] == '\t' ? '\t' : ' ';

		if ((w->text[begin] & 0xc0) != 0x80) /* one column for each character */
			buf_add(out, &c, 1);
	}
}

static void wrapping_into_block(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE), between = BUF_INIT(BUF_ANY_SIZE);
	size_t at = e->args->span.at;

	wrapping_line(w, at, &between);
	buf_adds(&text, "- ");
	buf_adds(&between, "- ");
	wrapping_words(w, e, between.data, &text);
	buf_add(&text, between.data, between.len);
	buf_add(&text, w->text + e->command->span.at, e->command->span.len);
	wrapping_line(w, at, &text);
	edits_add(out, (struct span){ at, 0 }, &text);
}

/* Is each member of this map on a line of its own? A new member then gets its own line, too. */
static bool wrapping_is_lines(const struct wrapping *w, const struct entry *e)
{
	return w->format != FORMAT_JSON && e->home->block;
}

/* Write the key `args` and the whole list. The words of a wrapped entry are written again. */
static void wrapping_new_args(const struct wrapping *w, const struct entry *e, struct span command,
			      struct buf *out)
{
	const struct node *c = e->command;

	if (w->format == FORMAT_TOML && e->home->block) /* the prefix a.b. of a.b.command */
		buf_add(out, w->text + c->key.at, c->key_last - c->key.at);
	buf_adds(out, w->format == FORMAT_JSON   ? "\"args\": ["
		      : w->format == FORMAT_TOML ? "args = ["
						 : "args: [");
	if (e->state == ENTRY_WRAPPED)
		wrapping_same_words(e, ",", out);
	else
		wrapping_words(w, e, ",", out);
	buf_adds(out, ",");
	buf_add(out, w->text + command.at, command.len);
	buf_adds(out, "]");
}

/* Write the white space before the key of the command, from its newline on; if there is no newline,
 * one space. */
static void wrapping_gap(const struct wrapping *w, const struct entry *e, struct buf *out)
{
	size_t at = e->command->key.at, begin = at;

	while (begin > 0 && (w->text[begin - 1] == ' ' || w->text[begin - 1] == '\t'))
		begin--;
	if (begin == 0 || w->text[begin - 1] != '\n') {
		buf_adds(out, " ");
		return;
	}
	wrapping_newline(w, out);
	buf_add(out, w->text + begin, at - begin);
}

/* There were no arguments: insert the member `args`. If each member has its own line, insert it
 * before the key of the command, because a comment may follow the command; else behind the
 * command. */
static void wrapping_insert(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	if (wrapping_is_lines(w, e)) {
		wrapping_new_args(w, e, e->command->span, &text);
		wrapping_line(w, e->command->key.at, &text);
		edits_add(out, (struct span){ e->command->key.at, 0 }, &text);
		return;
	}
	buf_adds(&text, ",");
	wrapping_gap(w, e, &text);
	wrapping_new_args(w, e, e->command->span, &text);
	edits_add(out, (struct span){ span_end(e->command->span), 0 }, &text);
}

void wrapping_wrap(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	assert(e->state == ENTRY_BARE);
	if (e->command->kind == NODE_LIST) {
		wrapping_into_words(w, e, out);
		return;
	}
	emit_quoted(&text, w->killick, strlen(w->killick));
	edits_add(out, e->command->span, &text);
	if (!e->args)
		wrapping_insert(w, e, out);
	else if (e->args->block)
		wrapping_into_block(w, e, out);
	else
		wrapping_into_list(w, e, out);
}

/* Write the bytes between the verb and the word behind it: these bytes separate new words, too.
 * Where these bytes have a comment, a comma separates the words; in a list without brackets the
 * check of the result then refuses the edit. */
static void wrapping_between(const struct wrapping *w, const struct entry *e, struct buf *out)
{
	size_t end = span_end(entry_word(e, e->verb)->span);
	size_t next = entry_word(e, e->verb + 1)->span.at;

	assert(end <= next);
	for (size_t at = end; at < next; at++)
		if (!w->text[at] || !strchr(" \t\r\n,-", w->text[at]))
			end = next;
	if (end < next)
		buf_add(out, w->text + end, next - end);
	else
		buf_adds(out, ", ");
}

void wrapping_move_to_hub(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE), between = BUF_INIT(BUF_ANY_SIZE);

	assert(w->hub && e->state == ENTRY_WRAPPED && e->inner > 0 && !e->hub);
	wrapping_between(w, e, &between);
	wrapping_verb(w, e, between.data, &text);
	edits_add(out, entry_word(e, e->verb)->span, &text);
}

/* Is a value wanted that is not the word with the index `at`? 0: the option is missing. */
static bool wrapping_value_differs(const struct entry *e, size_t at, const char *value)
{
	return value && (!at || !node_is(entry_word(e, at), value));
}

bool wrapping_options_differ(const struct wrapping *w, const struct entry *e)
{
	return wrapping_value_differs(e, e->share, w->share) ||
	       wrapping_value_differs(e, e->idle, w->idle);
}

/* Replace the values of options that are there. Insert `--share` behind the name, and `--idle`
 * behind `--share`. */
void wrapping_set_options(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf between = BUF_INIT(BUF_ANY_SIZE);
	const struct {
		const char *name, *value;
		size_t at;
	} options[] = { { "--share", w->share, e->share }, { "--idle", w->idle, e->idle } };
	size_t last = e->server_name ? e->server_name : e->verb;

	assert(w->hub && e->state == ENTRY_WRAPPED && e->inner > 0 && e->hub);
	wrapping_between(w, e, &between);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
		struct span old;

		if (options[i].at)
			last = options[i].at;
		if (!wrapping_value_differs(e, options[i].at, options[i].value))
			continue;
		old = entry_word(e, last)->span;
		if (options[i].at) {
			wrapping_word("", options[i].value, &text);
		} else {
			old = (struct span){ span_end(old), 0 };
			wrapping_option(w, options[i].name, options[i].value, between.data, &text);
		}
		edits_add(out, old, &text);
	}
}

void wrapping_set_killick(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	assert(e->state == ENTRY_WRAPPED && e->inner > 0 && e->lost);
	emit_quoted(&text, w->killick, strlen(w->killick));
	edits_add(out, entry_word(e, 0)->span, &text);
}

static void wrapping_remove(size_t from, size_t to, struct edits *out)
{
	AUTO(buf_done) struct buf nothing = BUF_INIT(BUF_ANY_SIZE);

	assert(from <= to);
	edits_add(out, (struct span){ from, to - from }, &nothing);
}

/* Did wrapping_insert make the member `args`? Then remove the member. To find out, make the text of
 * the insertion again and compare. */
static bool wrapping_uninsert(const struct wrapping *w, const struct entry *e,
			      const struct node *inner, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct span command = e->command->span;
	size_t from = e->args->key.at, to = span_end(e->args->span);

	if (e->verb != 1 || e->inner + 1 != entry_word_count(e))
		return false;
	if (wrapping_is_lines(w, e)) {
		to = e->command->key.at;
	} else {
		from = span_end(command);
		buf_adds(&text, ",");
		wrapping_gap(w, e, &text);
	}
	wrapping_new_args(w, e, inner->span, &text);
	if (wrapping_is_lines(w, e))
		wrapping_line(w, e->command->key.at, &text);
	if (from >= to || to - from != text.len || memcmp(w->text + from, text.data, text.len) != 0)
		return false;
	wrapping_remove(from, to, out);
	return true;
}

/* Remove the words up to the index `inner` from a list with brackets. */
static void wrapping_out_of_list(const struct wrapping *w, const struct node *list, size_t inner,
				 struct edits *out)
{
	size_t open = list->span.at + 1, end = span_end(list->items[inner]->span);
	struct span indent = wrapping_indent(w, list);
	bool last = inner + 1 == list->count;

	if (last) {
		size_t comma = end;

		while (comma < span_end(list->span) && strchr(" \t\r\n", w->text[comma]))
			comma++;
		wrapping_remove(open, w->text[comma] == ',' ? comma + 1 : end, out);
	} else if (!indent.len && w->text[end] == ',' && w->text[end + 1] == ' ') {
		wrapping_remove(open, end + 2, out);
	} else if (indent.len && w->text[end] == ',' &&
		   span_end(list->span) - end > indent.len + 1 &&
		   memcmp(w->text + end + 1, w->text + indent.at, indent.len) == 0) {
		wrapping_remove(open, end + 1, out);
	} else { /* another program wrote the file again */
		wrapping_remove(list->items[0]->span.at, list->items[inner + 1]->span.at, out);
	}
}

/* Remove the words up to the index `inner` from a list without brackets. */
static void wrapping_out_of_block(const struct wrapping *w, const struct entry *e, size_t inner,
				  struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	const struct node *list = e->args;

	if (inner + 1 < list->count) {
		wrapping_remove(wrapping_dash(w, list->items[0]),
				wrapping_dash(w, list->items[inner + 1]), out);
		return;
	}
	buf_adds(&text, ": []");
	edits_add(out,
		  (struct span){ span_end(list->key),
				 span_end(list->items[inner]->span) - span_end(list->key) },
		  &text);
}

void wrapping_unwrap(const struct wrapping *w, const struct entry *e, struct edits *out)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	const struct node *inner = entry_word(e, e->inner);

	assert(e->state == ENTRY_WRAPPED && e->inner > 0);
	if (e->command->kind == NODE_LIST) {
		wrapping_out_of_list(w, e->command, e->inner - 1, out);
		return;
	}
	buf_add(&text, w->text + inner->span.at, inner->span.len);
	edits_add(out, e->command->span, &text);
	if (wrapping_uninsert(w, e, inner, out))
		return;
	if (e->args->block)
		wrapping_out_of_block(w, e, e->inner - 1, out);
	else
		wrapping_out_of_list(w, e->args, e->inner - 1, out);
}
