/* base64.c - any text: what it stands for has that text and no other. */
#include "base/base64.h"

#include <assert.h>
#include <errno.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = BUF_INIT(size), again = BUF_INIT(size);
	char *text = malloc(base64_size(size) + 1);
	int r = base64_decode(&out, (const char *)data, size);

	assert(text && (r == 0 || r == -EINVAL));
	if (r == 0) {
		assert(base64_size(out.len) == size);
		base64_encode(text, out.data, out.len);
		assert(memcmp(text, data, size) == 0);
	} else {
		assert(out.len == 0);
	}
	base64_encode(text, data, size); /* as bytes */
	assert(base64_decode(&again, text, base64_size(size)) == 0);
	assert(again.len == size && memcmp(again.data, data, size) == 0);
	buf_done(&again);
	buf_done(&out);
	free(text);
	return 0;
}
