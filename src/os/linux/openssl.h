/* openssl.h - the functions and numbers of OpenSSL that are used, as 1.1.1 and 3.x have them.
 *
 * No header of OpenSSL is needed to build killick: the structs are opaque, under the tags that
 * OpenSSL gives them. Where the headers are installed tests/net/openssl.c is compiled against them,
 * and fails to compile when a prototype or a number here is another.
 *
 * The functions come from one of two files, and a program is linked with one of them
 * (src/meson.build): openssl_load.c loads the system's libssl, openssl_static.c has the libssl that
 * the static program of `make dist` is linked with. Threads: any; openssl_find once.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct ssl_st;
struct ssl_ctx_st;
struct ssl_method_st;
struct bio_st;
struct bio_method_st;
struct x509_store_ctx_st;
struct X509_VERIFY_PARAM_st;

typedef int (*openssl_verify_fn)(int ok, struct x509_store_ctx_st *store);
typedef int (*openssl_read_fn)(struct bio_st *bio, char *out, int size);
typedef int (*openssl_write_fn)(struct bio_st *bio, const char *bytes, int len);
typedef long (*openssl_ctrl_fn)(struct bio_st *bio, int cmd, long number, void *pointer);

/* clang-format off */
#define OPENSSL_FUNCTIONS(X) \
	X(const struct ssl_method_st *, TLS_client_method, (void)) \
	X(const struct ssl_method_st *, TLS_server_method, (void)) \
	X(struct ssl_ctx_st *, SSL_CTX_new, (const struct ssl_method_st *method)) \
	X(void, SSL_CTX_free, (struct ssl_ctx_st *ctx)) \
	X(long, SSL_CTX_ctrl, (struct ssl_ctx_st *ctx, int cmd, long number, void *pointer)) \
	X(int, SSL_CTX_set_num_tickets, (struct ssl_ctx_st *ctx, size_t count)) \
	X(int, SSL_CTX_use_certificate_chain_file, (struct ssl_ctx_st *ctx, const char *file)) \
	X(int, SSL_CTX_use_PrivateKey_file, (struct ssl_ctx_st *ctx, const char *file, int type)) \
	X(int, SSL_CTX_check_private_key, (const struct ssl_ctx_st *ctx)) \
	X(int, SSL_CTX_load_verify_locations, (struct ssl_ctx_st *ctx, const char *file, const char *dir)) \
	X(int, SSL_CTX_set_default_verify_paths, (struct ssl_ctx_st *ctx)) \
	X(void, SSL_CTX_set_verify, (struct ssl_ctx_st *ctx, int mode, openssl_verify_fn callback)) \
	X(struct ssl_st *, SSL_new, (struct ssl_ctx_st *ctx)) \
	X(void, SSL_free, (struct ssl_st *ssl)) \
	X(void, SSL_set_bio, (struct ssl_st *ssl, struct bio_st *in, struct bio_st *out)) \
	X(void, SSL_set_connect_state, (struct ssl_st *ssl)) \
	X(void, SSL_set_accept_state, (struct ssl_st *ssl)) \
	X(long, SSL_ctrl, (struct ssl_st *ssl, int cmd, long number, void *pointer)) \
	X(int, SSL_set1_host, (struct ssl_st *ssl, const char *host)) \
	X(void, SSL_set_hostflags, (struct ssl_st *ssl, unsigned flags)) \
	X(struct X509_VERIFY_PARAM_st *, SSL_get0_param, (struct ssl_st *ssl)) \
	X(int, SSL_do_handshake, (struct ssl_st *ssl)) \
	X(int, SSL_read, (struct ssl_st *ssl, void *out, int size)) \
	X(int, SSL_write, (struct ssl_st *ssl, const void *bytes, int len)) \
	X(int, SSL_pending, (const struct ssl_st *ssl)) \
	X(int, SSL_shutdown, (struct ssl_st *ssl)) \
	X(int, SSL_get_error, (const struct ssl_st *ssl, int result)) \
	X(long, SSL_get_verify_result, (const struct ssl_st *ssl)) \
	X(const char *, X509_verify_cert_error_string, (long result)) \
	X(int, X509_VERIFY_PARAM_set1_ip_asc, (struct X509_VERIFY_PARAM_st *param, const char *ip)) \
	X(const char *, OpenSSL_version, (int what)) \
	X(unsigned long, ERR_get_error, (void)) \
	X(void, ERR_clear_error, (void)) \
	X(const char *, ERR_reason_error_string, (unsigned long error)) \
	X(int, BIO_get_new_index, (void)) \
	X(struct bio_method_st *, BIO_meth_new, (int type, const char *name)) \
	X(int, BIO_meth_set_read, (struct bio_method_st *method, openssl_read_fn fn)) \
	X(int, BIO_meth_set_write, (struct bio_method_st *method, openssl_write_fn fn)) \
	X(int, BIO_meth_set_ctrl, (struct bio_method_st *method, openssl_ctrl_fn fn)) \
	X(struct bio_st *, BIO_new, (const struct bio_method_st *method)) \
	X(void, BIO_set_init, (struct bio_st *bio, int init)) \
	X(void, BIO_set_data, (struct bio_st *bio, void *data)) \
	X(void *, BIO_get_data, (struct bio_st *bio)) \
	X(void, BIO_set_flags, (struct bio_st *bio, int flags)) \
	X(void, BIO_clear_flags, (struct bio_st *bio, int flags))

