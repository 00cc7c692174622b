/* json.h - what the parts of bench-json share: the texts, and the readers that check them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One text that each reader checks. */
struct json_text {
	const char *title;
	const char *judged; /* what the verdict is called; NULL: measured, not judged */
	double bound;       /* time of killick / time of yyjson, at most */
	size_t repeat;      /* checks per sample: a sample takes some 100 us */
	char *at;
	size_t len;
};

/* Make the texts; at most JSON_TEXTS, never freed. Returns how many. */
#define JSON_TEXTS 8
size_t json_texts(struct json_text out[JSON_TEXTS]);

/* A reader checks one whole text. False: the text is refused. */
struct json_reader {
	const char *name;
	bool (*check)(const char *text, size_t len);
};

/* yyjson in the forms that may be the fastest; 0 of them when it was not there at build time. */
#define JSON_YYJSONS 3
size_t json_yyjson(struct json_reader out[JSON_YYJSONS]);
const char *json_yyjson_version(void); /* NULL when it was not there */
