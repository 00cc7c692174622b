/* exec_options.h - what the words after `killick exec-server` mean.
 *
 * Whoever may connect may run programs as this user. So an address that others can reach is refused
 * unless there are both a token and TLS, or the words say that this is meant.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "net/seats.h"
#include "net/url.h"

struct exec_options {
	struct url url;
	int fd; /* the listening socket that the service manager gave us; -1: none */
	const char *cert_file, *key_file, *contain;
	unsigned char token_sha256[32];
	bool has_token, insecure, quiet;
	unsigned lease_ms, retain_ms; /* 0: the default */
	unsigned max_processes;
	unsigned long long max_output; /* bytes, 0: the default */
	struct seats_limits seats;
};

/* True: go on. False: stop with *out_status. */
bool exec_options_read(int argc, char **argv, struct exec_options *out, int *out_status);
