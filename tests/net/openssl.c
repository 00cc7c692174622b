/* openssl.c - the prototypes and numbers in src/os/linux/openssl.h are those of the headers of OpenSSL
 * that are installed. They are compared by the compiler; that this program exists is the test. TAP.
 */
#include <stdio.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "os/linux/openssl.h"

#define SAME_NUMBER(name, number)                                                                  \
	_Static_assert((name) == (number), #name " has another value in the headers of OpenSSL");
OPENSSL_NUMBERS(SAME_NUMBER)

#define SAME_TYPE(result, name, args)                                                              \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&name), result(*) args),            \
		       #name " has another type in the headers of OpenSSL");
OPENSSL_FUNCTIONS(SAME_TYPE)

int main(void)
{
	printf("1..1\nok 1 - prototypes and numbers are those of %s\n", OPENSSL_VERSION_TEXT);
	return 0;
}
