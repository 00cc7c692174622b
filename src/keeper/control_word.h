/* control_word.h - the words by which an owner (libkillick) controls a keeper.
 *
 * A word is one message: "eof", "stop", "kill" or "int". Behind "eof" and "stop" may stand a grace
 * ("eof 500", milliseconds) and " ask": the owner answers questions (linux/control.h).
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#define CONTROL_WORD_MAX 80 /* bytes of a message, with its NUL */

enum control_word {
	CONTROL_NOTHING, /* no word, or an unknown one */
	CONTROL_EOF,
	CONTROL_STOP,
	CONTROL_KILL,
	CONTROL_INT,
	CONTROL_GONE /* the owner has hung up; no text means this */
};

/* Read one message; text is changed. *grace_ms is changed if the word has a grace, and *asks
 * becomes true if the owner answers questions. */
enum control_word control_word_read(char *text, unsigned *grace_ms, bool *asks);
