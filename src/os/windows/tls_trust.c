/* tls_trust.c - see tls_internal.h: is the server at the other end the one that was asked for?
 *
 * Windows checks the chain and the dates. The name is checked here, by the same rules as on Linux:
 * the certificate must list the name or the address (subjectAltName), and a wildcard stands for one
 * whole label. Windows' own check does not know addresses.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/auto.h"
#include "base/mem.h"
#include "os/address.h"
#include "tls_internal.h"
#include "utf16.h"

#define TRUST_FILE_MAX (8u << 20)

int tls_trust_load(struct tls_context *c, const char *ca_file, struct err *e)
{
	AUTO(buf_done) struct buf text = BUF_INIT(TRUST_FILE_MAX);
	AUTO(buf_done) struct buf der = BUF_INIT(TRUST_FILE_MAX);
	/* the size of Windows 7, which every later one accepts, and Wine, too */
	CERT_CHAIN_ENGINE_CONFIG config = { .cbSize = offsetof(CERT_CHAIN_ENGINE_CONFIG,
							       dwExclusiveFlags) };
	const char *at;
	unsigned count = 0;
	int r = pem_read_file(ca_file, &text, e);

	if (r < 0)
		return r;
	c->roots = CertOpenStore(CERT_STORE_PROV_MEMORY, 0, 0, 0, NULL);
	for (at = text.data; c->roots && pem_next(&at, "CERTIFICATE", &der);)
		if (CertAddEncodedCertificateToStore(c->roots, X509_ASN_ENCODING,
						     (const BYTE *)der.data, (DWORD)der.len,
						     CERT_STORE_ADD_ALWAYS, NULL))
			count++;
	if (!count)
		return err_set(e, -EINVAL,
			       "cannot use the certificates in '%s': no certificate in PEM",
			       ca_file);
	config.hExclusiveRoot = c->roots;
	if (!CertCreateCertificateChainEngine(&config, &c->chain))
		return err_set(e, -EIO, "cannot use the certificates in '%s' (0x%08lx)", ca_file,
			       GetLastError());
	return 0;
}

void tls_trust_drop(struct tls_context *c)
{
	if (c->chain)
		CertFreeCertificateChainEngine(c->chain);
	if (c->roots)
		CertCloseStore(c->roots, 0);
	c->chain = NULL;
	c->roots = NULL;
}

/* --- the name --- */

static bool trust_name_is(const char *pattern, const char *host)
{
	const char *dot = strchr(host, '.');

	if (strncmp(pattern, "*.", 2) == 0)
		return dot && dot > host && strchr(dot + 1, '.') && _stricmp(pattern + 1, dot) == 0;
	return _stricmp(pattern, host) == 0;
}

static bool trust_entry_is(const CERT_ALT_NAME_ENTRY *n, const char *host, const struct address *a)
{
	AUTO(mem_drop) char *name = NULL;

	if (a->kind != ADDRESS_NONE)
		return n->dwAltNameChoice == CERT_ALT_NAME_IP_ADDRESS &&
		       n->IPAddress.cbData == (a->kind == ADDRESS_IPV4 ? 4u : 16u) &&
		       memcmp(n->IPAddress.pbData, a->bytes, n->IPAddress.cbData) == 0;
	if (n->dwAltNameChoice != CERT_ALT_NAME_DNS_NAME)
		return false;
	name = utf16_to_utf8(n->pwszDNSName);
	return trust_name_is(name, host);
}

static bool trust_has_name(PCCERT_CONTEXT cert, const char *host)
{
	const CERT_EXTENSION *ext = CertFindExtension(
		szOID_SUBJECT_ALT_NAME2, cert->pCertInfo->cExtension, cert->pCertInfo->rgExtension);
	struct address a = { .kind = ADDRESS_NONE };
	CERT_ALT_NAME_INFO *names = NULL;
	DWORD size = 0;
	bool found = false;

	address_read(host, 0, &a);
	if (!ext ||
	    !CryptDecodeObjectEx(X509_ASN_ENCODING, X509_ALTERNATE_NAME, ext->Value.pbData,
				 ext->Value.cbData, CRYPT_DECODE_ALLOC_FLAG, NULL, &names, &size))
		return false;
	for (DWORD i = 0; i < names->cAltEntry && !found; i++)
		found = trust_entry_is(&names->rgAltEntry[i], host, &a);
	LocalFree(names);
	return found;
}

