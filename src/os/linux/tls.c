/* tls.c - see tls.h
 *
 * openssl.h has the functions of libssl that are used. A BIO of our own moves the bytes, because
 * OpenSSL's writes with write(), which raises SIGPIPE in a host's thread.
 */
#include "os/tls.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/mem.h"
#include "openssl.h"
#include "os/thread.h"

#define ERR_SYSTEM_FLAG       0x80000000ul
#define ERR_REASON_OF         0xffful /* the bits that are a reason of libssl in 1.1 and in 3.x */
#define AS_ENUM(name, number) name = (number),
enum {
	OPENSSL_NUMBERS(AS_ENUM) SSL_AD_MAX = 255, /* the last number of an alert */
};

static struct openssl lib;
static struct bio_method_st *tls_bio; /* the methods of ours */
static struct err tls_failed;         /* why there is no libssl */

struct tls_context {
	struct ssl_ctx_st *ctx;
	bool server;
};

struct tls {
	struct ssl_st *ssl;
	int fd;
	int error;  /* errno of the last call that moved bytes, 0: none; */
	bool eof;   /* or end of file */
	bool fatal; /* no close_notify may be sent */
	bool greeted;
};

/* --- the library --- */

static int bio_read(struct bio_st *bio, char *out, int size)
{
	struct tls *t = lib.BIO_get_data(bio);
	ssize_t n = recv(t->fd, out, (size_t)size, MSG_DONTWAIT);

	lib.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	t->error = n < 0 ? errno : 0;
	t->eof = n == 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		lib.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
	return (int)n;
}

static int bio_write(struct bio_st *bio, const char *bytes, int len)
{
	struct tls *t = lib.BIO_get_data(bio);
	ssize_t n = send(t->fd, bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);

	lib.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	t->error = n < 0 ? errno : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		lib.BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
	return (int)n;
}

static long bio_ctrl(struct bio_st *bio, int cmd, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return cmd == BIO_CTRL_FLUSH; /* nothing is buffered */
}

static void tls_load(void)
{
	if (openssl_find(&lib, &tls_failed) < 0)
		return;
	tls_bio = lib.BIO_meth_new(lib.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "killick");
	if (!tls_bio) {
		err_set(&tls_failed, -ENOMEM, "cannot begin TLS: no memory");
		return;
	}
	lib.BIO_meth_set_read(tls_bio, bio_read);
	lib.BIO_meth_set_write(tls_bio, bio_write);
	lib.BIO_meth_set_ctrl(tls_bio, bio_ctrl);
}

static int need_library(struct err *e)
{
	static struct once once = ONCE_INIT;

	once_run(&once, tls_load);
	if (tls_failed.code && e)
		*e = tls_failed;
	return tls_failed.code;
}

void tls_look(struct tls_library *out)
{
	*out = (struct tls_library){ .name = "openssl", .link = "loaded for wss://" };
	if (need_library(NULL) == 0)
		out->version = lib.OpenSSL_version(OPENSSL_VERSION);
}

/* The library's text for an error; clears all other errors. */
static const char *reason_of(unsigned long error)
{
	const char *text = error ? lib.ERR_reason_error_string(error) : NULL;

	if (!text && (error & ERR_SYSTEM_FLAG)) /* 3.x has no text for these */
		text = strerror((int)(error & (ERR_SYSTEM_FLAG - 1)));

	lib.ERR_clear_error();
	return text ? text : "no reason given";
}

/* The library's text for its last error. */
static const char *tls_reason(void)
{
	return reason_of(lib.ERR_get_error());
}

/* --- contexts --- */

static void *new_ctx(bool server, struct err *e)
{
	void *ctx;

	lib.ERR_clear_error();
	ctx = lib.SSL_CTX_new(server ? lib.TLS_server_method() : lib.TLS_client_method());
	if (!ctx) {
		err_set(e, -EIO, "cannot begin TLS: %s", tls_reason());
		return NULL;
	}
	lib.SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	lib.SSL_CTX_ctrl(ctx, SSL_CTRL_MODE,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				 SSL_MODE_RELEASE_BUFFERS,
			 NULL);
	return ctx;
}

static struct tls_context *new_context(void *ctx, bool server)
{
	struct tls_context *c = mem_grow(NULL, 1, sizeof(*c));

	*c = (struct tls_context){ .ctx = ctx, .server = server };
	return c;
}

