/* dns.c - answers of name servers: those that are used, and those that are refused. */
#include "os/linux/dns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"

enum { MAX = 4 };

static struct {
	uint8_t bytes[1024];
	size_t len;
} m;

static uint8_t found[MAX][DNS_ADDRESS_SIZE];

static void add(const void *bytes, size_t len)
{
	OK(m.len + len <= sizeof(m.bytes));
	memcpy(m.bytes + m.len, bytes, len);
	m.len += len;
}
#define ADD(...) add((uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))
#define A_NAME   "\3Foo\7example\0" /* with the NUL of the literal: at offset 12 */

static void begin(unsigned flags, unsigned answers)
{
	m.len = 0;
	ADD(0x12, 0x34, (uint8_t)(flags >> 8), (uint8_t)flags, 0, 1, 0, (uint8_t)answers, 0, 0, 0,
	    0);
}

static void question(unsigned type)
{
	add(A_NAME, sizeof(A_NAME) - 1);
	ADD(0, (uint8_t)type, 0, 1);
}

/* The rest of a record behind its name: class IN, ttl 60. */
static void record(unsigned type, const void *data, uint8_t len)
{
	ADD(0, (uint8_t)type, 0, 1, 0, 0, 0, 60, 0, len);
	add(data, len);
}

/* dns_read of a copy that ends where it ends. */
static int read_as(enum dns_type type)
{
	AUTO(mem_drop) uint8_t *copy = malloc(m.len ? m.len : 1);

	OK(copy != NULL);
	memcpy(copy, m.bytes, m.len);
	memset(found, 0xee, sizeof(found));
	return dns_read(copy, m.len, type, found, MAX);
}

static void one_answer(unsigned flags)
{
	begin(flags, 1);
	question(DNS_A);
	ADD(0xc0, 12);
	record(DNS_A, "\x7f\0\0\2", 4);
}

TEST(an_address_is_read)
{
	one_answer(0x8180);
	EQ(read_as(DNS_A), 1);
	OK(memcmp(found[0], "\x7f\0\0\2", 4) == 0);
	EQ(read_as(DNS_AAAA), -EBADMSG); /* not the question */
	one_answer(0x85b0);              /* AA, AD, CD as well */
	EQ(read_as(DNS_A), 1);
}

TEST(an_ipv6_address_is_read)
{
	begin(0x8180, 1);
	question(DNS_AAAA);
	add("\3fOO\7exAMPLE", 13); /* letter case does not matter; the name is not compressed */
	record(DNS_AAAA, "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	EQ(read_as(DNS_AAAA), 1);
	OK(memcmp(found[0], "\x20\1\xd\xb8", 4) == 0 && found[0][15] == 1);
}

TEST(no_more_addresses_than_there_is_room)
{
	begin(0x8180, MAX + 3);
	question(DNS_A);
	for (int i = 0; i < MAX + 3; i++) {
		ADD(0xc0, 12);
		record(DNS_A, (char[]){ 10, 0, 0, (char)i }, 4);
	}
	EQ(read_as(DNS_A), MAX);
	EQ(found[MAX - 1][3], MAX - 1);
}

/* In any order, as RFC 1034 allows. */
TEST(aliases_are_followed)
{
	begin(0x8180, 3);
	question(DNS_A);
	add("\1c\0", 3);
	record(DNS_A, "\12\0\0\3", 4);
	add("\1b\0", 3);
	record(5, "\1c\0", 3);
	ADD(0xc0, 12);
	record(5, "\1B\0", 3);
	EQ(read_as(DNS_A), 1);
	EQ(found[0][3], 3);
}

TEST(an_alias_of_itself_ends)
{
	begin(0x8180, 1);
	question(DNS_A);
	ADD(0xc0, 12);
	record(5, "\xc0\14", 2);
	EQ(read_as(DNS_A), 0);
}

TEST(addresses_of_other_names_are_left_out)
{
	begin(0x8180, 2);
	question(DNS_A);
	add("\5other\0", 7);
	record(DNS_A, "\12\0\0\1", 4);
	add("\3foo\0", 5);
	record(DNS_A, "\12\0\0\1", 4);
	EQ(read_as(DNS_A), 0);
	one_answer(0x8180);
	m.bytes[m.len - 11] = 3; /* class CHAOS */
	EQ(read_as(DNS_A), 0);
}

TEST(answers_that_are_no_answers_are_refused)
{
	static const unsigned flags[] = {
		0x0100 /* a query */,   0x8980 /* another kind of query */,
		0x8380 /* truncated */, 0x81c0 /* a zero bit */,
		0x8182 /* SERVFAIL */,  0x8183 /* NXDOMAIN */
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		one_answer(flags[i]);
		EQ(read_as(DNS_A), -EBADMSG);
	}
	one_answer(0x8180);
	m.bytes[5] = 2; /* two questions */
	EQ(read_as(DNS_A), -EBADMSG);
	one_answer(0x8180);
	m.bytes[7] = 2; /* a second answer, which is not there */
	EQ(read_as(DNS_A), -EBADMSG);
}

TEST(an_answer_that_is_cut_is_refused)
{
	size_t whole;

	one_answer(0x8180);
	whole = m.len;
	for (m.len = 0; m.len < whole; m.len++)
		EQ(read_as(DNS_A), -EBADMSG);
	EQ(read_as(DNS_A), 1);
}

TEST(addresses_of_another_length_are_refused)
{
	begin(0x8180, 1);
	question(DNS_A);
	ADD(0xc0, 12);
	record(DNS_A, "\12\0\0\1\1", 5);
	EQ(read_as(DNS_A), -EBADMSG);
	begin(0x8180, 1);
	question(DNS_A);
	ADD(0xc0, 12);
	record(5, "\1b\0\0", 4); /* bytes behind the name of an alias */
	EQ(read_as(DNS_A), -EBADMSG);
}

TEST(pointers_go_back_only)
{
	for (unsigned to = 0; to < 64; to++) {
		begin(0x8180, 1);
		question(DNS_A);
		ADD(0xc0, (uint8_t)to);
		record(DNS_A, "\12\0\0\1", 4);
		/* into the header, and to itself or behind; others are the end of the name, or
		 * another name */
		if (to < 12 || to >= 12 + sizeof(A_NAME) - 1 + 4)
			EQ(read_as(DNS_A), -EBADMSG);
		else if (to == 12)
			EQ(read_as(DNS_A), 1);
	}
	begin(0x8180, 1);
	question(DNS_A);
	ADD(0x80, 12); /* a label of no known kind */
	record(DNS_A, "\12\0\0\1", 4);
	EQ(read_as(DNS_A), -EBADMSG);
}

TEST(a_name_of_more_than_255_bytes_is_refused)
{
	begin(0x8180, 0);
	for (int i = 0; i < 4; i++) {
		ADD(63);
		for (int k = 0; k < 63; k++)
			ADD('x');
	}
	ADD(0, 0, DNS_A, 0, 1);
	EQ(read_as(DNS_A), -EBADMSG);
}
