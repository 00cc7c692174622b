/* toolnames.h - the names of the tools that the servers of a config had when they were last listed.
 *
 * For the completion of shells, which cannot start servers at each key. One file per config in the
 * cache directory has a line "SERVER TAB TOOL" for each tool; a verb that lists the tools of a
 * server replaces the lines of that server. Failures are ignored: completion then offers fewer
 * names.
 *
 * Life: TOOLNAMES_INIT -> toolnames_add ... -> toolnames_save -> toolnames_done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define TOOLNAMES_MAX (1u << 20) /* bytes of the file */
struct toolnames {
	struct buf lines;
};
#define TOOLNAMES_INIT                                                                             \
	{                                                                                          \
		.lines = BUF_INIT(TOOLNAMES_MAX)                                                   \
	}

/* Add a tool. Names that are not one printable line are left out. */
void toolnames_add(struct toolnames *n, const char *server, const char *tool);
/* Store the tools in the file of this config, beside the tools of other servers. */
void toolnames_save(const struct toolnames *n, const char *config);
/* Read the file of this config into *n, which is empty. */
void toolnames_read(struct toolnames *n, const char *config);
/* Copy the names of the next line from *at on, which is 0 at first. Lines with longer names are
 * skipped. False: no more lines. */
bool toolnames_next(const struct toolnames *n, size_t *at, char server[128], char tool[256]);
void toolnames_done(struct toolnames *n);
