/* openssl_static.c - see openssl.h; the libssl that the static program is linked with. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "openssl.h"

#define OPENSSL_INIT_NO_LOAD_CONFIG 0x80
struct ossl_init_settings_st;
int OPENSSL_init_ssl(uint64_t options, const struct ossl_init_settings_st *settings);

#define OPENSSL_DECLARE(result, name, args) result name args;
OPENSSL_FUNCTIONS(OPENSSL_DECLARE)

/* Without openssl.cnf: the file may name providers and engines, which are shared libraries. */
int openssl_find(struct openssl *out, struct err *e)
{
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return err_set(e, -ENOMEM, "cannot begin TLS: OpenSSL does not start");
#define OPENSSL_ASSIGN(result, name, args) out->name = name;
	OPENSSL_FUNCTIONS(OPENSSL_ASSIGN)
	return 0;
}

/* The libssl knows the place of one distribution; the program runs on all of them. The user's
 * SSL_CERT_FILE and SSL_CERT_DIR come first, and OpenSSL reads these itself. */
const char *openssl_ca_file(void)
{
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch, Alpine, Gentoo */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
		"/etc/ssl/ca-bundle.pem",             /* openSUSE */
		"/etc/ssl/cert.pem",                  /* Alpine, Void */
	};

	if (getenv("SSL_CERT_FILE") || getenv("SSL_CERT_DIR"))
		return NULL;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}
