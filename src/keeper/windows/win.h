/* win.h - the header of Windows without its oldest parts. Meson says for which Windows: 10. */
#pragma once

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* The text of an error of Windows, with its number: "Access is denied (error 5)". Valid until the
 * next call. Threads: one. */
const char *win_error(DWORD error);
