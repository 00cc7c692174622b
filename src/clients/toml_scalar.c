/* toml_scalar.c - see toml_scalar.h */
#include "toml_scalar.h"

#include <string.h>

static bool toml_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t toml_word(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && p[n] != ' ' && p[n] != '\t' && p[n] != ',' && p[n] != ']' &&
	       p[n] != '}' && p[n] != '#' && p[n] != '\n' && p[n] != '\r')
		n++;
	return n;
}

size_t toml_scalar_len(const char *p, size_t len)
{
	size_t n = toml_word(p, len);

	/* a date, a space and a time: 1979-05-27 07:32:00 */
	if (n == 10 && p[4] == '-' && len >= 14 && p[10] == ' ' && toml_is_digit(p[11]) &&
	    toml_is_digit(p[12]) && p[13] == ':')
		return 11 + toml_word(p + 11, len - 11);
	return n;
}

struct toml_cursor {
	const char *p, *end;
};

static bool toml_eat(struct toml_cursor *c, const char *any)
{
	if (c->p == c->end || !*c->p || !strchr(any, *c->p))
		return false;
	c->p++;
	return true;
}

/* Read digits with single underscores between them. */
static bool toml_digits(struct toml_cursor *c, const char *digits)
{
	do {
		if (!toml_eat(c, digits))
			return false;
		while (toml_eat(c, digits))
			;
	} while (toml_eat(c, "_"));
	return true;
}

#define DECIMAL "0123456789"

static bool toml_based(struct toml_cursor c)
{
	const char *digits;

	if (c.end - c.p < 3 || c.p[0] != '0')
		return false;
	digits = c.p[1] == 'x'   ? DECIMAL "abcdefABCDEF"
		 : c.p[1] == 'o' ? "01234567"
		 : c.p[1] == 'b' ? "01"
				 : NULL;
	if (!digits)
		return false;
	c.p += 2;
	return toml_digits(&c, digits) && c.p == c.end;
}

/* An integer or a float. */
static bool toml_number(struct toml_cursor c)
{
	const char *first;

	if (toml_based(c))
		return true;
	toml_eat(&c, "+-");
	if (c.end - c.p == 3 && (memcmp(c.p, "inf", 3) == 0 || memcmp(c.p, "nan", 3) == 0))
		return true;
	first = c.p;
	if (!toml_digits(&c, DECIMAL) || (*first == '0' && c.p - first > 1))
		return false;
	if (toml_eat(&c, ".") && !toml_digits(&c, DECIMAL))
		return false;
	if (toml_eat(&c, "eE")) {
		toml_eat(&c, "+-");
		if (!toml_digits(&c, DECIMAL))
			return false;
	}
	return c.p == c.end;
}

/* Read exactly `count` digits, with a value of at most `max`. */
static bool toml_field(struct toml_cursor *c, unsigned count, unsigned max, unsigned *out)
{
	*out = 0;
	while (count-- > 0) {
		if (c->p == c->end || !toml_is_digit(*c->p))
			return false;
		*out = *out * 10 + (unsigned)(*c->p++ - '0');
	}
	return *out <= max;
}

static bool toml_date(struct toml_cursor *c)
{
	static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	unsigned year, month, day;
	bool leap;

	if (!toml_field(c, 4, 9999, &year) || !toml_eat(c, "-") || !toml_field(c, 2, 12, &month) ||
	    month == 0 || !toml_eat(c, "-") || !toml_field(c, 2, 31, &day) || day == 0)
		return false;
	leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return day <= days[month - 1] + (unsigned)(month == 2 && leap);
}

static bool toml_time(struct toml_cursor *c)
{
	unsigned n;

	if (!toml_field(c, 2, 23, &n) || !toml_eat(c, ":") || !toml_field(c, 2, 59, &n))
		return false;
	if (!toml_eat(c, ":"))
		return true; /* TOML 1.1: seconds may be missing */
	if (!toml_field(c, 2, 60, &n))
		return false;
	if (!toml_eat(c, "."))
		return true;
	if (!toml_eat(c, DECIMAL))
		return false;
	while (toml_eat(c, DECIMAL))
		;
	return true;
}

static bool toml_offset(struct toml_cursor *c)
{
	unsigned n;

	if (toml_eat(c, "Zz"))
		return true;
	return toml_eat(c, "+-") && toml_field(c, 2, 23, &n) && toml_eat(c, ":") &&
	       toml_field(c, 2, 59, &n);
}

static bool toml_moment(struct toml_cursor c)
{
	struct toml_cursor time = c;

	if (toml_time(&time) && time.p == time.end)
		return true;
	if (!toml_date(&c))
		return false;
	if (c.p == c.end)
		return true;
	if (!toml_eat(&c, "Tt ") || !toml_time(&c))
		return false;
	return c.p == c.end || (toml_offset(&c) && c.p == c.end);
}

bool toml_scalar_kind(const char *p, size_t len, enum node_kind *out_kind)
{
	struct toml_cursor c = { p, p + len };

	if ((len == 4 && memcmp(p, "true", 4) == 0) || (len == 5 && memcmp(p, "false", 5) == 0))
		*out_kind = NODE_BOOL;
	else if (toml_number(c))
		*out_kind = NODE_NUMBER;
	else if (toml_moment(c))
		*out_kind = NODE_OTHER;
	else
		return false;
	return true;
}
