/* end.h - the words of a link's end: what a keeper's report says, and what people read.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "link/link.h"

/* Fill in why, step, proof, exit, survivors and stop_ms from the report, which need not be trusted:
 * members that are missing or unknown leave the end as it is, but the proof is 0 then. */
void link_end_read(struct link_end *end, struct json report);

/* "exit", "stdin", ...; static. */
const char *link_why_name(enum link_why why);
/* "none", "eof", "term" or "kill"; static. */
const char *link_step_name(enum link_step step);
/* "waitid,cgroup", for example, or "none"; returns out. */
#define LINK_PROOF_TEXT 48
const char *link_proof_text(unsigned proof, char out[LINK_PROOF_TEXT]);
