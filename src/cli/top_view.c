/* top_view.c - see top_view.h */
#include "top_view.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

enum {
	TOP_NAME_MIN = 14,
	TOP_NAME_MAX = 32,
	TAG_MAX = 20,
	REASON_MIN = 24,
	MARK = 2,
	NOTE_LINES = 3
};

#define BOLD   "1"
#define DIM    "2"
#define RED    "31"
#define GREEN  "32"
#define YELLOW "33"

const char *top_view_time(double ms, char out[24])
{
	if (ms < 0)
		snprintf(out, 24, "-");
	else if (ms < 1)
		snprintf(out, 24, "%.2fms", ms);
	else if (ms < 9.95)
		snprintf(out, 24, "%.1fms", ms);
	else
		text_span((long long)(ms + 0.5), out);
	return out;
}

/* Whole seconds: the last digit of a long time only moves the eye. */
const char *top_view_age(long long ms, char out[24])
{
	if (ms < 0)
		snprintf(out, 24, "-");
	else if (ms < 60000)
		snprintf(out, 24, "%llds", ms / 1000);
	else
		text_span(ms, out);
	return out;
}

/* "512K", "120M"; "-": nothing, or not known. */
static const char *top_view_size(long long bytes, char out[16])
{
	if (bytes <= 0)
		snprintf(out, 16, "-");
	else
		text_size((unsigned long long)bytes, out);
	return out;
}

static const char *top_view_count(long long n, char out[24])
{
	if (n < 0)
		snprintf(out, 24, "-");
	else if (n < 100000)
		snprintf(out, 24, "%lld", n);
	else if (n < 10000000)
		snprintf(out, 24, "%lldk", n / 1000);
	else
		snprintf(out, 24, "%lldM", n / 1000000);
	return out;
}

/* --- columns --- */

enum top_column { STATE, SESSIONS, FLIGHT, P50, P99, CALLS, MEMORY, PROCESSES, RESTARTS, LEVEL };

struct top_layout {
	bool shown[LEVEL + 1];
	size_t name, reason; /* widths; reason 0: not shown */
};

static const struct {
	const char *title;
	size_t width, gap; /* gap: spaces in front */
	bool right;
	unsigned keep; /* columns with a small number are left out first; 9: never */
} top_columns[] = {
	[STATE] = { "STATE", 11, 1, false, 9 }, [SESSIONS] = { "SESS", 4, 1, true, 6 },
	[FLIGHT] = { "BUSY", 4, 1, true, 7 },   [P50] = { "P50", 6, 1, true, 4 },
	[P99] = { "P99", 6, 1, true, 5 },       [CALLS] = { "CALLS", 6, 1, true, 1 },
	[MEMORY] = { "MEM", 5, 1, true, 9 },    [PROCESSES] = { "PROCS", 5, 1, true, 8 },
	[RESTARTS] = { "RST", 3, 1, true, 2 },  [LEVEL] = { "LEVEL", 9, 2, false, 3 },
};

static size_t top_view_used(const struct top_layout *l)
{
	size_t used = MARK;

	for (int c = STATE; c <= LEVEL; c++)
		used += l->shown[c] ? top_columns[c].width + top_columns[c].gap : 0;
	return used;
}

/* The sort by calls keeps the column of calls, which is otherwise the first to go. */
static struct top_layout top_view_layout(size_t width, enum top_sort sort)
{
	struct top_layout l = { .reason = 0 };

	for (int c = STATE; c <= LEVEL; c++)
		l.shown[c] = true;
	for (unsigned keep = 1; keep < 9 && top_view_used(&l) + TOP_NAME_MIN > width; keep++)
		for (int c = STATE; c <= LEVEL; c++)
			if (top_columns[c].keep == keep && !(c == CALLS && sort == TOP_BY_CALLS))
				l.shown[c] = false;
	l.name = top_view_used(&l) < width ? width - top_view_used(&l) : 1;
	if (l.name > TOP_NAME_MAX + 2 + REASON_MIN)
		l.reason = l.name - TOP_NAME_MAX - 2;
	if (l.name > TOP_NAME_MAX)
		l.name = TOP_NAME_MAX;
	return l;
}

