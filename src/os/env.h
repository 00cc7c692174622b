/* env.h - the variables of this process in UTF-8, and the search for programs in PATH.
 *
 * Windows ignores the case of names (`Path` and `PATH` are one variable) and separates the
 * directories of PATH with ';'. Threads: any; but as with getenv, no thread may change a variable
 * meanwhile (Linux).  Blocking: never, except that the search looks at files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "env_native.h"

/* All variables as "NAME=value", and NULL at the end; valid until env_done. */
struct env {
	char **list;
};
struct env env_read(void);
void env_done(struct env *e);

/* The value of a variable, or NULL. Valid until the variable is changed; on Windows, valid for the
 * life of the process. */
const char *env_get(const char *name);
/* The same, but NULL in a setuid program, whose user must not control it by variables. */
const char *env_get_secure(const char *name);
/* Set a variable; NULL: remove it. 0 or -errno. For programs of killick, not for hosts. */
int env_set(const char *name, const char *value);

/* Compare names of len bytes, as memcmp does. */
int env_compare_names(const char *a, const char *b, size_t len);
/* Does the entry "NAME=value" have the name that the first len bytes of `name` are? */
bool env_is_named(const char *entry, const char *name, size_t len);

/* Names of the variables that every server of a config gets; NULL at the end. Among them are those
 * for proxies and for certificate authorities: they are no secrets of one server. */
#define ENV_CERTIFICATES                                                                           \
	"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "REQUESTS_CA_BUNDLE",       \
		"SSL_CERT_DIR", "SSL_CERT_FILE"
extern const char *const env_passed[];
/* Names of the variables without which a process of this system cannot work, so that every server
 * gets them, whatever its recipe says; NULL at the end. */
extern const char *const env_needed[];

/* The name of this machine, cut to size - 1 bytes; "" if it has none. */
void env_host_name(char *out, size_t size);

/* Can this file, named with a directory, be executed? */
bool env_is_program(const char *file);
/* Look for `name`, which has no directory, in the directories of `path` (a value of PATH; NULL:
 * none); empty ones are skipped. On Windows the extensions of PATHEXT are tried. True: out has the
 * file. */
bool env_find_program(const char *path, const char *name, char *out, size_t size);
/* Look for the program `name` in the directory of this library or program. Only on Windows, where
 * programs that belong together are in one directory; elsewhere false. */
bool env_find_beside(const char *name, char *out, size_t size);
