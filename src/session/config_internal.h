/* config_internal.h - one reading of a config, and what its parts share.
 *
 * config.c has the outside, the messages and the top of a text; config_server.c one server;
 * config_env.c its environment. Everything that is read goes into job->out at once, so that
 * whoever fails only returns.
 */
#pragma once

#include <stdarg.h>

#include "base/json.h"
#include "config.h"

struct config_job {
	const char *text, *file;
	char *const *env;    /* the source of variables */
	const char *server;  /* being read: for messages; NULL: none */
	bool plain;          /* the server is disabled: texts stay as they are written */
	size_t room;         /* bytes that strings may still have */
	const char *line_at; /* a place in the text whose line is known, */
	unsigned line;       /* so that lines are counted once and not for each server */
	size_t warning_count;
	struct config *out;
	struct err *e;
};

struct config_value {    /* of a key; v.at is NULL when it is absent or null */
	const char *key; /* as it was written */
	struct json v;
};

struct config_unknown { /* keys that are not known, for one message */
	const char *at; /* the first */
	size_t count;
	size_t left_off; /* did not fit in text */
	char text[200];
};

/* Both begin with file, line and server. The first returns -EINVAL. */
int config_refuse(struct config_job *j, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void config_warn(struct config_job *j, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Take len bytes of the room; at may be NULL. */
int config_charge(struct config_job *j, const char *at, size_t len);
unsigned config_line(struct config_job *j, const char *at);
void config_unknown_add(struct config_unknown *u, struct json key);
void config_unknown_warn(struct config_job *j, const struct config_unknown *u);

/* A key or text of the config in a message: cut, and nothing a terminal would obey. */
#define CONFIG_SHOW_SIZE 48
const char *config_show(struct json v, char out[CONFIG_SHOW_SIZE]);
/* "a number", "an array", ... */
const char *config_type(struct json v);

enum config_text { CONFIG_PLAIN, CONFIG_EXPAND, CONFIG_PATH };
/* The string v, which belongs to `key`; expanded as told. *out is to be given to free(). */
int config_string(struct config_job *j, const char *key, struct json v, enum config_text how,
		  char **out);

/* One member of the object of servers, into *s, which is zero. */
int config_server_read(struct config_job *j, struct json key, struct json value,
		       struct config_server *s);
/* What holds of a server when nothing is said. */
void config_server_defaults(struct config_server *s);
/* Fill in the environment: the default list, the variables that `names` names, `env`. */
int config_env_read(struct config_job *j, struct config_value env, struct config_value names,
		    char ***out_envp);
