/* url.c - see url.h */
#include "url.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "os/net.h"

#define LABEL_MAX 63 /* RFC 1035 */

/* The error does not repeat the text, because the text may contain a secret. */
static int url_refuse(struct err *e, enum url_use use, const char *what)
{
	return err_set(e, -EINVAL, "%s: %s", what,
		       use == URL_LISTEN
			       ? "an address to listen on is ws://IP:PORT, wss://IP:PORT, "
				 "unix:PATH or stdio"
			       : "an address to connect to is ws://HOST:PORT, wss://HOST:PORT "
				 "(with /PATH or not) or unix:PATH");
}

/* The text after the prefix, or NULL. */
static const char *behind(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncasecmp(text, prefix, len) == 0 ? text + len : NULL;
}

static bool is_ip(const char *host, enum address_kind kind)
{
	struct address a;

	return address_read(host, 0, &a) && a.kind == kind;
}

static bool is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

/* Labels with dots between them. A name whose last label is a number is refused: the resolver would
 * take it for an address in an unusual form (127.1, 0x7f000001). */
static bool is_name(const char *host)
{
	size_t label = 0;
	bool number = true;

	for (const char *p = host;; p++) {
		if (*p != '.' && *p != '\0') {
			if (!is_name_character(*p) || ++label > LABEL_MAX)
				return false;
			number = number && *p >= '0' && *p <= '9';
			continue;
		}
		if (label == 0 || p[-1] == '-' || *(p - label) == '-')
			return false;
		if (!*p)
			return !number && !behind(p - label, "0x");
		label = 0;
		number = true;
	}
}

/* Returns the port that the digits before `end` name, or -1. */
static int port_of(const char *digits, const char *end)
{
	int port = 0;

	if (digits == end || end - digits > 5)
		return -1;
	for (; digits < end; digits++) {
		if (*digits < '0' || *digits > '9')
			return -1;
		port = port * 10 + (*digits - '0');
	}
	return port <= 65535 ? port : -1;
}

/* Parse the host at the beginning of text, which ends before `end`. *out_port is set to the colon
 * of the port, or to `end`. Returns NULL, or the error. */
static const char *host_of(const char *text, const char *end, enum url_use use, struct url *out,
			   const char **out_port)
{
	bool brackets = *text == '[';
	const char *host = text + brackets;
	const char *stop = memchr(host, brackets ? ']' : ':', (size_t)(end - host));
	size_t len;

	if (brackets && !stop)
		return "a '[' without a ']'";
	len = (size_t)((stop ? stop : end) - host);
	*out_port = host + len + brackets;
	if (len == 0)
		return "the host is missing";
	if (len >= sizeof(out->host))
		return "the host is too long";
	memcpy(out->host, host, len);
	out->host[len] = '\0';
	if (*out_port != end && **out_port != ':')
		return "unexpected characters between host and port";
	if (brackets)
		return is_ip(out->host, ADDRESS_IPV6) ? NULL
						      : "no IPv6 address between '[' and ']'";
	if (is_ip(out->host, ADDRESS_IPV4))
		return NULL;
	if (use == URL_LISTEN)
		return "the host is not an IP address";
	return is_name(out->host)
		       ? NULL
		       : "the host is neither a name nor an IP address (write IPv6 in [])";
}

/* Parse the part after host and port. Returns NULL, or the error. */
static const char *url_path_of(const char *text, enum url_use use, struct url *out)
{
	size_t slash = *text != '/', len = strlen(text);

	if (use == URL_LISTEN && *text)
		return "unexpected characters after the port";
	if (strchr(text, '#'))
		return "a fragment is not allowed";
	for (const char *p = text; *p; p++) {
		if (*p <= ' ' || *p > '~') /* also beyond ASCII, with signed and unsigned char */
			return "the path has a character that must be written %XX";
	}
	if (slash + len >= sizeof(out->path))
		return "the path is too long";
	out->path[0] = '/';
	memcpy(out->path + slash, text, len + 1);
	return NULL;
}

/* Parse the part after ws:// or wss://. */
static const char *parse_ws(const char *text, enum url_use use, struct url *out)
{
	const char *end = text + strcspn(text, "/?#"), *colon, *wrong;
	int port = out->kind == URL_WS ? 80 : 443;

	if (memchr(text, '@', (size_t)(end - text)))
		return "a user or password is not allowed";
	wrong = host_of(text, end, use, out, &colon);
	if (wrong)
		return wrong;
	if (colon != end)
		port = port_of(colon + 1, end);
	else if (use == URL_LISTEN)
		return "the port is missing";
	if (use == URL_LISTEN && port < 0)
		return "the port is not a number from 0 to 65535";
	if (use == URL_CONNECT && port < 1)
		return "the port is not a number from 1 to 65535";
	out->port = (unsigned)port;
	return url_path_of(end, use, out);
}

/* Parse the part after unix: */
static const char *parse_unix(const char *text, struct url *out)
{
	if (strncmp(text, "///", 3) == 0) /* unix:///PATH is accepted, too */
		text += 2;
	else if (strncmp(text, "//", 2) == 0)
		return "a host is not allowed";
	if (!*text)
		return "the path is missing";
	if (strlen(text) >= NET_PATH_MAX)
		return "the path is too long for a socket (107 bytes)";
	memcpy(out->path, text, strlen(text) + 1);
	return NULL;
}

int url_parse(const char *text, enum url_use use, struct url *out, struct err *e)
{
	struct url u = { .kind = URL_STDIO };
	const char *rest, *wrong = NULL;

	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return url_refuse(e, use, "a control character is not allowed");
	}
	if ((rest = behind(text, "ws://"))) {
		u.kind = URL_WS;
		wrong = parse_ws(rest, use, &u);
	} else if ((rest = behind(text, "wss://"))) {
		u.kind = URL_WSS;
		wrong = parse_ws(rest, use, &u);
	} else if ((rest = behind(text, "unix:"))) {
		u.kind = URL_UNIX;
		wrong = parse_unix(rest, &u);
	} else if (strcasecmp(text, "stdio") != 0 && strcasecmp(text, "stdio://") != 0) {
		wrong = "unknown kind of address";
	} else if (use == URL_CONNECT) {
		wrong = "a client cannot connect to stdio";
	}
	if (wrong)
		return url_refuse(e, use, wrong);
	*out = u;
	return 0;
}

bool url_is_loopback(const struct url *u)
{
	struct address a;

	if (u->kind == URL_UNIX || u->kind == URL_STDIO)
		return true;
	if (address_read(u->host, 0, &a))
		return address_is_loopback(&a);
	return strcasecmp(u->host, "localhost") == 0;
}
