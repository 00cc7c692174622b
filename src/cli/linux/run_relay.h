/* run_relay.h - `killick run` with --rest, --restart or --supersede: one server behind a relay.
 *
 * Plain `killick run` gives its own stdin and stdout to the server. These options need a process in
 * between that speaks MCP on both sides: the server may end and start again while the client keeps
 * its pipe. The relay is a desk (hub/desk.h) with one server.
 */
#pragma once

#include <stdbool.h>

/* Does the command line have one of these options, before "--"? */
bool run_relay_is_meant(char **argv);
/* argv[0] is the verb; returns the exit status. */
int run_relay(int argc, char **argv);
