/* message.h - one JSON-RPC 2.0 message, as pieces of its line.
 *
 * Reading takes one pass, whatever the size. What is understood, where servers and SDKs differ:
 *  - "jsonrpc" must be "2.0". Members may come in any order, unknown ones are ignored, of
 *    duplicates the last counts. A byte order mark before the message is ignored.
 *  - A member that is null is as good as none, because many write what they do not have as null;
 *    only a result may be null. So a method with a null id is a notification, and
 *    {"result":{},"error":null} a result.
 *  - An id is a string or a number, params an object or an array. An error may be anything, so that
 *    a sloppy one still ends its call.
 *  - Beside a method only id and params are looked at, beside an error only its id. A result
 *    needs an id.
 *  - Our ids come back as numbers, or in quotes: the TypeScript SDK takes both.
 *    7.0 and 7e0 are no ids of ours.
 *  - A batch has at least one item and no batch in it.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

enum message_kind {
	MESSAGE_REQUEST,      /* id and method */
	MESSAGE_NOTIFICATION, /* method */
	MESSAGE_RESULT,       /* id and result */
	MESSAGE_ERROR,        /* error, and id unless the peer could not read ours */
	MESSAGE_BATCH,        /* an array: walk `whole` with json_each and message_of */
};

struct message { /* borrowed from the line; what there is not is JSON_NONE */
	enum message_kind kind;
	struct json whole, id, method, params, result, error;
	bool ours;       /* of an answer: id is one that message_request can have written, */
	uint64_t number; /* and this is its number */
};

/* Read a line. 0; -EBADMSG: no JSON; -EPROTO: JSON, but no JSON-RPC message; -E2BIG: nested too
 * deep. *reason is static. */
int message_parse(const char *line, size_t len, struct message *out, const char **reason);
/* The same for protocols that have no "jsonrpc" member and no batches. */
int message_parse_bare(const char *line, size_t len, struct message *out, const char **reason);
/* The same for a value that was checked, such as an item of a batch: never MESSAGE_BATCH. */
int message_of(struct json v, struct message *out, const char **reason);

/* What we write. Each appends one line, newline included; 0, or -EMSGSIZE and nothing was added.
 * params and result are valid JSON text and go out as they are, but on one line; NULL: no params,
 * an empty result. An id that is JSON_NONE is written as null. */
int message_request(struct buf *b, uint64_t id, const char *method, const char *params,
		    size_t params_len);
int message_notification(struct buf *b, const char *method, const char *params, size_t params_len);
int message_result(struct buf *b, struct json id, const char *result, size_t result_len);
int message_error(struct buf *b, struct json id, int code, const char *text);
