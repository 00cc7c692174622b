/* wire.c - see wire.h */
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/hex.h"
#include "base/mem.h"

static void begin(struct buf *b, struct emit *j)
{
	*j = (struct emit)EMIT_INIT(b);
	emit_open(j, NULL, '{');
}

void wire_request(struct buf *b, struct emit *j, uint64_t id, const char *method)
{
	begin(b, j);
	emit_int(j, "id", (long long)id);
	emit_str(j, "method", method);
	emit_open(j, "params", '{');
}

void wire_notification(struct buf *b, struct emit *j, const char *method)
{
	begin(b, j);
	emit_str(j, "method", method);
	emit_open(j, "params", '{');
}

void wire_result(struct buf *b, struct emit *j, struct json id)
{
	begin(b, j);
	emit_raw(j, "id", id.at, id.len);
	emit_open(j, "result", '{');
}

int wire_end(struct emit *j)
{
	emit_close(j);
	emit_close(j);
	return emit_end(j);
}

int wire_error(struct buf *b, struct json id, int code, const char *text)
{
	return wire_error_status(b, id, code, text, 0);
}

int wire_error_status(struct buf *b, struct json id, int code, const char *text, int status)
{
	struct emit j;

	begin(b, &j);
	emit_open(&j, "error", '{');
	emit_int(&j, "code", code);
	emit_text(&j, "message", text, strlen(text));
	if (status) {
		emit_open(&j, "data", '{');
		emit_int(&j, "exitStatus", status);
		emit_close(&j);
	}
	emit_close(&j);
	if (id.at)
		emit_raw(&j, "id", id.at, id.len);
	else
		emit_int(&j, "id", -1);
	emit_close(&j);
	return emit_end(&j);
}

void wire_chunk(struct emit *j, const char *key, const void *bytes, size_t len)
{
	struct buf *b = j->out;
	size_t size = base64_size(len);

	emit_raw(j, key, "\"", 1);
	if (j->failed || buf_reserve(b, size + 1) < 0) {
		j->failed = -EMSGSIZE;
		return;
	}
	base64_encode(b->data + b->len, bytes, len);
	b->len += size;
	b->data[b->len++] = '"';
	b->data[b->len] = '\0';
}

/* --- paths --- */

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "-._~/!$&'()*+,;=:@";

void wire_file_uri(struct buf *b, const char *path)
{
	static const char hex[] = "0123456789ABCDEF";

	buf_adds(b, "file://");
	for (const char *p = path; *p; p++) {
		unsigned char c = (unsigned char)*p;
		char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };

		if (strchr(plain, c))
			buf_add(b, p, 1);
		else
			buf_add(b, escaped, sizeof(escaped));
	}
}

/* In place; false: a broken escape, or a NUL. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int high, low;

		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		high = hex_value(p[1]);
		low = high < 0 ? -1 : hex_value(p[2]);
		if (low < 0 || (high | low) == 0)
			return false;
		*to++ = (char)(high << 4 | low);
		p += 2;
	}
	*to = '\0';
	return true;
}

int wire_file_path(struct json uri, char **out)
{
	AUTO(mem_drop) char *text = NULL;
	const char *path;

	if (!json_string(uri, &text) || strncmp(text, "file:", 5) != 0)
		return -EINVAL;
	path = text + 5;
	if (strncmp(path, "//", 2) == 0) {
		path += 2;
		if (strncmp(path, "localhost/", 10) == 0)
			path += 9;
	}
	if (*path != '/' || strpbrk(path, "?#") || !unescape((char *)path) ||
	    strstr(path, "\xef\xbf\xbd"))
		return -EINVAL;
	*out = mem_dup(path);
	return 0;
}
