/* exec_options.c - see exec_options.h */
#include "exec_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "cli.h"
#include "os/env.h"
#include "os/given.h"
#include "os/secret.h"

#define VERB        "exec-server"
#define TOKEN_MAX   4096
#define CONNECTIONS 4096
#define PROCESSES   1024
#define OUTPUT_MIN  (1u << 20)
enum { START = 256, RATE = 30, FULL = 1024 }; /* for connections that have not called initialize */

const char exec_server_help[] =
	"usage: killick exec-server [options]\n"
	"\n"
	"Runs and holds processes for owners on other machines (the protocol of Codex's\n"
	"exec-server). An owner's processes are ended when it is away beyond its lease.\n"
	"\n"
	"  --listen WHERE     ws[s]://IP:PORT, unix:PATH or stdio (ws://127.0.0.1:0)\n"
	"  --token-file FILE, --token-sha256 HEX    token of the clients, or its hash\n"
	"  --tls-cert FILE, --tls-key FILE          for wss://, in PEM\n"
	"  --insecure         let others connect without a token or without TLS\n"
	"  --lease TIME       how long an owner may be disconnected (30s)\n"
	"  --retain TIME      how long ended processes are remembered, and background\n"
	"                     jobs of shell commands may run (30s)\n"
	"  --contain LEVEL    how processes are contained, as in 'killick run' (auto)\n"
	"  --sandbox bwrap    for clients that want a sandbox: use bubblewrap (refused)\n"
	"  --max-connections N, --max-processes N   (4096, 1024)\n"
	"  --max-output SIZE  memory for the output of all processes (512M)\n"
	"  --max-startups START:RATE:FULL  connections before initialize (256:30:1024)\n"
	"  --quiet            do not log processes and clients on stderr\n"
	"\n"
	"A socket from a service manager replaces --listen. SIGTERM ends all processes.\n"
	"ssh needs no running executor: killick run --on ssh:HOST -- CMD ARGS...\n"
	"\n"
	"Exit status: 0 ended by a signal or its client, 64 usage, 69 cannot listen.\n";

struct words {
	const char *listen, *token_file, *token_sha256, *cert, *key, *sandbox;
	unsigned long long connections, processes;
};

