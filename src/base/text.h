/* text.h - text for people: its width, where it may be cut, and no bytes in it that control a
 * terminal.
 *
 * Names and command lines come from processes we do not trust. Such text must pass text_clean
 * before it is written to a terminal. Widths need a UTF-8 LC_CTYPE to be right beyond ASCII;
 * text_set_utf8(false) replaces each character beyond ASCII by a '?'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* May output hold more than ASCII? The default is false. Set once, at the start. */
void text_set_utf8(bool on);
bool text_is_utf8(void);

/* May this character be output? False for control characters (C1 included), for invisible
 * characters, for marks that change the direction of text and, in an ASCII locale, for all beyond
 * ASCII. */
bool text_is_printable(int c);
/* Copy len bytes as one printable line: NUL, newline and tab become a space; other control
 * characters, broken UTF-8 and (in an ASCII locale) all beyond ASCII become '?'. Trailing spaces
 * are removed. Text that does not fit is cut. */
void text_clean(const char *in, size_t len, char *out, size_t size);

/* Terminal columns of s. */
size_t text_width(const char *s);

/* Copy s cut to at most `columns`, with a mark at the end when it was cut. */
void text_cut(const char *s, size_t columns, char *out, size_t size);
/* The same for a path, with the mark near the beginning: the name of the file stays. */
void text_cut_middle(const char *s, size_t columns, char *out, size_t size);

/* "512K", "1.2M", "120M", "3.4G": five characters at most. */
const char *text_size(unsigned long long bytes, char out[16]);

/* "0ms", "850ms", "3.2s", "45s", "12m", "3h12m", "2d4h": six characters at most below 100 days. */
const char *text_span(long long ms, char out[24]);
