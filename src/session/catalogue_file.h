/* catalogue_file.h - the files of the catalogue: one JSON object per entry, named by its key.
 *
 * A file is replaced as a whole. A file that cannot be read or written is no error: the server is
 * asked again. Threads: with the loop's lock.  Blocking: as long as the file system takes.
 */
#pragma once

#include "session/catalogue.h"

/* The path of the folder, for free(); NULL: there is no cache directory. Uses no file. */
char *catalogue_file_folder(const char *cache_dir);
/* Make the folder, and remove the oldest files if there are more than CATALOGUE_MAX. */
void catalogue_file_prepare(const char *folder);
void catalogue_file_write(const char *folder, const struct catalogue_entry *e);
/* The entry of the key, for catalogue_entry_free; NULL: there is no valid file. */
struct catalogue_entry *catalogue_file_read(const char *folder, const char *key);

/* catalogue.c */
void catalogue_entry_free(struct catalogue_entry *e);
