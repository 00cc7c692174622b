/* word.c - see word.h */
#include "word.h"

#include <string.h>

void word_add(struct buf *b, const char *word)
{
	if (!*word || word[strspn(word, word_plain)]) {
		word_add_quoted(b, word);
		return;
	}
	buf_adds(b, " ");
	buf_adds(b, word);
}
