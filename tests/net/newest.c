/* newest.c - tries to use TLS and says which libssl that took: the path of the file; or why not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/tls.h"

int main(void)
{
	struct tls_context *c = NULL;
	struct err e = ERR_INIT;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];

	if (tls_client(NULL, &c, &e) < 0) {
		printf("%s\n", e.text);
		return 1;
	}
	tls_context_free(c);
	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "libssl"))
			continue;
		fputs(strchr(line, '/'), stdout);
		break;
	}
	if (f)
		fclose(f);
	return 0;
}
