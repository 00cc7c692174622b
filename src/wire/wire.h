/* wire.h - the exec-server protocol as both roles know it: names, numbers, limits.
 *
 * JSON-RPC without its "jsonrpc" member. docs/killick-exec-server.7 describes every message, and
 * what killick adds to Codex's protocol.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/emit.h"
#include "base/json.h"

#define WIRE_MESSAGE_MAX    (16u << 20) /* bytes of one message, */
#define WIRE_GREETING_MAX   (64u << 10) /* and of one before initialize */
#define WIRE_CHUNK_MAX      (64u << 10) /* bytes of one piece of output, decoded */
#define WIRE_RETAIN_BYTES   (1u << 20)  /* of a process's output, */
#define WIRE_RETAIN_CHUNKS  50000u
#define WIRE_UNPUSHED_BYTES (256u << 10) /* unpushed output; then the pipes are not read */
/* The last pushes may be lost with the connection; this is more than the buffers on the way hold */
#define WIRE_PUSHED_BYTES  (704u << 10)
#define WIRE_RETAIN_MS     30000 /* of a process that is closed, and what it left behind */
#define WIRE_WRITE_IDS     4096u
#define WIRE_LEASE_MS      30000
#define WIRE_RECOVERY_MS   25000 /* how long a client tries to reconnect */
#define WIRE_RETRY_MS      100
#define WIRE_CONNECT_MS    10000
#define WIRE_INITIALIZE_MS 10000
#define WIRE_HEARTBEAT_MS  5000 /* of our client; no answer for as long: the connection is lost */

/* A member "key":"<base64>" without a copy in between. */
void wire_chunk(struct emit *j, const char *key, const void *bytes, size_t len);

/* The path of a file: URI that a peer sent, as this machine names the path (path_from_url, which
 * says what -EINVAL means); *out is to be given to free(). */
int wire_file_path(struct json uri, char **out);
