/* sandbox.h - the member `sandbox` of a request: for process/start as options of bubblewrap,
 * bwrap(1); for fs/... as rules for paths.
 *
 * The client says which paths may be read and written, and whether the network may be used.
 * bubblewrap gives the process a file system, a network and a pid namespace of its own by these
 * options; the keeper holds bubblewrap and all processes inside like any other tree. A policy that
 * cannot be enforced exactly (patterns, denied paths, a file system that is not readable as a
 * whole) is refused, never weakened.
 *
 * Threads: any.  Blocking: sandbox_may_write as long as the file system takes.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "link/recipe.h"

struct policy;

/* Read the policy. *out: for sandbox_policy_free; NULL if the client wants no sandbox. TMPDIR
 * is looked up in envp. 0, or e is set with a code of the wire. */
int sandbox_policy_read(struct json sandbox, char *const *envp, struct policy **out, struct err *e);
void sandbox_policy_free(struct policy *p); /* also of NULL */
/* May a file be made, changed or removed? The path is absolute and has no symbolic link. A
 * read-only path counts also while it does not exist. */
bool sandbox_may_write(const struct policy *p, const char *path);

/* Read the policy for the process of the recipe. *out: the options, up to and with "--", for
 * strings_free; NULL if the client wants no sandbox. 0, or e is set with a code of the wire. */
int sandbox_read(struct json policy, const struct recipe *r, char ***out, struct err *e);
/* Replace the command of the recipe: bwrap (a path), the options, the command. Takes the options.
 */
void sandbox_wrap(struct recipe *r, const char *bwrap, char **options);
