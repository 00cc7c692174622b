/* clients.h - the MCP clients whose config files killick knows, and the places of these files.
 *
 * One table: the name of a client, the files of the user and of a project, the variable that moves
 * these files, and where the servers are in a file. Files of plugins and of administrators are not
 * in the table, because their owners write them again.
 *
 * Life: clients_find -> read the list -> clients_done. Threads: any.  Blocking: on the file
 * system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "entry.h"
#include "machine.h"

struct client {
	const char *name;  /* for --only and tables: "claude-code" */
	const char *title; /* "Claude Code" */
	unsigned keys;     /* enum entry_keys */
	bool desktop;      /* the desktop starts the client, with another PATH than the shell */
	/* Patterns of paths, separated by spaces; @ is a space, and one name may have a *. ~ is the
	 * home directory, or the value of `home_var`; + is ~/.config, or XDG_CONFIG_HOME; on
	 * Windows + is APPDATA, and % is LOCALAPPDATA; else a path in the project. */
	const char *files;
	const char *home_var;         /* the variable that replaces `home_dir`; NULL: none */
	const char *home_dir;         /* "~/.codex" */
	const char *files_on_windows; /* NULL: as `files` */
};

struct client_file {
	const struct client *client; /* NULL: not known */
	char *path;
	bool project; /* in the working directory or above it, not in the home directory */
	bool in_home; /* of a project whose directory is the home directory */
	bool named;   /* the user has named the file */
};

struct client_files {
	struct client_file *list;
	size_t count;
};

/* Find the existing config files of this user and of the project in the working directory: in this
 * directory and its parents, up to the directory with .git. `only`: the name of one client; NULL:
 * all clients. */
void clients_find(const char *only, struct client_files *out);
void clients_done(struct client_files *f);
/* Find the files of a project in this directory alone. */
void clients_find_in(const char *dir, struct client_files *out);
/* Is the directory the home directory of the user? */
bool clients_is_home(const char *dir);

/* Returns the paths of the files that a client would have on the machine, existing or not, *
 * included; those of a project are relative. To be given to strings_free. */
char **clients_paths(const struct client *c, const struct machine *m);

/* Returns the client with this name, or NULL. */
const struct client *clients_get(const char *name);
/* Returns client i of the table; NULL behind the last client. */
const struct client *clients_at(size_t i);
/* Returns the client of a file that the user names, by its path, of any operating system; NULL: not
 * known. */
const struct client *clients_of_path(const char *path);
/* Write all names, with ", " between them. */
void clients_names(char *out, size_t size);
/* Returns the format of a file, by the end of its name; JSON when the end is unknown. */
enum format clients_format(const char *path);
