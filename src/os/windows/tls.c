/* tls.c - see tls.h: Schannel, the TLS of Windows.
 *
 * Schannel moves no bytes. `in` has received bytes that are not decrypted yet, `plain` has
 * decrypted bytes, and `out` has bytes to send. A record is sent completely before the write that
 * it belongs to returns, so that nothing is left in `out` while nobody waits for room.
 */
#include "os/tls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "os/address.h"
#include "os/kernel.h"
#include "os/net.h"
#include "tls_internal.h"
#include "utf16.h"

#define TLS_RECORD  (17 << 10)  /* more than the longest record */
#define TLS_IN_MAX  (256 << 10) /* a handshake with many certificates */
#define TLS_OUT_MAX (256 << 10)

#define TLS_CLIENT_FLAGS                                                                           \
	(ISC_REQ_SEQUENCE_DETECT | ISC_REQ_REPLAY_DETECT | ISC_REQ_CONFIDENTIALITY |               \
	 ISC_REQ_EXTENDED_ERROR | ISC_REQ_ALLOCATE_MEMORY | ISC_REQ_STREAM |                       \
	 ISC_REQ_MANUAL_CRED_VALIDATION)
#define TLS_SERVER_FLAGS                                                                           \
	(ASC_REQ_SEQUENCE_DETECT | ASC_REQ_REPLAY_DETECT | ASC_REQ_CONFIDENTIALITY |               \
	 ASC_REQ_EXTENDED_ERROR | ASC_REQ_ALLOCATE_MEMORY | ASC_REQ_STREAM)

struct tls {
	struct tls_context *context;
	int fd;
	CtxtHandle handle;
	bool has_handle;
	wchar_t *sni; /* NULL: the server has no name, but an address */
	char *host;   /* that the certificate must have */
	SecPkgContext_StreamSizes sizes;
	struct buf in, plain, out;
	bool starved;    /* `in` ends within a record */
	bool finished;   /* Schannel has all that it needs; `out` may have its last bytes */
	bool greeted;    /* the handshake is over */
	bool closed;     /* the peer has ended TLS */
	bool fatal;      /* nothing can be sent or received any more */
	size_t promised; /* bytes of a write whose record is in `out` */
};

/* --- contexts --- */

/* TLS 1.3 needs SCH_CREDENTIALS, which older systems do not know. */
static SECURITY_STATUS tls_acquire(struct tls_context *c)
{
	DWORD use = c->server ? SECPKG_CRED_INBOUND : SECPKG_CRED_OUTBOUND;
	DWORD flags = SCH_USE_STRONG_CRYPTO |
		      (c->server ? 0 : SCH_CRED_MANUAL_CRED_VALIDATION | SCH_CRED_NO_DEFAULT_CREDS);
	/* the key of a server is in a store that cannot sign as TLS 1.3 demands (tls_key.c) */
	DWORD wanted =
		c->server ? SP_PROT_TLS1_2_SERVER : SP_PROT_TLS1_2_CLIENT | SP_PROT_TLS1_3_CLIENT;
	TLS_PARAMETERS versions = { .grbitDisabledProtocols = ~wanted };
	SCH_CREDENTIALS now = { .dwVersion = SCH_CREDENTIALS_VERSION,
				.cCreds = c->server,
				.paCred = &c->certificate,
				.dwFlags = flags,
				.cTlsParameters = 1,
				.pTlsParameters = &versions };
	SCHANNEL_CRED before = { .dwVersion = SCHANNEL_CRED_VERSION,
				 .cCreds = c->server,
				 .paCred = &c->certificate,
				 .grbitEnabledProtocols = wanted & ~(DWORD)SP_PROT_TLS1_3_CLIENT,
				 .dwFlags = flags };
	SECURITY_STATUS s;

	s = AcquireCredentialsHandleW(NULL, (wchar_t *)UNISP_NAME_W, use, NULL, &now, NULL, NULL,
				      &c->credentials, NULL);
	if (s != SEC_E_OK)
		s = AcquireCredentialsHandleW(NULL, (wchar_t *)UNISP_NAME_W, use, NULL, &before,
					      NULL, NULL, &c->credentials, NULL);
	c->has_credentials = s == SEC_E_OK;
	return s;
}

static int tls_make_context(struct tls_context *c, struct tls_context **out, struct err *e)
{
	SECURITY_STATUS s = tls_acquire(c);

	if (s != SEC_E_OK) {
		tls_context_free(c);
		return err_set(e, -EIO, "cannot begin TLS: Schannel refuses (0x%08lx)",
			       (unsigned long)s);
	}
	*out = c;
	return 0;
}

