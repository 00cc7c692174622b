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

/* A member "key":"<base64>" without a copy in between. */
void wire_chunk(struct emit *j, const char *key, const void *bytes, size_t len);

/* A path as a file: URI, appended; and back: *out is to be given to free(). -EINVAL when it is no
 * file: URI of an absolute path on this machine (an authority must be empty or localhost; %00 and
 * broken escapes are refused). */
void wire_file_uri(struct buf *b, const char *path);
int wire_file_path(struct json uri, char **out);
