/* memory.h - the memory that trees of keepers use.
 *
 * memory_read lists the processes of the machine once, for any number of trees, and reads the
 * memory of each process of the trees. On Linux the memory is the proportional set size (PSS), so
 * that pages which processes share are counted once. memory_read takes about 5 ms for trees with
 * 100 processes. Threads: any.  Blocking: never, but on Linux memory_read reads files of /proc.
 */
#pragma once

#include <stddef.h>

struct memory_tree {
	int keeper, server;       /* pids */
	unsigned long long bytes; /* out */
	unsigned processes;       /* out: without the keepers */
};

/* 0, or -errno and all trees are empty. */
int memory_read(struct memory_tree *trees, size_t count);
