/* openssl_load.c - see openssl.h; libssl is loaded by the name of its ABI (libssl.so.N), the newest
 * that the loader finds. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "openssl.h"

/* Names of the ABI: since 3 the number is OpenSSL's major version. A name that does not exist costs
 * the loader a few lookups, once. */
#define SONAME_FIRST 20
#define SONAME_LAST  3

static void *openssl_open_soname(unsigned number, int flags)
{
	char name[24];

	if (number < SONAME_LAST)
		return dlopen("libssl.so.1.1", flags);
	snprintf(name, sizeof(name), "libssl.so.%u", number);
	return dlopen(name, flags);
}

/* Look up all functions; NULL, or the name of one that is missing. */
static const char *openssl_look_up(void *so, struct openssl *out)
{
	const char *missing = NULL;

#define LOOK_UP(result, name, args)                                                                \
	if (!(*(void **)&out->name = dlsym(so, #name)))                                            \
		missing = #name;
	OPENSSL_FUNCTIONS(LOOK_UP)
	return missing;
}

/* The newest libssl that has all functions. One that is in the process already is taken first: two
 * copies of OpenSSL in one process would each have their own settings. NULL: there is none;
 * *missing is what the newest one lacks, or NULL when none was found. */
static void *openssl_open_newest(struct openssl *out, const char **missing)
{
	static const int flags[] = { RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL };

	*missing = NULL;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		for (unsigned number = SONAME_FIRST; number >= SONAME_LAST - 1; number--) {
			void *so = openssl_open_soname(number, flags[i]);
			const char *lacks = so ? openssl_look_up(so, out) : NULL;

			if (so && !lacks)
				return so;
			if (so)
				dlclose(so);
			if (!*missing)
				*missing = lacks;
		}
	}
	return NULL;
}

int openssl_find(struct openssl *out, struct err *e)
{
	const char *missing;

	if (openssl_open_newest(out, &missing))
		return 0;
	if (!missing)
		return err_set(e, -ENOPKG,
			       "wss:// needs OpenSSL, which is not installed (Debian, Ubuntu: "
			       "package libssl3; Fedora: openssl-libs)");
	return err_set(e, -ENOPKG,
		       "the OpenSSL that is installed lacks %s: wss:// needs 1.1.1 or newer",
		       missing);
}

const char *openssl_ca_file(void)
{
	return NULL;
}
