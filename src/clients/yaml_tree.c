/* yaml_tree.c - see yaml_tree.h */
#include "yaml_tree.h"

#include <errno.h>

#ifndef KILLICK_NO_YAML
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/auto.h"
#include "base/mem.h"

enum { YAML_DEPTH = 64 };
static const size_t yaml_nodes_max = 200000;

struct yaml_reader {
	yaml_parser_t parser;
	const char *text;
	size_t len;
	/* libyaml counts characters: the character with the number `index` begins at byte `at` */
	size_t at, index;
	size_t nodes;
	struct fault *fault;
};

/* Returns the byte of a position. Positions usually increase, but an event of a block may end
 * before its beginning. */
static size_t yaml_tree_byte(struct yaml_reader *r, const yaml_mark_t *m)
{
	while (r->index < m->index && r->at < r->len) {
		do
			r->at++;
		while (r->at < r->len && (r->text[r->at] & 0xc0) == 0x80);
		r->index++;
	}
	while (r->index > m->index && r->at > 0) {
		do
			r->at--;
		while (r->at > 0 && (r->text[r->at] & 0xc0) == 0x80);
		r->index--;
	}
	return r->at;
}

static int yaml_tree_refuse(struct yaml_reader *r, const yaml_event_t *ev, const char *reason)
{
	fault_set(r->fault, r->text, yaml_tree_byte(r, &ev->start_mark), "%s", reason);
	return -EBADMSG;
}

static int yaml_tree_next(struct yaml_reader *r, yaml_event_t *ev)
{
	const yaml_parser_t *p = &r->parser;

	if (yaml_parser_parse(&r->parser, ev))
		return 0;
	r->fault->line = (unsigned)p->problem_mark.line + 1;
	snprintf(r->fault->reason, sizeof(r->fault->reason), "%s",
		 p->problem ? p->problem : "not YAML");
	return -EBADMSG;
}

/* A plain scalar is a string, unless its text has the form of another type. */
static enum node_kind yaml_tree_plain(const char *s)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
	static const char *const bools[] = { "true", "True", "TRUE", "false", "False", "FALSE" };

	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
		if (strcmp(s, nulls[i]) == 0)
			return NODE_NULL;
	for (size_t i = 0; i < sizeof(bools) / sizeof(bools[0]); i++)
		if (strcmp(s, bools[i]) == 0)
			return NODE_BOOL;
	if (strspn(s, "+-.0123456789_eExabcdfABCDF") == strlen(s) && strpbrk(s, "0123456789") &&
	    (strchr("+-.", *s) || (*s >= '0' && *s <= '9')))
		return NODE_NUMBER;
	return NODE_STRING;
}

static struct node *yaml_tree_scalar(struct yaml_reader *r, const yaml_event_t *ev)
{
	const char *value = (const char *)ev->data.scalar.value;
	yaml_scalar_style_t style = ev->data.scalar.style;
	size_t at = yaml_tree_byte(r, &ev->start_mark);
	size_t end = yaml_tree_byte(r, &ev->end_mark);
	struct node *n = node_new(NODE_STRING, at, end - at);

	if (style == YAML_PLAIN_SCALAR_STYLE)
		n->kind = yaml_tree_plain(value);
	n->text = mem_text(value, strnlen(value, ev->data.scalar.length));
	if (n->kind == NODE_BOOL && *value < 'a')
		n->text[0] = (char)(*value | 0x20); /* True and TRUE mean true */
	if (ev->data.scalar.anchor || ev->data.scalar.tag)
		n->fixed = "a value with an anchor or a tag cannot be moved";
	else if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE ||
		 memchr(r->text + at, '\n', end - at))
		n->fixed = "a value of several lines cannot be moved";
	else if (style == YAML_PLAIN_SCALAR_STYLE && strpbrk(value, ",[]{}"))
		n->fixed = "a value without quotes that has one of , [ ] { } cannot be moved";
	return n;
}

static int yaml_tree_value(struct yaml_reader *r, yaml_event_t *ev, unsigned depth,
			   struct node **out);

