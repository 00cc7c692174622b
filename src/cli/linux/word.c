/* word.c - see cli/word.h: the quotes of sh. */
#include "cli/word.h"

const char word_plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "0123456789_-./:=@%+,";

void word_add_quoted(struct buf *b, const char *word)
{
	buf_adds(b, " '");
	for (; *word; word++)
		buf_add(b, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	buf_adds(b, "'");
}
