/* toml_tree.c - see toml_tree.h
 *
 * A recursive descent over the text. A function that reads a part begins at r->p and sets r->p
 * behind this part; it returns 0, or -EBADMSG with r->fault set. The values of numbers and dates
 * are checked in toml_scalar.c.
 */
#include "toml_tree.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "toml_scalar.h"

enum { TOML_DEPTH = 64, TOML_PARTS = 64 };
static const size_t toml_nodes_max = 200000;

/* node.mark of a map or list: how it may be extended */
enum toml_mark {
	TOML_IMPLICIT,    /* [a.b] made the table a: it may be defined once, and extended */
	TOML_DEFINED,     /* made by a header: headers of tables below it may extend it */
	TOML_CLOSED,      /* an inline table or an array: complete */
	TOML_TABLE_ARRAY, /* by [[a]]: each header adds a table */
	TOML_DOTTED, /* plus `section`: dotted keys below the same header may extend this table */
};

struct toml_reader {
	const char *text, *p, *end;
	struct node *root;
	struct node *table; /* of the last header */
	size_t nodes;
	unsigned section; /* number of the last header */
	struct fault *fault;
	struct toml_slot *slots; /* the members of all tables, by hash */
	size_t slot_count, slots_used;
};

/* A hash table of all members: a table may have as many keys as a file, and each key is looked up,
 * which would take quadratic time with node_get. */
struct toml_slot {
	const struct node *table; /* NULL: the slot is free */
	struct node *member;
};

struct toml_key { /* a.b."c d": its parts, decoded */
	struct span span;
	size_t last; /* where the last part begins */
	char *parts[TOML_PARTS];
	size_t count;
};

static void toml_key_done(struct toml_key *k)
{
	while (k->count > 0)
		mem_drop(&k->parts[--k->count]);
}

/* Returns the slot of a member, or the free slot for it. */
static struct toml_slot *toml_slot(const struct toml_reader *r, const struct node *table,
				   const char *name)
{
	uint64_t hash = 14695981039346656037u ^ (uintptr_t)table >> 4;
	size_t i;

	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	hash ^= hash >> 32;
	for (i = hash & (r->slot_count - 1);; i = (i + 1) & (r->slot_count - 1)) {
		struct toml_slot *s = &r->slots[i];

		if (!s->table || (s->table == table && strcmp(s->member->name, name) == 0))
			return s;
	}
}

/* Returns the member of a table, or NULL. */
static struct node *toml_get(const struct toml_reader *r, const struct node *table,
			     const char *name)
{
	return r->slot_count && table->kind == NODE_MAP ? toml_slot(r, table, name)->member : NULL;
}

static void toml_grow_slots(struct toml_reader *r)
{
	struct toml_slot *old = r->slots;
	size_t count = r->slot_count;

	r->slot_count = count ? count * 2 : 64; /* a power of two */
	r->slots = mem_grow(NULL, r->slot_count, sizeof(*r->slots));
	memset(r->slots, 0, r->slot_count * sizeof(*r->slots));
	for (size_t i = 0; i < count; i++)
		if (old[i].table)
			*toml_slot(r, old[i].table, old[i].member->name) = old[i];
	mem_drop(&old);
}

/* Add a member with a new name to a table, or an item to a list. */
static void toml_add(struct toml_reader *r, struct node *parent, struct node *member)
{
	node_add(parent, member);
	if (parent->kind != NODE_MAP)
		return;
	if (2 * (r->slots_used + 1) > r->slot_count)
		toml_grow_slots(r);
	*toml_slot(r, parent, member->name) = (struct toml_slot){ parent, member };
	r->slots_used++;
}

static int toml_fault(struct toml_reader *r, const char *at, const char *reason)
{
	fault_set(r->fault, r->text, (size_t)(at - r->text), "%s", reason);
	return -EBADMSG;
}

static size_t toml_at(const struct toml_reader *r)
{
	return (size_t)(r->p - r->text);
}

static bool toml_is(const struct toml_reader *r, char c)
{
	return r->p < r->end && *r->p == c;
}

static bool toml_take(struct toml_reader *r, char c)
{
	if (!toml_is(r, c))
		return false;
	r->p++;
	return true;
}

