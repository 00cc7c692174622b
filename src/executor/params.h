/* params.h - members of a request's params, and the errors when a member is wrong.
 *
 * The texts of the errors are those of the original's parser, because people search for them. A
 * member that is null counts as absent. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

struct param {
	const char *name;
	struct json value; /* JSON_NONE: none */
};

/* Fill in the values in one pass; unknown members are ignored, and the last of duplicate members
 * counts. e is set (RPC_BAD_PARAMS) when params is no object. */
int params_read(struct json params, struct param *list, size_t count, struct err *e);
/* For methods that take none: null, absent or {}. */
int params_none(struct json params, struct err *e);

/* The error when a string of a peer does not fit into memory (json_string): RPC_INTERNAL. The
 * request fails, and the executor goes on. */
int params_no_memory(const char *name, struct err *e);

/* Each: 0, or e is set. Required members. */
int param_text(const struct param *p, char **out, struct err *e); /* to be given to free() */
int param_bool(const struct param *p, bool *out, struct err *e);
/* Append the bytes of a text in base64. */
int param_base64(const struct param *p, struct buf *out, struct err *e);
/* Optional members: if absent, *out is unchanged. */
int param_bool_if(const struct param *p, bool *out, struct err *e);
int param_number_if(const struct param *p, uint64_t *out, struct err *e); /* cut to INT64_MAX */
/* Is the member there and of this type? */
int param_is(const struct param *p, enum json_type type, struct err *e);
/* Does a string contain a NUL, which no argument of a program can contain? */
bool param_has_nul(struct json v);
