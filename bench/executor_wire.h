/* executor_wire.h - the client's end of a WebSocket: as little as keeps a fast executor busy.
 *
 * Life: wire_open -> wire_send / wire_next ... -> wire_close. Ends the program when the other end
 * breaks the protocol or says nothing for WIRE_PATIENCE_S: a benchmark has nobody to tell.
 * Threads: one.  Blocking: yes, that is what is measured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WIRE_PATIENCE_S 60

struct wire {
	int fd;
	char *buf;       /* what came and was not yet handed out */
	size_t at, have; /* bytes handed out, bytes in all */
	bool heard;      /* something came since we last sent */
	bool patient;    /* acknowledge when the kernel likes, up to 40 ms late; see wire_open */
};

struct wire_message {
	const char *text; /* in the wire's buffer: valid until the next call; no NUL at its end */
	size_t len;
};

/* Unless `patient` is set afterwards, what has come is acknowledged before more is waited for. An
 * executor that leaves Nagle's algorithm on holds a second small message back until the first is
 * acknowledged: that would be the kernel's delay, forty milliseconds, and all that is measured. */
void wire_open(struct wire *w, unsigned short port);
void wire_send(struct wire *w, const char *text, size_t len);
struct wire_message wire_next(struct wire *w);
void wire_close(struct wire *w);
