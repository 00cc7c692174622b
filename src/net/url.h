/* url.h - the address of an executor: ws://IP:PORT, wss://HOST:PORT/PATH?QUERY, unix:PATH, stdio.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum url_kind { URL_WS, URL_WSS, URL_UNIX, URL_STDIO };

struct url {
	enum url_kind kind;
	char host[254];  /* without the brackets of IPv6; "" for unix and stdio */
	unsigned port;   /* to connect: 80 or 443 by default; to listen: required */
	char path[2048]; /* ws, wss: with the query, at least "/"; unix: of the socket */
};

enum url_use { URL_LISTEN, URL_CONNECT };

/* 0, or -EINVAL with a sentence that shows the valid forms. To listen: ws and wss take an IP
 * literal and a port (0: any), no path; stdio and stdio:// are the same. To connect: no stdio, no
 * user or password, no fragment. */
int url_parse(const char *text, enum url_use use, struct url *out, struct err *e);

/* Is the host a loopback address (127.0.0.0/8, ::1, "localhost")? True for unix and stdio. */
bool url_is_loopback(const struct url *u);