static void top_view_titles(const struct top_layout *l, enum top_sort sort, struct top_lines *out)
{
	static const int sorted[] = { [TOP_BY_MEMORY] = MEMORY,
				      [TOP_BY_CALLS] = CALLS,
				      [TOP_BY_NAME] = -1,
				      [TOP_BY_STATE] = STATE };

	top_lines_space(out, MARK);
	top_lines_cell(out, sort == TOP_BY_NAME ? BOLD : DIM, "SERVER", l->name, false);
	for (int c = STATE; c <= LEVEL; c++) {
		if (!l->shown[c])
			continue;
		top_lines_space(out, top_columns[c].gap);
		top_lines_cell(out, sorted[sort] == c ? BOLD : DIM, top_columns[c].title,
			       top_columns[c].width, top_columns[c].right);
	}
	if (l->reason) {
		top_lines_space(out, 2);
		top_lines_cell(out, DIM, "REASON", l->reason, false);
	}
	top_lines_end(out);
}

static const char *top_view_colour(enum top_health health)
{
	static const char *const colours[] = {
		[TOP_FAILED] = RED, [TOP_MOVING] = YELLOW, [TOP_WORKS] = GREEN, [TOP_RESTING] = DIM
	};

	return colours[health];
}

static const char *top_view_value(const struct top_server *s, int column, char out[24])
{
	char size[16];

	switch (column) {
	case STATE:
		return s->state;
	case SESSIONS:
		return top_view_count(s->sessions, out);
	case FLIGHT:
		return top_view_count(s->in_flight, out);
	case P50:
		return top_view_time(s->p50_ms, out);
	case P99:
		return top_view_time(s->p99_ms, out);
	case CALLS:
		return top_view_count(s->calls, out);
	case MEMORY:
		snprintf(out, 24, "%s", top_view_size(s->memory, size));
		return out;
	case PROCESSES:
		return top_view_count(s->processes, out);
	case RESTARTS:
		return top_view_count(s->restarts, out);
	default:
		return *s->level ? s->level : "-";
	}
}

/* Servers of the same name get a short id behind it. */
static void top_view_name(const struct top_server *s, size_t width, bool selected,
			  struct top_lines *out)
{
	char id[12];
	size_t len;

	snprintf(id, sizeof(id), " %.10s", s->mark);
	len = strlen(id);
	if (!s->twin || width < len + 4) {
		top_lines_cell(out, selected ? BOLD : NULL, s->name, width, false);
		return;
	}
	top_lines_cell(out, selected ? BOLD : NULL, s->name, width - len, false);
	top_lines_cell(out, DIM, id, len, false);
}

/* The mark of the selected or the unfolded row. */
static const char *top_view_mark(bool open)
{
	return text_is_utf8() ? (open ? "▾" : "▸") : (open ? "v" : ">");
}

static void top_view_server(const struct top_server *s, const struct top_layout *l, bool selected,
			    bool open, struct top_lines *out)
{
	char value[24];

	top_lines_cell(out, BOLD, selected || open ? top_view_mark(open) : "", MARK, false);
	top_view_name(s, l->name, selected, out);
	for (int c = STATE; c <= LEVEL; c++) {
		const char *style = c == STATE                         ? top_view_colour(s->health)
				    : c == RESTARTS && s->restarts > 0 ? YELLOW
								       : NULL;
		const char *text = top_view_value(s, c, value);

		if (!l->shown[c])
			continue;
		if (!style && (strcmp(text, "-") == 0 || c == LEVEL))
			style = DIM;
		top_lines_space(out, top_columns[c].gap);
		top_lines_cell(out, style, text, top_columns[c].width, top_columns[c].right);
	}
	if (l->reason) {
		top_lines_space(out, 2);
		top_lines_cell(out, s->health == TOP_FAILED ? RED : DIM, s->reason, l->reason,
			       false);
	}
	top_lines_end(out);
	if (!l->reason && !open && *s->reason && s->health <= TOP_MOVING) {
		top_lines_space(out, MARK + 2);
		top_lines_put(out, DIM, s->reason);
		top_lines_end(out);
	}
}

/* --- sessions --- */

struct top_session_layout {
	size_t tag, client; /* widths; tag 0: no session has a tag */
	bool era, servers;  /* shown */
};

static struct top_session_layout top_view_session_layout(const struct top_model *m, size_t width)
{
	struct top_session_layout l = { .era = width >= (m->has_tags ? 90 : 72),
					.servers = width >= 72 || !m->has_tags };
	size_t used = MARK + 8 + (l.era ? 9 : 0) + 1 + (l.servers ? 34 : 26), room;

