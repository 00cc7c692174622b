/* args.c - writes its arguments, one line each: the UTF-16 units as hexadecimal numbers; first its
 * own name. */
#include <windows.h>
#include <stdio.h>
#include <wchar.h>

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

int wmain(int argc, wchar_t **argv)
{
	wchar_t self[MAX_PATH];
	const wchar_t *name;

	GetModuleFileNameW(NULL, self, MAX_PATH);
	name = wcsrchr(self, L'\\');
	printf("name %ls\n", name ? name + 1 : self);
	for (int i = 1; i < argc; i++) {
		printf("arg");
		for (const wchar_t *p = argv[i]; *p; p++)
			printf(" %04x", (unsigned)*p);
		printf("\n");
	}
	return 0;
}
