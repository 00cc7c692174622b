/* http.c - heads that are good, and all the ways in which they are not. */
#include "net/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"

typedef long parse_fn(const char *bytes, size_t len, struct http_head *out);

/* Parse a copy that ends where it ends. The texts in *out are of no use then. */
static long parse(parse_fn *fn, const char *bytes, size_t len, struct http_head *out)
{
	AUTO(mem_drop) char *copy = malloc(len ? len : 1);

	OK(copy != NULL);
	memcpy(copy, bytes, len);
	return fn(copy, len, out);
}

static long request(const char *text)
{
	struct http_head h;

	return parse(http_request, text, strlen(text), &h);
}

static long response(const char *text)
{
	struct http_head h;

	return parse(http_response, text, strlen(text), &h);
}

/* A request with these lines of header. */
static long with(const char *lines)
{
	char text[1000];

	OK(snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", lines) < (int)sizeof(text));
	return request(text);
}

#define IS(value_, text_)                                                                          \
	OK((value_).len == strlen(text_) && memcmp((value_).at, text_, (value_).len) == 0)

static const char upgrade[] = "GET /chat?a=b HTTP/1.1\r\n"
			      "Host: server.example.com\r\n"
			      "UPGRADE:websocket\r\n"
			      "connection: \t keep-alive, Upgrade \t\r\n"
			      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
			      "Origin:\r\n"
			      "X-Other: \x80\xff, and : more\r\n"
			      "X-Other: again\r\n"
			      "Sec-WebSocket-Protocol: chat, superchat\r\n"
			      "Sec-WebSocket-Extensions: permessage-deflate\r\n"
			      "Authorization: Bearer x y\r\n"
			      "Content-Length: 0\r\n"
			      "Sec-WebSocket-Version: 13\r\n"
			      "\r\n";
static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\n"
			     "Upgrade: websocket\r\n"
			     "Connection: Upgrade\r\n"
			     "Transfer-Encoding: chunked\r\n"
			     "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
			     "\r\n";

TEST(http_reads_a_request)
{
	struct http_head h;

	EQ(http_request(upgrade, sizeof(upgrade) - 1, &h), sizeof(upgrade) - 1);
	IS(h.method, "GET");
	IS(h.target, "/chat?a=b");
	EQ(h.status, 0);
	IS(h.host, "server.example.com");
	IS(h.upgrade, "websocket");
	IS(h.connection, "keep-alive, Upgrade");
	IS(h.key, "dGhlIHNhbXBsZSBub25jZQ==");
	IS(h.version, "13");
	IS(h.protocol, "chat, superchat");
	IS(h.extensions, "permessage-deflate");
	IS(h.authorization, "Bearer x y");
	IS(h.length, "0");
	OK(h.origin.at && h.origin.len == 0); /* empty is there, all the same */
	OK(!h.accept.at);
}

TEST(http_reads_a_response)
{
	struct http_head h;

	EQ(http_response(answer, sizeof(answer) - 1, &h), sizeof(answer) - 1);
	EQ(h.status, 101);
	OK(!h.method.at && !h.target.at && !h.host.at && !h.key.at);
	IS(h.upgrade, "websocket");
	IS(h.connection, "Upgrade");
	IS(h.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	OK(response("HTTP/1.1 401 \r\n\r\n") > 0);
	OK(response("HTTP/1.1 401\r\n\r\n") > 0);
	OK(response("HTTP/1.0 503 Try \xe4gain\r\nServer: x\r\n\r\n") > 0);
}

/* What follows is not looked at, and not counted. */
TEST(http_ends_at_the_empty_line)
{
	struct http_head h;

	EQ(request("GET / HTTP/1.1\r\n\r\n\x81\x05Hello"), 18);
	EQ(response("HTTP/1.1 101 Ok\r\n\r\n\r\n\r\n"), 19);
	EQ(parse(http_request, "GET / HTTP/1.1\r\n\r\n\0\n", 20, &h), 18);
}

TEST(http_cut_at_every_byte_waits)
{
	struct http_head h = { .status = 4711 };

	for (size_t cut = 0; cut < sizeof(upgrade) - 1; cut++)
		EQ(parse(http_request, upgrade, cut, &h), 0);
	for (size_t cut = 0; cut < sizeof(answer) - 1; cut++)
		EQ(parse(http_response, answer, cut, &h), 0);
	EQ(h.status, 4711); /* nothing is written before all is there */
	EQ(parse(http_request, upgrade, sizeof(upgrade) - 1, &h), sizeof(upgrade) - 1);
	EQ(h.status, 0);
}

TEST(http_refuses_invalid_requests)
{
	static const char *const bad[] = {
		"\r\n",
		"\n",
		"\r\nGET / HTTP/1.1\r\n\r\n",
		"GET\r\n\r\n",
		"GET /\r\n\r\n",
		"GET  / HTTP/1.1\r\n\r\n",
		"GET /  HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1 \r\n\r\n",
		" GET / HTTP/1.1\r\n\r\n",
		"GET / b HTTP/1.1\r\n\r\n",
		"GET\t/\tHTTP/1.1\r\n\r\n",
		"GET /\x7f HTTP/1.1\r\n\r\n",
		"GET /\t HTTP/1.1\r\n\r\n",
		"G(T / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.2\r\n\r\n",
		"GET / HTTP/2.0\r\n\r\n",
		"GET / HTTP/0.9\r\n\r\n",
		"GET / HTTP/1.11\r\n\r\n",
		"GET / http/1.1\r\n\r\n",
		"GET / HTTP/1.1\n\n",
		"GET / HTTP/1.1\r\n\n",
		"GET / HTTP/1.1\n\r\n",
		"GET / HTTP/1.1\r\r\n\r\n",
		"GET /\r HTTP/1.1\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"{\"id\":1}\n",
		"\x16\x03\x01\x02",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EQ(request(bad[i]), -EBADMSG);
}

TEST(http_refuses_invalid_responses)
{
	static const char *const bad[] = {
		"\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"HTTP/1.1\r\n\r\n",
		"HTTP/1.1 \r\n\r\n",
		"HTTP/1.1 1O1 x\r\n\r\n",
		"HTTP/1.1 10 x\r\n\r\n",
		"HTTP/1.1 1010 x\r\n\r\n",
		"HTTP/1.1 099 x\r\n\r\n",
		"HTTP/1.1  101 x\r\n\r\n",
		"HTTP/1.0 101 x\r\n\r\n",
		"HTTP/2 101 x\r\n\r\n",
		"HTTP/1.1 101 x\x01\r\n\r\n",
		"HTTP/1.1 101 x\n\r\n",
		"HTTP/1.1 101 x\r\nA: b\r\n c\r\n\r\n",
		"HTTP/1.1 101 x\r\nUpgrade: a\r\nUpgrade: a\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EQ(response(bad[i]), -EBADMSG);
}

TEST(http_refuses_bad_header_lines)
{
	static const char *const bad[] = {
		"Host\r\n",
		": x\r\n",
		"Host : x\r\n",
		" Host: x\r\n",
		"\tHost: x\r\n",
		"Ho st: x\r\n",
		"H\xc3\xb6st: x\r\n",
		"Host: x\r\n y\r\n",
		"X: a\r\n\tb\r\n",
		"Host: x\n",
		"Host: x\r\r\n",
		"Host: \rx\r\n",
		"Host: x\x01y\r\n",
		"Host: x\x7f\r\n",
		"Transfer-Encoding: chunked\r\n",
		"transfer-encoding:\r\n",
	};

	OK(with("") > 0);
	OK(with("Host: x\r\nX-Y_z!1: a\tb\r\n") > 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EQ(with(bad[i]), -EBADMSG);
}

TEST(http_refuses_a_repeated_header)
{
	static const char *const names[] = {
		"upgrade",
		"connection",
		"sec-websocket-version",
		"sec-websocket-key",
		"sec-websocket-accept",
		"origin",
		"authorization",
		"sec-websocket-protocol",
		"sec-websocket-extensions",
		"content-length",
		"host",
	};
	char lines[200];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(lines, sizeof(lines), "%s: a\r\nX: y\r\n", names[i]);
		OK(with(lines) > 0);
		snprintf(lines, sizeof(lines), "%s:\r\nX: y\r\n%s: a\r\n", names[i], names[i]);
		EQ(with(lines), -EBADMSG);
	}
}

TEST(http_refuses_nul_wherever_it_is)
{
	char text[sizeof(upgrade)];
	struct http_head h;

	for (size_t at = 0; at < sizeof(upgrade) - 1; at++) {
		memcpy(text, upgrade, sizeof(upgrade));
		text[at] = '\0';
		EQ(parse(http_request, text, sizeof(upgrade) - 1, &h), -EBADMSG);
	}
}

/* Also when it is not whole: it may never be. */
TEST(http_refuses_early)
{
	EQ(request("{\"id\":1}"), 0); /* may be a line yet */
	EQ(request("GET / HTTP/9\r\n"), -EBADMSG);
	EQ(request("GET / HTTP/1.1\r\nHost : x\r\nRe"), -EBADMSG);
	EQ(request("GET \x01"), -EBADMSG);
	EQ(request("GET / HTTP/1.1\rx"), -EBADMSG);
	EQ(request("GET / HTTP/1.1\r"), 0);
}

TEST(http_knows_no_upgrade_of_http_1_0)
{
	static const char text[] = "GET /readyz HTTP/1.0\r\nUpgrade: websocket\r\n"
				   "Connection: upgrade\r\n\r\n";
	struct http_head h;

	EQ(http_request(text, sizeof(text) - 1, &h), sizeof(text) - 1);
	IS(h.target, "/readyz");
	OK(!h.upgrade.at && h.connection.at);
}

TEST(http_limits_the_head)
{
	static char text[2 * HTTP_HEAD_MAX];
	struct http_head h;

	memset(text, 'x', sizeof(text));
	memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
	EQ(parse(http_request, text, HTTP_HEAD_MAX - 1, &h), 0);
	EQ(parse(http_request, text, HTTP_HEAD_MAX, &h), -E2BIG);
	EQ(parse(http_request, text, sizeof(text), &h), -E2BIG);
	memcpy(text + HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
	EQ(parse(http_request, text, HTTP_HEAD_MAX - 1, &h), 0);
	EQ(parse(http_request, text, HTTP_HEAD_MAX, &h), HTTP_HEAD_MAX);
	EQ(parse(http_request, text, sizeof(text), &h), HTTP_HEAD_MAX);
	memcpy(text + HTTP_HEAD_MAX - 4, "x\r\n\r\n", 5);
	EQ(parse(http_request, text, sizeof(text), &h), -E2BIG);
	memset(text, 'x', sizeof(text)); /* one line */
	EQ(parse(http_request, text, sizeof(text), &h), -E2BIG);
}

TEST(http_finds_words)
{
	struct http_text none = { NULL, 0 }, empty = { "", 0 };
	struct http_text list = { " ,Keep-Alive,\tUPGRADE , x y,upgrade2", 36 };
	struct http_text one = { "websocket", 9 };

	OK(http_has_word(list, "upgrade"));
	OK(http_has_word(list, "keep-alive"));
	OK(http_has_word(list, "x y"));
	OK(http_has_word(list, "Upgrade2"));
	OK(!http_has_word(list, "upgrade1"));
	OK(!http_has_word(list, "up"));
	OK(!http_has_word(list, "x"));
	OK(http_has_word(one, "WebSocket"));
	OK(!http_has_word(none, "x") && !http_has_word(empty, "x"));
	OK(http_is(one, "WEBsocket") && !http_is(one, "websocke") && !http_is(one, "websockets"));
	OK(!http_is(none, "") && http_is(empty, ""));
	OK(!http_is((struct http_text){ "[", 1 }, "{")); /* apart by the bit of case */
}
