/* container.h - from a member to the struct that contains it.
 *
 * Timers, watches, ring members and tasks are embedded in their owners; a handler gets the embedded
 * struct and finds its owner with CONTAINER_OF.
 */
#pragma once

#include <stddef.h>

#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
