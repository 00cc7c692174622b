/* shrink.h - give memory back to the system before a long wait.
 *
 * For programs of killick, not for hosts. Code that runs again is mapped from the page cache: some
 * page faults, no I/O. Threads: any.  Blocking: about a millisecond.
 */
#pragma once

/* Give back free memory of malloc, and the pages of the program and its libraries that can be read
 * from their files again. Where the system cannot do it, nothing is done. */
void shrink_memory(void);
