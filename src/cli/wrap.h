/* wrap.h - the parts of `killick wrap` and `killick unwrap`: the files, and the output about
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/emit.h"
#include "clients/configfile.h"

struct wrap_files {
	struct configfile *list;
	size_t count;
};

/* Open the named files, or, when there are none, all config files of this user and project. With
 * `only`, the name of a client, find only the files of this client, or read the named files as
 * files of this client. */
void wrap_files_open(struct wrap_files *f, char *const *paths, size_t count, const char *only);
void wrap_files_done(struct wrap_files *f);

/* Write a path with ~ for the home directory, cleaned. */
void wrap_show_path(const char *path, char *out, size_t size);
/* Print the table of all servers, and below it why some servers are left alone. */
void wrap_print_table(const struct wrap_files *f, enum action action, const char *server);
/* Write the same as members of an open JSON object. `done`: for each file, was it written? */
void wrap_emit(struct emit *j, const struct wrap_files *f, enum action action, const bool *done);
