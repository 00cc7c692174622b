/* glyph.c - see glyph.h */
#include "os/glyph.h"

#include <wchar.h>

int glyph_width(uint32_t character)
{
	return wcwidth((wchar_t)character);
}
