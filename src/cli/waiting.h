/* waiting.h - what a verb waits for when it uses a runtime of the library: for interrupt_wait.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdint.h>

#include <killick/killick.h>

/* killick_fd, or killick_handle on Windows; -1: none. */
intptr_t waiting_for(const struct killick *k);
