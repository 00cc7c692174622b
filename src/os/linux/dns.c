/* dns.c - see dns.h
 *
 * RFC 1035, section 4. A name is a list of labels; a label that is a pointer continues the name at
 * an earlier place of the message. A pointer is followed only when its target lies before the
 * labels that were read so far, so a name ends after less steps than the message has bytes.
 */
#include "dns.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define DNS_NAME_MAX   255 /* with the lengths of the labels and the empty label at the end */
#define DNS_HEADER     12
#define DNS_IN         1
#define DNS_CNAME      5
#define DNS_HOPS       8      /* aliases of aliases */
#define DNS_FLAGS_ANY  0x05b0 /* AA, RD, RA, AD, CD, which an answer may have or lack */
#define DNS_FLAGS_WANT 0x8000 /* a response to a standard query, whole, without error */

struct dns_message {
	const uint8_t *bytes;
	size_t len, at;
};

struct dns_name {
	uint8_t labels[DNS_NAME_MAX]; /* in lower case */
	size_t len;
};

struct dns_record {
	struct dns_name owner;
	unsigned type, class;
	size_t data, data_len; /* where in the message */
};

static bool dns_skip(struct dns_message *m, size_t count)
{
	if (count > m->len - m->at)
		return false;
	m->at += count;
	return true;
}

static bool dns_u16(struct dns_message *m, unsigned *out)
{
	if (!dns_skip(m, 2))
		return false;
	*out = (unsigned)m->bytes[m->at - 2] << 8 | m->bytes[m->at - 1];
	return true;
}

static uint8_t dns_lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 'a' - 'A') : c;
}

/* One label with its length byte, to the end of the name. */
static bool dns_add_label(struct dns_message *m, uint8_t count, struct dns_name *n)
{
	if (n->len + 1 + count > DNS_NAME_MAX || !dns_skip(m, count))
		return false;
	n->labels[n->len++] = count;
	for (size_t i = m->at - count; i < m->at; i++)
		n->labels[n->len++] = dns_lower(m->bytes[i]);
	return true;
}

/* Read a name; m->at is behind the name then, or behind its first pointer. */
static bool dns_read_name(struct dns_message *m, struct dns_name *out)
{
	struct dns_message part = *m;
	size_t first = m->at, behind = 0; /* 0: no pointer so far */

	out->len = 0;
	for (;;) {
		uint8_t count;
		size_t to;

		if (!dns_skip(&part, 1))
			return false;
		count = part.bytes[part.at - 1];
		if (count < 0x40) {
			if (!dns_add_label(&part, count, out))
				return false;
			if (count > 0)
				continue;
			m->at = behind ? behind : part.at;
			return true;
		}
		if (count < 0xc0 || !dns_skip(&part, 1))
			return false;
		to = (size_t)(count & 0x3f) << 8 | part.bytes[part.at - 1];
		behind = behind ? behind : part.at;
		if (to < DNS_HEADER || to >= first)
			return false;
		first = part.at = to;
	}
}

static bool dns_same_name(const struct dns_name *a, const struct dns_name *b)
{
	return a->len == b->len && memcmp(a->labels, b->labels, a->len) == 0;
}

static bool dns_read_record(struct dns_message *m, struct dns_record *out)
{
	unsigned data_len;

	if (!dns_read_name(m, &out->owner) || !dns_u16(m, &out->type) || !dns_u16(m, &out->class) ||
	    !dns_skip(m, 4) || !dns_u16(m, &data_len))
		return false;
	out->data = m->at;
	out->data_len = data_len;
	return dns_skip(m, data_len);
}

/* Header and question; m->at is at the first answer then. */
static bool dns_read_head(struct dns_message *m, unsigned type, struct dns_name *out_name,
			  unsigned *out_answers)
{
	unsigned flags, questions, got_type, got_class;

	return dns_skip(m, 2) && dns_u16(m, &flags) && dns_u16(m, &questions) &&
	       dns_u16(m, out_answers) && dns_skip(m, 4) &&
	       (flags & ~(unsigned)DNS_FLAGS_ANY) == DNS_FLAGS_WANT && questions == 1 &&
	       dns_read_name(m, out_name) && dns_u16(m, &got_type) && dns_u16(m, &got_class) &&
	       got_type == type && got_class == DNS_IN;
}

/* One look through the answers: the addresses of `name`, or its alias. -1: malformed. */
static int dns_collect(struct dns_message m, unsigned answers, enum dns_type type,
		       struct dns_name *name, bool *out_alias, uint8_t (*out)[DNS_ADDRESS_SIZE],
		       unsigned max)
{
	size_t size = type == DNS_A ? 4 : DNS_ADDRESS_SIZE;
	struct dns_name alias = { .len = 0 };
	struct dns_record r;
	int count = 0;

	for (unsigned i = 0; i < answers; i++) {
		struct dns_message data = m;

		if (!dns_read_record(&m, &r))
			return -1;
		if (r.class != DNS_IN || !dns_same_name(&r.owner, name))
			continue;
		data.at = r.data;
		if (r.type == DNS_CNAME &&
		    (!dns_read_name(&data, &alias) || data.at != r.data + r.data_len))
			return -1;
		if (r.type != type)
			continue;
		if (r.data_len != size)
			return -1;
		if ((unsigned)count < max)
			memcpy(out[count++], m.bytes + r.data, size);
	}
	*out_alias = count == 0 && alias.len > 0;
	if (*out_alias)
		*name = alias;
	return count;
}

int dns_read(const uint8_t *bytes, size_t len, enum dns_type type, uint8_t (*out)[DNS_ADDRESS_SIZE],
	     unsigned max)
{
	struct dns_message m = { .bytes = bytes, .len = len };
	struct dns_name name;
	bool alias = true;
	unsigned answers;
	int count = 0;

	if (!dns_read_head(&m, type, &name, &answers))
		return -EBADMSG;
	for (int hop = 0; alias && hop < DNS_HOPS; hop++) {
		count = dns_collect(m, answers, type, &name, &alias, out, max);
		if (count < 0)
			return -EBADMSG;
	}
	return count;
}
