/* wrapping.c - a config is wrapped and unwrapped: the plan never breaks the file, and the bytes
 * come back. The first byte chooses the format. */
#include <assert.h>

#include "clients/configfile.h"
#include "fuzz.h"

static void make(struct configfile *c, const char *text, size_t len, enum format format)
{
	*c = (struct configfile){ .format = format, .path = strdup("f"), .file = REPLACE_INIT };
	assert(c->path);
	buf_add(&c->file.text, text, len);
	assert(c->file.text.len == len);
	configfile_parse(c);
}

/* Whatever was planned can be carried out, and then nothing is left to plan. */
static void unwrap(const struct buf *wrapped, const struct configfile *old)
{
	struct configfile_plan plan = { .action = ACTION_UNWRAP, .absolute = "/o/killick" };
	struct buf back = BUF_INIT(BUF_ANY_SIZE);
	struct configfile c;

	make(&c, wrapped->data, wrapped->len, old->format);
	assert(!*c.fault && c.entries.count == old->entries.count);
	configfile_plan(&c, &plan);
	for (size_t i = 0; i < c.entries.count; i++) /* those that were wrapped before stay */
		assert(c.planned[i] || !old->planned[i]);
	for (size_t i = 0; i < c.entries.count; i++)
		if (old->entries.list[i].state == ENTRY_WRAPPED)
			goto done; /* unwrap changes that one, too */
	edits_apply(&c.edits, wrapped->data, wrapped->len, &back);
	assert(back.len == old->file.text.len);
	assert(memcmp(back.data, old->file.text.data, back.len) == 0);
done:
	buf_done(&back);
	configfile_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct configfile_plan plan = { .action = ACTION_WRAP,
					.name = "killick",
					.absolute = "/o/killick" };
	struct buf wrapped = BUF_INIT(BUF_ANY_SIZE);
	struct configfile c;

	if (size < 2)
		return 0;
	make(&c, (const char *)data + 1, size - 1, (enum format)(data[0] % 3));
	if (!*c.fault) {
		configfile_plan(&c, &plan);
		edits_apply(&c.edits, c.file.text.data, c.file.text.len, &wrapped);
		if (c.change_count)
			unwrap(&wrapped, &c);
		else
			assert(wrapped.len == size - 1);
	}
	buf_done(&wrapped);
	configfile_done(&c);
	return 0;
}