int tls_server(const char *cert_file, const char *key_file, struct tls_context **out, struct err *e)
{
	struct tls_context *c = mem_grow(NULL, 1, sizeof(*c));
	int r;

	*c = (struct tls_context){ .server = true };
	r = tls_key_load(c, cert_file, key_file, e);
	if (r < 0) {
		tls_context_free(c);
		return r;
	}
	return tls_make_context(c, out, e);
}

int tls_client(const char *ca_file, struct tls_context **out, struct err *e)
{
	struct tls_context *c = mem_grow(NULL, 1, sizeof(*c));
	int r = 0;

	*c = (struct tls_context){ .server = false };
	if (!ca_file)
		ca_file = getenv("SSL_CERT_FILE");
	if (ca_file)
		r = tls_trust_load(c, ca_file, e);
	if (r < 0) {
		tls_context_free(c);
		return r;
	}
	return tls_make_context(c, out, e);
}

void tls_context_free(struct tls_context *c)
{
	if (!c)
		return;
	if (c->has_credentials)
		FreeCredentialsHandle(&c->credentials);
	tls_trust_drop(c);
	tls_key_drop(c);
	free(c);
}

/* --- connections --- */

int tls_open(struct tls_context *c, int fd, const char *host, struct tls **out, struct err *e)
{
	struct tls *t = mem_grow(NULL, 1, sizeof(*t));
	struct address literal;

	assert(c->server || (host && host[0]));
	*t = (struct tls){ .context = c,
			   .fd = fd,
			   .in = BUF_INIT(TLS_IN_MAX),
			   .plain = BUF_INIT(TLS_IN_MAX),
			   .out = BUF_INIT(TLS_OUT_MAX) };
	if (!c->server) {
		t->host = mem_dup(host);
		if (!address_read(host, 0, &literal))
			t->sni = utf16_of(host);
		if (!t->sni && !address_read(host, 0, &literal)) {
			tls_free(t);
			return err_set(e, -EINVAL, "invalid TLS host name '%s'", host);
		}
	}
	*out = t;
	return 0;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	if (t->has_handle)
		DeleteSecurityContext(&t->handle);
	buf_done(&t->in);
	buf_done(&t->plain);
	buf_done(&t->out);
	free(t->sni);
	free(t->host);
	free(t);
}

/* Send `out`. 0: all of it; -EAGAIN; -errno. */
static int tls_flush(struct tls *t)
{
	while (t->out.len) {
		ssize_t n = net_send(t->fd, t->out.data, t->out.len);

		if (n < 0)
			return (int)n;
		buf_drop(&t->out, (size_t)n);
	}
	return 0;
}

/* Receive more. 1: something came; -EAGAIN; -ECONNRESET at the end of the stream; -errno. */
static int tls_fill(struct tls *t)
{
	ssize_t n;

	if (buf_reserve(&t->in, TLS_RECORD) < 0)
		return -EPROTO;
	n = net_receive(t->fd, t->in.data + t->in.len, TLS_RECORD);
	if (n == 0)
		return -ECONNRESET;
	if (n < 0)
		return (int)n;
	t->in.len += (size_t)n;
	t->starved = false;
	return 1;
}

/* Keep the last `len` bytes of `in`, which Schannel has not used. */
static void tls_keep_last(struct tls *t, size_t len)
{
	assert(len <= t->in.len);
	buf_drop(&t->in, t->in.len - len);
}

/* Give Schannel the bytes in `in`, and add its answer to `out`. */
static SECURITY_STATUS tls_step(struct tls *t)
{
	SecBuffer in[2] = { { (ULONG)t->in.len, SECBUFFER_TOKEN, t->in.data },
			    { 0, SECBUFFER_EMPTY, NULL } };
	SecBuffer out = { 0, SECBUFFER_TOKEN, NULL };
	SecBufferDesc given = { SECBUFFER_VERSION, 2, in }, made = { SECBUFFER_VERSION, 1, &out };
	SecBufferDesc *bytes = t->in.len ? &given : NULL;
	CtxtHandle *before = t->has_handle ? &t->handle : NULL;
	CredHandle *cred = &t->context->credentials;
	DWORD flags = 0;
	SECURITY_STATUS s;

	if (t->context->server)
		s = AcceptSecurityContext(cred, before, bytes, TLS_SERVER_FLAGS, 0, &t->handle,
					  &made, &flags, NULL);
	else
		s = InitializeSecurityContextW(cred, before, t->sni, TLS_CLIENT_FLAGS, 0, 0, bytes,
					       0, &t->handle, &made, &flags, NULL);
	if (s == SEC_E_OK || s == SEC_I_CONTINUE_NEEDED)
		t->has_handle = true;
	if (out.pvBuffer && out.cbBuffer && buf_add(&t->out, out.pvBuffer, out.cbBuffer) < 0)
		s = SEC_E_INTERNAL_ERROR;
	if (out.pvBuffer)
		FreeContextBuffer(out.pvBuffer);
	t->starved = s == SEC_E_INCOMPLETE_MESSAGE;
	if (!t->starved)
		tls_keep_last(t, in[1].BufferType == SECBUFFER_EXTRA ? in[1].cbBuffer : 0);
	return s;
}

