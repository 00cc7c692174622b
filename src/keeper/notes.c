/* notes.c - see notes.h */
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>

void notes_add(struct notes *n, const char *fmt, ...)
{
	va_list ap;

	if (n->count == NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(n->list[n->count++], sizeof(n->list[0]), fmt, ap);
	va_end(ap);
}
