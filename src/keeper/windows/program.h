/* program.h - finds the program that a command's first word means.
 *
 * A word without a slash, a backslash or a colon is looked up in the directories of PATH, and in
 * no other: CreateProcess would look into killick's own directory and the current one first, where
 * a project may have put a program of that name. For the same reason a directory in PATH that is
 * not absolute is skipped. Any other word is a path.
 *
 * Only .exe, .com, .bat and .cmd are programs. A word without such an extension is tried with those
 * of PATHEXT: `npx` means npx.cmd. Beside npx.cmd npm puts a file `npx`, a shell script, which
 * Windows cannot start.
 *
 * Threads: one.  Blocking: as the file system does.  Allocates: never.
 */
#pragma once

#include <wchar.h>

#define PROGRAM_MAX 32768 /* characters of a path, with the NUL */

enum program_kind {
	PROGRAM_NONE,   /* not found */
	PROGRAM_NATIVE, /* .exe, .com */
	PROGRAM_BATCH,  /* .bat, .cmd: cmd.exe runs them */
	PROGRAM_OTHER,  /* the file exists, but is no program */
};

/* The full path goes to `out`, which is unchanged when nothing is found. */
enum program_kind program_find(const wchar_t *word, wchar_t out[PROGRAM_MAX]);
