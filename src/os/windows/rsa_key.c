/* rsa_key.c - see rsa_key.h */
#include "rsa_key.h"

#include <stddef.h>
#include <stdint.h>
#include <winsock2.h>
#include <windows.h>
#include <wincrypt.h>

enum { DER_INTEGER = 2, DER_OCTETS = 4, DER_OID = 6, DER_SEQUENCE = 0x30 };

struct der { /* the rest of what is read */
	const unsigned char *at, *end;
};

/* Take one element with this tag; *out is its content. */
static bool der_take(struct der *d, unsigned tag, struct der *out)
{
	size_t len, bytes = 0;

	if (d->end - d->at < 2 || *d->at++ != tag)
		return false;
	len = *d->at++;
	if (len & 0x80) {
		bytes = len & 0x7f;
		if (bytes > 3 || (size_t)(d->end - d->at) < bytes)
			return false;
		for (len = 0; bytes; bytes--)
			len = len << 8 | *d->at++;
	}
	if ((size_t)(d->end - d->at) < len)
		return false;
	*out = (struct der){ d->at, d->at + len };
	d->at += len;
	return true;
}

/* A positive integer, without the zeros in front. */
static bool der_integer(struct der *d, struct der *out)
{
	if (!der_take(d, DER_INTEGER, out) || out->at == out->end || (*out->at & 0x80))
		return false;
	while (out->at < out->end && *out->at == 0)
		out->at++;
	return true;
}

/* Append the number as `size` bytes, the lowest first. */
static bool rsa_key_add(struct buf *out, const struct der *n, size_t size)
{
	size_t len = (size_t)(n->end - n->at);
	char *to = len <= size ? buf_extend(out, size) : NULL;

	for (size_t i = 0; to && i < size; i++)
		to[i] = (char)(i < len ? n->end[-1 - (ptrdiff_t)i] : 0);
	return to != NULL;
}

/* PKCS #8: a version, the algorithm, and the key in a string of bytes. */
static bool rsa_key_unwrap(struct der *d)
{
	static const unsigned char rsa[] = { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1 };
	struct der whole, algorithm, oid, key, try = *d, version;

	if (!der_take(&try, DER_SEQUENCE, &whole) || !der_take(&whole, DER_INTEGER, &version) ||
	    !der_take(&whole, DER_SEQUENCE, &algorithm) || !der_take(&algorithm, DER_OID, &oid) ||
	    !der_take(&whole, DER_OCTETS, &key))
		return false;
	*d = key;
	return (size_t)(oid.end - oid.at) == sizeof(rsa) && memcmp(oid.at, rsa, sizeof(rsa)) == 0;
}

static bool rsa_key_write(const struct der n[8], struct buf *out)
{
	enum { MODULUS, PUBLIC, PRIVATE, P, Q, DP, DQ, INVERSE };
	size_t len = (size_t)(n[MODULUS].end - n[MODULUS].at);
	BLOBHEADER head = { PRIVATEKEYBLOB, CUR_BLOB_VERSION, 0, CALG_RSA_KEYX };
	RSAPUBKEY key = { 0x32415352 /* "RSA2" */, (DWORD)len * 8, 0 };
	bool good = len % 2 == 0 && len >= 64 && len <= 2048 && n[PUBLIC].end - n[PUBLIC].at <= 4;

	for (const unsigned char *p = n[PUBLIC].at; good && p < n[PUBLIC].end; p++)
		key.pubexp = key.pubexp << 8 | *p;
	buf_reset(out, SIZE_MAX);
	good = good && buf_add(out, &head, sizeof(head)) == 0 &&
	       buf_add(out, &key, sizeof(key)) == 0 && rsa_key_add(out, &n[MODULUS], len);
	for (int i = P; good && i <= INVERSE; i++)
		good = rsa_key_add(out, &n[i], len / 2);
	return good && rsa_key_add(out, &n[PRIVATE], len);
}

bool rsa_key_blob(const struct buf *der, struct buf *out)
{
	const unsigned char *bytes = (const unsigned char *)der->data;
	struct der all = { bytes, bytes + der->len }, inner = all, whole, version, n[8];

	if (rsa_key_unwrap(&inner))
		all = inner;
	if (!der_take(&all, DER_SEQUENCE, &whole) || !der_take(&whole, DER_INTEGER, &version))
		return false;
	for (int i = 0; i < 8; i++)
		if (!der_integer(&whole, &n[i]))
			return false;
	return rsa_key_write(n, out);
}