int tls_server(const char *cert_file, const char *key_file, struct tls_context **out, struct err *e)
{
	int r = need_library(e);
	void *ctx;

	if (r < 0)
		return r;
	ctx = new_ctx(true, e);
	if (!ctx)
		return -EIO;
	lib.SSL_CTX_set_num_tickets(ctx, 0); /* sessions are never resumed */
	if (lib.SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1)
		r = err_set(e, -EINVAL, "cannot use the certificate '%s': %s", cert_file,
			    tls_reason());
	else if (lib.SSL_CTX_use_PrivateKey_file(ctx, key_file, SSL_FILETYPE_PEM) != 1)
		r = err_set(e, -EINVAL, "cannot use the key '%s': %s", key_file, tls_reason());
	else if (lib.SSL_CTX_check_private_key(ctx) != 1)
		r = err_set(e, -EINVAL, "the key '%s' does not match the certificate '%s'",
			    key_file, cert_file);
	if (r < 0) {
		lib.SSL_CTX_free(ctx);
		return r;
	}
	*out = new_context(ctx, true);
	return 0;
}

int tls_client(const char *ca_file, struct tls_context **out, struct err *e)
{
	int r = need_library(e);
	void *ctx;

	if (r < 0)
		return r;
	ctx = new_ctx(false, e);
	if (!ctx)
		return -EIO;
	if (!ca_file)
		ca_file = openssl_ca_file();
	lib.SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	if (ca_file && lib.SSL_CTX_load_verify_locations(ctx, ca_file, NULL) != 1)
		r = err_set(e, -EINVAL, "cannot use the certificates in '%s': %s", ca_file,
			    tls_reason());
	else if (!ca_file && lib.SSL_CTX_set_default_verify_paths(ctx) != 1)
		r = err_set(e, -EINVAL, "cannot use the system's certificates: %s", tls_reason());
	if (r < 0) {
		lib.SSL_CTX_free(ctx);
		return r;
	}
	*out = new_context(ctx, false);
	return 0;
}

void tls_context_free(struct tls_context *c)
{
	if (!c)
		return;
	lib.SSL_CTX_free(c->ctx);
	free(c);
}

/* --- connections --- */

/* Set the name that the certificate must have. */
static int expect(struct tls *t, const char *host, struct err *e)
{
	if (lib.X509_VERIFY_PARAM_set1_ip_asc(lib.SSL_get0_param(t->ssl), host) == 1)
		return 0;
	lib.ERR_clear_error();
	lib.SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (lib.SSL_set1_host(t->ssl, host) != 1 ||
	    lib.SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, 0, (void *)host) != 1)
		return err_set(e, -EINVAL, "invalid TLS host name '%s': %s", host, tls_reason());
	return 0;
}

int tls_open(struct tls_context *c, int fd, const char *host, struct tls **out, struct err *e)
{
	AUTO(mem_drop) struct tls *t = mem_grow(NULL, 1, sizeof(*t));
	void *bio;
	int r = 0;

	assert(c->server || (host && host[0]));
	lib.ERR_clear_error();
	*t = (struct tls){ .ssl = lib.SSL_new(c->ctx), .fd = fd };
	bio = t->ssl ? lib.BIO_new(tls_bio) : NULL;
	if (!bio) {
		r = err_set(e, -EIO, "cannot begin TLS: %s", tls_reason());
		lib.SSL_free(t->ssl);
		return r;
	}
	lib.BIO_set_data(bio, t);
	lib.BIO_set_init(bio, 1);
	lib.SSL_set_bio(t->ssl, bio, bio); /* takes over the only reference */
	if (c->server)
		lib.SSL_set_accept_state(t->ssl);
	else
		lib.SSL_set_connect_state(t->ssl);
	if (!c->server)
		r = expect(t, host, e);
	if (r < 0) {
		lib.SSL_free(t->ssl);
		return r;
	}
	*out = t;
	t = NULL;
	return 0;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	lib.SSL_free(t->ssl);
	free(t);
}