/* --- the handshake --- */

static int tls_refuse(struct tls *t, SECURITY_STATUS s, struct err *e)
{
	t->fatal = true;
	tls_flush(t); /* the alert, if Schannel made one */
	switch (s) {
	case SEC_E_INVALID_TOKEN:
		return err_set(e, -EPROTO, "no TLS: not a TLS record; does the peer use ws://?");
	case SEC_E_UNTRUSTED_ROOT:
	case SEC_E_CERT_UNKNOWN:
		return err_set(e, -EPROTO,
			       "the peer refuses this server's certificate; the peer's error has "
			       "the reason");
	case SEC_E_ALGORITHM_MISMATCH:
	case SEC_E_UNSUPPORTED_FUNCTION:
		return err_set(e, -EPROTO,
			       "the peer refuses TLS with this server: no common version or cipher "
			       "(0x%08lx)",
			       (unsigned long)s);
	default:
		return err_set(e, -EPROTO, "no TLS: Schannel refuses (0x%08lx)", (unsigned long)s);
	}
}

static int tls_finish(struct tls *t, struct err *e)
{
	SECURITY_STATUS s =
		QueryContextAttributesW(&t->handle, SECPKG_ATTR_STREAM_SIZES, &t->sizes);

	if (s != SEC_E_OK)
		return tls_refuse(t, s, e);
	t->finished = true;
	if (t->context->server)
		return 0;
	return tls_trust_check(t->context, &t->handle, t->host, e);
}

/* One step of the handshake, when there are bytes for it. 0 or -errno. */
static int tls_advance(struct tls *t, struct err *e)
{
	SECURITY_STATUS s = tls_step(t);

	if (s == SEC_E_OK)
		return tls_finish(t, e);
	if (s == SEC_I_CONTINUE_NEEDED || s == SEC_E_INCOMPLETE_MESSAGE ||
	    s == SEC_I_INCOMPLETE_CREDENTIALS) /* the server asks for a certificate: send none */
		return 0;
	return tls_refuse(t, s, e);
}

static int tls_explain(struct tls *t, int r, struct err *e)
{
	t->fatal = true;
	if (r == -ECONNRESET || r == -EPIPE)
		return err_set(e, -ECONNRESET,
			       "the peer closed the connection during the TLS handshake");
	return err_set(e, r, "the TLS handshake failed: %s", strerror(-r));
}

int tls_handshake(struct tls *t, enum tls_want *want, struct err *e)
{
	int r;

	*want = TLS_NOTHING;
	for (;;) {
		bool first = !t->has_handle && !t->context->server;

		r = tls_flush(t);
		if (r == 0 && t->finished) {
			t->greeted = true;
			return 1;
		}
		*want = r == -EAGAIN ? TLS_WRITE : TLS_READ;
		if (r == 0 && !first && (t->starved || !t->in.len))
			r = tls_fill(t);
		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return tls_explain(t, r, e);
		r = tls_advance(t, e);
		if (r < 0)
			return r;
	}
}

/* --- bytes --- */

/* Decrypt the first record of `in` into `plain`. 1: done; 0: the peer has ended TLS; -EAGAIN: the
 * record is not complete; -errno. */
static int tls_decrypt(struct tls *t)
{
	SecBuffer all[4] = { { (ULONG)t->in.len, SECBUFFER_DATA, t->in.data },
			     { 0, SECBUFFER_EMPTY, NULL },
			     { 0, SECBUFFER_EMPTY, NULL },
			     { 0, SECBUFFER_EMPTY, NULL } };
	SecBufferDesc desc = { SECBUFFER_VERSION, 4, all };
	SECURITY_STATUS s = DecryptMessage(&t->handle, &desc, 0, NULL);
	size_t extra = 0;

	t->starved = s == SEC_E_INCOMPLETE_MESSAGE;
	if (t->starved)
		return -EAGAIN;
	if (s != SEC_E_OK && s != SEC_I_RENEGOTIATE)
		return s == SEC_I_CONTEXT_EXPIRED ? 0 : -EPROTO;
	for (int i = 0; i < 4; i++) {
		if (all[i].BufferType == SECBUFFER_DATA && all[i].cbBuffer &&
		    buf_add(&t->plain, all[i].pvBuffer, all[i].cbBuffer) < 0)
			return -EPROTO;
		if (all[i].BufferType == SECBUFFER_EXTRA)
			extra = all[i].cbBuffer;
	}
	tls_keep_last(t, extra);
	if (s == SEC_I_RENEGOTIATE) { /* TLS 1.3: a session ticket or a new key */
		s = tls_step(t);
		if (s != SEC_E_OK && s != SEC_I_CONTINUE_NEEDED && s != SEC_E_INCOMPLETE_MESSAGE)
			return -EPROTO;
		tls_flush(t); /* the next write sends what has no room now */
	}
	return 1;
}

