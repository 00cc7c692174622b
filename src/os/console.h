/* console.h - the terminal or the console window of a user. For programs of killick, not for hosts.
 *
 * Threads: the first one.  Blocking: console_ask.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

bool console_is_terminal(int fd);
/* Does a terminal show text in UTF-8? Sets the character set of this program first. On Linux the
 * locale; also true when the environment names a UTF-8 locale whose files are not installed, as in
 * small containers. On Windows always, since killick sets it. */
bool console_is_utf8(void);
/* Is fd a terminal that understands escape sequences? Switches them on first (Windows). */
bool console_can_draw(int fd);

/* The width of a terminal; 80 if it does not tell or is very narrow; 0: fd is no terminal. */
size_t console_columns(int fd);
/* The height of the terminal of stdout; 24 if it does not tell. */
size_t console_rows(void);

/* Print the question to a stream, and read a line of the answer. False: Ctrl-C or the end of stdin,
 * after which a newline is printed, because the terminal printed none. Ctrl-C does not end the
 * program meanwhile. */
bool console_ask(FILE *to, const char *question, char *answer, size_t size);
