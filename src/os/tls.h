/* tls.h - TLS over a non-blocking socket, by the library of the system. TLS 1.2 or newer; a client
 * checks the certificate and the host name.
 *
 * Linux: OpenSSL's libssl is loaded when the first wss:// is used: the libssl that the process has
 * loaded already, else the newest installed one. No other part of killick needs libssl: where it is
 * missing only wss:// fails, with a sentence that names the package. The static program of `make
 * dist` has its own libssl (linux/openssl.h).
 *
 * Windows: Schannel. The key of a server must be RSA, a server speaks TLS 1.2 only, and sends the
 * first certificate of its file: Windows adds those that it finds in its own stores.
 *
 * Threads: one at a time per connection.  Blocking: tls_server and tls_client read files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct tls_context; /* certificate and key, or trusted certificates */
struct tls;         /* one connection */

int tls_server(const char *cert_file, const char *key_file, struct tls_context **out,
	       struct err *e);
int tls_client(const char *ca_file, struct tls_context **out,
	       struct err *e); /* NULL: the system's */
void tls_context_free(struct tls_context *c);

/* host: the name or IP literal of the server, for a client. The caller keeps fd. */
int tls_open(struct tls_context *c, int fd, const char *host, struct tls **out, struct err *e);
void tls_free(struct tls *t);

enum tls_want { TLS_NOTHING, TLS_READ, TLS_WRITE };
/* 1: done; 0: wait until fd is ready for *want, then call again; -errno with a sentence. */
int tls_handshake(struct tls *t, enum tls_want *want, struct err *e);
/* As read and write; -EAGAIN with *want; tls_read returns 0 when the other side closed TLS. A write
 * that got -EAGAIN must be repeated with the same bytes; more may follow. */
ssize_t tls_read(struct tls *t, void *out, size_t size, enum tls_want *want);
ssize_t tls_write(struct tls *t, const void *bytes, size_t len, enum tls_want *want);
/* Bytes that are decrypted and not read yet: the descriptor is not readable for them. */
size_t tls_pending(const struct tls *t);
void tls_bye(struct tls *t);

struct tls_library {
	const char *name;    /* "openssl" or "schannel" */
	const char *version; /* "OpenSSL 3.0.19 27 Jan 2026"; for Schannel that of Windows,
			      * "10.0.19045"; NULL: there is no such library here */
	const char *link;    /* how the program uses the library */
};
void tls_look(struct tls_library *out);
