/* file.h - files of this user: opening, replacing, and the directories for them.
 *
 * A file is a descriptor for fd_read, fd_write and fd_close (fd.h); programs that are started do
 * not inherit it. Paths are UTF-8. Results: 0 or more, or -errno. Threads: any.  Blocking: as long
 * as the file system takes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum file_how {
	FILE_READ,     /* an existing file */
	FILE_READ_NOW, /* the same; the open of a FIFO does not wait for its writer */
	FILE_READ_OWN, /* the same; -EPERM if another user except root could have written the file:
			* a file of that user, a file that others may write, or no regular file. A
			* symbolic link is refused */
	FILE_APPEND,   /* made if missing, for this user alone; writes go to its end and never wait
			* for a reader of a FIFO */
	FILE_REPORT,   /* the same; a FIFO waits for its reader */
	FILE_PRIVATE,  /* made or emptied, for this user alone; a symbolic link is refused */
};

enum { FILE_STDIN, FILE_STDOUT, FILE_STDERR }; /* descriptors that every program has */

/* A descriptor. */
int file_open(const char *path, enum file_how how);
/* Another descriptor, above 2, for the same open file; programs that are started do not inherit it.
 */
int file_copy(int fd);
/* Open standard descriptors that are closed, because the next open would otherwise get their
 * numbers. They behave as if closed: a read of stdin and a write to the others fail. On Windows
 * also: let the C runtime pass every byte unchanged. For programs of killick, not for hosts. */
void file_open_standard(void);
/* Is stdin closed or the null device? Then there is no input, and stdin can never hang up. */
bool file_has_no_stdin(void);

/* Is fd a regular file on a file system that another program or machine serves (FUSE, NFS, ...)?
 * Then reads, writes and even close may hang. False on Windows. */
bool file_may_hang(int fd);

/* Give a file its final name; a file of that name is replaced in one step. */
int file_rename(const char *from, const char *to);
int file_remove(const char *path);

/* Make a directory for this user alone. -EEXIST: there is one. */
int file_make_directory(const char *path);
/* The same with the missing parents of an absolute path; 0 also if the path exists. */
int file_make_directories(const char *path);

/* --- for files that are replaced as a whole, and for their directories --- */

/* Write what was written to the disk. */
int file_sync(int fd);
/* Give `to` the owner, the mode and the extended attributes (with them the ACL) of `from`. On
 * Windows: the list of who may do what. */
int file_copy_rights(int from, int to);
/* Is there a file or directory of this name? */
bool file_exists(const char *path);
/* 0: this process may read the file; else -errno. */
int file_may_read(const char *path);
/* The absolute path without symbolic links; -ENAMETOOLONG: longer than size - 1 bytes. */
int file_real_path(const char *path, char *out, size_t size);
/* The same for a path whose last names do not exist yet: these are copied. -ENOENT: one of them is
 * . or .. */
int file_real_path_of_new(const char *path, char *out, size_t size);
/* The names in a directory without . and .., in no order, and NULL at the end; the caller frees the
 * names and the list. NULL: the directory cannot be read. */
char **file_names(const char *directory);
