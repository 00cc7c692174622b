/* strings.c - see strings.h */
#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

size_t strings_count(char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

char **strings_copy(char *const *list)
{
	size_t count = strings_count(list);
	char **copy;

	if (!list)
		return NULL;
	copy = mem_grow(NULL, count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = mem_dup(list[i]);
	copy[count] = NULL;
	return copy;
}

void strings_free(char **list)
{
	for (char **p = list; p && *p; p++)
		free(*p);
	free(list);
}

void strings_add(char ***list, char *text)
{
	size_t count = strings_count(*list);

	*list = mem_grow(*list, count + 2, sizeof(**list));
	(*list)[count] = text;
	(*list)[count + 1] = NULL;
}

bool strings_have(char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}
