/* option.c - see option.h */
#include "option.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HOUR_MS (3600 * 1000u)

/* --- values --- */

/* Decimal digits, at most `max`; *end is left after them. Nothing else is a number to us: no sign,
 * no space. */
static int option_digits(const char *text, unsigned long long max, const char **end,
			 unsigned long long *out)
{
	unsigned long long n = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned d = (unsigned)(*p - '0');
		if (n > (max - d) / 10)
			return -EINVAL;
		n = n * 10 + d;
	}
	if (p == text)
		return -EINVAL;
	*end = p;
	*out = n;
	return 0;
}

int option_number(const char *text, unsigned long long max, unsigned long long *out)
{
	unsigned long long n;
	const char *end;

	if (option_digits(text, max, &end, &n) < 0 || *end || n == 0)
		return -EINVAL;
	*out = n;
	return 0;
}

int option_time(const char *text, unsigned *out_ms)
{
	unsigned long long whole, thousandths = 0, unit = 1000, ms;
	const char *p;

	if (option_digits(text, HOUR_MS, &p, &whole) < 0)
		return -EINVAL;
	if (*p == '.') {
		unsigned weight = 100;
		for (p++; *p >= '0' && *p <= '9'; p++, weight /= 10)
			thousandths += (unsigned)(*p - '0') * weight;
	}
	if (strcmp(p, "ms") == 0)
		unit = 1;
	else if (strcmp(p, "m") == 0)
		unit = 60 * 1000;
	else if (strcmp(p, "h") == 0)
		unit = HOUR_MS;
	else if (*p && strcmp(p, "s") != 0)
		return -EINVAL;
	ms = whole * unit + thousandths * unit / 1000;
	if (ms > HOUR_MS)
		return -EINVAL;
	*out_ms = (unsigned)ms;
	return 0;
}

int option_milliseconds(const char *text, unsigned *out_ms)
{
	unsigned long long ms;
	const char *end;

	if (option_digits(text, HOUR_MS, &end, &ms) < 0 || *end)
		return -EINVAL;
	*out_ms = (unsigned)ms;
	return 0;
}

int option_size(const char *text, unsigned long long *out_bytes)
{
	unsigned long long n, unit = 1;
	const char *p;

	if (option_digits(text, ULLONG_MAX >> 1, &p, &n) < 0 || n == 0)
		return -EINVAL;
	switch (*p) {
	case 'k':
	case 'K':
		unit = 1ULL << 10;
		break;
	case 'm':
	case 'M':
		unit = 1ULL << 20;
		break;
	case 'g':
	case 'G':
		unit = 1ULL << 30;
		break;
	case '\0':
		break;
	default:
		return -EINVAL;
	}
	if (*p && p[1] && strcmp(p + 1, "B") != 0 && strcmp(p + 1, "iB") != 0)
		return -EINVAL;
	if (n > (ULLONG_MAX >> 1) / unit)
		return -EINVAL;
	*out_bytes = n * unit;
	return 0;
}

static bool option_is_label(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return false;
	return *text && strlen(text) < OPTION_LABEL_SIZE;
}

static int set_flag(const char *text, bool *out)
{
	*out = strcmp(text, "yes") == 0;
	return *out || strcmp(text, "no") == 0 ? 0 : -EINVAL;
}

