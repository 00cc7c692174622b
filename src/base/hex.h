/* hex.h - a hexadecimal digit. */
#pragma once

/* The value of the digit c; -1: c is no hexadecimal digit. */
static inline int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
