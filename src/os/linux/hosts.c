/* hosts.c - see hosts.h */
#include "hosts.h"

#include <string.h>
#include <strings.h>

#define HOSTS_BLANK        " \t\r\n"
#define HOSTS_ADDRESS_SIZE 46 /* of an IPv6 address as text */

/* The next word of the line; *at is behind the word then. The length, 0: there is none. */
static size_t hosts_word(const char **at, const char **out_word)
{
	size_t len;

	*at += strspn(*at, HOSTS_BLANK);
	len = strcspn(*at, HOSTS_BLANK "#"); /* a comment goes on to the end of the line */
	*out_word = *at;
	*at += len;
	return len;
}

static bool hosts_address(const char *word, size_t len, unsigned port, struct address *out)
{
	char text[HOSTS_ADDRESS_SIZE];

	if (len >= sizeof(text))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	return address_read(text, port, out);
}

bool hosts_line(const char *line, const char *host, unsigned port, struct address *out)
{
	size_t host_len = strlen(host), len, address_len;
	const char *word, *address;

	if (host_len > 1 && host[host_len - 1] == '.')
		host_len--;
	address_len = hosts_word(&line, &address);
	if (!address_len)
		return false;
	while ((len = hosts_word(&line, &word)) > 0)
		if (len == host_len && strncasecmp(word, host, len) == 0)
			return hosts_address(address, address_len, port, out);
	return false;
}
