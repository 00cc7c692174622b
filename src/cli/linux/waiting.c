/* waiting.c - see waiting.h */
#include "cli/waiting.h"

intptr_t waiting_for(const struct killick *k)
{
	return killick_fd(k);
}
