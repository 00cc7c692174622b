/* url.c - addresses, as people write them and as they must not. */
#include "net/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../t.h"

/* "kind host port path", or "!" and what the sentence begins with; until the next call. */
static const char *parsed(const char *text, enum url_use use)
{
	static const char *const kinds[] = { "ws", "wss", "unix", "stdio" };
	static char out[4096];
	struct url u = { .port = 4711 };
	struct err e = ERR_INIT;
	int r = url_parse(text, use, &u, &e);

	if (r < 0) {
		EQ(r, -EINVAL);
		EQ(e.code, -EINVAL);
		EQ(u.port, 4711); /* untouched */
		OK(strstr(e.text, use == URL_LISTEN ? "ws://IP:PORT" : "ws://HOST:PORT") &&
		   strstr(e.text, "unix:PATH"));
		snprintf(out, sizeof(out), "!%.*s", (int)strcspn(e.text, ":"), e.text);
		EQ(url_parse(text, use, &u, NULL), -EINVAL);
		return out;
	}
	snprintf(out, sizeof(out), "%s <%s> %u <%s>", kinds[u.kind], u.host, u.port, u.path);
	return out;
}

static const char *to(const char *text)
{
	return parsed(text, URL_CONNECT);
}

static const char *on(const char *text)
{
	return parsed(text, URL_LISTEN);
}

TEST(url_to_connect_to)
{
	STREQ(to("ws://127.0.0.1:4711"), "ws <127.0.0.1> 4711 </>");
	STREQ(to("ws://localhost"), "ws <localhost> 80 </>");
	STREQ(to("wss://example.com"), "wss <example.com> 443 </>");
	STREQ(to("WSS://Example.COM:1/"), "wss <Example.COM> 1 </>");
	STREQ(to("ws://a/b/c?d=e&f"), "ws <a> 80 </b/c?d=e&f>");
	STREQ(to("ws://a:9?x"), "ws <a> 9 </?x>");
	STREQ(to("ws://a?x/y@z:1"), "ws <a> 80 </?x/y@z:1>");
	STREQ(to("ws://a/%20[b]"), "ws <a> 80 </%20[b]>");
	STREQ(to("ws://[::1]:8080/x"), "ws <::1> 8080 </x>");
	STREQ(to("ws://[2001:db8::1.2.3.4]"), "ws <2001:db8::1.2.3.4> 80 </>");
	STREQ(to("ws://my_service-1.x:65535"), "ws <my_service-1.x> 65535 </>");
	STREQ(to("ws://1a.2b"), "ws <1a.2b> 80 </>");
	STREQ(to("ws://3.example"), "ws <3.example> 80 </>");
	STREQ(to("unix:/run/killick.sock"), "unix <> 0 </run/killick.sock>");
	STREQ(to("unix:///run/killick.sock"), "unix <> 0 </run/killick.sock>");
	STREQ(to("unix:x y?#@"), "unix <> 0 <x y?#@>");
	STREQ(to("unix:/\xc3\xa4"), "unix <> 0 </\xc3\xa4>");
}

TEST(url_to_listen_on)
{
	STREQ(on("ws://127.0.0.1:0"), "ws <127.0.0.1> 0 </>");
	STREQ(on("wss://0.0.0.0:443"), "wss <0.0.0.0> 443 </>");
	STREQ(on("ws://[::]:80"), "ws <::> 80 </>");
	STREQ(on("unix:x.sock"), "unix <> 0 <x.sock>");
	STREQ(on("stdio"), "stdio <> 0 <>");
	STREQ(on("stdio://"), "stdio <> 0 <>");
}

TEST(url_not_to_listen_on)
{
	STREQ(on("ws://localhost:80"), "!the host is not an IP address");
	STREQ(on("ws://127.1:80"), "!the host is not an IP address");
	STREQ(on("ws://127.0.0.1"), "!the port is missing");
	STREQ(on("ws://[::1]"), "!the port is missing");
	STREQ(on("ws://127.0.0.1:80/"), "!unexpected characters after the port");
	STREQ(on("ws://127.0.0.1:80?x"), "!unexpected characters after the port");
	STREQ(on("ws://127.0.0.1:80#x"), "!unexpected characters after the port");
	STREQ(on("ws://:80"), "!the host is missing");
	STREQ(on("stdio:"), "!unknown kind of address");
	STREQ(on("stdio:///"), "!unknown kind of address");
	STREQ(on("127.0.0.1:80"), "!unknown kind of address");
	STREQ(on(""), "!unknown kind of address");
}

TEST(url_not_to_connect_to)
{
	STREQ(to(""), "!unknown kind of address");
	STREQ(to("ws:"), "!unknown kind of address");
	STREQ(to("ws:/a"), "!unknown kind of address");
	STREQ(to(" ws://a"), "!unknown kind of address");
	STREQ(to("http://a"), "!unknown kind of address");
	STREQ(to("https://a"), "!unknown kind of address");
	STREQ(to("stdio"), "!a client cannot connect to stdio");
	STREQ(to("stdio://"), "!a client cannot connect to stdio");
	STREQ(to("ws://"), "!the host is missing");
	STREQ(to("ws:///x"), "!the host is missing");
	STREQ(to("ws://[]"), "!the host is missing");
	STREQ(to("ws://user@a"), "!a user or password is not allowed");
	STREQ(to("ws://user:secret@a:1/x"), "!a user or password is not allowed");
	STREQ(to("ws://a/x#y"), "!a fragment is not allowed");
	STREQ(to("ws://a#"), "!a fragment is not allowed");
	STREQ(to("ws://a/ b"), "!the path has a character that must be written %XX");
	STREQ(to("ws://a/\xc3\xa4"), "!the path has a character that must be written %XX");
	STREQ(to("ws://a/\r\nX: y"), "!a control character is not allowed");
	STREQ(to("ws://a\n"), "!a control character is not allowed");
	STREQ(to("unix:a\x7f"), "!a control character is not allowed");
	STREQ(to("unix:"), "!the path is missing");
	STREQ(to("unix://host/x"), "!a host is not allowed");
	STREQ(to("unix://"), "!a host is not allowed");
}

