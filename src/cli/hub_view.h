/* hub_view.h - what `killick hub status`, `sessions`, `servers` and others print for people.
 *
 * Each function prints the result of one method of the control API (killick-hub(7)).
 */
#pragma once

#include "base/json.h"

/* Asks the hub once more, for the states of the servers. */
void hub_view_status(struct json status);
void hub_view_sessions(struct json sessions);
void hub_view_servers(struct json servers);
/* The report of hub.shutdown: one line per server that was ended, and a line with the sum. Returns
 * whether every server is proved gone. */
bool hub_view_stopped(struct json report);
void hub_view_reloaded(struct json report);
void hub_view_restarted(struct json result);
