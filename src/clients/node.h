/* node.h - a value of a config file, with its position in the bytes of the file.
 *
 * The readers of JSON, TOML and YAML make nodes, so that the code that looks for servers and plans
 * edits does not know the format. A node never changes the text: edits are made from the spans.
 *
 * Life: node_new -> node_add, which gives a node to its parent -> node_free of the outermost node.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct span { /* bytes of the text */
	size_t at, len;
};
static inline size_t span_end(struct span s)
{
	return s.at + s.len;
}

enum node_kind {
	NODE_STRING,
	NODE_BOOL,
	NODE_NUMBER,
	NODE_NULL,
	NODE_OTHER, /* a date, an alias */
	NODE_LIST,
	NODE_MAP,
};

struct node {
	enum node_kind kind;
	bool block;        /* a list or map without brackets */
	unsigned mark;     /* private to the reader that made the node */
	struct span span;  /* the value as written, with its quotes or brackets */
	struct span key;   /* member of a map: its key as written; TOML: with all its dots */
	size_t key_last;   /* TOML: where the last part of the key begins; else key.at */
	char *name;        /* the key, decoded; NULL: not a member of a map */
	char *text;        /* scalar: its decoded text; NULL for lists and maps */
	const char *fixed; /* why these bytes cannot be moved, as a sentence; NULL: they can */
	struct node **items;
	size_t count, capacity;
};

struct fault { /* why a text was refused */
	unsigned line;
	char reason[160];
};

struct node *node_new(enum node_kind kind, size_t at, size_t len);
/* Append an item to a list or map; the item belongs to the parent from then on. */
void node_add(struct node *parent, struct node *item);
void node_free(struct node *n); /* NULL is allowed */
void node_drop(struct node **n);

/* Returns the last member with this name; NULL if there is none or n is no map. n may be NULL. */
struct node *node_get(const struct node *n, const char *name);
/* Returns the number of members with this name. */
size_t node_times(const struct node *n, const char *name);
/* Returns the decoded string; NULL if n is NULL or no string. */
const char *node_string(const struct node *n);
/* Is n a string with this text? */
bool node_is(const struct node *n, const char *text);
/* Is n the boolean `value`? */
bool node_is_bool(const struct node *n, bool value);

/* Fill in *f for the byte `at` of text, and return -EBADMSG. */
int fault_set(struct fault *f, const char *text, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Returns the line number of byte `at`, from 1. */
unsigned fault_line(const char *text, size_t at);
