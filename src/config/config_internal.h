/* config_internal.h - the job that reads one config, and functions that the config files share.
 *
 * config.c has the functions of config.h and the messages, config_top.c reads the top level of the
 * text; config_server.c reads one server, config_hint.c explains its mistakes; config_env.c reads
 * its variables, config_place.c the environments. Every value is stored in job->out at once, so
 * that a function that fails has nothing to free.
 */
#pragma once

#include <stdarg.h>

#include "base/json.h"
#include "base/sha256.h"
#include "config/config.h"

struct config_job {
	const char *text, *file;
	char *const *env;    /* the source of variables */
	const char *cwd;     /* as in config_source */
	const char *about;   /* name of the server being read; NULL: none */
	const char *server;  /* the same for messages; NULL: the message has no name in front */
	const char *place;   /* the same for messages about an environment */
	bool as_written;     /* as in config_source */
	bool plain;          /* the same, or the server is disabled: texts are not expanded */
	size_t room;         /* bytes left for strings */
	const char *line_at; /* a position in the text whose line number is known, */
	unsigned line;       /* so that lines are counted once and not for each server */
	int64_t rest_ms;     /* the top level's "idle": the default of servers */
	struct config *out;
	struct err *e;
};

struct config_value {    /* of a key; v.at is NULL when the value is absent or null */
	const char *key; /* as it was written */
	struct json v;
};

struct config_unknown { /* unknown keys, for one message */
	const char *at; /* the first key */
	size_t count;
	size_t left_off; /* keys that did not fit into text */
	bool command;    /* one of the keys is probably 'command', mistyped */
	char text[200];
};

/* Both messages begin with file, line and server. config_refuse returns -EINVAL. */
int config_refuse(struct config_job *j, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void config_warn(struct config_job *j, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Subtract len bytes from the room; at may be NULL. */
int config_charge(struct config_job *j, const char *at, size_t len);
unsigned config_line(struct config_job *j, const char *at);
void config_unknown_add(struct config_unknown *u, struct json key);
void config_unknown_warn(struct config_job *j, const struct config_unknown *u);

/* A key or text of the config for a message: shortened, and without control characters. */
#define CONFIG_SHOW_SIZE 48
const char *config_show(struct json v, char out[CONFIG_SHOW_SIZE]);
/* "a number", "an array", ... */
const char *config_type(struct json v);

enum config_text { CONFIG_PLAIN, CONFIG_EXPAND, CONFIG_PATH };
/* Read the string v, which is the value of `key`; `how` says whether the string is expanded. The
 * caller frees *out. */
int config_string(struct config_job *j, const char *key, struct json v, enum config_text how,
		  char **out);

/* Read the outermost object of the text into job->out. */
int config_top_read(struct config_job *j, struct json top);
/* Set the fingerprint of a server whose recipe and place are known. */
void config_fingerprint(struct config_server *s);

/* Read one member of the object of servers into *s, which must be zero. If the member has an error,
 * *s becomes a server that fails. */
void config_server_read(struct config_job *j, struct json key, struct json value,
			struct config_server *s);
/* Make a server that fails for this reason. Only its name, its line and its switches are kept, so
 * that no part of a wrong definition is used. */
void config_server_fail(struct config_server *s, const char *why);
/* Set the default values of a server whose argv is known. */
void config_server_defaults(struct config_server *s);
void config_server_done(struct config_server *s);
/* A frequent mistake is "npx -y foo" in place of a program. Returns 0, or -EINVAL if there is no
 * program of that name; the error names the words that belong into 'args'. */
int config_hint_program(struct config_job *j, const struct config_value *command,
			const struct config_server *s);
/* Set the problem of s to "server 'NAME' " and this text. */
void config_server_problem(struct config_server *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Mark s as remote, and say in its problem what can be done. `kind` is the type of the server. */
void config_hint_remote(const struct config_value *address, const char *kind,
			struct config_server *s);

enum config_env_kind {
	CONFIG_ENV_SERVER,  /* the default list, the variables that `names` names, `env` */
	CONFIG_ENV_PLACED,  /* no defaults: only `names` and `env` are sent to the executor */
	CONFIG_ENV_PROGRAM, /* the default list, the variables that ssh needs, `env` */
};
struct config_env {
	enum config_env_kind kind;
	struct config_value env, names;
	char **envp;        /* out */
	char **names_there; /* out: CONFIG_ENV_PLACED: names that the executor reads; NULL: none */
};
/* Fill in a set of variables. The caller frees envp and names_there, also after a failure. */
int config_env_read(struct config_job *j, struct config_env *v);

/* Read "idle": seconds, or a text such as "90s", "5m" or "1h"; 0: never. */
int config_value_idle(struct config_job *j, const struct config_value *v, int64_t *out);
/* Read a whole number from 1 to OPTION_COUNT_MAX; a number of bytes, or a size such as "512M". */
int config_value_count(struct config_job *j, const struct config_value *v, unsigned *out);
int config_value_size(struct config_job *j, const struct config_value *v, unsigned long long *out);

/* Returns the value of a number, or of a size such as "512M"; 0: neither. */
unsigned long long config_limits_value(struct json v, enum option_kind kind);
/* Read an object of limits into s->recipe. */
int config_limits_read(struct config_job *j, const struct config_value *v, struct config_server *s);

/* Read true or false; *out is untouched if the value is absent. */
int config_value_bool(struct config_job *j, const struct config_value *v, bool *out);
/* Read a string; "" counts as absent, also when the text is empty only after its expansion. */
int config_value_text(struct config_job *j, const struct config_value *v, enum config_text how,
		      char **out);
/* Append the strings of an array to *list, which has count strings. */
int config_value_list(struct config_job *j, const struct config_value *v, enum config_text how,
		      size_t count, char ***list);

/* Read the object of environments into job->out. */
int config_places_read(struct config_job *j, struct json places);
/* Place s, whose config names an environment: fills in s->place or s->problem. */
int config_place_server(struct config_job *j, const char *at, struct config_server *s);

/* Hash each field after its length, so that different fields never give the same bytes. */
void config_hash_text(struct sha256 *h, const char *text);
void config_hash_list(struct sha256 *h, char *const *list);
