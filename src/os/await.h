/* await.h - wait for a stdin or stdout that another program made non-blocking.
 *
 * Threads: any.  Blocking: until there is something to read, or room to write; also until the other
 * end hangs up. On Windows nothing is done: files of the C runtime always block.
 */
#pragma once

void await_readable(int fd);
void await_writable(int fd);
