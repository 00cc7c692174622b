/* doctor_clients.h - the part of `killick doctor` about the config files of MCP clients: which of
 * their servers killick does not hold. */
#pragma once

#include "base/emit.h"

/* Print which servers of which client are not held, and the command that changes it. */
void doctor_clients_print(void);
/* The same as the member "clients" of an open JSON object. */
void doctor_clients_emit(struct emit *j);
