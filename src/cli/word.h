/* word.h - words of a command line that a person can copy: quoted for the shell of this system, sh
 * or cmd.exe. Threads: any.  Blocking: never.
 */
#pragma once

#include "base/buf.h"

/* Append a space and the word, in quotes if the shell needs them. */
void word_add(struct buf *b, const char *word);
/* The same, always in quotes. cmd.exe replaces %NAME% all the same where such a variable is set. */
void word_add_quoted(struct buf *b, const char *word);

/* The characters that mean nothing to the shell of this system. */
extern const char word_plain[];
