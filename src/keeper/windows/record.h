/* record.h - the file that describes a tree to other processes, for `killick ps`.
 *
 * One file per tree, named by the tree's id, with lines `key=value` (keeper/record_text.h). The
 * file is in KILLICK_RUNTIME_DIR or, by default, in %LOCALAPPDATA%\killick\trees, which only its
 * user can write to. The kernel removes the file when killick closes it or ends, in whatever way.
 * So a record without its keeper exists only after a power cut: then no process has the pid and the
 * creation time of the line `watch`.
 *
 * record_each removes such a record.
 *
 * Life: record_open -> record_add ... -> the end of killick.  Threads: one.  Allocates: never.
 */
#pragma once

#include "keeper/record_text.h"
#include "win.h"

struct record_file {
	HANDLE handle; /* NULL: none */
};

/* Identify this process until the next boot: pid and creation time. */
struct who record_who(HANDLE process, DWORD pid);

/* Create the record and write its first lines, as on Linux. 0, or an error of Windows. */
DWORD record_open(struct record_file *f, const struct record *rec);

/* Append `key=value\n`; nothing when there is no record. */
void record_add(const struct record_file *f, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Call fn for every record of this user whose keeper lives, or cannot be asked; the record is
 * `kept`. When fn returns a value other than 0, record_each stops and returns that value. An error
 * of Windows as a negative number when the directory cannot be read. */
typedef int (*record_fn)(void *ctx, const struct record *rec);
int record_each(record_fn fn, void *ctx);
