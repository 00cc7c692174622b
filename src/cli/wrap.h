/* wrap.h - the parts of `killick wrap` and `killick unwrap`: the files, and what is printed of
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

/* Open the named files, or, when there are none, all config files of this user and project; only
 * those of one client if `only` is not NULL. */
void wrap_files_open(struct wrap_files *f, char *const *paths, size_t count, const char *only);
void wrap_files_done(struct wrap_files *f);

/* Where killick is: in PATH, or this installation. The directories that npx and npm put into PATH
 * while they run do not count, because clients do not have them. False: an error was printed. */
struct wrap_killick {
	const char *name; /* "killick", if PATH has it; else NULL */
	char absolute[4200];
};
bool wrap_find_killick(const char *verb, struct wrap_killick *out);

/* One word for the state of a server, before the plan is carried out. */
const char *wrap_state(const struct configfile *c, size_t i, enum action action);
/* A path with ~ for the home directory. */
void wrap_show_path(const char *path, char *out, size_t size);
/* The table of all servers, and below it why some are left alone. */
void wrap_print_table(const struct wrap_files *f, enum action action, const char *server);
/* The same as members of an open JSON object. `done`: of each file, was it written? */
void wrap_emit(struct emit *j, const struct wrap_files *f, enum action action, const bool *done);
