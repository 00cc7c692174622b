/* message.h - one JSON-RPC 2.0 message, as pieces of its line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

enum message_kind {
	MESSAGE_REQUEST,      /* id and method */
	MESSAGE_NOTIFICATION, /* method */
	MESSAGE_RESULT,	      /* id and result */
	MESSAGE_ERROR,	      /* error, and id unless the peer could not read ours */
	MESSAGE_BATCH,	      /* an array: walk `whole` with json_each and message_of */
};

struct message { /* borrowed from the line */
	enum message_kind kind;
	struct json whole, id, method, params, result, error;
	bool ours;	 /* id is one that message_id_write can have written, and then */
	uint64_t number; /* is its number */
};

/* Read a line. 0; -EBADMSG: no JSON; -EPROTO: JSON, but no JSON-RPC message; -E2BIG: too deep. *reason is static. */
int message_parse(const char *line, size_t len, struct message *out, const char **reason);
/* The same for a value that was checked, such as an item of a batch. */
int message_of(struct json v, struct message *out, const char **reason);

/* What we write. Each appends one line, newline included; params and result are JSON text, NULL for none. 0 or -EMSGSIZE. */
int message_request(struct buf *b, uint64_t id, const char *method, const char *params, size_t params_len);
int message_notification(struct buf *b, const char *method, const char *params, size_t params_len);
int message_result(struct buf *b, struct json id, const char *result, size_t result_len);
int message_error(struct buf *b, struct json id, int code, const char *text);
