/* pem.c - see tls_internal.h */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "os/content.h"
#include "tls_internal.h"

#define PEM_PIECE 4096

int pem_read_file(const char *file, struct buf *out, struct err *e)
{
	AUTO(content_close) struct content c = CONTENT_INIT;
	int r = content_open(file, &c);
	ssize_t n = 1;

	while (r == 0 && n > 0) {
		r = buf_reserve(out, PEM_PIECE);
		n = r == 0 ? content_read(&c, out->data + out->len, PEM_PIECE) : 0;
		if (n > 0)
			out->len += (size_t)n;
	}
	if (n < 0)
		r = (int)n;
	if (r < 0)
		return err_set(e, r, "cannot read '%s': %s", file, strerror(-r));
	return buf_add(out, "", 0);
}

bool pem_next(const char **at, const char *label, struct buf *out)
{
	char begin[64], end[64];
	const char *first, *last;
	DWORD len = 0;

	snprintf(begin, sizeof(begin), "-----BEGIN %s-----", label);
	snprintf(end, sizeof(end), "-----END %s-----", label);
	first = strstr(*at, begin);
	last = first ? strstr(first, end) : NULL;
	if (!last)
		return false;
	first += strlen(begin);
	*at = last + strlen(end);
	buf_reset(out, SIZE_MAX);
	if (!CryptStringToBinaryA(first, (DWORD)(last - first), CRYPT_STRING_BASE64, NULL, &len,
				  NULL, NULL) ||
	    buf_reserve(out, len) < 0 ||
	    !CryptStringToBinaryA(first, (DWORD)(last - first), CRYPT_STRING_BASE64,
				  (BYTE *)out->data, &len, NULL, NULL))
		return false;
	out->len = len;
	return true;
}
