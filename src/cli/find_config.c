/* find_config.c - finds the config when the command line names none. */
#include <unistd.h>

#include "cli.h"

const char *cli_find_config(const char *given)
{
	static const char *const places[] = { ".mcp.json", "mcp.json", ".vscode/mcp.json" };
	const char *named = getenv("KILLICK_CONFIG");

	if (given)
		return given;
	if (named && *named)
		return named;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], F_OK) == 0)
			return places[i];
	return NULL;
}
