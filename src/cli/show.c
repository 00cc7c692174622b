/* show.c - see show.h */
#include <assert.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "os/console.h"
#include "show.h"

/* text_clean for a text of any length */
static char *clean_copy(const char *text, size_t len)
{
	char *copy = mem_grow(NULL, len + 1, 1);

	text_clean(text, len, copy, len + 1);
	return copy;
}

bool show_text(FILE *out, const char *text, size_t len)
{
	const char *end = text + len;

	if (!console_is_terminal(fileno(out))) {
		fwrite(text, 1, len, out);
		return len > 0 && end[-1] == '\n';
	}
	while (text < end) {
		size_t n = 0;

		while (text + n < end && text[n] != '\n' && text[n] != '\t')
			n++;
		if (n > 0) {
			/* a line may end with CR LF */
			bool cr = text[n - 1] == '\r' && text + n < end && text[n] == '\n';
			AUTO(mem_drop) char *piece = clean_copy(text, cr ? n - 1 : n);

			fputs(piece, out);
		}
		if (text + n < end)
			fputc(text[n++], out);
		text += n;
	}
	return len > 0 && end[-1] == '\n';
}

void show_json(FILE *out, struct json v)
{
	show_text(out, v.at, v.len);
	fputc('\n', out);
}

void show_emitted(struct emit *j)
{
	int r = emit_end(j);

	assert(r == 0);
	show_json(stdout, (struct json){ j->out->data, j->out->len });
}

struct block { /* a paragraph that is being printed */
	FILE *out;
	size_t indent, width;
	const char *label; /* printed before the first line; "" once printed */
};

static void margin(struct block *b)
{
	size_t w = text_width(b->label);

	fputs(b->label, b->out);
	if (w >= b->indent && w > 0) {
		fputc('\n', b->out);
		w = 0;
	}
	fprintf(b->out, "%*s", (int)(b->indent - w), "");
	b->label = "";
}

/* Print one cleaned line, wrapped at spaces. */
static void wrap(struct block *b, char *line)
{
	size_t used = 0, room = b->width > b->indent + 10 ? b->width - b->indent : 10;
	char *word;

	margin(b);
	if (!b->width || text_width(line) <= room) {
		fprintf(b->out, "%s\n", line);
		return;
	}
	while ((word = strsep(&line, " "))) {
		size_t w = text_width(word);

		if (used && used + 1 + w > room) {
			fputc('\n', b->out);
			margin(b);
			used = 0;
		}
		fprintf(b->out, used ? " %s" : "%s", word);
		used += w + (used ? 1 : 0);
	}
	fputc('\n', b->out);
}

void show_labelled(FILE *out, const char *label, const char *text, size_t indent, size_t width)
{
	struct block b = { .out = out, .indent = indent, .width = width, .label = label };
	size_t empty = 0; /* pending empty lines; none are printed at the two ends */
	bool begun = false;

	while (*text) {
		size_t n = strcspn(text, "\n");
		bool cr = n > 0 && text[n - 1] == '\r';
		AUTO(mem_drop) char *line = clean_copy(text, cr ? n - 1 : n);

		if (*line) {
			for (; begun && empty > 0; empty--)
				fputc('\n', out);
			wrap(&b, line);
			begun = true;
			empty = 0;
		} else {
			empty++;
		}
		text += n + (text[n] == '\n');
	}
	if (!begun && *label)
		fprintf(out, "%s\n", label);
}

void show_block(FILE *out, const char *text, size_t indent, size_t width)
{
	show_labelled(out, "", text, indent, width);
}

void show_first_line(const char *text, char *out, size_t size)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	n = strcspn(text, "\r\n");
	text_clean(text, n, out, size);
}

void show_member(struct json v, const char *key, char *out, size_t size)
{
	AUTO(mem_drop) char *text = NULL;

	out[0] = '\0';
	if (json_string(json_get(v, key), &text))
		show_first_line(text, out, size);
}

const char *show_bytes(unsigned long long bytes, char out[32])
{
	static const char *const unit[] = { "KiB", "MiB", "GiB" };
	double v = (double)bytes / 1024;
	size_t u = 0;

	if (bytes < 1024) {
		snprintf(out, 32, "%llu byte%s", bytes, bytes == 1 ? "" : "s");
		return out;
	}
	for (; v >= 999.5 && u < 2; u++)
		v /= 1024;
	snprintf(out, 32, v < 9.95 ? "%.1f %s" : "%.0f %s", v, unit[u]);
	return out;
}

/* Returns the number of bytes of a base64 string after decoding. */
static unsigned long long decoded_size(struct json text)
{
	size_t len = text.len > 2 ? text.len - 2 : 0;

	while (len > 0 && text.at[len] == '=')
		len--;
	return (unsigned long long)len * 3 / 4;
}

static void show_ended(FILE *out, bool line_ended)
{
	if (!line_ended)
		fputc('\n', out);
}

/* Print `[kind what mime, size]`; all parts except the kind may be missing. */
static void show_summary(FILE *out, const char *kind, struct json item, const char *name_key,
			 const char *data_key)
{
	char name[512], mime[128], size[32];
	struct json data = json_get(item, data_key);

	show_member(item, name_key, name, sizeof(name));
	show_member(item, "mimeType", mime, sizeof(mime));
	fprintf(out, "[%s%s%s%s%s", kind, *name ? " " : "", name, *mime ? " " : "", mime);
	if (json_type(data) == JSON_STRING)
		fprintf(out, ", %s", show_bytes(decoded_size(data), size));
	fputs("]\n", out);
}

void show_resource(FILE *out, struct json item)
{
	AUTO(mem_drop) char *text = NULL;

	if (json_string(json_get(item, "text"), &text))
		show_ended(out, show_text(out, text, strlen(text)));
	else
		show_summary(out, "resource", item, "uri", "blob");
}

void show_content(FILE *out, struct json item)
{
	AUTO(mem_drop) char *text = NULL;
	char kind[64];

	show_member(item, "type", kind, sizeof(kind));
	if (strcmp(kind, "text") == 0 && json_string(json_get(item, "text"), &text))
		show_ended(out, show_text(out, text, strlen(text)));
	else if (strcmp(kind, "resource") == 0)
		show_resource(out, json_get(item, "resource"));
	else if (strcmp(kind, "resource_link") == 0)
		show_summary(out, "link", item, "uri", "");
	else
		show_summary(out, *kind ? kind : "content", item, "name", "data");
}

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at;

	c = c == '-' ? '+' : c == '_' ? '/' : c; /* some servers use the URL variant */
	at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

bool show_decoded(FILE *out, struct json value)
{
	AUTO(mem_drop) char *text = NULL;
	unsigned bits = 0;
	int have = 0;
	size_t i;

	if (!json_string(value, &text))
		return false;
	for (i = 0; text[i] && text[i] != '='; i++) {
		int d = digit(text[i]);

		if (d < 0 && strchr(" \r\n\t", text[i]))
			continue;
		if (d < 0)
			return false;
		bits = bits << 6 | (unsigned)d;
		have += 6;
		if (have >= 8) {
			have -= 8;
			fputc((int)(bits >> have & 0xff), out);
		}
	}
	return have < 6 && text[i + strspn(text + i, "=\r\n ")] == '\0';
}
