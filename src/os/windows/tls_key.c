/* tls_key.c - see tls_internal.h: the certificate and the key of a server.
 *
 * Schannel does its work in a process of Windows, which reads the key from the user's key store. So
 * the key is copied there under a random name and removed at the end; a program that is killed
 * leaves the copy behind, readable for the same user as the file. The store is that of CryptoAPI:
 * RSA only, and no signature of TLS 1.3.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/auto.h"
#include "os/random.h"
#include "os/secret.h"
#include "rsa_key.h"
#include "tls_internal.h"

#define KEY_FILE_MAX (1u << 20)

static void key_wipe(struct buf *b)
{
	secret_wipe(b->data, b->len);
	buf_done(b);
}

/* --- the certificate --- */

static int key_read_certificate(struct tls_context *c, const char *file, struct err *e)
{
	AUTO(buf_done) struct buf text = BUF_INIT(KEY_FILE_MAX);
	AUTO(buf_done) struct buf der = BUF_INIT(KEY_FILE_MAX);
	const char *at;
	int r = pem_read_file(file, &text, e);

	if (r < 0)
		return r;
	at = text.data;
	if (pem_next(&at, "CERTIFICATE", &der))
		c->certificate = CertCreateCertificateContext(
			X509_ASN_ENCODING, (const BYTE *)der.data, (DWORD)der.len);
	return c->certificate
		       ? 0
		       : err_set(e, -EINVAL,
				 "cannot use the certificate '%s': no certificate in PEM", file);
}

/* --- the key --- */

/* Read the key into *blob. */
static int key_read_key(const char *file, struct buf *blob, struct err *e)
{
	AUTO(key_wipe) struct buf text = BUF_INIT(KEY_FILE_MAX);
	AUTO(key_wipe) struct buf der = BUF_INIT(KEY_FILE_MAX);
	const char *at;
	bool found;
	int r = pem_read_file(file, &text, e);

	if (r < 0)
		return r;
	at = text.data;
	found = pem_next(&at, "RSA PRIVATE KEY", &der) || pem_next(&at, "PRIVATE KEY", &der);
	return found && rsa_key_blob(&der, blob)
		       ? 0
		       : err_set(e, -EINVAL,
				 "cannot use the key '%s': on Windows the key must be RSA, in PEM, "
				 "without a password",
				 file);
}

/* Copy the key into the user's store, under a new name. */
static int key_store(struct tls_context *c, const struct buf *blob, HCRYPTPROV *out, struct err *e)
{
	unsigned long long id[2];
	HCRYPTKEY key = 0;

	random_fill(id, sizeof(id));
	swprintf(c->container, sizeof(c->container) / sizeof(c->container[0]),
		 L"killick-%016llx%016llx", id[0], id[1]);
	if (!CryptAcquireContextW(out, c->container, NULL, PROV_RSA_AES, CRYPT_NEWKEYSET) ||
	    !CryptImportKey(*out, (const BYTE *)blob->data, (DWORD)blob->len, 0, 0, &key))
		return err_set(e, -EIO, "cannot use the key: Windows does not store it (0x%08lx)",
			       GetLastError());
	CryptDestroyKey(key);
	return 0;
}

/* Does the key belong to the certificate? */
static bool key_fits(struct tls_context *c, HCRYPTPROV provider)
{
	CERT_PUBLIC_KEY_INFO *info = NULL;
	DWORD size = 0;
	bool fits;

	if (!CryptExportPublicKeyInfo(provider, AT_KEYEXCHANGE, X509_ASN_ENCODING, NULL, &size))
		return false;
	info = LocalAlloc(LPTR, size);
	fits = info &&
	       CryptExportPublicKeyInfo(provider, AT_KEYEXCHANGE, X509_ASN_ENCODING, info, &size) &&
	       CertComparePublicKeyInfo(X509_ASN_ENCODING, info,
					&c->certificate->pCertInfo->SubjectPublicKeyInfo);
	LocalFree(info);
	return fits;
}

int tls_key_load(struct tls_context *c, const char *cert_file, const char *key_file, struct err *e)
{
	AUTO(key_wipe) struct buf blob = BUF_INIT(KEY_FILE_MAX);
	CRYPT_KEY_PROV_INFO where = { .pwszContainerName = c->container,
				      .dwProvType = PROV_RSA_AES,
				      .dwKeySpec = AT_KEYEXCHANGE };
	HCRYPTPROV provider = 0;
	int r = key_read_certificate(c, cert_file, e);

	if (r == 0)
		r = key_read_key(key_file, &blob, e);
	if (r == 0)
		r = key_store(c, &blob, &provider, e);
	if (r == 0 && !key_fits(c, provider))
		r = err_set(e, -EINVAL, "the key '%s' does not match the certificate '%s'",
			    key_file, cert_file);
	if (r == 0 && !CertSetCertificateContextProperty(c->certificate, CERT_KEY_PROV_INFO_PROP_ID,
							 0, &where))
		r = err_set(e, -EIO, "cannot use the key '%s' (0x%08lx)", key_file, GetLastError());
	if (provider)
		CryptReleaseContext(provider, 0);
	return r;
}

void tls_key_drop(struct tls_context *c)
{
	HCRYPTPROV gone;

	if (c->certificate)
		CertFreeCertificateContext(c->certificate);
	if (c->container[0])
		CryptAcquireContextW(&gone, c->container, NULL, PROV_RSA_AES, CRYPT_DELETEKEYSET);
	c->certificate = NULL;
	c->container[0] = L'\0';
}
