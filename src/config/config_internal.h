/* config_internal.h - one reading of a config, and what its parts share.
 *
 * config.c has the outside, the messages and the top of a text; config_server.c one server;
 * config_env.c its variables; config_place.c where servers can be placed. Everything that is read
 * goes into job->out at once, so that whoever fails only returns.
 */
#pragma once

#include <stdarg.h>

#include "base/json.h"
#include "base/sha256.h"
#include "config/config.h"

struct config_job {
	const char *text, *file;
	char *const *env;    /* the source of variables */
	const char *server;  /* being read: for messages; NULL: none */
	const char *place;   /* the same for an environment */
	bool plain;          /* the server is disabled: texts stay as they are written */
	size_t room;         /* bytes that strings may still have */
	const char *line_at; /* a place in the text whose line is known, */
	unsigned line;       /* so that lines are counted once and not for each server */
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

enum config_env_kind {
	CONFIG_ENV_SERVER,  /* the default list, the variables that `names` names, `env` */
	CONFIG_ENV_PLACED,  /* no defaults: only what was asked for crosses */
	CONFIG_ENV_PROGRAM, /* the default list, what ssh needs, `env` */
};
struct config_env {
	enum config_env_kind kind;
	struct config_value env, names;
	char **envp;        /* out */
	char **names_there; /* out: of a placed one; NULL: none */
};
/* Fill in a set of variables. What is out is the caller's, also after a failure. */
int config_env_read(struct config_job *j, struct config_env *v);

/* true or false; untouched if absent. */
int config_value_bool(struct config_job *j, const struct config_value *v, bool *out);
/* A string; "" is as good as absent, also when only expanding makes it so. */
int config_value_text(struct config_job *j, const struct config_value *v, enum config_text how,
		      char **out);
/* The strings of an array behind those that *list has, count of them. */
int config_value_list(struct config_job *j, const struct config_value *v, enum config_text how,
		      size_t count, char ***list);

/* The object of environments, into job->out. */
int config_places_read(struct config_job *j, struct json places);
/* Place s, whose environment is named: into s->place or s->problem. */
int config_place_server(struct config_job *j, const char *at, struct config_server *s);

/* Every field has its length in front, so that no two things give the same bytes. */
void config_hash_text(struct sha256 *h, const char *text);
void config_hash_list(struct sha256 *h, char *const *list);