TEST(url_ports)
{
	static const char *const bad[] = { "",   "0",  "00000", "65536", "99999", "000080",  "1x",
					   "-1", "+1", " 1",    "1 ",    "1:2",   "\xd9\xa1" };
	char text[100];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "ws://a:%s/", bad[i]);
		STREQ(to(text), "!the port is not a number from 1 to 65535");
		snprintf(text, sizeof(text), "ws://[::1]:%s", bad[i]);
		STREQ(to(text), "!the port is not a number from 1 to 65535");
	}
	STREQ(to("ws://a:00080"), "ws <a> 80 </>");
	STREQ(on("ws://1.2.3.4:65536"), "!the port is not a number from 0 to 65535");
}

TEST(url_hosts)
{
	static const char *const bad[] = { ".",         "a.",        ".a",       "a..b",  "-a",
					   "a-",        "a.-b",      "a-.b",     "a b",   "a%20b",
					   "\xc3\xa4",  "a,b",       "1",        "127.1", "0x7f",
					   "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "a.1",   "a.0x1",
					   "]",         "a]" };
	static const char *const bad6[] = { "1", "::g", "127.0.0.1", "::1%lo", "::1%25lo", ":::" };
	char text[300], label[65];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "ws://%s:1/", bad[i]);
		STREQ(to(text), "!the host is neither a name nor an IP address (write IPv6 in [])");
	}
	for (size_t i = 0; i < sizeof(bad6) / sizeof(bad6[0]); i++) {
		snprintf(text, sizeof(text), "ws://[%s]:1/", bad6[i]);
		STREQ(to(text), "!no IPv6 address between '[' and ']'");
	}
	STREQ(to("ws://::1"), "!the host is missing");
	STREQ(to("ws://[::1"), "!a '[' without a ']'");
	STREQ(to("ws://["), "!a '[' without a ']'");
	STREQ(to("ws://[::1]x"), "!unexpected characters between host and port");
	STREQ(to("ws://[::1]80"), "!unexpected characters between host and port");
	memset(label, 'a', 64);
	label[64] = '\0';
	snprintf(text, sizeof(text), "ws://%s", label);
	STREQ(to(text), "!the host is neither a name nor an IP address (write IPv6 in [])");
	label[63] = '\0';
	snprintf(text, sizeof(text), "ws://%s.%s.%s.%.61s", label, label, label, label);
	EQ(strlen(to(text)), strlen("ws <> 80 </>") + 253);
	snprintf(text, sizeof(text), "ws://%s.%s.%s.%.62s", label, label, label, label);
	STREQ(to(text), "!the host is too long");
}

TEST(url_lengths)
{
	static char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "ws://a/", 7);
	STREQ(to(text), "!the path is too long");
	text[6 + 2048] = '\0';
	STREQ(to(text), "!the path is too long");
	text[6 + 2047] = '\0';
	EQ(strlen(to(text)), strlen("ws <a> 80 <>") + 2047);
	text[6] = '?'; /* and a slash before it */
	STREQ(to(text), "!the path is too long");
	memcpy(text, "unix:/", 6);
	text[5 + 108] = '\0';
	STREQ(on(text), "!the path is too long for a socket (107 bytes)");
	text[5 + 107] = '\0';
	EQ(strlen(on(text)), strlen("unix <> 0 <>") + 107);
}

/* It may be a secret. */
TEST(url_is_not_repeated_in_errors)
{
	struct err e;
	struct url u;

	EQ(url_parse("ws://me:hunter2@host/?token=hunter2", URL_CONNECT, &u, &e), -EINVAL);
	OK(!strstr(e.text, "hunter2"));
}

TEST(url_on_this_machine)
{
	static const char *const here[] = { "ws://127.0.0.1",
					    "ws://127.255.1.2:9",
					    "ws://[::1]",
					    "wss://LocalHost:1",
					    "ws://[::ffff:127.0.0.1]",
					    "ws://[0:0:0:0:0:0:0:1]",
					    "unix:x" };
	static const char *const elsewhere[] = {
		"ws://128.0.0.1",         "ws://[::]",
		"ws://0.0.0.0",           "ws://[::2]",
		"ws://[::ffff:10.0.0.1]", "ws://localhost.example",
		"wss://127.example",      "ws://[2001:db8::7f00:1]"
	};
	struct url u;

	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
		EQ(url_parse(here[i], URL_CONNECT, &u, NULL), 0);
		OK(url_is_loopback(&u));
	}
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		EQ(url_parse(elsewhere[i], URL_CONNECT, &u, NULL), 0);
		OK(!url_is_loopback(&u));
	}
	EQ(url_parse("stdio", URL_LISTEN, &u, NULL), 0);
	OK(url_is_loopback(&u));
}
