/* libc.c - see libc.h */
#include "libc.h"

#include <ctype.h>
#include <stdbool.h>

void *memmem(const void *in, size_t len, const void *what, size_t what_len)
{
	const char *p = in, *end = p + len;

	if (!what_len)
		return (void *)in;
	while (what_len <= (size_t)(end - p)) {
		p = memchr(p, *(const char *)what, (size_t)(end - p) - what_len + 1);
		if (!p)
			return NULL;
		if (memcmp(p, what, what_len) == 0)
			return (void *)p;
		p++;
	}
	return NULL;
}

char *strchrnul(const char *s, int c)
{
	while (*s && *s != (char)c)
		s++;
	return (char *)s;
}

char *strndup(const char *s, size_t max)
{
	size_t len = strnlen(s, max);
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *strsep(char **at, const char *delimiters)
{
	char *word = *at, *end;

	if (!word)
		return NULL;
	end = word + strcspn(word, delimiters);
	*at = *end ? end + 1 : NULL;
	*end = '\0';
	return word;
}

char *strcasestr(const char *in, const char *what)
{
	size_t len = strlen(what);

	for (; *in || !len; in++)
		if (_strnicmp(in, what, len) == 0)
			return (char *)in;
	return NULL;
}

#undef strerror

/* The values above 42, for which msvcrt says "Unknown error". */
const char *libc_strerror(int error)
{
	static const struct {
		int error;
		const char *text;
	} known[] = {
		{ EADDRINUSE, "Address already in use" },
		{ EADDRNOTAVAIL, "Cannot assign requested address" },
		{ EAFNOSUPPORT, "Address family not supported by protocol" },
		{ EBADMSG, "Bad message" },
		{ ECANCELED, "Operation canceled" },
		{ ECONNABORTED, "Software caused connection abort" },
		{ ECONNREFUSED, "Connection refused" },
		{ ECONNRESET, "Connection reset by peer" },
		{ EDESTADDRREQ, "Destination address required" },
		{ EHOSTUNREACH, "No route to host" },
		{ EINPROGRESS, "Operation now in progress" },
		{ EISCONN, "Transport endpoint is already connected" },
		{ ELOOP, "Too many levels of symbolic links" },
		{ EMSGSIZE, "Message too long" },
		{ ENETDOWN, "Network is down" },
		{ ENETRESET, "Network dropped connection on reset" },
		{ ENETUNREACH, "Network is unreachable" },
		{ ENOBUFS, "No buffer space available" },
		{ ENOTCONN, "Transport endpoint is not connected" },
		{ ENOTSOCK, "Socket operation on non-socket" },
		{ ENOTSUP, "Operation not supported" },
		{ EOPNOTSUPP, "Operation not supported" },
		{ EOVERFLOW, "Value too large for defined data type" },
		{ EPROTO, "Protocol error" },
		{ ESTALE, "Stale file handle" },
		{ ETIMEDOUT, "Connection timed out" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].error == error)
			return known[i].text;
	return strerror(error);
}
