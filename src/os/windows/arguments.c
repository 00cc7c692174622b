/* arguments.c - see arguments.h */
#include "os/arguments.h"

#include <windows.h>

#include <shellapi.h>

#include "base/mem.h"
#include "utf16.h"

char **arguments_read(int *argc, char **argv)
{
	int count = 0;
	wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
	char **words;

	if (!wide)
		return argv;
	words = mem_grow(NULL, (size_t)count + 1, sizeof(*words));
	for (int i = 0; i < count; i++)
		words[i] = utf16_to_utf8(wide[i]);
	words[count] = NULL;
	LocalFree(wide);
	*argc = count;
	return words;
}
