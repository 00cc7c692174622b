/* engine_spec.c - see engine_spec.h */
#include "engine_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/strings.h"
#include "engine.h"
#include "keeper/container.h"

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

char *engine_spec_write(const char *label, char *const *words, int count)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE), private = BUF_INIT(BUF_ANY_SIZE);

	spec_add(&b, label);
	for (int i = 0; engine_places[i]; i++) {
		const char *value = getenv(engine_places[i]);
		struct buf entry = BUF_INIT(BUF_ANY_SIZE);

		if (!value)
			continue;
		buf_addf(&entry, "%s=%s", engine_places[i], value);
		spec_add(&b, entry.data);
		buf_done(&entry);
	}
	for (int i = 0; i < count; i++)
		spec_add(&b, words[i]);
	if (engine_is_recordable(words, count) && engine_env_is_recordable() &&
	    b.len <= CONTAINER_TEXT_MAX)
		return buf_take(&b);
	buf_addf(&private, "%c%s", CONTAINER_PRIVATE, b.data);
	buf_done(&b);
	return buf_take(&private);
}

/* One word of the text, decoded; *text is left behind it. NULL: no word, or a bad escape. */
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

static bool spec_is_place(const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (int i = 0; entry[len] && engine_places[i]; i++)
		if (strlen(engine_places[i]) == len && strncmp(engine_places[i], entry, len) == 0)
			return true;
	return false;
}

/* A path in a record is used if only root can have put a program there. */
static bool is_program_of_root(const char *path)
{
	struct stat st;

	return path[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	       !(st.st_mode & 022);
}

static int spec_check_lost(struct engine_spec *s)
{
	int count = (int)strings_count(s->words);

	if (!engine_is_recordable(s->words, count))
		return -EPERM;
	if (strchr(s->words[0], '/') && !is_program_of_root(s->words[0])) {
		char *name = mem_dup(container_engine(s->words[0]));

		free(s->words[0]);
		s->words[0] = name;
	}
	return 0;
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
		strings_add(!s.words && spec_is_place(word) ? &s.env : &s.words, word);
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
	s->env = s->words = NULL;
}
