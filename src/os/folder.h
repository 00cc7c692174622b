/* folder.h - a directory that stays the same one while it is open, and the files in it by name.
 *
 * On Linux another program may rename the directory meanwhile: names are still looked up in the
 * directory that was opened. On Windows the open directory cannot be renamed or removed. A name
 * that is a symbolic link is never followed. Descriptors are for fd.h and file.h.
 * Life: folder_open or folder_copy -> ... -> folder_close. Threads: any.
 * Blocking: as long as the file system takes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct folder {
	intptr_t handle; /* a descriptor of Linux, or a HANDLE; -1: not open */
	char *path;      /* on Windows; NULL: none */
};
#define FOLDER_INIT                                                                                \
	{                                                                                          \
		.handle = -1                                                                       \
	}

enum folder_how {
	FOLDER_FOLLOW,   /* the path may be a symbolic link */
	FOLDER_NO_LINK,  /* its last name must be the directory itself */
	FOLDER_NO_LINKS, /* no name of the path may be a symbolic link. Not on Windows: -ENOSYS */
};
/* All return 0 (folder_read, folder_write, folder_create and folder_create_unnamed: a descriptor)
 * or -errno. */
int folder_open(const char *path, enum folder_how how, struct folder *out);
int folder_copy(const struct folder *f, struct folder *out);

/* A file for reading; the open waits for nothing, also if the name is no regular file. */
int folder_read(const struct folder *f, const char *name);
/* A regular file for writing, made if missing and emptied; new files and directories get the rights
 * that the umask allows. -EBADF: the name is something else, and was not opened. */
int folder_write(const struct folder *f, const char *name);
int folder_make_directory(const struct folder *f, const char *name);
/* A new file for writing, for this user alone; -EEXIST. */
int folder_create(const struct folder *f, const char *name);
/* The same without a name: the file is gone with its descriptor, also if this process is killed,
 * unless folder_give_name gave it a name. -EOPNOTSUPP: this system or file system has no such
 * files. */
int folder_create_unnamed(const struct folder *f);
int folder_give_name(const struct folder *f, int fd, const char *name);
bool folder_has(const struct folder *f, const char *name);
int folder_remove(const struct folder *f, const char *name);
int folder_remove_directory(const struct folder *f, const char *name); /* an empty one */
/* Give a file another name; a file of that name is replaced in one step. */
int folder_rename(const struct folder *f, const char *from, const char *to);
/* Write the names to the disk, where the file system can do this. */
void folder_sync(const struct folder *f);
void folder_close(struct folder *f); /* also of FOLDER_INIT, and twice */
