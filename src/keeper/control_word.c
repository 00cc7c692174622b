/* control_word.c - see control_word.h */
#include "control_word.h"

#include <string.h>

#include "option.h"

/* "eof 500 ask": cut the last word off, if it is "ask". */
static bool control_word_cut_ask(char *text)
{
	static const char ask[] = " ask";
	const size_t len = strlen(text), ask_len = sizeof(ask) - 1;

	if (len < ask_len || strcmp(text + len - ask_len, ask) != 0)
		return false;
	text[len - ask_len] = '\0';
	return true;
}

/* "eof 500": the word, and the grace behind it. */
static bool control_word_is(const char *text, const char *word, unsigned *grace_ms)
{
	size_t len = strlen(word);
	unsigned ms;

	if (strncmp(text, word, len) != 0)
		return false;
	if (text[len] == ' ' && option_milliseconds(text + len + 1, &ms) == 0) {
		*grace_ms = ms;
		return true;
	}
	return text[len] == '\0';
}

enum control_word control_word_read(char *text, unsigned *grace_ms, bool *asks)
{
	if (control_word_cut_ask(text))
		*asks = true;
	if (control_word_is(text, "eof", grace_ms))
		return CONTROL_EOF;
	if (control_word_is(text, "stop", grace_ms))
		return CONTROL_STOP;
	if (strcmp(text, "int") == 0)
		return CONTROL_INT;
	return strcmp(text, "kill") == 0 ? CONTROL_KILL : CONTROL_NOTHING;
}
