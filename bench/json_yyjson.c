/* json_yyjson.c - the peer of the JSON check.
 *
 * Flags: none, which is RFC 8259 with UTF-8 checked, as killick's check has it. The forms differ in
 * where the memory comes from, and in whether numbers are converted: killick converts a number
 * when it is asked for, so the form that does not convert them does the more comparable work.
 */
#include "json.h"

#ifdef HAVE_YYJSON
#include <stdio.h>
#include <yyjson.h>

enum { POOL = 8 << 20 };

static bool read_with(const char *text, size_t len, yyjson_read_flag flags, const yyjson_alc *alc)
{
	yyjson_doc *doc = yyjson_read_opts((char *)(size_t)text, len, flags, alc, NULL);

	yyjson_doc_free(doc);
	return doc != NULL;
}

static bool read_malloc(const char *text, size_t len)
{
	return read_with(text, len, YYJSON_READ_NOFLAG, NULL);
}

/* One pool for all reads: it is empty again after each. */
static const yyjson_alc *pool(void)
{
	static char memory[POOL];
	static yyjson_alc alc;

	if (!alc.malloc)
		yyjson_alc_pool_init(&alc, memory, sizeof(memory));
	return &alc;
}

static bool read_pool(const char *text, size_t len)
{
	return read_with(text, len, YYJSON_READ_NOFLAG, pool());
}

static bool read_pool_raw(const char *text, size_t len)
{
	return read_with(text, len, YYJSON_READ_NUMBER_AS_RAW, pool());
}

size_t json_yyjson(struct json_reader out[JSON_YYJSONS])
{
	out[0] = (struct json_reader){ "yyjson, malloc", read_malloc };
	out[1] = (struct json_reader){ "yyjson, pool", read_pool };
	out[2] = (struct json_reader){ "yyjson, pool, numbers as text", read_pool_raw };
	return JSON_YYJSONS;
}

const char *json_yyjson_version(void)
{
	static char text[16];
	unsigned v = yyjson_version();

	snprintf(text, sizeof(text), "%u.%u.%u", v >> 16, v >> 8 & 0xff, v & 0xff);
	return text;
}
#else
size_t json_yyjson(struct json_reader out[JSON_YYJSONS])
{
	(void)out;
	return 0;
}

const char *json_yyjson_version(void)
{
	return NULL;
}
#endif
