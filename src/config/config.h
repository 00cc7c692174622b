/* config.h - the text that describes the servers of a session.
 *
 * Reads {"mcpServers": {...}} and VS Code's {"servers": {...}}, with comments and trailing commas;
 * variables (expand.h) in command, args, cwd, stderr and the values of env. "environments" are the
 * executors that servers can be placed on. An error inside a server makes that server fail
 * (`problem`), with file, line, key and reason; the other servers can be used. A text that is not
 * JSON, an error outside of the servers and an error in an environment refuse the whole config.
 * Unknown keys are ignored and named once in `warnings`; no key may come twice.
 * docs/killick-config.5 describes every key.
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
#include "link/recipe.h"
#include "os/metadata.h"

#define FINGERPRINT_SIZE 65 /* hex SHA-256 and NUL */

#define CONFIG_FILE_MAX    (16u << 20) /* bytes of a config */
#define CONFIG_SERVERS_MAX 1000u
#define CONFIG_NAME_MAX    63u     /* bytes of a server's name: the limit of `killick run --name` */
#define CONFIG_STRING_MAX  131071u /* bytes of one argument or variable: the limit of Linux */
#define CONFIG_ROOM        (64u << 20) /* bytes of all strings together, expanded */

/* An environment: an executor that servers can be placed on, and how to connect to the executor. */
struct config_place {
	char *name;
	char *url;          /* ws://, wss:// or unix:; NULL: `program` is used */
	char **program;     /* argv of a program that speaks the protocol on stdin and stdout */
	char **program_env; /* the whole environment of the program */
	char *far_killick;  /* of ssh: killick as written for the remote shell; the last word of
			       program begins with this text */
	char *token;        /* NULL: none */
	char *ca_file;      /* NULL: the certificates of the system */
	char *problem;      /* why no server can be placed here; NULL: no problem */
	unsigned line;
	char fingerprint[FINGERPRINT_SIZE]; /* of the definition: equal if the environments are
					       equal */
};

enum config_era { CONFIG_LEGACY, CONFIG_MODERN, CONFIG_AUTO };
enum config_restart { RESTART_ON_USE, RESTART_NOW, RESTART_NEVER };
/* "share"; CONFIG_SHARE_RULE: the config does not have the key. Without a hub only
 * CONFIG_SHARE_IDENTICAL shares; session/share.h has the rule of the hub. */
enum config_share {
	CONFIG_SHARE_RULE,
	CONFIG_SHARE_NEVER,
	CONFIG_SHARE_IDENTICAL,
	CONFIG_SHARE_AUTO,
};
/* "lostCalls": what becomes of requests in flight when the connection to the executor is lost */
enum config_lost {
	CONFIG_LOST_AUTO, /* requests that only read, and tools that may be called again, wait */
	CONFIG_LOST_WAIT, /* all wait until the connection is resumed or given up */
	CONFIG_LOST_FAIL, /* all fail at once */
};
/* "stateful"; CONFIG_STATE_RULE: the config does not have the key. */
enum config_stateful { CONFIG_STATE_RULE, CONFIG_STATELESS, CONFIG_STATEFUL };

struct config_server {
	const char *name; /* recipe.name */
	/* How the server is started, expanded; owned. argv is empty if not known. envp is sorted.
	 * The fields that a session decides (session, grace, ...) are not set. */
	struct recipe recipe;
	struct config_place *place; /* a copy, owned; NULL: this machine, or problem */
	char *problem;              /* a sentence why the server is not started; NULL: none */
	size_t reason_at; /* bytes of `problem` that are "server 'NAME' ", at its beginning; or 0 */
	bool refused;     /* `problem` is an error in the text of the config */
	bool disabled;    /* also true for servers that are not stdio servers */
	bool remote;      /* has a URL and no command; `problem` says what can be done */
	bool required;
	enum config_share share;
	enum config_stateful stateful;
	bool logs_all;          /* "logs": "all": log messages that belong to no session go to
				   all sessions; "own" (default): to none */
	unsigned max_instances; /* "maxInstances": of a shared server that asks; default 4 */
	unsigned long long max_memory; /* "maxMemory": bytes of all its trees; 0: no limit */
	/* "idle": the server rests after this time without a request; 0: never */
	int64_t rest_ms;
	enum config_era era;         /* "era": "legacy" (default), "modern", "auto" */
	enum config_restart restart; /* "restart": "on-use" (default), "now", "never" */
	enum config_lost lost_calls;
	/* defaults: 30 s, and 300 s. The start of a launcher (launcher.h) takes at most 180 s */
	int64_t startup_ms, tool_ms;
	/* The start fails when the tree shows no sign of life for so long: 30 s for a launcher; 0:
	 * the tree is not checked. */
	int64_t idle_ms;
	char **enabled_tools;  /* NULL: all; else NULL at the end */
	char **disabled_tools; /* may be NULL */
	char *stderr_file;     /* "stderr": append the server's stderr there; NULL: none */
	unsigned line;         /* where the server begins in the text; 0 without a text */
	char fingerprint[FINGERPRINT_SIZE]; /* of the recipe and the place */
	/* Of a reader that has looked at the files of the program (session/look.h): the result. */
	bool looked;
	struct metadata program;
	char stamp[FINGERPRINT_SIZE];
};

