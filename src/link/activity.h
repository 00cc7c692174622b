/* activity.h - does the tree of a keeper do anything? Its CPU time and its I/O, from /proc.
 *
 * One look reads the stat file of every process on the machine, because not every kernel lists the
 * children of a process, and the io file of each process of the tree: 4 us of CPU time per process,
 * 0.55 ms on a machine with 146 processes. It is meant for one look per second while a server
 * starts.
 * Threads: any.  Blocking: never, but it reads files of /proc.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* A number that changes whenever a process of the tree used CPU time, read, wrote, came or went.
 * The keepers (`keeper` and its own children, except `server`) do not count. False: not known. */
bool activity_read(pid_t keeper, pid_t server, unsigned long long *out);
