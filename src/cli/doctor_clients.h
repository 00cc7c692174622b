/* doctor_clients.h - the part of `killick doctor` about the config files of MCP clients: which
 * servers of these files killick does not hold.
 */
#pragma once

#include "base/emit.h"

/* Print which servers of which client are not held, and the command that holds them. */
void doctor_clients_print(void);
/* Write the same as the member "clients" of an open JSON object. */
void doctor_clients_emit(struct emit *j);