/* --- the chain --- */

static int trust_refuse(DWORD error, struct err *e)
{
	static const char text[] = "the server's certificate is not trusted: ";

	switch (error) {
	case (DWORD)CERT_E_UNTRUSTEDROOT:
	case (DWORD)CERT_E_CHAINING:
	case (DWORD)TRUST_E_CERT_SIGNATURE:
		return err_set(e, -EACCES,
			       "%sits CA is not known; name the file with its CA by 'caFile' in a "
			       "config, or by SSL_CERT_FILE",
			       text);
	case (DWORD)CERT_E_EXPIRED:
	case (DWORD)CERT_E_VALIDITYPERIODNESTING:
		return err_set(e, -EACCES,
			       "%sit has expired or is not valid yet; renew the certificate, or "
			       "set the clock of this machine",
			       text);
	case (DWORD)CERT_E_CN_NO_MATCH:
		return err_set(e, -EACCES,
			       "%shostname mismatch; connect to a name or address that is in the "
			       "certificate",
			       text);
	default:
		return err_set(e, -EACCES, "%sWindows refuses it (0x%08lx)", text, error);
	}
}

/* The error for a set of CERT_TRUST_ bits; 0: none. Revocation is not checked. */
static DWORD trust_error_of(DWORD bits)
{
	bits &= ~(DWORD)(CERT_TRUST_REVOCATION_STATUS_UNKNOWN | CERT_TRUST_IS_OFFLINE_REVOCATION);
	if (!bits)
		return 0;
	if (bits & (CERT_TRUST_IS_UNTRUSTED_ROOT | CERT_TRUST_IS_PARTIAL_CHAIN))
		return (DWORD)CERT_E_UNTRUSTEDROOT;
	return bits & CERT_TRUST_IS_NOT_TIME_VALID ? (DWORD)CERT_E_EXPIRED : (DWORD)TRUST_E_FAIL;
}

/* 0, or the error of Windows. */
static DWORD trust_chain(struct tls_context *c, PCCERT_CONTEXT cert)
{
	char *usage[] = { (char *)szOID_PKIX_KP_SERVER_AUTH };
	CERT_CHAIN_PARA want = { .cbSize = sizeof(want),
				 .RequestedUsage = { USAGE_MATCH_TYPE_OR, { 1, usage } } };
	HTTPSPolicyCallbackData ssl = { { sizeof(ssl) },
					AUTHTYPE_SERVER,
					0x1000 /* SECURITY_FLAG_IGNORE_CERT_CN_INVALID */,
					NULL };
	CERT_CHAIN_POLICY_PARA para = { .cbSize = sizeof(para), .pvExtraPolicyPara = &ssl };
	CERT_CHAIN_POLICY_STATUS status = { .cbSize = sizeof(status) };
	PCCERT_CHAIN_CONTEXT chain = NULL;
	DWORD error = 0;

	if (!CertGetCertificateChain(c->chain, cert, NULL, cert->hCertStore, &want, 0, NULL,
				     &chain))
		return GetLastError();
	if (!CertVerifyCertificateChainPolicy(CERT_CHAIN_POLICY_SSL, chain, &para, &status))
		error = GetLastError();
	else
		error = status.dwError;
	if (!error) /* Wine's policy accepts a chain without a root */
		error = trust_error_of(chain->TrustStatus.dwErrorStatus);
	CertFreeCertificateChain(chain);
	return error;
}

int tls_trust_check(struct tls_context *c, CtxtHandle *handle, const char *host, struct err *e)
{
	PCCERT_CONTEXT cert = NULL;
	DWORD error;

	if (QueryContextAttributesW(handle, SECPKG_ATTR_REMOTE_CERT_CONTEXT, &cert) != SEC_E_OK)
		return err_set(e, -EACCES, "the server sent no certificate");
	error = trust_chain(c, cert);
	if (!error && !trust_has_name(cert, host))
		error = (DWORD)CERT_E_CN_NO_MATCH;
	CertFreeCertificateContext(cert);
	return error ? trust_refuse(error, e) : 0;
}