	room = width > used + TOP_NAME_MIN ? width - used : TOP_NAME_MIN;
	if (m->has_tags) {
		l.tag = room / 2 > TAG_MAX ? TAG_MAX : room / 2;
		room -= l.tag + 1;
	}
	l.client = room > TOP_NAME_MAX ? TOP_NAME_MAX : room;
	return l;
}

/* A cell at the left, and the space behind it. */
static void top_view_left(struct top_lines *out, const char *style, const char *text, size_t width)
{
	if (!width)
		return;
	top_lines_cell(out, style, text, width, false);
	top_lines_space(out, 1);
}

static void top_view_session(const struct top_session *s, const struct top_session_layout *l,
			     bool selected, struct top_lines *out)
{
	char age[24], idle[24], count[24];
	const char *style = selected ? BOLD : NULL;

	top_lines_cell(out, BOLD, selected ? top_view_mark(false) : "", MARK, false);
	top_view_left(out, style, s->id, 7);
	top_view_left(out, style, *s->tag ? s->tag : "-", l->tag);
	top_view_left(out, style, *s->client ? s->client : "-", l->client);
	top_view_left(out, DIM, s->era, l->era ? 8 : 0);
	top_lines_cell(out, NULL, top_view_age(s->age_ms, age), 6, true);
	top_lines_space(out, 1);
	top_lines_cell(out, NULL, top_view_age(s->idle_ms, idle), 6, true);
	top_lines_space(out, 1);
	if (l->servers) {
		top_lines_cell(out, NULL, top_view_count(s->servers, count), 7, true);
		top_lines_space(out, 1);
	}
	top_lines_cell(out, NULL, top_view_count(s->in_flight, count), 4, true);
	top_lines_space(out, 1);
	top_lines_cell(out, NULL, top_view_count(s->calls, count), 6, true);
	top_lines_end(out);
}

static void top_view_session_titles(const struct top_session_layout *l, struct top_lines *out)
{
	top_lines_end(out);
	top_lines_space(out, MARK);
	top_view_left(out, DIM, "SESSION", 7);
	top_view_left(out, DIM, "TAG", l->tag);
	top_view_left(out, DIM, "CLIENT", l->client);
	top_view_left(out, DIM, "ERA", l->era ? 8 : 0);
	top_lines_put(out, DIM,
		      l->servers ? "   AGE   IDLE SERVERS BUSY  CALLS"
				 : "   AGE   IDLE BUSY  CALLS");
	top_lines_end(out);
}

/* --- totals --- */

static const char *top_view_s(long long n)
{
	return n == 1 ? "" : "s";
}

/* Begin a line of totals: "held   1.3G  ". */
static void top_view_total(struct top_lines *out, const char *label, const char *style,
			   const char *value)
{
	top_lines_cell(out, DIM, label, 7, false);
	top_lines_cell(out, style, value, 7, false);
}

static void top_view_leaks(const struct top_totals *t, struct top_lines *out)
{
	char number[24];

	snprintf(number, sizeof(number), "%lld", t->leaks);
	top_view_total(out, "leaks", t->lost_trees ? RED : BOLD, number);
	if (t->lost_trees)
		top_lines_putf(out, RED, "%lld tree%s without working keepers: killick reap",
			       t->lost_trees, top_view_s(t->lost_trees));
	else if (t->trees == 1)
		top_lines_put(out, DIM, "proof: working keepers hold the tree");
	else if (t->trees)
		top_lines_putf(out, DIM, "proof: working keepers hold all %lld trees", t->trees);
	else
		top_lines_put(out, DIM, "proof: no record of a tree is left");
	top_lines_end(out);
}

static void top_view_totals(const struct top_totals *t, struct top_lines *out)
{
	char text[100], size[16], span[24];

	top_lines_put(out, BOLD, "killick top");
	if (!t->has_hub)
		snprintf(text, sizeof(text), "no hub");
	else
		snprintf(text, sizeof(text), "hub %lld, up %s", t->hub_pid,
			 top_view_age(t->hub_age_ms, span));
	top_lines_right(out, DIM, text);
	top_lines_end(out);
	top_view_total(out, "held", BOLD, t->memory > 0 ? top_view_size(t->memory, size) : "0");
	top_lines_putf(out, NULL, "%lld process%s of %lld server%s", t->processes,
		       t->processes == 1 ? "" : "es", t->servers, top_view_s(t->servers));
	if (t->resting)
		top_lines_putf(out, DIM, ", %lld resting", t->resting);
	top_lines_end(out);
	if (t->has_hub && t->saved >= 0) {
		top_view_total(out, "saved", t->saved ? GREEN : NULL,
			       t->saved ? top_view_size(t->saved, size) : "0");
		top_lines_put(out, DIM, "by sharing and rest");
		top_lines_end(out);
	}
	top_view_leaks(t, out);
	top_lines_end(out);
}

