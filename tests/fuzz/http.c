/* http.c - any head, as a request and as a response; the first two bytes cut it. */
#include "net/http.h"

#include <assert.h>
#include <errno.h>

#include "fuzz.h"

typedef long parse_fn(const char *bytes, size_t len, struct http_head *out);

/* Parse the first len bytes, in a block that ends there. The head is checked, then forgotten. */
static long parse(parse_fn *fn, const uint8_t *data, size_t len)
{
	struct http_head h = { .status = -1 };
	char *bytes = malloc(len ? len : 1);
	const struct http_text *texts[] = { &h.method,     &h.target,     &h.upgrade,
					    &h.connection, &h.version,    &h.key,
					    &h.accept,     &h.origin,     &h.authorization,
					    &h.protocol,   &h.extensions, &h.length,
					    &h.host };
	long n;

	assert(bytes);
	memcpy(bytes, data, len);
	n = fn(bytes, len, &h);
	assert(n <= (long)len && n <= HTTP_HEAD_MAX);
	assert(n >= 0 || n == -EBADMSG || (n == -E2BIG && len >= HTTP_HEAD_MAX));
	assert((n > 0) == (h.status != -1));
	for (size_t i = 0; n > 0 && i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct http_text *t = texts[i];

		if (!t->at)
			continue;
		assert(t->at >= bytes && t->at + t->len <= bytes + n - 4);
		for (size_t k = 0; k < t->len; k++)
			assert(!memchr("\r\n", t->at[k], 3));
	}
	if (n > 0) {
		assert((h.method.len > 0) == (h.status == 0) && h.status <= 999);
		assert(memcmp(bytes + n - 4, "\r\n\r\n", 4) == 0);
		(void)http_has_word(h.connection, "upgrade");
	}
	free(bytes);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cut;

	if (size < 2)
		return 0;
	cut = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	cut = cut < size ? cut : size;
	for (int response = 0; response < 2; response++) {
		parse_fn *fn = response ? http_response : http_request;
		long whole = parse(fn, data, size), part = parse(fn, data, cut);

		/* A head is a head from the byte that ends it, and not before. */
		if (whole > 0)
			assert(part == ((long)cut >= whole ? whole : 0));
		else
			assert(part == 0 || part == whole);
	}
	return 0;
}
