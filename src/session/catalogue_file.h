/* catalogue_file.h - the files of the catalogue: one JSON object per entry, named by its key.
 *
 * A file is replaced as a whole. A file that cannot be read or written is no error: the server is
 * asked again. Threads: any.  Blocking: as long as the file system takes.
 */
#pragma once

#include "base/buf.h"
#include "session/catalogue.h"

/* The path of the folder, for free(); NULL: there is no cache directory. Uses no file. */
char *catalogue_file_folder(const char *cache_dir);
/* Make the folder, and remove the oldest files if there are more than CATALOGUE_MAX. */
void catalogue_file_prepare(const char *folder);
/* Write the text of an entry to the file of the key. */
void catalogue_file_write(const char *folder, const char *key, const struct buf *text);
/* 0, or -errno: the entry has no file. */
int catalogue_file_text(const struct catalogue_entry *e, struct buf *out);
#define CATALOGUE_FILE_MAX (CATALOGUE_KINDS * (size_t)CATALOGUE_LIST_MAX + (4u << 20))
/* The entry of the key, for catalogue_entry_free; NULL: there is no valid file. */
struct catalogue_entry *catalogue_file_read(const char *folder, const char *key);
/* The same for all keys of these fingerprints, a list of strings.h; adds the entries to *out. */
void catalogue_file_read_all(const char *folder, char *const *fingerprints, struct ring *out);

/* catalogue.c */
void catalogue_entry_free(struct catalogue_entry *e);
