/* word.c - see cli/word.h: the quotes of cmd.exe and of the programs that split a command line.
 *
 * A quote inside of quotes is written twice: cmd.exe is then still inside of quotes, where & and |
 * mean nothing. Backslashes in front of a quote are written twice for the program.
 */
#include "cli/word.h"

#include <stdbool.h>

const char word_plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "0123456789_-./\\:=@+,";

void word_add_quoted(struct buf *b, const char *word)
{
	size_t slashes = 0;

	buf_adds(b, " \"");
	for (;; word++) {
		bool is_quote = !*word || *word == '"';

		for (; is_quote && slashes; slashes--)
			buf_adds(b, "\\");
		if (!*word)
			break;
		slashes = *word == '\\' ? slashes + 1 : 0;
		buf_add(b, is_quote ? "\"\"" : word, is_quote ? 2 : 1);
	}
	buf_adds(b, "\"");
}
