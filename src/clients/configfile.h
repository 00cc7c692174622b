/* configfile.h - one config file of a client: its servers, and the edits that wrap or unwrap them.
 *
 * Life: configfile_open -> look at the entries -> configfile_plan -> configfile_diff ->
 * configfile_write -> configfile_done. A file that cannot be read or understood has a `fault`, and
 * no entries; such a file is never written.
 *
 * Before a plan is accepted, its result is read again: every server must start the same words as
 * before, with or without killick in front, and unwrapping must give the old bytes. A server for
 * which this is not true is left alone.
 *
 * Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backup.h"
#include "clients.h"
#include "edit.h"
#include "entry.h"
#include "replace.h"

enum action { ACTION_WRAP, ACTION_UNWRAP };

struct configfile {
	const struct client *client; /* NULL: not known */
	char *path;                  /* as found or given */
	bool project, named;         /* as in struct client_file */
	enum format format;
	struct replace file;
	struct entries entries;
	bool *planned;       /* for each entry: will it be changed? */
	size_t change_count; /* how many entries will be changed */
	struct edits edits;
	const char *killick; /* the command that wrap writes; borrowed */
	bool hub;            /* wrap writes `killick connect` */
	const char *share;   /* and `--share WORD`; NULL: no; borrowed */
	const char *idle;    /* and `--idle TIME`; NULL: no; borrowed */
	char *backup;        /* after configfile_write: the copy of the old file; NULL: none */
	char fault[320];     /* "PATH:LINE: reason"; "": none */
	/* after configfile_plan: why the whole file is left alone; NULL: it is not */
	const char *left_alone;
};

struct configfile_plan {
	enum action action;
	enum machine_system system;
	const char *server; /* only servers with this name; NULL: all */
	const char *name; /* name of killick that the client finds in its PATH; NULL: not in PATH */
	const char *absolute; /* full path of killick; for desktop clients, and when name is NULL */
	bool show_secrets;    /* in the diff */
	bool hub; /* ACTION_WRAP: write `killick connect`, also in the place of `killick run` */
	/* with hub: write `--share WORD` and `--idle TIME`, also for servers that have another
	 * value; NULL: no, and a value that is there stays */
	const char *share, *idle;
};

/* Read the file and find its servers. A failure is in `fault`. */
void configfile_open(struct configfile *c, const struct client_file *f);
/* The second part of configfile_open, for a text that is in c->file already. */
void configfile_parse(struct configfile *c);
/* Decide which servers to change, and how. */
void configfile_plan(struct configfile *c, const struct configfile_plan *p);
/* Print the changes as a diff of the file called `shown`. */
void configfile_diff(const struct configfile *c, const char *shown, FILE *out);
/* Write the changes. Returns 0, or -errno with *e set, and then nothing was written. wrap keeps a
 * copy of the file as it was before its first server was wrapped; unwrap of the last server removes
 * the copy, unless the bytes of the copy and of the restored file differ (backup.h). */
int configfile_write(struct configfile *c, enum action action, struct err *e);
void configfile_done(struct configfile *c);
