/* find_config.c - finds the config when the command line names none. */
#include "clients/clients.h"
#include "cli.h"
#include "os/env.h"
#include "os/file.h"

const char *cli_find_config(const char *given, bool *out_project)
{
	static const char *const places[] = { ".mcp.json", "mcp.json", ".vscode/mcp.json" };
	const char *named = env_get("KILLICK_CONFIG");

	*out_project = false;
	if (given)
		return given;
	if (named && *named)
		return named;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (file_exists(places[i])) {
			*out_project = !clients_is_home(".");
			return places[i];
		}
	return NULL;
}
