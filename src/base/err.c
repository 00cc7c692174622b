/* err.c - see err.h */
#include "err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	assert(code < 0);
	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

const char *err_next(int code)
{
	if (code == -EMFILE)
		return "; raise the limit of open files (ulimit -n)";
	if (code == -ENFILE)
		return "; the whole machine has too many open files: end some programs";
	return "";
}
