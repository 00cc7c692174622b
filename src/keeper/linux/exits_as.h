/* exits_as.h - ends killick as the server ended. */
#pragma once

/* End like a process with this wait status: return its code, or die of the same signal, without a
 * second core file. */
int exits_as(int status);
