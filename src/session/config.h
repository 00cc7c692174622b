/* config.h - the set of servers that a session is to have, as people write it down.
 *
 * Reads {"mcpServers": {...}} and VS Code's {"servers": {...}}, with comments and trailing commas;
 * variables (expand.h) in command, args, cwd, stderr and the values of env. A config is understood
 * whole or refused whole, with file, line, key and reason. Keys that are not known are not used and
 * named once in `warnings`; no key may come twice. docs/killick-config.5 has every key.
 *
 * Life: config_parse, config_read or config_command -> read its fields -> config_done.
 *
 * Threads: any.  Blocking: config_read reads the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FINGERPRINT_SIZE 65 /* hex SHA-256 and NUL */

#define CONFIG_FILE_MAX    (16u << 20) /* bytes of a config */
#define CONFIG_SERVERS_MAX 1000u
#define CONFIG_NAME_MAX    63u     /* bytes of a server's name: what `killick run --name` takes */
#define CONFIG_STRING_MAX  131071u /* bytes of one argument or variable: what Linux takes */
#define CONFIG_ROOM        (64u << 20) /* bytes of all strings together, expanded */

enum config_era { CONFIG_LEGACY, CONFIG_MODERN, CONFIG_AUTO };
enum config_restart { RESTART_ON_USE, RESTART_NOW, RESTART_NEVER };

struct config_server {
	char *name;
	char **argv;       /* command and args, expanded; NULL at the end; empty if not known */
	char **envp;       /* the whole environment of the server; sorted; NULL at the end */
	char *cwd;         /* NULL: ours */
	char *environment; /* placement; NULL: this machine */
	bool disabled;     /* also true of servers that are not stdio servers */
	bool required;
	bool shared;                 /* "share": "identical" */
	enum config_era era;         /* "era": "legacy" (default), "modern", "auto" */
	enum config_restart restart; /* "restart": "on-use" (default), "now", "never" */
	int64_t startup_ms, tool_ms; /* defaults 30 s, 300 s */
	char **enabled_tools;        /* NULL: all; else NULL at the end */
	char **disabled_tools;       /* may be NULL */
	unsigned long max_procs;     /* "limits": {"maxProcs": 64, "memory": "512M"}; 0: none */
	unsigned long long memory;   /* bytes */
	char *contain;               /* "contain": a level of `killick run`; NULL: auto */
	char *stderr_file;           /* "stderr": append the server's stderr there; NULL: none */
	unsigned line;               /* where it begins; 0 without a text */
	char fingerprint[FINGERPRINT_SIZE]; /* of argv, cwd, envp, environment, limits, contain */
};

struct config {
	struct config_server *servers; /* in the order of the text */
	size_t count;
	char **warnings; /* sentences; NULL at the end; never NULL itself */
};

/* Where a config's ${VAR} and a server's variables come from: NAME=value strings, NULL at the end.
 */
struct config_source {
	const char *file;      /* for messages; NULL: "config" */
	char *const *environ_; /* NULL: no variables */
};

/* 0; -EINVAL refused, with a sentence; *out is untouched then. */
int config_parse(const char *text, size_t len, const struct config_source *src, struct config *out,
		 struct err *e);
/* The same for a file; also -errno of reading it, -EFBIG when it has more than CONFIG_FILE_MAX. */
int config_read(const char *file, char *const *environ_, struct config *out, struct err *e);
/* A config of one server without a text. argv is taken as it is; the environment is the small one.
 */
int config_command(const char *name, char *const *argv, char *const *environ_, struct config *out,
		   struct err *e);
void config_done(struct config *c);

/* Is it one line of text without control characters? */
bool config_is_printable(const char *s);
/* May this tool be used: enabled_tools, then disabled_tools? "*" in a list is every tool. */
bool config_tool_allowed(const struct config_server *s, const char *tool);
