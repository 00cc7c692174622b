/* gitindex.h - asks the index of a git work tree whether git tracks a file.
 *
 * The index is read, and git is not started: the configuration of a repository may name programs
 * that git runs, and a machine may have no git. Versions 2 to 4 of the index are known, with SHA-1
 * and SHA-256.
 *
 * Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Does git track the file? `path` is absolute, without symbolic links. Also true if the index
 * cannot be understood: nobody can tell then. False outside of a work tree. */
bool gitindex_has(const char *path);
/* The directory above the file that contains .git; false: the file is in no work tree. */
bool gitindex_work_tree(const char *path, char *out, size_t size);
/* The same for the bytes of an index; `name` is the path below the work tree, with slashes. */
bool gitindex_bytes_have(const char *bytes, size_t len, const char *name);
