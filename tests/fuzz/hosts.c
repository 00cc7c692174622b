/* hosts.c - any line of /etc/hosts; the host is the last word of the input. */
#include "os/linux/hosts.h"

#include <assert.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_text(data, size), *host = strrchr(line, '|');
	struct address a;

	if (host)
		*host++ = '\0';
	if (hosts_line(line, host ? host : "a", 80, &a)) {
		char text[100];

		address_text(&a, text, sizeof(text));
		assert(text[0] != '?' && strstr(text, ":80"));
		assert(a.kind == ADDRESS_IPV4 || a.kind == ADDRESS_IPV6);
	}
	free(line);
	return 0;
}
