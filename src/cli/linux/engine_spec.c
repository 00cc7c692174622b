/* engine_spec.c - see engine_spec.h */
#include "engine_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/strings.h"
#include "engine.h"
#include "engine_program.h"
#include "keeper/linux/container.h"

#define PROGRAM "program" /* the name of the entry with the engine's file */

static void spec_add(struct buf *b, const char *word)
{
	if (b->len)
		buf_adds(b, " ");
	if (!*word)
		buf_adds(b, "%-");
	for (const char *p = word; *p; p++) {
		if ((unsigned char)*p <= ' ' || *p == '%' || *p == 0x7f)
			buf_addf(b, "%%%02x", (unsigned char)*p);
		else
			buf_add(b, p, 1);
	}
}

static void spec_add_entry(struct buf *b, const char *name, const char *value)
{
	struct buf entry = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&entry, "%s=%s", name, value);
	spec_add(b, entry.data);
	buf_done(&entry);
}

char *engine_spec_write(const char *label, char *const *words)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE), private = BUF_INIT(BUF_ANY_SIZE);
	char *program = engine_program_find(words[0]);
	bool is_recordable =
		program && engine_program_is_trusted(program) && engine_is_recordable(words, false);

	spec_add(&b, label);
	if (program)
		spec_add_entry(&b, PROGRAM, program);
	free(program);
	for (int i = 0; engine_place(i); i++)
		if (getenv(engine_place(i)))
			spec_add_entry(&b, engine_place(i), getenv(engine_place(i)));
	for (int i = 0; words[i]; i++)
		spec_add(&b, words[i]);
	if (is_recordable && b.len <= CONTAINER_TEXT_MAX)
		return buf_take(&b);
	buf_addf(&private, "%c%s", CONTAINER_PRIVATE, b.data);
	buf_done(&b);
	return buf_take(&private);
}

/* Decode one word of the text and set *text behind the word. NULL: no word, or a bad escape. */
static char *spec_next(const char **text)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	const char *p = *text + strspn(*text, " ");

	if (strncmp(p, "%-", 2) == 0 && (p[2] == ' ' || !p[2])) {
		*text = p + 2;
		return mem_dup("");
	}
	for (; *p && *p != ' '; p++) {
		char c = *p;

		if (c == '%') {
			int high = hex_value(p[1]), low = high < 0 ? -1 : hex_value(p[2]);

			if (low < 0 || !(high | low)) {
				buf_done(&b);
				return NULL;
			}
			c = (char)(high * 16 + low);
			p += 2;
		}
		buf_add(&b, &c, 1);
	}
	*text = p;
	return b.len ? buf_take(&b) : NULL;
}

static bool spec_is_entry(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) == 0 && word[len] == '=';
}

static bool spec_is_place(const char *entry)
{
	for (int i = 0; engine_place(i); i++)
		if (spec_is_entry(entry, engine_place(i)))
			return true;
	return false;
}

/* The engine must be the same file as at the start. Another engine, or the engine of another PATH,
 * does not know the container, so its answer would prove nothing. */
static int spec_check_lost(struct engine_spec *s)
{
	char *found = engine_program_find_trusted(container_engine(s->words[0]));
	bool is_same = found && s->program && strcmp(found, s->program) == 0;

	free(found);
	if (!is_same || !engine_is_recordable(s->words, true))
		return -EPERM;
	for (char **entry = s->env; entry && *entry; entry++)
		if (!engine_place_is_accepted(*entry))
			return -EPERM;
	return 0;
}

static void spec_take(struct engine_spec *s, char *word)
{
	if (!s->words && !s->program && spec_is_entry(word, PROGRAM)) {
		s->program = mem_dup(word + strlen(PROGRAM "="));
		free(word);
	} else {
		strings_add(!s->words && spec_is_place(word) ? &s->env : &s->words, word);
	}
}

int engine_spec_read(const char *text, bool lost, struct engine_spec *out)
{
	struct engine_spec s = { .words = NULL };
	char *word;
	int r;

	if (*text == CONTAINER_PRIVATE && lost)
		return -EPERM;
	text += *text == CONTAINER_PRIVATE;
	if (strspn(text, "0123456789abcdef") != ENGINE_LABEL_LEN || text[ENGINE_LABEL_LEN] != ' ')
		return -EINVAL;
	memcpy(s.label, text, ENGINE_LABEL_LEN);
	text += ENGINE_LABEL_LEN;
	while ((word = spec_next(&text)))
		spec_take(&s, word);
	if (*text || !s.words || !container_engine(s.words[0]))
		r = -EINVAL;
	else
		r = lost ? spec_check_lost(&s) : 0;
	if (r < 0)
		engine_spec_done(&s);
	else
		*out = s;
	return r;
}

void engine_spec_done(struct engine_spec *s)
{
	strings_free(s->env);
	strings_free(s->words);
	free(s->program);
	s->env = s->words = NULL;
	s->program = NULL;
}
