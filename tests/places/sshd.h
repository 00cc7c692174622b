/* sshd.h - a real ssh server on loopback, with keys and a config of its own, for one test.
 *
 * Works as root and as anybody else who may log in; it lets in only the user that it runs as.
 * Sessions carry the auditor's tag, the daemon itself does not.
 * Life: sshd_open -> sshd_close. Functions fail the test when they cannot do their work, and skip
 * it where there is no sshd. Threads: one.
 */
#pragma once

#include <sys/types.h>

#include "minder.h"

struct sshd {
	struct minder minder;
	int port;
	char args[1024]; /* the options of ssh that lead here, as members of a JSON array */
};

void sshd_open(struct sshd *s);
/* Ends it; nothing of it may be left. */
void sshd_close(struct sshd *s);
/* A signal to every process of its connections (not to what runs in their sessions, and not to the
 * one that listens). How many there were. */
int sshd_signal(struct sshd *s, int sig);
