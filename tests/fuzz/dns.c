/* dns.c - any answer of a name server, read for each type and into a list of any size. */
#include "os/linux/dns.h"

#include <assert.h>
#include <errno.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum dns_type types[] = { DNS_A, DNS_AAAA };
	uint8_t found[8][DNS_ADDRESS_SIZE], few[1][DNS_ADDRESS_SIZE];
	int good = 0;

	for (int i = 0; i < 2; i++) {
		int many = dns_read(data, size, types[i], found, 8);
		int one = dns_read(data, size, types[i], few, 1);

		assert(many == -EBADMSG || (many >= 0 && many <= 8));
		assert(many < 1 ? one == many : one == 1);
		assert(one < 1 || memcmp(found[0], few[0], types[i] == DNS_A ? 4 : 16) == 0);
		good += many >= 0;
	}
	assert(good <= 1); /* a message has one question */
	return 0;
}
