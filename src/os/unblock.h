/* unblock.h - make a pipe or terminal of another program non-blocking.
 *
 * A pipe or terminal may be shared with other processes, which do not expect it to become
 * non-blocking: it is opened again under the same number where possible. Regular files are left
 * alone. On Windows every descriptor of the table is non-blocking, and nothing is done.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

enum unblock_for { UNBLOCK_READING, UNBLOCK_WRITING, UNBLOCK_BOTH };

/* True: the descriptor could not be opened again (it belongs to another user), and the mode of the
 * shared one was changed: call unblock_undo before the descriptor is closed. */
bool unblock(int fd, enum unblock_for use);
void unblock_undo(int fd);