/* Read the members of the list or map n, up to its end. */
static int yaml_tree_items(struct yaml_reader *r, struct node *n, unsigned depth)
{
	yaml_event_t ev;
	int error;

	for (;;) {
		AUTO(node_drop) struct node *key = NULL;
		struct node *value = NULL;

		error = yaml_tree_next(r, &ev);
		if (error)
			return error;
		if (ev.type == YAML_SEQUENCE_END_EVENT || ev.type == YAML_MAPPING_END_EVENT) {
			n->span.len = yaml_tree_byte(r, &ev.end_mark) - n->span.at;
			yaml_event_delete(&ev);
			return 0;
		}
		if (n->kind == NODE_MAP) {
			error = yaml_tree_value(r, &ev, depth, &key);
			if (error || (error = yaml_tree_next(r, &ev)) != 0)
				return error;
		}
		error = yaml_tree_value(r, &ev, depth, &value);
		if (error)
			return error;
		if (key) {
			value->key = key->span;
			value->key_last = key->span.at;
			value->name = key->text;
			key->text = NULL;
			if (strcmp(value->name ? value->name : "", "<<") == 0)
				n->fixed = "a map with a merge key (<<) has members from elsewhere";
		}
		node_add(n, value);
	}
}

static struct node *yaml_tree_container(struct yaml_reader *r, const yaml_event_t *ev)
{
	bool list = ev->type == YAML_SEQUENCE_START_EVENT;
	size_t at = yaml_tree_byte(r, &ev->start_mark);
	struct node *n = node_new(list ? NODE_LIST : NODE_MAP, at, 0);

	if (list ? ev->data.sequence_start.anchor || ev->data.sequence_start.tag
		 : ev->data.mapping_start.anchor || ev->data.mapping_start.tag)
		n->fixed = "a value with an anchor or a tag cannot be moved";
	n->block = r->text[at] != '[' && r->text[at] != '{';
	return n;
}

/* Read the value that begins with this event; deletes the event. */
static int yaml_tree_value(struct yaml_reader *r, yaml_event_t *ev, unsigned depth,
			   struct node **out)
{
	AUTO(node_drop) struct node *n = NULL;
	int error = 0;

	if (depth > YAML_DEPTH || ++r->nodes > yaml_nodes_max)
		error = yaml_tree_refuse(r, ev, "too many values, or nested too deep");
	else if (ev->type == YAML_SCALAR_EVENT)
		n = yaml_tree_scalar(r, ev);
	else if (ev->type == YAML_ALIAS_EVENT) {
		n = node_new(NODE_OTHER, yaml_tree_byte(r, &ev->start_mark), 0);
		n->fixed = "an alias cannot be moved";
	} else if (ev->type == YAML_SEQUENCE_START_EVENT || ev->type == YAML_MAPPING_START_EVENT)
		n = yaml_tree_container(r, ev);
	else
		error = yaml_tree_refuse(r, ev, "a value was expected");
	yaml_event_delete(ev);
	if (!error && (n->kind == NODE_LIST || n->kind == NODE_MAP))
		error = yaml_tree_items(r, n, depth + 1);
	if (error)
		return error;
	*out = n;
	n = NULL;
	return 0;
}

/* Read the only document of the stream. */
static int yaml_tree_document(struct yaml_reader *r, struct node **out)
{
	AUTO(node_drop) struct node *root = NULL;
	yaml_event_t ev;
	int error;

	for (;;) {
		error = yaml_tree_next(r, &ev);
		if (error)
			return error;
		if (ev.type == YAML_STREAM_END_EVENT) {
			yaml_event_delete(&ev);
			break;
		}
		if (ev.type == YAML_STREAM_START_EVENT || ev.type == YAML_DOCUMENT_END_EVENT) {
			yaml_event_delete(&ev);
			continue;
		}
		if (ev.type == YAML_DOCUMENT_START_EVENT) {
			if (root)
				error = yaml_tree_refuse(r, &ev, "there is a second document");
			yaml_event_delete(&ev);
		} else {
			error = yaml_tree_value(r, &ev, 0, &root);
		}
		if (error)
			return error;
	}
	*out = root;
	root = NULL;
	return 0;
}

int yaml_tree(const char *text, size_t len, struct node **out_root, struct fault *fault)
{
	struct yaml_reader r = { .text = text, .len = len, .fault = fault };
	int error;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.at = 3; /* libyaml does not count the byte order mark */
	if (!yaml_parser_initialize(&r.parser))
		mem_exhausted();
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text + r.at, len - r.at);
	error = yaml_tree_document(&r, out_root);
	yaml_parser_delete(&r.parser);
	return error;
}

bool yaml_tree_is_built(void)
{
	return true;
}

#else /* KILLICK_NO_YAML */

int yaml_tree(const char *text, size_t len, struct node **out_root, struct fault *fault)
{
	(void)len;
	(void)out_root;
	return fault_set(fault, text, 0,
			 "killick was built without libyaml, so YAML files are left alone");
}

bool yaml_tree_is_built(void)
{
	return false;
}
#endif
