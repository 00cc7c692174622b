/* scan.c - see scan.h */
#include "zoo/scan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const char *blank_end(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == ':'))
		p++;
	return p;
}

static const char *value_end(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			p = string_end(p, end) - 1;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if (*p == '}' || *p == ']') {
			if (depth-- == 0)
				return p;
		} else if (*p == ',' && depth == 0) {
			return p;
		}
	}
	return end;
}

bool scan_folds;

static bool is_key(const char *name, size_t len, const char *key)
{
	if (len != strlen(key))
		return false;
	return scan_folds ? strncasecmp(name, key, len) == 0 : memcmp(name, key, len) == 0;
}

struct span scan_member(struct span obj, const char *key)
{
	const char *p = obj.at, *end = obj.at + obj.len;
	struct span last = SPAN_NONE;

	if (obj.len == 0 || *p++ != '{')
		return SPAN_NONE;
	while (p < end) {
		const char *name, *name_end, *value;

		while (p < end && *p != '"')
			p++;
		name = p + 1;
		p = string_end(p, end);
		name_end = p - 1;
		value = blank_end(p, end);
		p = value_end(value, end);
		if (value >= p || !is_key(name, (size_t)(name_end - name), key))
			continue;
		last = (struct span){ value, (size_t)(p - value) };
		if (!scan_folds)
			break;
	}
	return last;
}

bool scan_is(struct span s, const char *text)
{
	size_t len = strlen(text);

	return s.len == len + 2 && s.at[0] == '"' && !memcmp(s.at + 1, text, len);
}

long scan_long(struct span s, long otherwise)
{
	char text[32];

	scan_copy(s, text, sizeof(text));
	return s.len > 0 && strchr("-0123456789", text[0]) ? strtol(text, NULL, 10) : otherwise;
}

void scan_copy(struct span s, char *out, size_t size)
{
	if (s.len >= 2 && s.at[0] == '"')
		s = (struct span){ s.at + 1, s.len - 2 };
	if (s.len >= size)
		s.len = size - 1;
	if (s.len > 0)
		memcpy(out, s.at, s.len);
	out[s.len] = '\0';
}
