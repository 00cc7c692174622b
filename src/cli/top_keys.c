/* top_keys.c - see top_keys.h */
#include "top_keys.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum top_key { /* beside characters */
	       TOP_KEY_NONE = 256,
	       TOP_KEY_UP,
	       TOP_KEY_DOWN,
	       TOP_KEY_LEFT,
	       TOP_KEY_RIGHT,
	       TOP_KEY_FIRST,
	       TOP_KEY_LAST,
	       TOP_KEY_PAGE_UP,
	       TOP_KEY_PAGE_DOWN,
	       TOP_KEY_MORE, /* the key is not complete */
};

enum { TOP_PAGE = 10 };

const char *top_keys_word(enum top_order order)
{
	static const char *const words[] = { "", "stop", "restart", "rest" };

	return words[order];
}

size_t top_keys_selected(const struct top_keys *k, const struct top_model *m)
{
	for (size_t i = 0; i < m->server_count; i++)
		if (strcmp(m->servers[i].id, k->selected) == 0)
			return i;
	for (size_t i = 0; i < m->session_count; i++)
		if (strcmp(m->sessions[i].id, k->selected) == 0)
			return m->server_count + i;
	return 0;
}

const struct top_server *top_keys_server(const struct top_keys *k, const struct top_model *m)
{
	size_t at = top_keys_selected(k, m);

	return at < m->server_count ? &m->servers[at] : NULL;
}

/* The key that an escape sequence means. */
static int top_keys_escape(const char *text)
{
	static const struct {
		const char *text;
		enum top_key key;
	} keys[] = {
		{ "\033[A", TOP_KEY_UP },       { "\033OA", TOP_KEY_UP },
		{ "\033[B", TOP_KEY_DOWN },     { "\033OB", TOP_KEY_DOWN },
		{ "\033[C", TOP_KEY_RIGHT },    { "\033OC", TOP_KEY_RIGHT },
		{ "\033[D", TOP_KEY_LEFT },     { "\033OD", TOP_KEY_LEFT },
		{ "\033[H", TOP_KEY_FIRST },    { "\033OH", TOP_KEY_FIRST },
		{ "\033[1~", TOP_KEY_FIRST },   { "\033[F", TOP_KEY_LAST },
		{ "\033OF", TOP_KEY_LAST },     { "\033[4~", TOP_KEY_LAST },
		{ "\033[5~", TOP_KEY_PAGE_UP }, { "\033[6~", TOP_KEY_PAGE_DOWN },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].text, text) == 0)
			return keys[i].key;
	return TOP_KEY_NONE;
}

/* Add one byte. Escape alone is a key, too: a byte that does not continue a sequence ends it. */
static int top_keys_feed(struct top_keys *k, char byte)
{
	unsigned char c = (unsigned char)byte;

	if (k->rest_len == 0 && c != '\033')
		return c < 128 ? c : TOP_KEY_NONE;
	if (k->rest_len == 1 && c != '[' && c != 'O') {
		k->rest_len = 0;
		return c == '\033' ? '\033' : c;
	}
	k->rest[k->rest_len++] = byte;
	k->rest[k->rest_len] = '\0';
	if (k->rest_len < 3)
		return TOP_KEY_MORE;
	if ((c >= '0' && c <= '9') || c == ';')
		if (k->rest_len + 1 < sizeof(k->rest))
			return TOP_KEY_MORE;
	k->rest_len = 0;
	return top_keys_escape(k->rest);
}

static void top_keys_select(struct top_keys *k, const struct top_model *m, size_t index)
{
	size_t count = m->server_count + m->session_count;

	if (count == 0)
		return;
	if (index >= count)
		index = count - 1;
	snprintf(k->selected, sizeof(k->selected), "%s",
		 index < m->server_count ? m->servers[index].id
					 : m->sessions[index - m->server_count].id);
}

