/* exec_options.h - the parsed command line of `killick exec-server`.
 *
 * Every client that can connect can run programs as this user. So an address that other machines
 * can reach is refused without both a token and TLS, unless --insecure is given.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "keeper/recipe.h"
#include "net/seats.h"
#include "net/url.h"

#define EXEC_SANDBOX_MAX 4096

struct exec_options {
	struct url url;
	int fd; /* the listening socket from the service manager; -1: none */
	const char *cert_file, *key_file;
	enum level contain;
	char sandbox[EXEC_SANDBOX_MAX]; /* path of bwrap; "": none */
	unsigned char token_sha256[32];
	bool has_token, insecure, quiet;
	unsigned lease_ms, retain_ms; /* 0: the default */
	unsigned max_processes;
	unsigned long long max_output; /* bytes, 0: the default */
	struct seats_limits seats;
};

/* False: help or a usage error was printed; exit with *out_status. */
bool exec_options_read(int argc, char **argv, struct exec_options *out, int *out_status);
