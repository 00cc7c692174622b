/* lookup_static.c - see lookup.h; without getaddrinfo, for the static program.
 *
 * The resolver of libc (res_nsearch) sends the questions: it reads /etc/resolv.conf with its search
 * list and options, chooses ids and ports at random, retries, turns to TCP for long answers, and is
 * no part of NSS: it loads no shared library. dns.h reads what it returns.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/mem.h"
#include "dns.h"
#include "hosts.h"
#include "os/fd.h"
#include "os/lookup.h"
#include "os/sockaddr.h"

#define LOOKUP_ANSWER_MAX 65535 /* of an answer over TCP */

/* An IPv6 literal has no zone: url.h refuses '%'. inet_aton reads the same short forms (127.1) as
 * getaddrinfo. */
bool lookup_literal(const char *host, unsigned port, struct address *out)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET6, host, &six) == 1)
		address_set(out, ADDRESS_IPV6, &six, port);
	else if (inet_aton(host, &four))
		address_set(out, ADDRESS_IPV4, &four, port);
	else
		return false;
	return true;
}

static void lookup_in_hosts(const char *host, unsigned port, struct lookup *out)
{
	FILE *f = fopen("/etc/hosts", "re");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		return;
	while (out->count < LOOKUP_MAX && getline(&line, &size, f) >= 0)
		out->count += hosts_line(line, host, port, &out->list[out->count]);
	free(line);
	fclose(f);
}

/* RFC 6761: these names are this machine, whatever a name server says. */
static bool lookup_is_localhost(const char *host)
{
	static const char name[] = ".localhost";
	size_t len = strlen(host), want = sizeof(name) - 1;

	if (len && host[len - 1] == '.')
		len--;
	return (len == want - 1 && strncasecmp(host, name + 1, len) == 0) ||
	       (len > want && strncasecmp(host + len - want, name, want) == 0);
}

static void lookup_loopback(unsigned port, struct lookup *out)
{
	struct in_addr four = { .s_addr = htonl(INADDR_LOOPBACK) };

	address_set(&out->list[out->count++], ADDRESS_IPV6, &in6addr_loopback, port);
	address_set(&out->list[out->count++], ADDRESS_IPV4, &four, port);
}

/* Ask for one type of address and add at most `max`. 0, or h_errno of the resolver. */
static int lookup_ask(struct __res_state *resolver, const char *host, unsigned port,
		      enum dns_type type, unsigned max, struct lookup *out)
{
	AUTO(mem_drop) uint8_t *answer = mem_grow(NULL, 1, LOOKUP_ANSWER_MAX);
	uint8_t found[LOOKUP_MAX][DNS_ADDRESS_SIZE];
	int len, count;

	len = res_nsearch(resolver, host, ns_c_in, (int)type, answer, LOOKUP_ANSWER_MAX);
	if (len < 0)
		return resolver->res_h_errno;
	if (len > LOOKUP_ANSWER_MAX)
		return NO_RECOVERY;
	count = dns_read(answer, (size_t)len, type, found, max);
	if (count < 0)
		return NO_RECOVERY;
	for (int i = 0; i < count; i++)
		address_set(&out->list[out->count++], type == DNS_A ? ADDRESS_IPV4 : ADDRESS_IPV6,
			    found[i], port);
	return count ? 0 : NO_DATA;
}

static const char *lookup_reason(int error)
{
	switch (error) {
	case HOST_NOT_FOUND:
		return "Name or service not known";
	case NO_DATA:
		return "No address associated with hostname";
	case TRY_AGAIN:
		return "Temporary failure in name resolution";
	default:
		return "the name server refused, or its answer is malformed";
	}
}

/* Half of the places for each type: a long list of one type must not hide the other type. */
static void lookup_by_dns(const char *host, unsigned port, struct lookup *out)
{
	struct __res_state resolver = { .options = 0 };
	int six, four;

	if (res_ninit(&resolver) < 0) {
		err_set(&out->why, -EHOSTUNREACH,
			"cannot find the host '%s': cannot read /etc/resolv.conf", host);
		return;
	}
	six = lookup_ask(&resolver, host, port, DNS_AAAA, LOOKUP_MAX / 2, out);
	four = lookup_ask(&resolver, host, port, DNS_A, LOOKUP_MAX - out->count, out);
	res_nclose(&resolver);
	if (!out->count)
		err_set(&out->why, -EHOSTUNREACH, "cannot find the host '%s': %s", host,
			lookup_reason(four == HOST_NOT_FOUND || four == 0 ? six : four));
}

/* Is there a route to the address? connect of a UDP socket sends nothing. */
static bool lookup_has_route(const struct address *a)
{
	struct sockaddr_storage at;
	socklen_t len = sockaddr_of(a, &at);
	AUTO(fd_drop) int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)&at, len) == 0;
}

/* Addresses without a route go to the end, otherwise the order stays (RFC 6724, rule 1). */
static void lookup_sort(struct lookup *l)
{
	struct address without[LOOKUP_MAX];
	unsigned good = 0, bad = 0;

	for (unsigned i = 0; i < l->count; i++) {
		if (lookup_has_route(&l->list[i]))
			l->list[good++] = l->list[i];
		else
			without[bad++] = l->list[i];
	}
	for (unsigned i = 0; i < bad; i++)
		l->list[good + i] = without[i];
}

void lookup_host(const char *host, unsigned port, struct lookup *out)
{
	out->count = 0;
	if (lookup_literal(host, port, &out->list[0]))
		out->count = 1;
	if (!out->count)
		lookup_in_hosts(host, port, out);
	if (!out->count && lookup_is_localhost(host))
		lookup_loopback(port, out);
	else if (!out->count)
		lookup_by_dns(host, port, out);
	lookup_sort(out);
}
