/* hub.h - shared by the measures of the hub: starting it, and talking to its control socket.
 *
 * The records, the socket and the cache of the hub are in KILLICK_RUNTIME_DIR, which bench/run
 * makes.
 */
#pragma once

#include "lib.h"
#include "server.h"

struct hub {
	struct server process;
	int control; /* a connection to the control socket */
	long next_id;
};

/* Start a hub and wait until it answers; ends the program on failure. */
void hub_start(struct hub *h, const struct lib *b);
/* hub.shutdown; wait for the exit. */
void hub_stop(struct hub *h);
/* A request: params as JSON. The answer, valid until the next; ends the program on an error. */
const char *hub_do(struct hub *h, const char *method, const char *params);
/* A new connection to the control socket. */
int hub_connect(void);
/* PSS of the hub in KiB. */
double hub_pss_kib(const struct hub *h);

void hub_talk(struct lib *b);   /* calls through the hub and its peers */
void hub_open(struct lib *b);   /* the time to open a session */
void hub_memory(struct lib *b); /* idle servers, idle sessions */
