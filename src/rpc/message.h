/* message.h - one JSON-RPC 2.0 message, as pieces of its line.
 *
 * Reading takes one pass, whatever the size. Servers and SDKs differ; these rules hold here:
 *  - "jsonrpc" must be "2.0". Members may come in any order, unknown members are ignored, and the
 *    last of duplicate members counts. A byte order mark before the message is ignored.
 *  - A member that is null counts as absent, because many peers write absent members as null; only
 *    a result may be null. So a method with a null id is a notification, and
 *    {"result":{},"error":null} a result.
 *  - An id is a string or a number, params an object or an array. An error may be any value, so
 *    that a malformed error still ends its call.
 *  - Beside a method only id and params are read, beside an error only the id. A result needs an
 *    id.
 *  - An answer has our id as a number, or in quotes: the TypeScript SDK accepts both. 7.0 and 7e0
 *    are not ids of ours.
 *  - A batch has at least one item and no batch in it.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/emit.h"
#include "base/json.h"

enum rpc_code { /* of errors */
		RPC_INVALID_REQUEST = -32600,
		RPC_UNKNOWN_METHOD = -32601,
		RPC_BAD_PARAMS = -32602,
		RPC_INTERNAL = -32603,
		/* of the exec-server protocol */
		RPC_NOT_FOUND = -32004,
		RPC_STILL_ATTACHED = -32010,
		/* of MCP */
		RPC_REJECTED = -1, /* the user refused sampling */
		RPC_HEADER_MISMATCH = -32020,
		RPC_MISSING_CAPABILITY = -32021,
		RPC_VERSION = -32022,
		RPC_URL_ELICITATION = -32042, /* until the legacy era ended */
};

enum message_kind {
	MESSAGE_REQUEST,      /* id and method */
	MESSAGE_NOTIFICATION, /* method */
	MESSAGE_RESULT,       /* id and result */
	MESSAGE_ERROR,        /* error, and id unless the peer could not read ours */
	MESSAGE_BATCH,        /* an array: walk `whole` with json_each and message_of */
};

struct message { /* borrowed from the line; absent members are JSON_NONE */
	enum message_kind kind;
	struct json whole, id, method, params, result, error;
	bool ours;       /* of an answer: id is one that message_request can have written, */
	uint64_t number; /* and this is its number */
	/* A member occurs more than once, or another member has its name in other upper and lower
	 * case: readers may disagree about its value. */
	bool repeated;
	size_t known_at, known_len; /* in whole: the longest member inside params or result */
};

/* Walk the members of params or result. The longest one, which the check of the line has measured
 * already, is not read again. m->whole may have been copied together with the other pieces. */
static inline struct json_iter message_iter(const struct message *m, struct json v)
{
	struct json_iter it = json_iter(v);

	if (m->known_len)
		it.known = (struct json){ m->whole.at + m->known_at, m->known_len };
	return it;
}

/* Read a line. 0; -EBADMSG: no JSON; -EPROTO: JSON, but no JSON-RPC message; -E2BIG: nested too
 * deep. *reason is static. */
int message_parse(const char *line, size_t len, struct message *out, const char **reason);
/* The same for protocols that have no "jsonrpc" member and no batches. */
int message_parse_bare(const char *line, size_t len, struct message *out, const char **reason);
/* The same for a value that was checked, such as an item of a batch: never MESSAGE_BATCH. */
int message_of(struct json v, struct message *out, const char **reason);

/* Writing: the beginning of a message is appended to b, and j is open inside its object, for params
 * or result; message_end closes all that is open. bare: without the "jsonrpc" member. */
void message_request(struct emit *j, struct buf *b, bool bare, uint64_t id, const char *method);
void message_notification(struct emit *j, struct buf *b, bool bare, const char *method);
/* Open the params of a request or notification; the next members are written there. */
void message_params(struct emit *j);
/* The id is copied byte for byte. JSON_NONE (the id could not be read) is written as null, or as -1
 * if bare. */
void message_result(struct emit *j, struct buf *b, bool bare, struct json id);
/* 0, or -EMSGSIZE and the buffer is as it was before the message. */
int message_end(struct emit *j);
/* An error: j is open inside the error object, for "data". If bare, the id comes last, as the
 * original of the exec-server protocol writes it; so an error has its own end function. */
void message_error(struct emit *j, struct buf *b, bool bare, struct json id, int code,
		   const char *text);
int message_end_error(struct emit *j, bool bare, struct json id);
