/* wire.c - see wire.h */
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/mem.h"
#include "base/path.h"

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

int wire_file_path(struct json uri, char **out)
{
	AUTO(mem_drop) char *text = NULL;
	char *path = NULL;

	if (!json_string(uri, &text) || path_from_url(text, PATH_NATIVE, &path) < 0)
		return -EINVAL;
	if (strstr(path, "\xef\xbf\xbd")) { /* json_string writes it for half a surrogate pair */
		free(path);
		return -EINVAL;
	}
	*out = path;
	return 0;
}
