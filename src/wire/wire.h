/* wire.h - the exec-server protocol as both roles know it: names, numbers, limits.
 *
 * JSON-RPC without its "jsonrpc" member. docs/killick-exec-server.7 has every message, and what is
 * ours beside Codex's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/emit.h"
#include "base/json.h"

#define WIRE_INVALID_REQUEST (-32600)
#define WIRE_UNKNOWN_METHOD  (-32601)
#define WIRE_BAD_PARAMS      (-32602)
#define WIRE_INTERNAL        (-32603)
#define WIRE_NOT_FOUND       (-32004)
#define WIRE_STILL_ATTACHED  (-32010)

#define WIRE_MESSAGE_MAX    (16u << 20) /* bytes of one message, */
#define WIRE_GREETING_MAX   (64u << 10) /* and of one before initialize */
#define WIRE_CHUNK_MAX      (64u << 10) /* bytes of one piece of output, decoded */
#define WIRE_RETAIN_BYTES   (1u << 20)  /* of a process's output, */
#define WIRE_RETAIN_CHUNKS  50000u
#define WIRE_UNPUSHED_BYTES (256u << 10) /* then its pipes are not read */
/* What was pushed last may be lost with the connection: more than lies in the buffers on the way */
#define WIRE_PUSHED_BYTES  (704u << 10)
#define WIRE_RETAIN_MS     30000 /* of a process that is closed, and what it left behind */
#define WIRE_WRITE_IDS     4096u
#define WIRE_LEASE_MS      30000
#define WIRE_RECOVERY_MS   25000 /* a client tries for so long to come back */
#define WIRE_RETRY_MS      100
#define WIRE_CONNECT_MS    10000
#define WIRE_INITIALIZE_MS 10000
#define WIRE_HEARTBEAT_MS  5000 /* of our client; without an answer for as long it is lost */

/* What is written: the envelope's beginning into b, with j open inside of its params or result;
 * wire_end closes both. Messages are read with message_parse_bare. params and result are objects.
 */
void wire_request(struct buf *b, struct emit *j, uint64_t id, const char *method);
void wire_notification(struct buf *b, struct emit *j, const char *method);
void wire_result(struct buf *b, struct emit *j, struct json id); /* id as it came, byte for byte */
int wire_end(struct emit *j);                                    /* 0 or -EMSGSIZE */
/* A whole error; an id that is JSON_NONE is written as -1, as the original does. 0 or -EMSGSIZE. */
int wire_error(struct buf *b, struct json id, int code, const char *text);
/* The same with "data":{"exitStatus":N}: how `killick run` would have ended. */
int wire_error_status(struct buf *b, struct json id, int code, const char *text, int status);

/* A member "key":"<base64>" without a copy in between. */
void wire_chunk(struct emit *j, const char *key, const void *bytes, size_t len);

/* A path as a file: URI, appended; and back: *out is to be given to free(). -EINVAL when it is no
 * file: URI of an absolute path on this machine (an authority must be empty or localhost; %00 and
 * broken escapes are refused). */
void wire_file_uri(struct buf *b, const char *path);
int wire_file_path(struct json uri, char **out);
