/* stderr_file.h - the file that the stderr of a server is appended to.
 *
 * A thread opens the file, writes and closes it, because its file system may hang
 * (base/workers.h). Bytes that come meanwhile wait, at most STDERR_FILE_MAX; more are dropped. When
 * the file cannot be opened at first, or does not answer, the sessions get a warning and nothing
 * more is written until the next start of the server.
 *
 * Life: stderr_file_open -> stderr_file_add ... -> stderr_file_close, which does not wait: the
 * session that waits for the end of the server is closed after the last write.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stddef.h>

#define STDERR_FILE_MAX (1u << 20)

struct killick_session;
struct server;
struct stderr_file;

/* NULL: the server has no such file, or there is no descriptor for threads. */
struct stderr_file *stderr_file_open(struct server *sv);
void stderr_file_add(struct stderr_file *f, const char *bytes, size_t len); /* f may be NULL */
/* s: its close waits for the last write; NULL: no session. f may be NULL. */
void stderr_file_close(struct stderr_file *f, struct killick_session *s);
