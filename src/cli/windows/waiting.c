/* waiting.c - see waiting.h */
#include "cli/waiting.h"

intptr_t waiting_for(const struct killick *k)
{
	void *handle = killick_handle(k);

	return handle ? (intptr_t)handle : -1;
}
