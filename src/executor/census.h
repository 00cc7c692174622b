/* census.h - process/list: everything this executor holds, for `killick ps --on`. Codex's protocol
 * does not have it. */
#pragma once

#include "base/json.h"
#include "rpc/reply.h"

/* For rpc_method: `connection` is a struct connection. */
void census_request(void *connection, const struct reply *r, struct json params);
