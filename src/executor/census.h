/* census.h - process/list: everything this executor holds, for `killick ps --on`. Ours. */
#pragma once

#include "base/json.h"
#include "executor/reply.h"

struct executor;

void census_request(struct executor *x, const struct reply *r, struct json params);
