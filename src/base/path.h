/* path.h - absolute paths of POSIX systems and of Windows, and the file: URLs of such paths.
 *
 * A path may belong to another machine. So the functions look at the text only, never at a file
 * system, and do the same on every operating system. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum path_kind {
	PATH_RELATIVE, /* also C:x and \x, which Windows completes; also text that is no path */
	PATH_POSIX,    /* /x */
	PATH_WINDOWS,  /* C:\x, C:/x and \\server\share\x; not \\?\x and \\.\x, and not
			* \\localhost\x, because a file: URL has no form for these */
	PATH_URL,      /* file:///x, file:///C:/x, file://server/share/x, file:/x */
};

/* The kind of paths of the machine for which this code is compiled. meson.build defines it for
 * Windows. */
#ifndef PATH_NATIVE
#define PATH_NATIVE PATH_POSIX
#endif
/* The separator for paths that killick makes and people see. Windows understands / as well. */
#define PATH_SEPARATOR (PATH_NATIVE == PATH_WINDOWS ? '\\' : '/')

enum path_kind path_kind(const char *text);

/* Does the absolute path, or file: URL, belong to a machine with Windows? */
bool path_is_windows(const char *text);

/* Append the file: URL of an absolute path. Every byte that has a meaning in URLs, and every byte
 * that is not ASCII, is percent-encoded. A path that is a URL already is written in the same form.
 * -EINVAL for PATH_RELATIVE; -EMSGSIZE and -ENOMEM as buf_add. */
int path_add_url(struct buf *b, const char *path);

/* The path of a file: URL as a machine with paths of `kind` (PATH_POSIX or PATH_WINDOWS) names it;
 * *out is to be given to free(). The server "localhost" is the machine itself. -EINVAL when `url`
 * is no file: URL, has broken escapes, %00, a query or a fragment, or when its path is not an
 * absolute path of that kind. */
int path_from_url(const char *url, enum path_kind kind, char **out);

/* The part behind the last separator; all of the text when there is none. Only the separators of
 * `kind` count: a backslash is a letter in names of POSIX. */
const char *path_name(const char *path, enum path_kind kind);
/* Remove the last name of an absolute path, POSIX or Windows. False: the path is a root (/, C:\,
 * \\server\share), and stays. */
bool path_go_up(char *path);
/* Is `path` the directory `dir` or a path below it? Both are absolute. Paths of Windows are
 * compared without regard to the case of ASCII letters, and the two separators are the same there.
 */
bool path_is_below(const char *path, const char *dir);