/* --- the frame --- */

/* The rows of servers and sessions: more lines than the terminal may have. */
struct top_body {
	struct top_lines lines;
	size_t *starts;  /* the first line of each row */
	size_t from, to; /* the lines of the selected row */
};

static void top_body_done(struct top_body *b)
{
	top_lines_done(&b->lines);
	mem_drop(&b->starts);
}

/* Append the rows. select: mark the selected one. */
static void top_view_rows(const struct top_model *m, const struct top_keys *k, bool select,
			  struct top_body *b)
{
	struct top_layout l = top_view_layout(b->lines.width, k->sort);
	struct top_session_layout sl = top_view_session_layout(m, b->lines.width);
	size_t at = top_keys_selected(k, m), count = m->server_count + m->session_count;

	b->starts = mem_grow(NULL, count + 1, sizeof(*b->starts));
	if (!m->server_count) {
		top_lines_space(&b->lines, MARK);
		top_lines_put(&b->lines, DIM, "no servers: killick holds nothing for this user");
		top_lines_end(&b->lines);
	}
	for (size_t i = 0; i < count; i++) {
		bool server = i < m->server_count, selected = select && i == at;
		bool open = server && strcmp(k->unfolded, m->servers[i].id) == 0;

		if (i == m->server_count)
			top_view_session_titles(&sl, &b->lines);
		b->starts[i] = b->lines.count;
		if (server)
			top_view_server(&m->servers[i], &l, selected, open, &b->lines);
		else
			top_view_session(&m->sessions[i - m->server_count], &sl, selected,
					 &b->lines);
		if (open)
			top_detail(&m->servers[i], &b->lines);
		if (i == at) {
			b->from = b->starts[i];
			b->to = b->lines.count;
		}
	}
}

/* Append lines to the frame. */
static void top_view_copy(const struct top_lines *from, size_t first, size_t end,
			  struct top_lines *out)
{
	for (size_t i = first; i < end; i++) {
		buf_adds(&out->line, from->list[i]);
		top_lines_end(out);
	}
}

void top_view_all(const struct top_model *m, const struct top_keys *k, struct top_lines *out)
{
	AUTO(top_body_done)
	struct top_body b = { .lines = TOP_LINES_INIT(out->width, out->colour) };
	struct top_layout l = top_view_layout(out->width, k->sort);

	top_view_totals(&m->totals, out);
	top_view_titles(&l, k->sort, out);
	top_view_rows(m, k, false, &b);
	top_view_copy(&b.lines, 0, b.lines.count, out);
}

static void top_view_question(const struct top_keys *k, struct top_lines *out)
{
	if (k->asked == TOP_REST)
		top_lines_putf(out, YELLOW, "Let %s rest?", k->asked_name);
	else
		top_lines_putf(out, YELLOW, "%s %s?", k->asked == TOP_STOP ? "Stop" : "Restart",
			       k->asked_name);
	if (k->asked_tree)
		top_lines_put(out, NULL, " Its client loses the server.");
	else if (k->asked_sessions > 0)
		top_lines_putf(out, NULL, " %lld session%s use%s it.", k->asked_sessions,
			       top_view_s(k->asked_sessions), k->asked_sessions == 1 ? "s" : "");
	top_lines_put(out, DIM, "  y yes, any other key no");
}

static void top_view_key(struct top_lines *out, const char *key, const char *meaning)
{
	if (out->used)
		top_lines_space(out, 2);
	top_lines_put(out, NULL, key);
	top_lines_space(out, 1);
	top_lines_put(out, DIM, meaning);
}

/* The keys that can be used for the selected row. An empty list shows the orders that its next
 * server will have. */
