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
 * removed, nothing is forked any more. ZOO_LIFE_MS shortens the 12 s (and may lengthen them to 20
 * s, to ten minutes for the harmless modes `plain` and `mcp`).
 *
 * The modes of src/zoo are those of `killick zoo`, which `killick demo` starts. The modes that only
 * tests need are in tests/zoo (fixtures.h).
 */
#pragma once

/* Be the server argv[1] names, with argv[2..] as its arguments. Returns the exit status; 64 for an
 * unknown mode, 77 when this machine cannot do it. For use at the top of a process that has no
 * threads and no other business. */
int zoo_main(int argc, char **argv);

struct zoo_mode {
	const char *name; /* NULL ends a table; with '+' in front: not a server */
	int (*run)(int argc, char **argv);
	const char *about; /* one line for --list; NULL: not listed */
};
/* Further modes, or NULL. A program that has modes of its own sets this before zoo_main. */
extern const struct zoo_mode *zoo_more;

/* The word that must stand before MODE when the program is executed again, or NULL. A program that
 * embeds the zoo behind a verb sets it before zoo_main. */
extern const char *zoo_verb;
