/* arguments.h - the words of the command line of this program in UTF-8. For programs of killick.
 * Threads: the first one, once.  Blocking: never.
 */
#pragma once

/* Given what main() got; *argc is set. The result lives as long as the program, NULL at the end. On
 * Windows main() gets words in which some characters are lost, so the line itself is read. */
char **arguments_read(int *argc, char **argv);
