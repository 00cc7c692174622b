/* hub.h - the sessions of one user: which connection made each session, and when the session ends.
 *
 *	killick connect, with the client's stdin and stdout --+
 *	programs that speak the control API ------------------+--> hub --> desks (desk.h)
 *	killick hub status|stop|...  -------------------------+
 *
 * The hub listens on a unix socket, or speaks with one program over two descriptors. Each
 * connection speaks the control API (killick-hub(7)). A session ends with the process that made it,
 * and with the connection that made it or, if it has a lease, when the lease is over. The hub ends
 *when a request or a signal ends it, when its only program has closed its side, or after
 *idle_exit_ms without a session and without a connection.
 *
 * Life: hub_open -> hub_listen or hub_serve -> hub_run -> hub_free.
 * Threads: the first one.  Blocking: hub_run and hub_free.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hub;

enum hub_code { /* of errors of the control API, beside those of JSON-RPC */
		HUB_FAILED = -32000,
		HUB_NOT_FOUND = -32001, /* no such session or server */
		HUB_BROKEN = -32700,    /* not JSON */
};

#define HUB_PROTOCOL 1 /* version of the control API */

/* The tree that a process runs in: of `killick run`, or of a server of the hub. */
struct hub_tree {
	char name[40]; /* the same for all processes of the tree; "": in no tree */
	bool ours; /* the tree may belong to a server of this hub, or be inside of such a tree */
};

struct hub_spec { /* borrowed until hub_free */
	/* Find the tree of the process that connected; trees that this process is in as well do not
	 * count. pid 0: not visible here. NULL: callers are in no tree. */
	void (*find_tree)(long pid, struct hub_tree *out);
	const char *keeper;       /* path of the program `killick`; NULL: it is searched for */
	const char *cache_dir;    /* NULL: nothing is stored */
	const char *config;       /* file for sessions that name no config; NULL: none */
	char *const *environ_;    /* of the hub; for callers that send no environment */
	int64_t idle_exit_ms;     /* 0: never */
	unsigned stall_ms;        /* 0: DESK_STALL_MS */
	unsigned max_connections; /* of the socket */
	/* of all sessions together; 0: no limit. Memory: PSS of all trees */
	unsigned max_servers;
	unsigned long long max_memory;
	bool quiet; /* on_log is not called */
	void (*on_log)(const char *line);
};

int hub_open(const struct hub_spec *spec, struct hub **out, struct err *e);
/* Listen on a unix socket; fd: the listening socket from a service manager; -1: make the file. */
int hub_listen(struct hub *h, const char *path, int fd, struct err *e);
/* Speak with one program over two descriptors, which belong to the hub from now on; the hub ends
 * with this connection. */
int hub_serve(struct hub *h, int in, int out, struct err *e);
/* Run until the hub ends. `requests` is a descriptor of interrupt.h: a request ends the hub; -1:
 * none. `orphans` is a descriptor of spawn_adopt_orphans; -1: none. */
void hub_run(struct hub *h, int requests, int orphans);
/* Free the hub, whose sessions are all closed. */
void hub_free(struct hub *h);
