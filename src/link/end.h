/* end.h - the end of a link as words: read from a keeper's report, and written for people.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "link/link.h"

/* Fill in why, step, proof, exit, survivors and stop_ms from the report, which need not be trusted:
 * a member that is missing or unknown leaves its field unchanged; but a missing proof is 0, and
 * missing survivors are 0. */
void link_end_read(struct link_end *end, struct json report);

/* "exit", "stdin", ...; static. */
const char *link_why_name(enum link_why why);
/* "none", "eof", "term" or "kill"; static. */
const char *link_step_name(enum link_step step);
/* "waitid,cgroup", for example, or "none"; returns out. */
#define LINK_PROOF_TEXT 56
const char *link_proof_text(unsigned proof, char out[LINK_PROOF_TEXT]);
