/* options.c - the words after `killick run`, one per line of the input; each also as a time and as
 * a size */
#include <assert.h>
#include <errno.h>

#include "fuzz.h"
#include "keeper/options.h"

#define WORDS_MAX 64
#define HOUR_MS   3600000u

static void check_numbers(const char *word)
{
	unsigned ms = 4242;
	unsigned long long bytes = 4242;

	if (option_time(word, &ms) == 0)
		assert(ms <= HOUR_MS && word[0] >= '0' && word[0] <= '9');
	else
		assert(ms == 4242);
	if (option_size(word, &bytes) == 0)
		assert(bytes > 0 && word[0] >= '0' && word[0] <= '9');
	else
		assert(bytes == 4242);
}

static void check_understood(const struct options *opt, char **argv, int argc)
{
	assert(opt->recipe.argv > argv && opt->recipe.argv < argv + argc);
	assert(opt->recipe.argv[0] && opt->recipe.name);
	assert(opt->recipe.grace_ms <= HOUR_MS);
	assert(opt->owner != OWNER_PID || opt->owner_pid > 0);
	assert(level_name(opt->recipe.contain));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *argv[WORDS_MAX + 1];
	static struct line why;
	struct options opt;
	int argc = 0, r;

	for (char *p = text; argc < WORDS_MAX;) {
		char *end = strchr(p, '\n');
		argv[argc++] = p;
		if (!end)
			break;
		*end = '\0';
		p = end + 1;
	}
	argv[argc] = NULL;
	for (int i = 0; i < argc; i++)
		check_numbers(argv[i]);
	r = options_parse(argc, argv, &opt, &why);
	assert(r == 0 || r == -EINVAL);
	if (r == 0)
		check_understood(&opt, argv, argc);
	else
		assert(why.len > 0); /* a refusal has its sentence */
	free(text);
	return 0;
}