static int set_choice(const struct option *o, const char *text)
{
	for (unsigned i = 0; *text && o->words[i]; i++) {
		if (strcmp(text, o->words[i]) == 0) {
			*o->choice = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int option_set(const struct option *o, const char *text)
{
	switch (o->kind) {
	case OPTION_FLAG:
		*o->flag = true;
		return 0;
	case OPTION_YES_NO:
		return set_flag(text, o->flag);
	case OPTION_WORD:
		*o->text = text;
		return 0;
	case OPTION_TEXT:
		*o->text = text;
		return *text ? 0 : -EINVAL;
	case OPTION_LABEL:
		*o->text = text;
		return option_is_label(text) ? 0 : -EINVAL;
	case OPTION_TIME:
		return option_time(text, o->ms) < 0 || *o->ms < o->least ? -EINVAL : 0;
	case OPTION_COUNT:
		return option_number(text, OPTION_COUNT_MAX, o->number);
	case OPTION_SIZE:
		return option_size(text, o->number) < 0 || *o->number < o->least ? -EINVAL : 0;
	case OPTION_CHOICE:
		return set_choice(o, text);
	case OPTION_OTHER:
		return o->read(text, o->other);
	}
	return -EINVAL;
}

/* --- reading --- */

static const struct option *option_find(const struct option *table, const char *word, size_t len)
{
	bool is_long = len > 2 && word[0] == '-' && word[1] == '-';

	for (const struct option *o = table; o->name; o++) {
		if (is_long && strlen(o->name) == len - 2 &&
		    memcmp(o->name, word + 2, len - 2) == 0)
			return o;
		if (o->letter && len == 2 && word[0] == '-' && word[1] == o->letter)
			return o;
	}
	return NULL;
}

enum option_result option_read(struct option_reader *r, const struct option *table)
{
	const char *word = r->argv[r->at];
	size_t len = strcspn(word, "=");

	r->table = table;
	r->found = option_find(table, word, len);
	r->value = word[len] ? word + len + 1 : NULL;
	if (!r->found)
		return OPTION_UNKNOWN;
	if (r->found->kind == OPTION_FLAG && r->value)
		return OPTION_HAS_VALUE;
	if (r->found->kind != OPTION_FLAG && !r->value) {
		if (r->at + 1 >= r->argc || strcmp(r->argv[r->at + 1], "--") == 0)
			return OPTION_NO_VALUE;
		r->value = r->argv[++r->at];
	}
	return option_set(r->found, r->value) < 0 ? OPTION_REFUSED : OPTION_TAKEN;
}

/* --- words that were mistyped --- */

/* Edit distance with three rows: the rows above, because of swapped letters. */
size_t option_distance(const char *a, const char *b)
{
	size_t rows[3][OPTION_NEAR_MAX + 1], la = strlen(a), lb = strlen(b);

	if (la > OPTION_NEAR_MAX || lb > OPTION_NEAR_MAX)
		return OPTION_NEAR_MAX;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);

			best = up[j] + 1 < best ? up[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[la % 3][lb];
}

bool option_is_near(const char *word, const char *meant)
{
	size_t len = strlen(word);

	if (len >= 3 && strncmp(meant, word, len) == 0)
		return true;
	return len >= 2 && option_distance(word, meant) <= (len > 5 ? 2 : 1);
}

const struct option *option_near(const struct option *table, const char *word)
{
	const struct option *best = NULL;
	size_t least = OPTION_NEAR_MAX, len;
	char name[OPTION_NEAR_MAX + 1];

	word += strspn(word, "-");
	len = strcspn(word, "=");
	if (len > OPTION_NEAR_MAX)
		return NULL;
	memcpy(name, word, len);
	name[len] = '\0';
	for (const struct option *o = table; o->name; o++) {
		size_t d = option_distance(name, o->name);

		if (d < least && option_is_near(name, o->name)) {
			best = o;
			least = d;
		}
	}
	return best;
}

/* --- writing --- */

/* The value as text: `room` is for numbers. NULL: it has none. */
static const char *value_text(const struct option *o, char *room, size_t size)
{
	switch (o->kind) {
	case OPTION_YES_NO:
		return *o->flag ? "yes" : "no";
	case OPTION_WORD:
	case OPTION_TEXT:
	case OPTION_LABEL:
		return *o->text;
	case OPTION_TIME:
		snprintf(room, size, "%ums", *o->ms);
		return room;
	case OPTION_COUNT:
	case OPTION_SIZE:
		snprintf(room, size, "%llu", *o->number);
		return room;
	case OPTION_CHOICE:
		return *o->words[*o->choice] ? o->words[*o->choice] : NULL;
	case OPTION_FLAG:
	case OPTION_OTHER:
		break;
	}
	return NULL;
}

size_t option_write(const struct option *o, const struct option *otherwise, char *out, size_t size)
{
	char number[32], other_number[32];
	const char *value = value_text(o, number, sizeof(number));
	const char *other = value_text(otherwise, other_number, sizeof(other_number));
	size_t need;

	if (!value || (other && strcmp(value, other) == 0))
		return 0;
	need = 2 + strlen(o->name) + 1 + strlen(value) + 1;
	if (need <= size)
		snprintf(out, size, "--%s=%s", o->name, value);
	return need;
}
