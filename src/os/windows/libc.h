/* libc.h - what glibc has and the C library of mingw-w64 lacks.
 *
 * The compiler reads this file in front of every file of a Windows build (src/meson.build), so that
 * the code above src/os needs no line for Windows. See the man pages of Linux for the functions.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef ESTALE
#define ESTALE 1070 /* the value of fd_native.h */
#endif

void *memmem(const void *in, size_t len, const void *what, size_t what_len);
char *strchrnul(const char *s, int c);
char *strndup(const char *s, size_t max);
char *strsep(char **at, const char *delimiters);
char *strcasestr(const char *in, const char *what);

/* The text of an errno, also of those that msvcrt's strerror does not know (ECONNREFUSED, ...). */
const char *libc_strerror(int error);
#define strerror(error) ((char *)libc_strerror(error))