struct config_warning {
	char *server; /* the server that the warning is about; NULL: no server */
	char *text;   /* a sentence */
};

struct config {
	struct config_server *servers; /* in the order of the text */
	size_t count;
	struct config_place *places; /* in the order of the text */
	size_t place_count;
	struct config_warning *warnings;
	size_t warning_count;
	/* Limits of one session that uses this config; 0: no limit. */
	unsigned max_servers;          /* "maxServers": servers that run at the same time */
	unsigned long long max_memory; /* "maxMemory": bytes of all their trees */
};

/* The source of ${VAR} in a config and of the variables of a server: NAME=value strings, NULL at
 * the end. */
struct config_source {
	const char *file;      /* for messages; NULL: "config" */
	char *const *environ_; /* NULL: no variables */
	/* The directory of servers on this machine whose config names none, and of relative paths
	 * in `cwd` and `stderr`; absolute. NULL: the directory of this process. */
	const char *cwd;
	/* The SHA-256 of the bytes of `file`, in hex: a file with other bytes is refused. NULL: any
	 * bytes. */
	const char *digest;
	/* For people: texts of servers and environments are not expanded, and no program is looked
	 * for, so what is read does not depend on this machine. */
	bool as_written;
};

/* Returns 0, or -EINVAL with a sentence; then *out is untouched. */
int config_parse(const char *text, size_t len, const struct config_source *src, struct config *out,
		 struct err *e);
/* The same for a file; also -errno when reading fails, -EFBIG when the file is longer than
 * CONFIG_FILE_MAX. */
int config_read(const char *file, char *const *environ_, struct config *out, struct err *e);
/* The same for src->file. Never waits for the writer of a FIFO. */
int config_load(const struct config_source *src, struct config *out, struct err *e);
/* Keep only the servers with these names, NULL at the end. 0; -ENOENT with a sentence, and c is
 * unchanged. */
int config_select(struct config *c, char *const *names, struct err *e);
/* Set the startup timeout of every server, in place of the timeout in its config. */
void config_set_startup(struct config *c, int64_t startup_ms);
/* Remove the first words of a server's command; at least one word must be left. */
void config_drop_words(struct config_server *s, size_t count);
/* A config of one server without a text. argv is not expanded; the server gets the default
 * variables of environ_. */
int config_command(const char *name, char *const *argv, char *const *environ_, struct config *out,
		   struct err *e);
/* More about the server of config_command: variables ("NAME=value", NULL at the end) that are added
 * or replaced, its directory, its startup timeout. Zero: unchanged. 0; -EINVAL with a sentence. */
struct config_more {
	char *const *env;
	const char *cwd;
	int64_t startup_ms;
};
int config_command_more(struct config *c, const struct config_more *more, struct err *e);
/* Drop the warnings about other servers than `name`; NULL: drop all warnings. */
void config_drop_warnings(struct config *c, const char *name);
void config_done(struct config *c);

/* The environment with this name; NULL if there is none. */
const struct config_place *config_place_find(const struct config *c, const char *name);
/* Is the text an address (ws://, wss://, unix:, ssh:HOST)? False: it is the name of an
 * environment. */
bool config_place_is_way(const char *text);
/* An environment without a config. 0; -EINVAL with a sentence. */
struct config_way {
	const char *text;
	const char *token_env; /* the variable that contains the token; NULL: none */
};
int config_place_from(const struct config_way *way, char *const *environ_, struct config_place *out,
		      struct err *e);
void config_place_done(struct config_place *p);

/* Is s one line of text without control characters? */
bool config_is_printable(const char *s);
/* Do enabled_tools and disabled_tools allow this tool? "*" in a list means every tool. */
bool config_tool_allowed(const struct config_server *s, const char *tool);
