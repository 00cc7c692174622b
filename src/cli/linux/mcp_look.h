/* mcp_look.h - does a command line look like an MCP server?
 *
 * The result is a guess for lists, never a reason to kill. Signs are the word `mcp` in the name of
 * a program, package, module, script or directory of the user, and the word `modelcontextprotocol`.
 * No signs are: words that only contain the letters (mcpelauncher), options (--mcp-config of a
 * client), data files (mcp.json, mcp.log), and programs that are installed below a directory with
 * that name (/src/mcp-x/node_modules/.bin/vite).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* args: as in /proc/PID/cmdline, each argument ended by a NUL; `len` is the length of all
 * arguments. */
bool mcp_look(const char *args, size_t len);
