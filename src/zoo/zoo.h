/* zoo.h - hostile stdio MCP servers, one per way in which a process tree escapes its owner.
 *
 * `killick-zoo MODE` behaves like a small MCP server (initialize, ping, tools/list, tools/call of
 * `echo` and `hang`) whose process tree does what MODE says. The tree is complete before initialize
 * is answered, so a test may end it after the answer. Only protocol messages are written to stdout.
 *
 * Bounds, always: at most 300 live processes and 10,000 forks per server, and a kernel timer kills
 * every process at most 12 s after the start of the server (no signal disposition, stop or trace
 * prevents this).
 *
 * Environment: ZOO_FIFO names a FIFO that every process of the tree keeps open for writing, so its
 * reader gets a hang-up when the last process ends; once that name is removed, no process is forked
 * any more. ZOO_LIFE_MS shortens the 12 s (or lengthens them to 20 s, to two hours for the
 * harmless modes `plain` and `mcp`).
 *
 * The modes of src/zoo are those of `killick zoo`, which `killick demo` starts. The modes that only
 * tests need are in tests/zoo (fixtures.h).
 */
#pragma once

/* Run the server of mode argv[1], with argv[2..] as its arguments. Returns the exit status; 64 for
 * an unknown mode, 77 when this machine does not support the mode. The process must have one thread
 * and no other task. */
int zoo_main(int argc, char **argv);

struct zoo_mode {
	const char *name; /* NULL ends a table; with '+' in front: not a server */
	int (*run)(int argc, char **argv);
	const char *about; /* one line for --list; NULL: not listed */
};
/* Further modes, or NULL. A program with more modes sets this before zoo_main. */
extern const struct zoo_mode *zoo_more;

/* The word before MODE when the program executes itself again, or NULL. A program that has the zoo
 * as a verb sets this before zoo_main. */
extern const char *zoo_verb;
