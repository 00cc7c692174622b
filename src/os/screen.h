/* screen.h - the terminal of a program that draws frames and reads keys: `killick top`.
 *
 * While the screen is open the terminal is in raw mode and shows its second page, so that the lines
 * of the shell come back at the end. screen_close restores the terminal; so do the signals that end
 * or stop the program, because the screen takes them: SIGINT, SIGTERM, SIGHUP and SIGQUIT end
 * screen_wait with SCREEN_END; at SIGTSTP (Ctrl-Z) the terminal is restored, the program stops, and
 * SCREEN_SIZE follows when the program is continued.
 *
 * Windows: screen_open returns -ENOSYS.
 * Life: screen_open, before any thread is started -> screen_wait, screen_keys, screen_draw ... ->
 * screen_close. Threads: the first one.  Blocking: screen_wait and screen_draw.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum screen_event { /* bits */
		    SCREEN_KEYS = 1,
		    SCREEN_SIZE = 2,  /* draw the whole frame again, perhaps with another size */
		    SCREEN_OTHER = 4, /* `other` is readable */
		    SCREEN_END = 8, /* a signal asks the program to end, or the terminal is gone */
};

struct screen;

/* 0; -ENOTTY: stdin or stdout is no terminal; -ENOSYS: not on this system; -errno. On failure the
 * terminal is unchanged. */
int screen_open(struct screen **out);
/* Restore the terminal. NULL: nothing is done. */
void screen_close(struct screen *s);
/* Wait for events; `other` is a descriptor, -1: none; timeout_ms -1: without limit. Returns bits of
 * screen_event; 0: the time is over. */
unsigned screen_wait(struct screen *s, int other, int timeout_ms);
/* Read the bytes of keys that were pressed, without waiting. */
size_t screen_keys(struct screen *s, char *out, size_t size);
/* The signal that ended the wait with SCREEN_END; 0: the terminal is gone. */
int screen_signal(const struct screen *s);
/* Show a frame: `count` lines without newlines, none wider than the terminal. The bytes are written
 * at once, and only if they differ from those of the last frame. */
void screen_draw(struct screen *s, char *const *lines, size_t count);