static void top_keys_fold(struct top_keys *k, const struct top_model *m, int key)
{
	const struct top_server *s = top_keys_server(k, m);
	bool open = s && strcmp(k->unfolded, s->id) == 0;

	if (!s)
		return;
	if (key == TOP_KEY_LEFT || (open && key != TOP_KEY_RIGHT))
		k->unfolded[0] = '\0';
	else
		snprintf(k->unfolded, sizeof(k->unfolded), "%s", s->id);
	top_keys_select(k, m, top_keys_selected(k, m));
}

static void top_keys_ask(struct top_keys *k, const struct top_model *m, enum top_order order)
{
	const struct top_server *s = top_keys_server(k, m);

	if (!s)
		return;
	if (s->tree && order != TOP_STOP) {
		snprintf(k->note, sizeof(k->note),
			 "%s is held by `killick run`, not by the hub: it can only be stopped",
			 s->name);
		k->note_bad = true;
		return;
	}
	if (s->refused) {
		snprintf(k->note, sizeof(k->note),
			 "%s has an error in its config and does not run: correct the config, then "
			 "`killick hub reload`",
			 s->name);
		k->note_bad = true;
		return;
	}
	k->asked = order;
	k->asked_sessions = s->sessions;
	k->asked_tree = s->tree != NULL;
	snprintf(k->asked_id, sizeof(k->asked_id), "%s", s->id);
	snprintf(k->asked_name, sizeof(k->asked_name), "%s", s->name);
}

/* Keys that move the selection; the new index. */
static size_t top_keys_move(size_t at, size_t count, int key)
{
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		return at ? at - 1 : 0;
	case TOP_KEY_DOWN:
	case 'j':
		return at + 1;
	case TOP_KEY_PAGE_UP:
		return at > TOP_PAGE ? at - TOP_PAGE : 0;
	case TOP_KEY_PAGE_DOWN:
		return at + TOP_PAGE;
	case TOP_KEY_FIRST:
	case 'g':
		return 0;
	case TOP_KEY_LAST:
	case 'G':
		return count;
	default:
		return at;
	}
}

static void top_keys_press_row(struct top_keys *k, const struct top_model *m, int key)
{
	size_t at = top_keys_selected(k, m);
	size_t to = top_keys_move(at, m->server_count + m->session_count, key);

	if (to != at)
		top_keys_select(k, m, to);
	else if (key == '\r' || key == '\n' || key == ' ' || key == TOP_KEY_RIGHT ||
		 key == TOP_KEY_LEFT)
		top_keys_fold(k, m, key);
	else if (key == 'x')
		top_keys_ask(k, m, TOP_STOP);
	else if (key == 'r')
		top_keys_ask(k, m, TOP_RESTART);
	else if (key == 'z')
		top_keys_ask(k, m, TOP_REST);
}

static enum top_order top_keys_press(struct top_keys *k, const struct top_model *m, int key)
{
	enum top_order asked = k->asked;

	assert(key != TOP_KEY_MORE);
	if (asked) {
		k->asked = TOP_NO_ORDER;
		return key == 'y' || key == 'Y' ? asked : TOP_NO_ORDER;
	}
	k->note[0] = '\0';
	k->note_bad = false;
	if (key == 'q' || key == 'Q')
		k->quit = true;
	else if (key == 's')
		k->sort = (k->sort + 1) % TOP_SORTS;
	else if (key == 'S')
		k->sort = (k->sort + TOP_SORTS - 1) % TOP_SORTS;
	else if (key == '\033')
		k->unfolded[0] = '\0';
	else
		top_keys_press_row(k, m, key);
	return TOP_NO_ORDER;
}

enum top_order top_keys_read(struct top_keys *k, const struct top_model *m, const char *bytes,
			     size_t len)
{
	for (size_t i = 0; i < len && !k->quit; i++) {
		int key = top_keys_feed(k, bytes[i]);
		enum top_order order;

		/* Escape alone: nothing follows in the same read */
		if (key == TOP_KEY_MORE && k->rest_len == 1 && i + 1 == len) {
			k->rest_len = 0;
			key = '\033';
		}
		order = key == TOP_KEY_MORE ? TOP_NO_ORDER : top_keys_press(k, m, key);
		if (order)
			return order;
	}
	return TOP_NO_ORDER;
}
