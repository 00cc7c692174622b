/* names.c - see names.h
 *
 * A qualified name has one of three levels: without a hash, with 12 digits of the hash, with 40
 * digits. The three sets of names have no member in common, because a name that looks as if it had
 * a hash gets a hash. So a name that goes up a level can only collide with names that went up as
 * well, and two rounds are enough for all names that servers can choose.
 */
#include "session/names.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/ring.h"
#include "base/sha256.h"
#include "os/random.h"

static const size_t digits_of_level[] = { 0, 12, 40 };
enum { LEVELS = 3 };

static_assert(NAME_MAX_LEN - NAME_SERVER_MAX - 2 > 40 + 1, "room for the longest hash");

/* --- making names --- */

struct draft {
	const char *server, *tool; /* tool NULL: the draft of a server's part */
	const char *prefix;        /* the server's part; NULL if tool is NULL */
	size_t max;
	unsigned level;
	char *text; /* max + 1 bytes */
};

static bool names_is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Write the first `size` characters of the sanitised name to out, without NUL. Returns their
 * number. */
static size_t sanitise(const char *real, char *out, size_t size)
{
	const unsigned char *p = (const unsigned char *)real;
	size_t len = 0;

	while (*p && len < size) {
		unsigned char c = *p++;

		out[len++] = names_is_plain(c) ? (char)c : '_';
		/* write one '_' for each character, not for each byte */
		while (c >= 0x80 && *p >= 0x80 && *p < 0xc0)
			p++;
	}
	if (len == 0)
		out[len++] = '_';
	return len;
}

static bool ends_like_hash(const char *text, size_t len, size_t digits)
{
	if (len <= digits || text[len - digits - 1] != '_')
		return false;
	return strspn(text + len - digits, "0123456789abcdef") == digits;
}

static void hash_of(const struct draft *d, char out[SHA256_HEX_SIZE])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, d->server, strlen(d->server) + 1);
	if (d->tool)
		sha256_add(&s, d->tool, strlen(d->tool));
	sha256_hex(&s, out);
}

/* Write the name at the level of the draft. A name without a hash that is too long or looks as if
 * it had a hash goes up to level 1. */
static void draft_write(struct draft *d)
{
	char part[NAME_MAX_LEN + 1], hash[SHA256_HEX_SIZE];
	size_t len = sanitise(d->tool ? d->tool : d->server, part, sizeof(part)), used = 0, digits;

	if (d->prefix) {
		used = strlen(d->prefix);
		memcpy(d->text, d->prefix, used);
		memcpy(d->text + used, "__", 2);
		used += 2;
	}
	if (d->level == 0 && used + len <= d->max) {
		memcpy(d->text + used, part, len);
		d->text[used + len] = '\0';
		if (!ends_like_hash(d->text, used + len, digits_of_level[1]) &&
		    !ends_like_hash(d->text, used + len, digits_of_level[2]))
			return;
	}
	if (d->level == 0)
		d->level = 1;
	assert(d->level < LEVELS);
	digits = digits_of_level[d->level];
	if (len > d->max - used - digits - 1)
		len = d->max - used - digits - 1;
	hash_of(d, hash);
	memcpy(d->text + used, part, len);
	d->text[used + len] = '_';
	memcpy(d->text + used + len + 1, hash, digits);
	d->text[used + len + 1 + digits] = '\0';
}

static int by_text(const void *a, const void *b)
{
	return strcmp((*(struct draft *const *)a)->text, (*(struct draft *const *)b)->text);
}

/* Move all drafts with equal names one level up. Returns whether there were any. */
static bool drafts_part(struct draft **sorted, size_t count)
{
	bool any = false;
	size_t end;

	qsort(sorted, count, sizeof(*sorted), by_text);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && by_text(&sorted[i], &sorted[end]) == 0;)
			end++;
		if (end == i + 1)
			continue;
		any = true;
		for (size_t k = i; k < end; k++)
			sorted[k]->level++;
	}
	/* not before, because the loop above compares the texts */
	for (size_t i = 0; any && i < count; i++)
		draft_write(sorted[i]);
	return any;
}

static void drafts_settle(struct draft *drafts, size_t count)
{
	struct draft **sorted = mem_grow(NULL, count, sizeof(struct draft *));

	for (size_t i = 0; i < count; i++) {
		sorted[i] = &drafts[i];
		draft_write(&drafts[i]);
	}
	while (drafts_part(sorted, count))
		;
	free(sorted);
}

/* --- the list --- */

static int by_server(const void *a, const void *b)
{
	return strcmp((*(struct name *const *)a)->server, (*(struct name *const *)b)->server);
}

struct server_part {
	char text[NAME_SERVER_MAX + 1];
};

/* Make the parts of all servers. Sorts the list by server; of[i] is the index of the part of
 * list[i]. */
static struct server_part *settle_servers(struct names *n, size_t *of)
{
	struct draft *drafts = mem_grow(NULL, n->count, sizeof(*drafts));
	struct server_part *parts = mem_grow(NULL, n->count, sizeof(*parts));
	size_t count = 0;