static void toml_space(struct toml_reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t'))
		r->p++;
}

/* Skip LF or CRLF. */
static bool toml_newline(struct toml_reader *r)
{
	if (toml_take(r, '\n'))
		return true;
	if (r->end - r->p < 2 || r->p[0] != '\r' || r->p[1] != '\n')
		return false;
	r->p += 2;
	return true;
}

static bool toml_is_control(char c)
{
	return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

static int toml_comment(struct toml_reader *r)
{
	if (!toml_is(r, '#'))
		return 0;
	while (r->p < r->end && *r->p != '\n') {
		if (*r->p == '\r' && r->end - r->p > 1 && r->p[1] == '\n')
			break;
		if (toml_is_control(*r->p))
			return toml_fault(r, r->p, "a control character in a comment");
		r->p++;
	}
	return 0;
}

/* Skip spaces, comments and line ends. */
static int toml_gap(struct toml_reader *r)
{
	do {
		toml_space(r);
		if (toml_comment(r))
			return -EBADMSG;
	} while (toml_newline(r));
	return 0;
}

/* Skip the rest of the line of a header or a value: only a comment is allowed. */
static int toml_line_end(struct toml_reader *r)
{
	toml_space(r);
	if (toml_comment(r))
		return -EBADMSG;
	if (r->p < r->end && !toml_newline(r))
		return toml_fault(r, r->p, "a new line was expected");
	return 0;
}

static int toml_add_code(struct toml_reader *r, unsigned long code, const char *at, struct buf *out)
{
	char c[4];
	size_t n = 0;

	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return toml_fault(r, at, "an escape is not a Unicode character");
	if (code == 0)
		code = 0xfffd; /* the result is a C string, so NUL is replaced */
	if (code < 0x80) {
		c[n++] = (char)code;
	} else if (code < 0x800) {
		c[n++] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		c[n++] = (char)(0xe0 | code >> 12);
		c[n++] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		c[n++] = (char)(0xf0 | code >> 18);
		c[n++] = (char)(0x80 | (code >> 12 & 0x3f));
		c[n++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		c[n++] = (char)(0x80 | (code & 0x3f));
	return buf_add(out, c, n);
}

static int toml_hex(struct toml_reader *r, size_t digits, const char *at, struct buf *out)
{
	unsigned long code = 0;

	for (size_t i = 0; i < digits; i++, r->p++) {
		char c = r->p < r->end ? *r->p : ' ';

		if (c >= '0' && c <= '9')
			code = code << 4 | (unsigned long)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			code = code << 4 | (unsigned long)((c | 0x20) - 'a' + 10);
		else
			return toml_fault(r, at, "an escape has too few hexadecimal digits");
	}
	return toml_add_code(r, code, at, out);
}

/* A backslash ends the line: skip white space up to the next text. */
static int toml_fold(struct toml_reader *r)
{
	const char *at = r->p;

	toml_space(r);
	if (!toml_newline(r))
		return toml_fault(r, at, "an unknown escape");
	do
		toml_space(r);
	while (toml_newline(r));
	return 0;
}

/* Decode an escape; r->p is behind the backslash. */
static int toml_escape(struct toml_reader *r, bool lines, struct buf *out)
{
	static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
	const char *at = r->p - 1, *found;

	if (r->p == r->end)
		return toml_fault(r, at, "a string is not closed");
	if (lines && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n'))
		return toml_fold(r);
	if (*r->p == 'u' || *r->p == 'U' || *r->p == 'x') {
		size_t digits = *r->p == 'u' ? 4 : *r->p == 'U' ? 8 : 2;

		r->p++;
		return toml_hex(r, digits, at, out);
	}
	found = memchr(from, *r->p, sizeof(from) - 1);
	if (!found)
		return toml_fault(r, at, "an unknown escape");
	r->p++;
	return buf_add(out, &to[found - from], 1);
}

/* Read up to the closing quote on the same line; r->p is behind the opening quote. */
static int toml_short_string(struct toml_reader *r, char quote, struct buf *out)
{
	const char *open = r->p - 1;

	while (r->p < r->end && *r->p != '\n' && *r->p != '\r') {
		char c = *r->p++;

		if (c == quote)
			return 0;
		if (toml_is_control(c))
			return toml_fault(r, r->p - 1, "a control character in a string");
		if (c == '\\' && quote == '"') {
			if (toml_escape(r, false, out))
				return -EBADMSG;
			continue;
		}
		buf_add(out, &c, 1);
	}
	return toml_fault(r, open, "a string is not closed on its line");
}

/* Count the quotes at r->p, up to five: two may be in front of the closing three. */
static size_t toml_quotes(const struct toml_reader *r, char quote)
{
	size_t n = 0;

	while (n < 5 && r->p + n < r->end && r->p[n] == quote)
		n++;
	return n;
}

static int toml_long_string(struct toml_reader *r, char quote, struct buf *out)
{
	const char *open = r->p - 3;

	toml_newline(r); /* a newline right behind the quotes is not part of the string */
	while (r->p < r->end) {
		size_t n = toml_quotes(r, quote);
		char c = *r->p;

		if (n >= 3) {
			buf_add(out, r->p, n - 3);
			r->p += n;
			return 0;
		}
		if (toml_newline(r)) {
			buf_add(out, "\n", 1);
			continue;
		}
		if (toml_is_control(c))
			return toml_fault(r, r->p, "a control character in a string");
		r->p++;
		if (c != '\\' || quote != '"')
			buf_add(out, &c, 1);
		else if (toml_escape(r, true, out))
			return -EBADMSG;
	}
	return toml_fault(r, open, "a string is not closed");
}

/* Read the string at r->p, which is of one of four kinds. */
static int toml_string(struct toml_reader *r, bool may_be_long, char **out)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	char quote = *r->p;
	int error;

	buf_adds(&b, "");
	if (toml_quotes(r, quote) >= 3) {
		if (!may_be_long)
			return toml_fault(r, r->p, "a string of several lines cannot be a key");
		r->p += 3;
		error = toml_long_string(r, quote, &b);
	} else {
		r->p++;
		error = toml_short_string(r, quote, &b);
	}
	if (error)
		return -EBADMSG;
	*out = b.data ? buf_take(&b) : mem_dup("");
	return 0;
}

static bool toml_is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static int toml_key_part(struct toml_reader *r, struct toml_key *k)
{
	const char *at = r->p;

	if (k->count == TOML_PARTS)
		return toml_fault(r, at, "a key has too many parts");
	k->last = toml_at(r);
	if (toml_is(r, '"') || toml_is(r, '\'')) {
		if (toml_string(r, false, &k->parts[k->count]))
			return -EBADMSG;
	} else {
		while (r->p < r->end && toml_is_bare(*r->p))
			r->p++;
		if (r->p == at)
			return toml_fault(r, at, "a key was expected");
		k->parts[k->count] = mem_text(at, (size_t)(r->p - at));
	}
	k->count++;
	return 0;
}

static int toml_key(struct toml_reader *r, struct toml_key *k)
{
	k->span.at = toml_at(r);
	do {
		toml_space(r);
		if (toml_key_part(r, k))
			return -EBADMSG;
		k->span.len = toml_at(r) - k->span.at;
		toml_space(r);
	} while (toml_take(r, '.'));
	return 0;
}

static int toml_value(struct toml_reader *r, unsigned depth, struct node **out);

static int toml_array(struct toml_reader *r, unsigned depth, struct node *list)
{
	const char *open = r->p++;

	for (;;) {
		struct node *item = NULL;

		if (toml_gap(r))
			return -EBADMSG;
		if (toml_take(r, ']'))
			break;
		if (r->p == r->end)
			return toml_fault(r, open, "an array is not closed");
		if (toml_value(r, depth, &item))
			return -EBADMSG;
		node_add(list, item);
		if (toml_gap(r))
			return -EBADMSG;
		if (r->p < r->end && !toml_take(r, ',') && !toml_is(r, ']'))
			return toml_fault(r, r->p, "a comma or ] was expected in an array");
	}
	list->mark = TOML_CLOSED;
	list->span.len = toml_at(r) - list->span.at;
	return 0;
}

static int toml_member(struct toml_reader *r, struct node *table, unsigned depth);

static int toml_inline_table(struct toml_reader *r, unsigned depth, struct node *map)
{
	const char *open = r->p++;

	for (;;) {
		if (toml_gap(r))
			return -EBADMSG;
		if (toml_take(r, '}'))
			break;
		if (r->p == r->end)
			return toml_fault(r, open, "an inline table is not closed");
		if (toml_member(r, map, depth) || toml_gap(r))
			return -EBADMSG;
		if (r->p < r->end && !toml_take(r, ',') && !toml_is(r, '}'))
			return toml_fault(r, r->p, "a comma or } was expected in an inline table");
	}
	map->mark = TOML_CLOSED;
	map->span.len = toml_at(r) - map->span.at;
	return 0;
}

/* Read a number, a date or a boolean. */
static int toml_scalar(struct toml_reader *r, struct node **out)
{
	size_t len = toml_scalar_len(r->p, (size_t)(r->end - r->p));
	enum node_kind kind;

	if (!toml_scalar_kind(r->p, len, &kind))
		return toml_fault(r, r->p,
				  len ? "a value is not understood; strings need quotes"
				      : "a value was expected");
	*out = node_new(kind, toml_at(r), len);
	(*out)->text = mem_text(r->p, len);
	r->p += len;
	return 0;
}

static int toml_value(struct toml_reader *r, unsigned depth, struct node **out)
{
	AUTO(node_drop) struct node *n = NULL;
	char c = r->p < r->end ? *r->p : '\0';
	int error;

	if (depth > TOML_DEPTH || ++r->nodes > toml_nodes_max)
		return toml_fault(r, r->p, "too many values, or nested too deep");
	if (c == '"' || c == '\'') {
		n = node_new(NODE_STRING, toml_at(r), 0);
		error = toml_string(r, true, &n->text);
		n->span.len = toml_at(r) - n->span.at;
	} else if (c == '[') {
		n = node_new(NODE_LIST, toml_at(r), 0);
		error = toml_array(r, depth + 1, n);
	} else if (c == '{') {
		n = node_new(NODE_MAP, toml_at(r), 0);
		error = toml_inline_table(r, depth + 1, n);
	} else {
		error = toml_scalar(r, &n);
	}
	if (error)
		return -EBADMSG;
	*out = n;
	n = NULL;
	return 0;
}

static struct node *toml_new_table(struct toml_reader *r, struct node *parent, const char *name,
				   const struct toml_key *k, unsigned mark)
{
	struct node *n = node_new(NODE_MAP, k->span.at, k->span.len);

	n->name = mem_dup(name);
	n->key = k->span;
	n->key_last = k->last;
	n->mark = mark;
	n->block = true;
	toml_add(r, parent, n);
	return n;
}

/* Find or make the table that gets the last part of a dotted key. */
static int toml_descend(struct toml_reader *r, struct node **table, const struct toml_key *k)
{
	for (size_t i = 0; i + 1 < k->count; i++) {
		struct node *next = toml_get(r, *table, k->parts[i]);

		if (!next) {
			next = toml_new_table(r, *table, k->parts[i], k, TOML_DOTTED + r->section);
		} else if (next->kind != NODE_MAP || next->mark != TOML_DOTTED + r->section) {
			return toml_fault(r, r->text + k->span.at,
					  "a dotted key extends a value that is complete");
		}
		*table = next;
	}
	return 0;
}

/* Read key = value. */
static int toml_member(struct toml_reader *r, struct node *table, unsigned depth)
{
	AUTO(toml_key_done) struct toml_key k = { .count = 0 };
	struct node *value = NULL;

	if (toml_key(r, &k))
		return -EBADMSG;
	if (!toml_take(r, '='))
		return toml_fault(r, r->p, "= was expected behind a key");
	toml_space(r);
	if (toml_descend(r, &table, &k))
		return -EBADMSG;
	if (toml_get(r, table, k.parts[k.count - 1]))
		return toml_fault(r, r->text + k.span.at, "a key is defined twice");
	if (toml_value(r, depth, &value))
		return -EBADMSG;
	value->key = k.span;
	value->key_last = k.last;
	value->name = k.parts[k.count - 1];
	k.parts[k.count - 1] = NULL;
	toml_add(r, table, value);
	return 0;
}

/* Find or make the table above the table that a header names. */
static int toml_header_parent(struct toml_reader *r, const struct toml_key *k, struct node **out)
{
	struct node *table = r->root;

	for (size_t i = 0; i + 1 < k->count; i++) {
		struct node *next = toml_get(r, table, k->parts[i]);

		if (!next)
			next = toml_new_table(r, table, k->parts[i], k, TOML_IMPLICIT);
		if (next->kind == NODE_LIST && next->mark == TOML_TABLE_ARRAY)
			next = next->items[next->count - 1];
		else if (next->kind != NODE_MAP || next->mark == TOML_CLOSED)
			return toml_fault(r, r->text + k->span.at,
					  "a table is inside a value that is complete");
		table = next;
	}
	*out = table;
	return 0;
}

/* Carry out [name]. */
static int toml_define(struct toml_reader *r, struct node *parent, const struct toml_key *k)
{
	const char *name = k->parts[k->count - 1];
	struct node *found = toml_get(r, parent, name);

	if (found && (found->kind != NODE_MAP || found->mark != TOML_IMPLICIT))
		return toml_fault(r, r->text + k->span.at, "a table is defined twice");
	if (!found)
		found = toml_new_table(r, parent, name, k, TOML_DEFINED);
	found->mark = TOML_DEFINED;
	found->span = found->key = k->span;
	found->key_last = k->last;
	r->table = found;
	return 0;
}

/* Carry out [[name]]. */
static int toml_append(struct toml_reader *r, struct node *parent, const struct toml_key *k)
{
	const char *name = k->parts[k->count - 1];
	struct node *found = toml_get(r, parent, name);

	if (found && (found->kind != NODE_LIST || found->mark != TOML_TABLE_ARRAY))
		return toml_fault(r, r->text + k->span.at, "this is not an array of tables");
	if (!found) {
		found = toml_new_table(r, parent, name, k, TOML_TABLE_ARRAY);
		found->kind = NODE_LIST;
	}
	r->table = toml_new_table(r, found, name, k, TOML_DEFINED);
	return 0;
}

static int toml_header(struct toml_reader *r)
{
	AUTO(toml_key_done) struct toml_key k = { .count = 0 };
	struct node *parent = NULL;
	bool array;

	r->p++;
	array = toml_take(r, '[');
	toml_space(r);
	r->section++;
	if (toml_key(r, &k))
		return -EBADMSG;
	if (!toml_take(r, ']') || (array && !toml_take(r, ']')))
		return toml_fault(r, r->p, "] was expected behind the name of a table");
	if (++r->nodes > toml_nodes_max)
		return toml_fault(r, r->p, "too many values");
	if (toml_header_parent(r, &k, &parent))
		return -EBADMSG;
	return array ? toml_append(r, parent, &k) : toml_define(r, parent, &k);
}

static int toml_check_utf8(struct toml_reader *r)
{
	for (const char *p = r->p; p < r->end;) {
		size_t n = utf8_len(p, (size_t)(r->end - p));

		if (!n)
			return toml_fault(r, p, "a character is not UTF-8");
		p += n;
	}
	return 0;
}

static int toml_document(struct toml_reader *r)
{
	if (toml_check_utf8(r))
		return -EBADMSG;
	for (;;) {
		if (toml_gap(r))
			return -EBADMSG;
		if (r->p == r->end)
			return 0;
		if (toml_is(r, '[') ? toml_header(r) : toml_member(r, r->table, 0))
			return -EBADMSG;
		if (toml_line_end(r))
			return -EBADMSG;
	}
}

int toml_tree(const char *text, size_t len, struct node **out_root, struct fault *fault)
{
	AUTO(node_drop) struct node *root = node_new(NODE_MAP, 0, len);
	struct toml_reader r = { .text = text,
				 .p = text,
				 .end = text + len,
				 .root = root,
				 .table = root,
				 .fault = fault };
	int error;

	root->block = true;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.p += 3;
	error = toml_document(&r);
	mem_drop(&r.slots);
	if (error)
		return error;
	*out_root = root;
	root = NULL;
	return 0;
}
