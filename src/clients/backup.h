/* backup.h - a copy of a config file as it was before killick changed the file.
 *
 * The copy is beside the file, as FILE.before-killick. In a git work tree the copy would appear in
 * `git status` even if git ignores the file, and configs hold secrets; so the copy of a file in a
 * work tree is in ${XDG_STATE_HOME:-~/.local/state}/killick/backups (dirs_state), with the path in
 * its name and mode 0600.
 *
 * A copy is never overwritten: it may be a file of the user, or the copy of an earlier state. If a
 * file with this name exists, .1 to .9 are appended.
 *
 * The directory `wrapped` beside `backups` has one file for each config file with wrapped servers:
 * the name is made of the path as the name of a copy is, and the contents are the path. So unwrap
 * finds the files of projects, too.
 *
 * Life: backup_keep before the file is wrapped -> backup_drop after all its servers are unwrapped.
 * Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "replace.h"

#define BACKUP_SUFFIX ".before-killick"

struct backup {
	char path[PATH_MAX + 340]; /* "": none */
	bool fresh;                /* backup_keep wrote the copy */
};

/* Make sure that there is a copy of the bytes that were read. `wrapped`: a server of the file is
 * wrapped already, so an existing copy is the copy of the original and is kept. On failure there is
 * no new copy. */
int backup_keep(const struct replace *r, bool wrapped, struct backup *out, struct err *e);
/* Remove the copies with these bytes, which are the bytes of the restored file. `out` names a copy
 * with other bytes, which is not removed; "": there is none. */
void backup_drop(const struct replace *r, const struct fd_piece *pieces, size_t count,
		 struct backup *out);

/* Remember that the file has wrapped servers, or forget it. A failure is not reported: the list is
 * a help for unwrap and for people, and nothing else depends on it. */
void backup_remember(const struct replace *r);
void backup_forget(const struct replace *r);
/* The paths of the remembered files that still exist, for strings_free; NULL: none. */
char **backup_remembered(void);
