/* tls_internal.h - the parts of TLS with Schannel; see tls.h. */
#pragma once

#define SECURITY_WIN32
#define SCHANNEL_USE_BLACKLISTS
#include <winsock2.h>
#include <windows.h>
#include <winternl.h>
#include <wincrypt.h>
#include <schannel.h>
#include <security.h>

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct tls_context {
	bool server, has_credentials;
	CredHandle credentials;
	/* a server's: */
	PCCERT_CONTEXT certificate;
	wchar_t container[64]; /* the name of the key in the user's store; "": none */
	/* a client's: */
	HCERTSTORE roots;       /* NULL: those of Windows */
	HCERTCHAINENGINE chain; /* trusts `roots` only; NULL: that of Windows */
};

/* --- pem.c --- */

/* Read a file. 0 or -errno with a sentence. */
int pem_read_file(const char *file, struct buf *out, struct err *e);
/* Decode the next block "-----BEGIN label-----" at *at into *out, and move *at behind the block.
 * False: there is none. */
bool pem_next(const char **at, const char *label, struct buf *out);

/* --- tls_trust.c --- */

int tls_trust_load(struct tls_context *c, const char *ca_file, struct err *e);
void tls_trust_drop(struct tls_context *c);
/* Check the certificate of the server at the other end: its chain, its dates and its name. 0, or
 * -EACCES with a sentence. */
int tls_trust_check(struct tls_context *c, CtxtHandle *handle, const char *host, struct err *e);

/* --- tls_key.c --- */

int tls_key_load(struct tls_context *c, const char *cert_file, const char *key_file, struct err *e);
void tls_key_drop(struct tls_context *c);
