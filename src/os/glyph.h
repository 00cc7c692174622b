/* glyph.h - how many columns a character takes in a terminal. Threads: any.  Blocking: never. */
#pragma once

#include <stdint.h>

/* 0, 1 or 2; -1: the character cannot be printed. On Linux of the locale in use. */
int glyph_width(uint32_t character);
