/* doctor_variables.h - the part of `killick doctor` about the variables of this environment that
 * servers get.
 */
#pragma once

#include "base/emit.h"

/* Print which variables the servers of a config and commands get, under a heading. */
void doctor_variables_print(void);
/* Write the names as the member "variables" of an open JSON object. */
void doctor_variables_emit(struct emit *j);