/* Have bytes in `plain`. 1, 0: the peer has ended TLS, -EAGAIN, -errno. */
static int tls_need_plain(struct tls *t)
{
	int r;

	while (!t->plain.len) {
		r = t->in.len && !t->starved ? tls_decrypt(t) : -EAGAIN;
		if (r == -EAGAIN)
			r = tls_fill(t);
		if (r <= 0)
			return r;
	}
	return 1;
}

ssize_t tls_read(struct tls *t, void *out, size_t size, enum tls_want *want)
{
	int r;

	*want = TLS_NOTHING;
	if (t->fatal)
		return -ECONNRESET;
	r = t->closed ? 0 : tls_need_plain(t);
	if (r > 0) {
		if (size > t->plain.len)
			size = t->plain.len;
		memcpy(out, t->plain.data, size);
		buf_drop(&t->plain, size);
		return (ssize_t)size;
	}
	t->closed = r == 0;
	if (r == -EAGAIN)
		*want = TLS_READ;
	else if (r < 0)
		t->fatal = true;
	return r;
}

/* Make one record of the bytes and add it to `out`. How many bytes it has, or -errno. */
static ssize_t tls_encrypt(struct tls *t, const void *bytes, size_t len)
{
	size_t head = t->sizes.cbHeader, tail = t->sizes.cbTrailer;
	SecBuffer all[4];
	SecBufferDesc desc = { SECBUFFER_VERSION, 4, all };
	char *at;

	if (len > t->sizes.cbMaximumMessage)
		len = t->sizes.cbMaximumMessage;
	if (buf_reserve(&t->out, head + len + tail) < 0)
		return -ENOMEM;
	at = t->out.data + t->out.len;
	memcpy(at + head, bytes, len);
	all[0] = (SecBuffer){ (ULONG)head, SECBUFFER_STREAM_HEADER, at };
	all[1] = (SecBuffer){ (ULONG)len, SECBUFFER_DATA, at + head };
	all[2] = (SecBuffer){ (ULONG)tail, SECBUFFER_STREAM_TRAILER, at + head + len };
	all[3] = (SecBuffer){ 0, SECBUFFER_EMPTY, NULL };
	if (EncryptMessage(&t->handle, 0, &desc, 0) != SEC_E_OK)
		return -EPROTO;
	/* the pieces are one behind the other, unless the tail was shorter than it could be */
	t->out.len += all[0].cbBuffer + all[1].cbBuffer + all[2].cbBuffer;
	return (ssize_t)len;
}

ssize_t tls_write(struct tls *t, const void *bytes, size_t len, enum tls_want *want)
{
	ssize_t n;
	int r = t->fatal ? -ECONNRESET : tls_flush(t);

	assert(len > 0);
	*want = TLS_NOTHING;
	if (r == 0 && !t->promised) {
		n = tls_encrypt(t, bytes, len);
		r = n < 0 ? (int)n : 0;
		t->promised = n > 0 ? (size_t)n : 0;
		if (r == 0)
			r = tls_flush(t);
	}
	if (r == 0) {
		n = (ssize_t)t->promised;
		t->promised = 0;
		return n;
	}
	if (r == -EAGAIN)
		*want = TLS_WRITE;
	else
		t->fatal = true;
	return r;
}

size_t tls_pending(const struct tls *t)
{
	return t->plain.len + (t->starved ? 0 : t->in.len);
}

void tls_bye(struct tls *t)
{
	DWORD type = SCHANNEL_SHUTDOWN;
	SecBuffer one = { sizeof(type), SECBUFFER_TOKEN, &type };
	SecBufferDesc desc = { SECBUFFER_VERSION, 1, &one };

	if (!t->greeted || t->fatal || t->promised)
		return;
	t->fatal = true;
	buf_reset(&t->in, TLS_IN_MAX);
	if (ApplyControlToken(&t->handle, &desc) == SEC_E_OK) {
		tls_step(t);
		tls_flush(t);
	}
}

void tls_look(struct tls_library *out)
{
	static struct kernel windows; /* the same for every caller */

	*out = (struct tls_library){ .name = "schannel", .link = "shared" };
	if (kernel_look(&windows) == 0)
		out->version = windows.release;
}
