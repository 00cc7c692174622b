/* err.h - an error by value: reporting an error never allocates. */
#pragma once

struct err {
	int code;       /* negative errno */
	char text[240]; /* a sentence for people, without the errno's name */
};
#define ERR_INIT                                                                                   \
	{                                                                                          \
		.code = 0                                                                          \
	}

/* Fill in e (which may be NULL) and return code, so that `return err_set(e, -errno, ...)` is one
 * statement. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What the user can do about the failure `code`, to be printed after the reason, for example ";
 * raise the limit of open files (ulimit -n)". An empty string when there is no advice. */
const char *err_next(int code);
