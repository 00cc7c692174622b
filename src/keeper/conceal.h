/* conceal.h - command lines for people, without the secrets in them.
 *
 * Tokens and passwords in arguments are common. These are found: the value of an option that has a
 * word for a secret in its name (`--token X`, `-pPW`, `--user a:PW`); the text behind such a name
 * and
 * `=` or `:`, as in variables, headers, queries, connection strings and JSON; the password in a
 * URL; and words that begin like the tokens of well-known services. A reference such as ${TOKEN} is
 * no secret. What is found is shown as CONCEALED; the words that are executed are never changed.
 *
 * The rules are guesses: a secret without a name and without a mark is shown.
 *
 * Threads: any.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "line.h"

#define CONCEALED "***"

struct conceal {            /* zero: before the first word of a command */
	const char *before; /* the last word; borrowed until the next one */
	bool database;      /* a word is a client whose -p is always the password */
};
struct conceal_part {
	size_t at, len; /* the bytes of the word that are secret; len 0: none */
};

/* Find the secret in the next word of a command. */
struct conceal_part conceal_word(struct conceal *c, const char *word);
/* The same for a text of one piece, such as a line of a file: the value of a key. */
struct conceal_part conceal_value(const char *key, const char *value);
/* Add the words of a command, with a space before each but the first; NULL ends the list. */
void conceal_command(struct line *l, char *const *argv);
/* The same for a command that is one text already. Words are split at spaces. */
void conceal_text(struct line *l, const char *text);
