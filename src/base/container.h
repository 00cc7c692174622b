/* container.h - from a member to the struct that contains it.
 *
 * Timers, watches, ring members and tasks are embedded in their owners; a handler that is given one
 * of them finds its owner by this.
 */
#pragma once

#include <stddef.h>

#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
