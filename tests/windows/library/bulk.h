/* bulk.h - an MCP server whose tool `echo` answers a text of any length.
 *
 * The server reads and writes one message at a time, so that both pipes fill up when messages are
 * larger than the pipes. Threads: one.
 */
#pragma once

/* Serve stdin and stdout until the end of stdin. Returns the exit status. */
int bulk_serve(void);
