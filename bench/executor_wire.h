/* executor_wire.h - a minimal WebSocket client that is faster than the executors.
 *
 * Life: wire_open -> wire_send / wire_next ... -> wire_close. Ends the program when the other end
 * breaks the protocol or is silent for WIRE_PATIENCE_S.
 * Threads: one.  Blocking: yes, this time is measured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WIRE_PATIENCE_S 60

struct wire {
	int fd;
	char *buf;       /* received bytes */
	size_t at, have; /* bytes that were returned, bytes in all */
	bool heard;      /* bytes were received since the last send */
	bool patient;    /* let the kernel delay acknowledgements, up to 40 ms; see wire_open */
};

struct wire_message {
	const char *text; /* in the wire's buffer: valid until the next call; no NUL at its end */
	size_t len;
};

/* Unless `patient` is set afterwards, received bytes are acknowledged before the next wait. An
 * executor that uses Nagle's algorithm delays a second small message until the first is
 * acknowledged: then only the kernel's delay of 40 ms would be measured. */
void wire_open(struct wire *w, unsigned short port);
void wire_send(struct wire *w, const char *text, size_t len);
struct wire_message wire_next(struct wire *w);
void wire_close(struct wire *w);