static int read_digest(const char *text, unsigned char out[32])
{
	if (strlen(text) != 64)
		return cli_usage(VERB, "--token-sha256 takes 64 hexadecimal digits");
	for (int i = 0; i < 32; i++) {
		int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return cli_usage(VERB, "--token-sha256 takes 64 hexadecimal digits");
		out[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

/* Read the token, which is the first line of the file, and hash it. */
static int exec_options_read_token(const char *file, unsigned char out[32])
{
	char text[TOKEN_MAX];
	ssize_t n = secret_read(file, text, sizeof(text) - 1);
	struct sha256 h;
	size_t len;

	if (n < 0)
		return cli_usage(VERB, "cannot read the token in '%s': %s", file,
				 strerror((int)-n));
	text[n] = '\0';
	len = strcspn(text, "\r\n");
	if (len < 16 || len == sizeof(text) - 1)
		return cli_usage(VERB,
				 "the token in '%s' is %s; make one with: openssl rand -hex 32",
				 file, len < 16 ? "shorter than 16 characters" : "too long");
	sha256_init(&h);
	sha256_add(&h, text, len);
	sha256_end(&h, out);
	secret_wipe(text, sizeof(text));
	return 0;
}

/* The socket from a service manager, as a URL. 1: there is one; 0: none; else a usage error was
 * printed: its exit status, negated. */
static int exec_options_take_given(bool tls, struct exec_options *out)
{
	struct given g;
	int r = given_take(&g);

	out->fd = g.fd;
	if (r == -E2BIG)
		return -cli_usage(VERB, "the service manager passed more than one socket; use one");
	if (r == -ENOTSOCK)
		return -cli_usage(VERB,
				  "descriptor %d is not a listening socket; set Accept=no in "
				  "its socket unit",
				  g.fd);
	if (r < 0)
		return -cli_usage(VERB, "descriptor %d is neither an internet nor a unix socket",
				  g.fd);
	if (r == 0)
		return 0;
	out->url = (struct url){ .kind = tls ? URL_WSS : URL_WS, .path = "/" };
	if (g.at.kind == ADDRESS_NONE) {
		out->url.kind = URL_UNIX;
		snprintf(out->url.path, sizeof(out->url.path), "%s", g.path);
		return 1;
	}
	address_host(&g.at, out->url.host, sizeof(out->url.host));
	out->url.port = g.at.port;
	return 1;
}

static int exec_options_read_place(const struct words *w, struct exec_options *out)
{
	struct err e = ERR_INIT;
	int r = exec_options_take_given(w->cert != NULL, out);

	if (r < 0)
		return -r;
	if (r == 1 && w->listen)
		return cli_usage(VERB, "the service manager passed a socket; remove --listen");
	if (r == 0 &&
	    url_parse(w->listen ? w->listen : "ws://127.0.0.1:0", URL_LISTEN, &out->url, &e) < 0)
		return cli_usage(VERB, "--listen: %s", e.text);
	return 0;
}

/* Refuse unsafe options: every client that can connect can run programs as this user. */
static int check_safety(const struct words *w, const struct exec_options *o)
{
	bool tls = o->url.kind == URL_WSS;

	if (tls && (!w->cert || !w->key))
		return cli_usage(VERB, "wss:// needs --tls-cert and --tls-key");
	if (!tls && (w->cert || w->key))
		return cli_usage(VERB, "--tls-cert and --tls-key are for wss:// only");
	if (o->insecure || url_is_loopback(&o->url) || (tls && o->has_token))
		return 0;
	return cli_usage(
		VERB,
		"other machines can reach %s, and every client can run programs as this user; "
		"use wss:// and --token-file, or --insecure",
		o->url.host);
}

/* Parse START:RATE:FULL, or FULL alone. With FULL alone, a new connection above FULL always
 * replaces another connection. */
static int read_startups(const char *text, void *to)
{
	struct seats_limits *out = to;
	unsigned start, rate, full;
	int end = 0;

	if (sscanf(text, "%7u:%3u:%7u%n", &start, &rate, &full, &end) != 3) {
		end = 0;
		rate = 100;
		if (sscanf(text, "%7u%n", &full, &end) == 1)
			start = full;
	}
	if (!end || text[end] || text[0] == '+' || full == 0 || full > 1000000 || start > full ||
	    rate == 0 || rate > 100)
		return -EINVAL;
	out->start = start;
	out->rate = rate;
	out->full = full;
	return 0;
}

/* Relative directories of PATH are skipped: bwrap is started in the directories of clients, where a
 * relative path would name a file of theirs. */
static int exec_options_find_sandbox(const char *name, struct exec_options *out)
{
	AUTO(buf_done) struct buf absolute = BUF_INIT(BUF_ANY_SIZE);
	const char *path = env_get("PATH");

	if (strcmp(name, "bwrap") != 0)
		return cli_usage(VERB, "--sandbox takes bwrap, found '%s'", name);
	for (size_t len; path && *path; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		if (*path == '/') {
			buf_add(&absolute, path, len);
			buf_adds(&absolute, ":");
		}
	}
	if (env_find_program(absolute.data, "bwrap", out->sandbox, sizeof(out->sandbox)))
		return 0;
	return cli_usage(VERB, "--sandbox: bwrap is not in PATH; install bubblewrap");
}

static int understand(const struct words *w, struct exec_options *out)
{
	int r = exec_options_read_place(w, out);

	out->cert_file = w->cert;
	out->key_file = w->key;
	out->max_processes = (unsigned)w->processes;
	out->seats.max = (unsigned)w->connections;
	out->has_token = w->token_file || w->token_sha256;
	if (r == 0 && w->token_file && w->token_sha256)
		r = cli_usage(VERB, "give --token-file or --token-sha256, not both");
	if (r == 0 && w->token_file)
		r = exec_options_read_token(w->token_file, out->token_sha256);
	if (r == 0 && w->sandbox)
		r = exec_options_find_sandbox(w->sandbox, out);
	if (r == 0 && w->token_sha256)
		r = read_digest(w->token_sha256, out->token_sha256);
	return r ? r : check_safety(w, out);
}

bool exec_options_read(int argc, char **argv, struct exec_options *out, int *out_status)
{
	static const char count[] = "a number from 1 to 1000000";
	static const char span[] = "a time such as 30s, at most 1h";
	struct words w = { .connections = CONNECTIONS, .processes = PROCESSES };
	struct exec_options o = { .seats = { .start = START, .rate = RATE, .full = FULL } };
	const struct option options[] = {
		{ "listen", OPTION_WORD, .text = &w.listen },
		{ "token-file", OPTION_WORD, .text = &w.token_file },
		{ "token-sha256", OPTION_WORD, .text = &w.token_sha256 },
		{ "tls-cert", OPTION_WORD, .text = &w.cert },
		{ "tls-key", OPTION_WORD, .text = &w.key },
		{ "insecure", .flag = &o.insecure },
		{ "lease", OPTION_TIME, span, .ms = &o.lease_ms, .least = 1 },
		{ "retain", OPTION_TIME, span, .ms = &o.retain_ms, .least = 1 },
		{ "contain", OPTION_CHOICE, LEVEL_CHOICE, .choice = (unsigned *)&o.contain,
		  .words = level_words },
		{ "sandbox", OPTION_WORD, .text = &w.sandbox },
		{ "max-connections", OPTION_COUNT, count, .number = &w.connections },
		{ "max-processes", OPTION_COUNT, count, .number = &w.processes },
		{ "max-startups", OPTION_OTHER,
		  "START:RATE:FULL such as 256:30:1024 (START at most FULL, RATE in percent)",
		  .other = &o.seats, .read = read_startups },
		{ "max-output", OPTION_SIZE, "a size of at least 1M, such as 512M",
		  .number = &o.max_output, .least = OUTPUT_MIN },
		{ "quiet", .flag = &o.quiet },
		{ .name = NULL },
	};

	if (!cli_options(argc, argv, exec_server_help, options, out_status))
		return false;
	*out_status = understand(&w, &o);
	if (*out_status == 0)
		*out = o;
	return *out_status == 0;
}
