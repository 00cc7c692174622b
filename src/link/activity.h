/* activity.h - does the tree of a keeper do anything? Its CPU time and its I/O (os/procs.h).
 *
 * On Linux one look reads the stat file of every process on the machine, because not every kernel
 * lists the children of a process, and the io file of each process of the tree: 4 us of CPU time
 * per process, 0.55 ms on a machine with 146 processes. It is meant for one look per second while a
 * server starts. Threads: any.  Blocking: never, but on Linux it reads files of /proc.
 */
#pragma once

#include <stdbool.h>

/* A number that changes whenever a process of the tree used CPU time, read, wrote, came or went.
 * The keepers (`keeper` and its own children, except `server`) do not count. False: not known. */
bool activity_read(int keeper, int server, unsigned long long *out);