static void top_view_row_keys(const struct top_model *m, const struct top_keys *k,
			      struct top_lines *out)
{
	static const char *const orders[] = {
		[TOP_STOP] = "x", [TOP_RESTART] = "r", [TOP_REST] = "z"
	};
	const struct top_server *s = top_keys_server(k, m);
	bool empty = m->server_count + m->session_count == 0;
	char why[sizeof(k->note)];

	if (s)
		top_view_key(out, text_is_utf8() ? "↵" : "enter",
			     strcmp(k->unfolded, s->id) == 0 ? "fold" : "unfold");
	for (enum top_order o = TOP_STOP; o <= TOP_REST; o++)
		if (empty || top_keys_may(k, m, o, why, sizeof(why)))
			top_view_key(out, orders[o], top_keys_word(o));
}

static void top_view_keys(const struct top_model *m, const struct top_keys *k,
			  struct top_lines *out)
{
	static const char *const sorts[] = { "by memory", "by calls", "by name", "by state" };

	if (k->asked) {
		top_view_question(k, out);
	} else {
		top_view_key(out, "q", "quit");
		top_view_key(out, "s", sorts[k->sort]);
		top_view_row_keys(m, k, out);
	}
	top_lines_end(out);
}

/* Append the note, wrapped. */
static void top_view_note(const struct top_keys *k, struct top_lines *out)
{
	const char *text = k->note;

	for (size_t i = 0, len; *text && i < NOTE_LINES; i++) {
		len = i + 1 < NOTE_LINES ? top_lines_fit(text, out->width) : strlen(text);
		top_lines_putf(out, k->note_bad ? RED : GREEN, "%.*s", (int)len, text);
		top_lines_end(out);
		text += len + strspn(text + len, " ");
	}
}

/* Say what is below the last line that is shown. */
static void top_view_below(const struct top_model *m, const struct top_body *b, size_t end,
			   struct top_lines *out)
{
	size_t servers = 0, sessions = 0;

	for (size_t i = 0; i < m->server_count; i++)
		servers += b->starts[i] >= end;
	for (size_t i = 0; i < m->session_count; i++)
		sessions += b->starts[m->server_count + i] >= end;
	top_lines_space(out, MARK);
	top_lines_put(out, DIM, "+");
	if (servers)
		top_lines_putf(out, DIM, " %zu server%s", servers, servers == 1 ? "" : "s");
	if (servers && sessions)
		top_lines_put(out, DIM, ",");
	if (sessions)
		top_lines_putf(out, DIM, " %zu session%s", sessions, sessions == 1 ? "" : "s");
	if (!servers && !sessions)
		top_lines_putf(out, DIM, " %zu line%s", b->lines.count - end,
			       b->lines.count - end == 1 ? "" : "s");
	top_lines_put(out, DIM, " below");
	top_lines_end(out);
}

/* The first line to show in so many rows, so that the selection is seen. */
static size_t top_view_first(const struct top_body *b, size_t room)
{
	if (b->to <= room)
		return 0;
	return b->to - b->from > room ? b->from : b->to - room;
}

/* Move the lines of the body that fit into `room` to the frame. */
static void top_view_scroll(const struct top_model *m, const struct top_body *b, size_t room,
			    struct top_lines *out)
{
	size_t first = top_view_first(b, room), count = b->lines.count;
	bool more = room > 1 && count - first > room;

	if (more)
		first = top_view_first(b, --room);
	top_view_copy(&b->lines, first, count - first < room ? count : first + room, out);
	if (more)
		top_view_below(m, b, first + room, out);
}

void top_view_frame(const struct top_model *m, const struct top_keys *k, size_t rows,
		    struct top_lines *out)
{
	AUTO(top_body_done)
	struct top_body b = { .lines = TOP_LINES_INIT(out->width, out->colour) };
	struct top_layout l = top_view_layout(out->width, k->sort);
	AUTO(top_lines_done) struct top_lines note = TOP_LINES_INIT(out->width, out->colour);
	size_t below;

	top_view_note(k, &note);
	below = note.count + 1;
	top_view_totals(&m->totals, out);
	top_view_titles(&l, k->sort, out);
	top_view_rows(m, k, true, &b);
	if (rows > out->count + below)
		top_view_scroll(m, &b, rows - out->count - below, out);
	while (out->count + below < rows)
		top_lines_end(out);
	top_view_copy(&note, 0, note.count, out);
	top_view_keys(m, k, out);
}
