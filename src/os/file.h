/* file.h - files of this user: opening, replacing, and the directories for them.
 *
 * A file is a descriptor for fd_read, fd_write and fd_close (fd.h); programs that are started do
 * not inherit it. Paths are UTF-8. Results: 0 or more, or -errno. Threads: any.  Blocking: as long
 * as the file system takes.
 */
#pragma once

enum file_how {
	FILE_READ,     /* an existing file */
	FILE_READ_NOW, /* the same; the open of a FIFO does not wait for its writer */
	FILE_APPEND,  /* made if missing; writes go to its end and never wait for a reader of a FIFO
		       */
	FILE_PRIVATE, /* made or emptied, for this user alone; a symbolic link is refused */
};

/* A descriptor. */
int file_open(const char *path, enum file_how how);

/* Give a file its final name; a file of that name is replaced in one step. */
int file_rename(const char *from, const char *to);
int file_remove(const char *path);

/* Make a directory for this user alone. -EEXIST: there is one. */
int file_make_directory(const char *path);
