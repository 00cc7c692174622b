/* method.c - see method.h */
#include "api/method.h"

#include <stddef.h>
#include <string.h>

#define METHOD_MAX 256

bool method_is_free(const char *method)
{
	static const char *const ours[] = { "initialize", "notifications/initialized",
					    "notifications/cancelled", "server/discover",
					    "subscriptions/listen" };
	size_t len = strlen(method);

	if (len == 0 || len > METHOD_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (method[i] <= ' ' || method[i] >= 0x7f || method[i] == '"' || method[i] == '\\')
			return false;
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (strcmp(method, ours[i]) == 0)
			return false;
	return true;
}
