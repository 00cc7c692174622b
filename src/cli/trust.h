/* trust.h - may a config file that was found in a project be used?
 *
 * The file of a project names commands, and the author of the project chose them. So a verb that
 * finds such a file by itself first asks the user, once for each version of the file; the answer is
 * remembered (trust_list.h). A file that the user names, and files of the user's home directory,
 * are used without a question.
 *
 * The bytes that were looked at are the bytes that are used: callers pass on the text of the
 * configfile, or its digest, and never read the file again.
 *
 * Threads: one.  Blocking: on the file system and on the answer of the user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "clients/configfile.h"

/* Append the text that the library reads: that of the file, or its translation. */
void trust_text(const struct configfile *c, struct buf *out);
/* Write the digest of the file's bytes. */
void trust_digest(const struct configfile *c, char out[SHA256_HEX_SIZE]);

/* May the file be used? `text` is that of trust_text. Asks on a terminal, if `ask` is true and the
 * file was not allowed before. False: the reason was printed. */
bool trust_allows(const char *verb, const struct configfile *c, const struct buf *text, bool ask);
/* Is the file one that may be allowed at all? A symbolic link, a file of another user, and a file
 * that every user may write are refused. False: the reason was printed, if verb is not NULL. */
bool trust_is_safe(const char *verb, const struct configfile *c);
