/* mcp_look.h - does a command line look like an MCP server?
 *
 * A guess for listing, never a reason to act. The word `mcp` in the name of a program, package,
 * module, script or of a folder of the user's is taken as a sign, and so is `modelcontextprotocol`.
 * Not signs: words that merely contain the letters (mcpelauncher), options (--mcp-config, a
 * client's), data files (mcp.json, mcp.log), and what only happens to be installed below a folder
 * with that name (/src/mcp-x/node_modules/.bin/vite).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* args: as in /proc/PID/cmdline, each argument ended by a NUL, `len` bytes in all. */
bool mcp_look(const char *args, size_t len);
