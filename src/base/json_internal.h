/* json_internal.h - how json_check.c and json.c step over comments. */
#pragma once

/* The end of a comment that begins at p; NULL when it is not closed, p when there is none. */
const char *json_comment(const char *p, const char *end);
