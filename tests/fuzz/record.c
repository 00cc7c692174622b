/* record.c - a record of the runtime directory, cut short or written by somebody else */
#include <assert.h>
#include <errno.h>

#include "fuzz.h"
#include "keeper/linux/record.h"

#define IS_TEXT(field) fuzz_is_text(field, sizeof(field))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct record rec, before;
	int r;

	memset(&rec, 0x5a, sizeof(rec));
	before = rec;
	r = record_parse(text, &rec);
	assert(r == 0 || r == -EINVAL);
	if (r == 0) {
		assert(!rec.kept);
		assert(IS_TEXT(rec.tree) && IS_TEXT(rec.boot) && IS_TEXT(rec.name) &&
		       IS_TEXT(rec.session));
		assert(IS_TEXT(rec.level) && IS_TEXT(rec.cgroups[0]) && IS_TEXT(rec.cgroups[3]) &&
		       IS_TEXT(rec.command) && IS_TEXT(rec.why));
		assert(IS_TEXT(rec.cidfile) && IS_TEXT(rec.engine));
	} else {
		assert(memcmp(&rec, &before, sizeof(rec)) == 0);
	}
	free(text);
	return 0;
}