/* The result of a call without progress: -EAGAIN with *want, 0: closed by the peer, -errno. */
static int failure(struct tls *t, int result, enum tls_want *want)
{
	switch (lib.SSL_get_error(t->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		*want = TLS_READ;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		*want = TLS_WRITE;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SSL:
		t->fatal = true;
		return t->eof ? -ECONNRESET : -EPROTO; /* 3.x: a missing close_notify */
	default:
		t->fatal = true;
		return t->error ? -t->error : -ECONNRESET;
	}
}

/* The next step after this side refused the peer's certificate. */
static const char *trust_next(long verified)
{
	switch (verified) {
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return "; name the file with its CA by 'caFile' in a config, or by SSL_CERT_FILE";
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "; connect to a name or address that is in the certificate";
	case X509_V_ERR_CERT_NOT_YET_VALID:
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "; renew the certificate, or set the clock of this machine";
	default:
		return "";
	}
}

/* The handshake failed, and not because of a certificate that was refused here. An alert comes from
 * a peer that speaks TLS; the peer without TLS is the one that may use ws://. */
static int explain_protocol(struct err *e)
{
	unsigned long error = lib.ERR_get_error();
	unsigned code = error & ERR_SYSTEM_FLAG ? 0 : (unsigned)(error & ERR_REASON_OF);
	const char *text = reason_of(error);

	if (code == SSL_R_TLSV1_ALERT_UNKNOWN_CA)
		return err_set(
			e, -EPROTO,
			"the peer does not trust the CA of this server's certificate (%s); on the "
			"peer's machine, name the file with the CA by 'caFile' in a config, "
			"or by SSL_CERT_FILE",
			text);
	if (code >= SSL_R_SSLV3_ALERT_BAD_CERTIFICATE &&
	    code <= SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN)
		return err_set(e, -EPROTO,
			       "the peer refuses this server's certificate: %s; the peer's error "
			       "has the reason",
			       text);
	if (code >= SSL_AD_REASON_OFFSET && code <= SSL_AD_REASON_OFFSET + SSL_AD_MAX)
		return err_set(e, -EPROTO, "the peer refuses TLS with this server: %s", text);
	return err_set(e, -EPROTO, "no TLS: %s; does the peer use ws://?", text);
}

int tls_handshake(struct tls *t, enum tls_want *want, struct err *e)
{
	long verified;
	int n, r;

	*want = TLS_NOTHING;
	lib.ERR_clear_error();
	n = lib.SSL_do_handshake(t->ssl);
	if (n == 1) {
		t->greeted = true;
		return 1;
	}
	r = failure(t, n, want);
	if (r == -EAGAIN)
		return 0;
	verified = lib.SSL_get_verify_result(t->ssl); /* 0 is X509_V_OK */
	if (r == -EPROTO && verified != 0)
		return err_set(e, -EACCES, "the server's certificate is not trusted: %s%s",
			       lib.X509_verify_cert_error_string(verified), trust_next(verified));
	if (r == -EPROTO)
		return explain_protocol(e);
	if (r == 0 || r == -ECONNRESET)
		return err_set(e, -ECONNRESET,
			       "the peer closed the connection during the TLS handshake");
	return err_set(e, r, "the TLS handshake failed: %s", strerror(-r));
}

/* SSL_read and SSL_write count in int. */
static int at_most(size_t len)
{
	return len > 1 << 30 ? 1 << 30 : (int)len;
}

ssize_t tls_read(struct tls *t, void *out, size_t size, enum tls_want *want)
{
	int n;

	*want = TLS_NOTHING;
	if (t->fatal)
		return -ECONNRESET;
	lib.ERR_clear_error();
	n = lib.SSL_read(t->ssl, out, at_most(size));
	return n > 0 ? n : failure(t, n, want);
}

ssize_t tls_write(struct tls *t, const void *bytes, size_t len, enum tls_want *want)
{
	int n;

	assert(len > 0); /* in OpenSSL a write of 0 bytes is undefined */
	*want = TLS_NOTHING;
	if (t->fatal)
		return -ECONNRESET;
	lib.ERR_clear_error();
	n = lib.SSL_write(t->ssl, bytes, at_most(len));
	if (n > 0)
		return n;
	n = failure(t, n, want);
	return n == 0 ? -EPIPE : n;
}

size_t tls_pending(const struct tls *t)
{
	return (size_t)lib.SSL_pending(t->ssl);
}

void tls_bye(struct tls *t)
{
	if (!t->greeted || t->fatal)
		return;
	lib.ERR_clear_error();
	lib.SSL_shutdown(t->ssl);
	lib.ERR_clear_error();
}
