/* hosts.c - lines of /etc/hosts. */
#include "os/linux/hosts.h"

#include <string.h>

#include "../t.h"

/* The address of a host in a line, or "". */
static const char *of(const char *line, const char *host)
{
	static char text[100];
	struct address a;

	if (!hosts_line(line, host, 80, &a))
		return "";
	address_text(&a, text, sizeof(text));
	return text;
}

TEST(a_line_with_the_name)
{
	STREQ(of("127.0.0.1 localhost\n", "localhost"), "127.0.0.1:80");
	STREQ(of("  10.0.0.1\tone two\tthree\r\n", "three"), "10.0.0.1:80");
	STREQ(of("::1 ip6-localhost", "IP6-LocalHost"), "[::1]:80");
	STREQ(of("10.0.0.1 a.example", "a.example."), "10.0.0.1:80");
	STREQ(of("10.0.0.1 one#two", "one"), "10.0.0.1:80");
}

TEST(a_line_without_the_name)
{
	STREQ(of("", "a"), "");
	STREQ(of("\n", "a"), "");
	STREQ(of("10.0.0.1", "10.0.0.1"), "");
	STREQ(of("10.0.0.1 ab", "a"), "");
	STREQ(of("10.0.0.1 a", "ab"), "");
	STREQ(of("10.0.0.1 b # a", "a"), "");
	STREQ(of("# 10.0.0.1 a", "a"), "");
	STREQ(of("#10.0.0.1 a", "a"), "");
	STREQ(of("10.0.0.1 b", "."), "");
}

TEST(a_line_with_a_bad_address)
{
	STREQ(of("10.0.0 a", "a"), "");
	STREQ(of("010.0.0.1 a", "a"), "");
	STREQ(of("fe80::1%lo a", "a"), "");
	STREQ(of("1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc a", "a"), "");
}