	if (n->count)
		qsort(n->list, n->count, sizeof(struct name *), by_server);
	for (size_t i = 0; i < n->count; i++) {
		if (i == 0 || by_server(&n->list[i - 1], &n->list[i]) != 0) {
			drafts[count] = (struct draft){ .server = n->list[i]->server,
							.max = NAME_SERVER_MAX,
							.text = parts[count].text };
			count++;
		}
		of[i] = count - 1;
	}
	drafts_settle(drafts, count);
	free(drafts);
	return parts;
}

static int by_qualified(const void *a, const void *b)
{
	return strcmp((*(struct name *const *)a)->qualified, (*(struct name *const *)b)->qualified);
}

/* Fill n->order with the entries that have a qualified name, sorted by this name. */
static void put_in_order(struct names *n)
{
	n->order = mem_grow(n->order, n->count, sizeof(struct name *));
	n->settled = 0;
	for (size_t i = 0; i < n->count; i++) {
		if (n->list[i]->qualified[0])
			n->order[n->settled++] = n->list[i];
	}
	if (n->settled)
		qsort(n->order, n->settled, sizeof(struct name *), by_qualified);
}

void names_settle(struct names *n)
{
	size_t *of = mem_grow(NULL, n->count, sizeof(size_t));
	struct draft *drafts = mem_grow(NULL, n->count, sizeof(*drafts));
	struct server_part *parts = settle_servers(n, of);

	for (size_t i = 0; i < n->count; i++)
		drafts[i] = (struct draft){ .server = n->list[i]->server,
					    .tool = n->list[i]->tool,
					    .prefix = parts[of[i]].text,
					    .max = NAME_MAX_LEN,
					    .text = n->list[i]->qualified };
	drafts_settle(drafts, n->count);
	free(parts);
	free(drafts);
	free(of);
	put_in_order(n);
	assert(n->settled == n->count);
}

static uint64_t names_key(const struct names *n, const char *server, const char *tool)
{
	unsigned char digest[SHA256_SIZE];
	struct sha256 s;
	uint64_t key;

	sha256_init(&s);
	sha256_add(&s, n->seed, sizeof(n->seed));
	sha256_add(&s, server, strlen(server) + 1);
	sha256_add(&s, tool, strlen(tool));
	sha256_end(&s, digest);
	memcpy(&key, digest, sizeof(key));
	return key;
}

static struct name *names_get(const struct names *n, uint64_t key, const char *server,
			      const char *tool)
{
	for (struct hash_node *at = hash_find(&n->table, key); at; at = hash_next(at)) {
		struct name *name = CONTAINER_OF(at, struct name, in_table);

		if (strcmp(name->server, server) == 0 && strcmp(name->tool, tool) == 0)
			return name;
	}
	return NULL;
}

static void name_free(struct name *name)
{
	free(name->server);
	free(name->tool);
	free(name);
}

int names_add(struct names *n, const char *server, const char *tool)
{
	struct name *name;
	uint64_t key;

	assert(server && tool);
	if (!n->room && random_try(n->seed, sizeof(n->seed)) < 0)
		memset(n->seed, 0, sizeof(n->seed)); /* early at boot: the table may be slow */
	key = names_key(n, server, tool);
	if (names_get(n, key, server, tool))
		return 1;
	if (n->count == n->room) {
		n->room = n->room ? n->room * 2 : 16;
		n->list = mem_grow(n->list, n->room, sizeof(struct name *));
	}
	name = mem_grow(NULL, 1, sizeof(*name));
	*name = (struct name){ .server = mem_text(server, strlen(server)),
			       .tool = mem_text(tool, strlen(tool)) };
	hash_add(&n->table, &name->in_table, key);
	n->list[n->count++] = name;
	return 0;
}

void names_remove(struct names *n, const char *server)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct name *name = n->list[i];

		if (strcmp(name->server, server) == 0) {
			hash_remove(&n->table, &name->in_table);
			name_free(name);
		} else {
			n->list[kept++] = name;
		}
	}
	if (kept == n->count)
		return;
	n->count = kept;
	put_in_order(n);
}

const char *names_of(const struct names *n, const char *server, const char *tool)
{
	const struct name *name = names_get(n, names_key(n, server, tool), server, tool);

	return name && name->qualified[0] ? name->qualified : NULL;
}

void names_set_repeatable(struct names *n, const char *server, const char *tool)
{
	struct name *name = names_get(n, names_key(n, server, tool), server, tool);

	if (name)
		name->repeatable = true;
}

bool names_is_repeatable(const struct names *n, const char *server, const char *tool)
{
	const struct name *name = names_get(n, names_key(n, server, tool), server, tool);

	return name && name->repeatable;
}

const struct name *names_find(const struct names *n, const char *qualified)
{
	size_t low = 0, high = n->settled;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = strcmp(qualified, n->order[middle]->qualified);

		if (r == 0)
			return n->order[middle];
		if (r < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

void names_done(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		name_free(n->list[i]);
	free(n->list);
	free(n->order);
	hash_done(&n->table);
	*n = (struct names)NAMES_INIT;
}
