/* url.c - any address, to listen on and to connect to. */
#include "net/url.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "fuzz.h"

/* Written out again it is the same. */
static void check(const struct url *u, enum url_use use)
{
	static const char *const schemes[] = { "ws://", "wss://", "unix:", "stdio" };
	char text[sizeof(u->host) + sizeof(u->path) + 100] = "", port[20];
	bool six = strchr(u->host, ':') != NULL, net = u->kind <= URL_WSS;
	struct url again;

	assert(fuzz_is_text(u->host, sizeof(u->host)) && fuzz_is_text(u->path, sizeof(u->path)));
	assert(!strpbrk(u->host, "/?#@[]% \r\n") && !strpbrk(u->path, "\r\n"));
	assert(net == (u->host[0] != '\0'));
	if (net)
		assert(u->path[0] == '/' && !strpbrk(u->path, " #") && u->port <= 65535 &&
		       (u->port > 0 || use == URL_LISTEN));
	else
		assert(u->port == 0);
	snprintf(port, sizeof(port), ":%u", u->port);
	snprintf(text, sizeof(text), "%s%s%s%s%s%s", schemes[u->kind], six ? "[" : "", u->host,
		 six ? "]" : "", net ? port : "", use == URL_LISTEN && net ? "" : u->path);
	if (u->kind == URL_UNIX && strncmp(u->path, "//", 2) == 0)
		return; /* two slashes of a path are those of a host here */
	assert(url_parse(text, use, &again, NULL) == 0);
	assert(again.kind == u->kind && again.port == u->port && strcmp(again.host, u->host) == 0 &&
	       strcmp(again.path, u->path) == 0);
	assert(url_is_loopback(&again) == url_is_loopback(u));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	for (int use = URL_LISTEN; use <= URL_CONNECT; use++) {
		struct err e = ERR_INIT;
		struct url u;
		int r = url_parse(text, (enum url_use)use, &u, &e);

		assert(r == 0 || (r == -EINVAL && e.code == r && e.text[0]));
		if (r == 0)
			check(&u, (enum url_use)use);
	}
	free(text);
	return 0;
}
