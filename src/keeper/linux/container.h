/* container.h - the container that the server's command made, and how the keeper has it removed.
 *
 * A container of docker, podman or nerdctl belongs to its engine and not to the tree. So the keeper
 * cannot end the container; it can ask the engine. The large program knows the engines: it adds a
 * label and a file for the container's id to the command (cli/engine_run.c), and it removes
 * containers (cli/container_end.c). The keeper gets a text, of which it reads only the label:
 *
 *   spec     says which containers are meant, and how the engine is called. `killick container-end`
 *            gets the spec, asks the engine, removes, and asks again. The spec is also in the
 *            record, for the janitor. A spec that begins with '!' is not: see engine.h. The spec
 *            may have passwords (DOCKER_HOST), so no command line has it: the large program gives
 *            it to the keeper by CONTAINER_VARIABLE, the keeper to `container-end` by a pipe.
 *   cidfile  the file with the container's id, for the report. The engine writes the file into the
 *            directory of the records. A cidfile of the user is not opened: its file system may
 *            hang.
 *
 * Life: container_init -> (the tree runs and ends) -> container_end -> container_forget.
 * Threads: one.  Blocking: container_end, for its budget.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define CONTAINER_BUDGET_MS 10000               /* for the engine, beside the container's grace */
#define CONTAINER_ID_MAX    64                  /* hex digits */
#define CONTAINER_FILE      ".cid-"             /* the name of a cidfile: this and the label */
#define CONTAINER_LABEL_LEN 16                  /* hex digits */
#define CONTAINER_VARIABLE  "KILLICK_CONTAINER" /* the spec for a keeper with --container */
#define CONTAINER_PRIVATE   '!' /* the first byte of a spec that is not for the record */
#define CONTAINER_TEXT_MAX  500 /* bytes of a spec in a record */

/* The result of container_end; the exit status of `killick container-end` is one of these, too. */
enum container_fate {
	CONTAINER_GONE,    /* the engine says that it has no such container */
	CONTAINER_THERE,   /* the engine says that the container is still there */
	CONTAINER_UNKNOWN, /* the engine cannot be asked: not found, or it fails */
	CONTAINER_LATE,    /* the engine did not answer in time */
	CONTAINER_UNTRIED, /* container_end has not been called */
};

struct container {
	const char *spec; /* NULL: the server's command is not an engine's */
	char cidfile[sizeof(CONTAINER_FILE) + CONTAINER_LABEL_LEN]; /* its name; "": none */
	const char *engine;                                         /* for the report */
	char id[CONTAINER_ID_MAX + 1];                              /* "": not known */
	enum container_fate fate;
};

struct container_call {    /* how to call the engine */
	unsigned grace_ms; /* for the main process of the container, between SIGTERM and SIGKILL */
	char **envp;
	int dirfd;       /* the directory of the records, with the cidfile; -1: none */
	const char *cwd; /* NULL: ours */
	bool own_proc;   /* mount the /proc of this pid namespace first */
	bool lost;       /* the spec is from a record, which may be forged */
	bool may_stop;   /* a SIGTERM that is pending ends the wait: CONTAINER_LATE */
};

/* The name of the engine if `command` is a path or name of one; else NULL. */
const char *container_engine(const char *command);

/* Borrows all texts. `command` is the program of the server. */
void container_init(struct container *c, const char *spec, const char *command);

/* May the record have the spec? */
bool container_is_recorded(const struct container *c);

/* The longest time that container_end takes; 0 without a container. */
unsigned container_budget_ms(const struct container *c, unsigned grace_ms);

/* Have the container removed and ask the engine whether it is gone. Sets fate and id. Processes
 * that the engine's command leaves behind are for the caller to end. */
void container_end(struct container *c, const struct container_call *call);

/* Remove the cidfile `name` from the directory. Does nothing when the name is not that of a cidfile
 * (a record may be forged), or when dirfd is -1. */
void container_forget(int dirfd, const char *name);

/* The reason why a container is not gone, for sentences. */
const char *container_reason(enum container_fate fate);
