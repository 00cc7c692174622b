/* engine.c - the command of a container engine, one word per line; the same text as the spec of a
 * record, which may be forged */
#include <assert.h>
#include <errno.h>

#include "base/strings.h"
#include "cli/linux/engine.h"
#include "cli/linux/engine_spec.h"
#include "fuzz.h"
#include "keeper/linux/container.h"

#define WORDS_MAX 64

static void check_command(char *const *words, int count)
{
	struct engine_command c;

	engine_parse(words, &c);
	assert(c.run < count && c.globals <= count && (!c.run || strcmp(words[c.run], "run") == 0));
	assert(!c.run || (c.engine && c.globals >= 1 && c.globals <= c.run));
	engine_command_done(&c);
}

static void check_spec(const char *text, bool lost)
{
	struct engine_spec s, again;
	char *copy;
	int r = engine_spec_read(text, lost, &s);

	assert(r == 0 || r == -EINVAL || (r == -EPERM && lost));
	if (r < 0)
		return;
	assert(strlen(s.label) == ENGINE_LABEL_LEN && container_engine(s.words[0]));
	assert(!lost || engine_is_recordable(s.words, true));
	copy = engine_spec_write(s.label, s.words);
	assert(engine_spec_read(copy, false, &again) == 0);
	assert(strings_count(again.words) == strings_count(s.words));
	for (size_t i = 0; s.words[i]; i++)
		assert(strcmp(s.words[i], again.words[i]) == 0);
	free(copy);
	engine_spec_done(&again);
	engine_spec_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *words[WORDS_MAX + 1];
	int count = 0;

	check_spec(text, false);
	check_spec(text, true);
	for (char *p = text; p && count < WORDS_MAX;) {
		char *end = strchr(p, '\n');

		words[count++] = p;
		if (end)
			*end = '\0';
		p = end ? end + 1 : NULL;
	}
	words[count] = NULL;
	check_command(words, count);
	free(text);
	return 0;
}
