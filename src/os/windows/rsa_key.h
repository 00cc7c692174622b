/* rsa_key.h - an RSA key of a file as CryptoAPI takes it.
 *
 * CryptoAPI's own decoder of PKCS #8 does not exist everywhere (Wine has none).
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Read an RSAPrivateKey, alone (PKCS #1) or wrapped (PKCS #8), and write a PRIVATEKEYBLOB. False:
 * the bytes are not an RSA key. */
bool rsa_key_blob(const struct buf *der, struct buf *out);