/* From ssl.h, sslerr.h, bio.h, tls1.h and x509_vfy.h. The reason of an alert that came is
 * SSL_AD_REASON_OFFSET and its number. */
#define OPENSSL_NUMBERS(X) \
	X(OPENSSL_VERSION, 0) \
	X(SSL_FILETYPE_PEM, 1) \
	X(SSL_VERIFY_PEER, 1) \
	X(SSL_ERROR_SSL, 1) \
	X(SSL_ERROR_WANT_READ, 2) \
	X(SSL_ERROR_WANT_WRITE, 3) \
	X(SSL_ERROR_ZERO_RETURN, 6) \
	X(SSL_CTRL_MODE, 33) \
	X(SSL_CTRL_SET_TLSEXT_HOSTNAME, 55) \
	X(SSL_CTRL_SET_MIN_PROTO_VERSION, 123) \
	X(SSL_MODE_ENABLE_PARTIAL_WRITE, 1) \
	X(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, 2) \
	X(SSL_MODE_RELEASE_BUFFERS, 16) \
	X(TLS1_2_VERSION, 0x0303) \
	X(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, 4) \
	X(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, 2) \
	X(X509_V_ERR_CERT_NOT_YET_VALID, 9) \
	X(X509_V_ERR_CERT_HAS_EXPIRED, 10) \
	X(X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, 18) \
	X(X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, 19) \
	X(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, 20) \
	X(X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, 21) \
	X(X509_V_ERR_HOSTNAME_MISMATCH, 62) \
	X(X509_V_ERR_IP_ADDRESS_MISMATCH, 64) \
	X(SSL_AD_REASON_OFFSET, 1000) \
	X(SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, 1042) \
	X(SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, 1046) \
	X(SSL_R_TLSV1_ALERT_UNKNOWN_CA, 1048) \
	X(BIO_TYPE_SOURCE_SINK, 0x0400) \
	X(BIO_CTRL_FLUSH, 11) \
	X(BIO_FLAGS_READ, 1) \
	X(BIO_FLAGS_WRITE, 2) \
	X(BIO_FLAGS_RWS, 7) \
	X(BIO_FLAGS_SHOULD_RETRY, 8)
/* clang-format on */

#define OPENSSL_MEMBER(result, name, args) result(*name) args;
struct openssl {
	OPENSSL_FUNCTIONS(OPENSSL_MEMBER)
};

/* Find all functions. 0, or -ENOPKG with a sentence that names the package. */
int openssl_find(struct openssl *out, struct err *e);
/* The file with the CAs that the system trusts, where OpenSSL itself does not know the place; NULL:
 * OpenSSL knows. */
const char *openssl_ca_file(void);
