/* wire.c - see wire.h */
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/hex.h"
#include "base/mem.h"

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

/* Decode in place. Returns false for an invalid escape or a NUL. */
static bool wire_unescape(char *text)
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
	if (*path != '/' || strpbrk(path, "?#") || !wire_unescape((char *)path) ||
	    strstr(path, "\xef\xbf\xbd"))
		return -EINVAL;
	*out = mem_dup(path);
	return 0;
}
