/* stream.c - `stream FILE [MIB]`: numbered lines on stdout until FILE exists, then how many there
 * were.
 *
 * Every line is 16 bytes: its number in 15 digits. The last one is "end" and the count. So every
 * byte has one place, and whoever reads them sees at once what was lost, doubled or moved. It ends
 * after 4 GiB, or MIB, in any case.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 16, BLOCK = 4096 * LINE };

static int put(const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(1, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long long number = 0, most = 4096;
	char block[BLOCK + 1];

	if (argc < 2)
		return 64;
	if (argc > 2)
		most = strtoull(argv[2], NULL, 10);
	while (access(argv[1], F_OK) && number * LINE < most << 20) {
		for (size_t at = 0; at < BLOCK; at += LINE)
			snprintf(block + at, LINE + 1, "%015llu\n", number++);
		if (put(block, BLOCK))
			return 1;
	}
	snprintf(block, sizeof(block), "end %011llu\n", number);
	return put(block, LINE) ? 1 : 0;
}
