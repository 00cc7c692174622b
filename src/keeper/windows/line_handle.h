/* line_handle.h - writes a line to a handle: a file, a pipe or a console.
 * Threads: any.  Allocates: never, but line_offer starts a thread for a pipe.
 */
#pragma once

#include "keeper/line.h"
#include "win.h"

/* Write the text; a console gets it as UTF-16. Waits as WriteFile does. False: not all of it. */
bool line_write_text(const char *text, HANDLE to);
bool line_write(const struct line *l, HANDLE to);

/* Write the line to a reader that may not read: given up after timeout_ms. Then the process must
 * end soon: a thread still uses the line, which must stay as it is. */
void line_offer(const struct line *l, HANDLE to, DWORD timeout_ms);
