/* zoo.h - hostile stdio MCP servers, one per way in which a process tree escapes its owner.
 *
 * `killick-zoo MODE` behaves like a small MCP server (initialize, ping, tools/list, tools/call of
 * `echo` and `hang`) whose process tree does what MODE says. The tree is complete before initialize
 * is answered, so whoever has the answer may start to end it. Nothing but protocol is written to
 * stdout.
 *
 * Bounds, whatever happens: at most 300 live processes and 10,000 forks per server, and every
 * process is killed by a kernel timer at most 12 s after the server began (no signal disposition,
 * stop or trace holds that off).
 *
 * Environment: ZOO_FIFO names a FIFO that is opened for writing and kept open by every process of
 * the tree, so its reader learns of the end of the last one as a hang-up; once that name is
 * removed, nothing is forked any more. ZOO_LIFE_MS shortens the 12 s (and may lengthen them to 20 s, to
 * ten minutes for the harmless modes `plain` and `mcp`). ZOO_SETUID names the set-uid copy that mode
 * `setuid` needs. ZOO_PIDNS is the pid of the init of a pid namespace that modes `setns...` enter.
 * `mcp` is a whole server whose harm is in what it says (protocol.h); ZOO_PIDS
 * names a file to which it adds its pid.
 */
#pragma once

/* Be the server argv[1] names, with argv[2..] as its arguments. Returns the exit status; 64 for an
 * unknown mode, 77 when this machine cannot do it. For use at the top of a process that has no
 * threads and no other business. */
int zoo_main(int argc, char **argv);

/* Name and description of mode number `index`; NULL after the last. */
const char *zoo_list(int index, const char **out_about);

/* The word that must stand before MODE when the program is executed again, or NULL. A program that
 * embeds the zoo behind a verb sets it before zoo_main. */
extern const char *zoo_verb;
