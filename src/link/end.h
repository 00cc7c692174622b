/* end.h - what a keeper's report says of the end of a link.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "link/link.h"

/* Fill in why, step, proof, exit, survivors and stop_ms from the report, which need not be trusted:
 * what it does not say stays as it is, but the proof is "none" then. */
void link_end_read(struct link_end *end, struct json report);
