/* http.h - the part of HTTP/1.1 that an upgrade to a WebSocket needs.
 *
 * Parses heads only, in place: names and values point into the text. The other side is not trusted:
 * heads are limited; obsolete line folding, a repeated header of those below, NUL and bare CR are
 * refused.
 * Threads: any.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_MAX 8192

struct http_text { /* borrowed; at NULL: absent */
	const char *at;
	size_t len;
};

struct http_head {
	struct http_text method, target; /* of a request */
	int status;                      /* of a response, else 0 */
	struct http_text upgrade, connection, version, key, accept, origin, authorization, protocol,
		extensions, length, host;
};

/* Length of the head in bytes (with its empty line) if it is complete, 0: more bytes are needed,
 * -EBADMSG: not a valid head, -E2BIG: longer than HTTP_HEAD_MAX. */
long http_request(const char *bytes, size_t len, struct http_head *out);
long http_response(const char *bytes, size_t len, struct http_head *out);

/* Is word one of the comma-separated words of value, without regard to case? */
bool http_has_word(struct http_text value, const char *word);
/* Is value equal to the text, without regard to case? */
bool http_is(struct http_text value, const char *text);
