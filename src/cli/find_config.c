/* find_config.c - finds the config when the command line names none. */
#include "cli.h"
#include "os/env.h"
#include "os/file.h"

const char *cli_find_config(const char *given)
{
	static const char *const places[] = { ".mcp.json", "mcp.json", ".vscode/mcp.json" };
	const char *named = env_get("KILLICK_CONFIG");

	if (given)
		return given;
	if (named && *named)
		return named;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (file_exists(places[i]))
			return places[i];
	return NULL;
}
