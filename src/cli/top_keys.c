/* top_keys.c - see top_keys.h */
#include "top_keys.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

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

enum { TOP_PAGE = 10, NOTE_NAME = 32 };

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

	if (!s && m->session_count)
		top_keys_say(k, true, "a session cannot be unfolded; select a server");
	if (!s)
		return;
	if (key == TOP_KEY_LEFT || (open && key != TOP_KEY_RIGHT))
		k->unfolded[0] = '\0';
	else
		snprintf(k->unfolded, sizeof(k->unfolded), "%s", s->id);
	top_keys_select(k, m, top_keys_selected(k, m));
}

void top_keys_say(struct top_keys *k, bool bad, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->note, sizeof(k->note), fmt, ap);
	va_end(ap);
	k->note_bad = bad;
	k->note_stays = false;
	k->note_until = 0;
}

int top_keys_expire(struct top_keys *k, int64_t now_us)
{
	if (!*k->note || k->note_stays)
		return -1;
	if (!k->note_until)
		k->note_until = now_us + TOP_NOTE_MS * 1000LL;
	if (now_us < k->note_until)
		return (int)((k->note_until - now_us + 999) / 1000);
	top_keys_say(k, false, "%s", "");
	return -1;
}

/* Why a server of the hub in this state cannot stop or rest; NULL: it can. The hub tells whether a
 * server that is "gone" ran. */
static const char *top_keys_state_forbids(const char *state, enum top_order order)
{
	if (order == TOP_RESTART)
		return NULL;
	if (strcmp(state, "resting") == 0)
		return order == TOP_REST ? "rests already" : "rests: there is no process to stop";
	if (strcmp(state, "failed") == 0)
		return "has failed: there is no process to end";
	if (strcmp(state, "idle") == 0 || (strcmp(state, "gone") == 0 && order == TOP_REST))
		return "does not run";
	return NULL;
}

bool top_keys_may(const struct top_keys *k, const struct top_model *m, enum top_order order,
		  char *out_why, size_t size)
{
	const struct top_server *s = top_keys_server(k, m);
	size_t at = top_keys_selected(k, m);
	const char *why = NULL;
	char name[100];

	if (!s) {
		if (at < m->server_count + m->session_count)
			snprintf(out_why, size, "%s is a session: select a server to %s",
				 m->sessions[at - m->server_count].id, top_keys_word(order));
		else
			snprintf(out_why, size, "there is no server to %s", top_keys_word(order));
		return false;
	}
	if (s->refused)
		why = "has an error in its config: correct the config, then `killick hub reload`";
	else if (s->tree && order != TOP_STOP)
		why = "is held by `killick run`, not by the hub: it can only be stopped";
	else if (!s->tree)
		why = top_keys_state_forbids(s->state, order);
	text_cut(s->name, NOTE_NAME, name, sizeof(name));
	snprintf(out_why, size, "%s %s", name, why ? why : "");
	return !why;
}

static void top_keys_ask(struct top_keys *k, const struct top_model *m, enum top_order order)
{
	const struct top_server *s = top_keys_server(k, m);
	char why[sizeof(k->note)];

	if (!top_keys_may(k, m, order, why, sizeof(why))) {
		top_keys_say(k, true, "%s", why);
		return;
	}
	k->asked = order;
	k->asked_sessions = s->sessions;
	k->asked_tree = s->tree != NULL;
	snprintf(k->asked_id, sizeof(k->asked_id), "%s", s->id);
	text_cut(s->name, NOTE_NAME, k->asked_name, sizeof(k->asked_name));
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
	if (!k->note_stays)
		top_keys_say(k, false, "%s", "");
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
