/* args.c - see args.h */
#include "args.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/file.h"

enum { ARGS_MAX = 64 << 20 };

static int args_read_all(int fd, struct buf *out)
{
	for (;;) {
		ssize_t n;
		int r = buf_reserve(out, 65536);

		if (r < 0)
			return r;
		n = fd_read(fd, out->data + out->len, 65536);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		out->len += (size_t)n;
	}
}

static int read_given(const char *given, struct buf *out)
{
	AUTO(fd_drop) int fd = -1;

	if (strcmp(given, "-") == 0)
		return args_read_all(FILE_STDIN, out);
	if (given[0] != '@')
		return buf_adds(out, given);
	fd = file_open(given + 1, FILE_READ);
	return fd < 0 ? fd : args_read_all(fd, out);
}

/* Put the JSON on one line: a newline in JSON is only between two tokens, and a message must not
 * have a newline. */
static void one_line(struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] == '\n' || b->data[i] == '\r')
			b->data[i] = ' ';
	b->data[b->len] = '\0';
}

bool args_read(struct talk *t, const char *given, struct buf *out)
{
	struct json_fault fault = { .reason = "" };
	struct json v = JSON_NONE;
	int r;

	out->max = ARGS_MAX;
	r = read_given(given, out);
	if (r < 0)
		cli_usage(t->verb, "cannot read '--args %.200s': %s", given, strerror(-r));
	else if (json_check(out->data, out->len, 0, &v, &fault) < 0)
		cli_usage(t->verb, "'--args' is not JSON: %s, at byte %zu", fault.reason,
			  fault.offset + 1);
	else if (json_type(v) != JSON_OBJECT)
		cli_usage(t->verb, "'--args' is not an object: it must look like {\"key\": ...}");
	if (r < 0 || json_type(v) != JSON_OBJECT)
		return false;
	one_line(out);
	return true;
}

struct pair {
	const char *value;
	bool raw; /* the word has := and a JSON value */
	size_t key_len;
};

static bool split(const char *word, struct pair *out)
{
	const char *equals = strchr(word, '=');

	if (!equals || equals == word)
		return false;
	out->value = equals + 1;
	out->raw = equals[-1] == ':';
	out->key_len = (size_t)(equals - word) - (out->raw ? 1 : 0);
	return out->key_len > 0;
}

static bool is_json(const char *text)
{
	struct json_fault fault;
	struct json v;

	return json_check(text, strlen(text), 0, &v, &fault) == 0;
}

bool args_check(struct talk *t, char **words, int count)
{
	for (int i = 0; i < count; i++) {
		struct pair p;

		if (!split(words[i], &p)) {
			cli_usage(t->verb, "'%.60s' is neither key=value nor key:=JSON", words[i]);
			return false;
		}
		if (p.raw && !is_json(p.value)) {
			cli_usage(t->verb,
				  "the value after '%.*s:=' is not JSON; for a string write "
				  "'%.*s=...'",
				  (int)p.key_len, words[i], (int)p.key_len, words[i]);
			return false;
		}
	}
	return true;
}

/* Does the schema give this key another type than string? Then a value that is valid JSON is sent
 * as JSON: count=3, deep=true. */
static bool wants_json(struct json schema, const char *key)
{
	struct json type = json_get(json_get(json_get(schema, "properties"), key), "type");
	struct json_iter it = json_iter(type);

	if (json_type(type) == JSON_STRING)
		return !json_is(type, "string");
	while (json_each(&it))
		if (json_is(it.value, "string"))
			return false;
	return json_type(type) == JSON_ARRAY;
}

void args_build(char **words, int count, struct json schema, struct buf *out)
{
	struct emit j = EMIT_INIT(out);

	out->max = ARGS_MAX;
	emit_open(&j, NULL, '{');
	for (int i = 0; i < count; i++) {
		AUTO(mem_drop) char *key = NULL;
		struct pair p;

		if (!split(words[i], &p))
			continue;
		key = mem_text(words[i], p.key_len);
		if (p.raw || (wants_json(schema, key) && is_json(p.value)))
			emit_raw(&j, key, p.value, strlen(p.value));
		else
			emit_text(&j, key, p.value, strlen(p.value));
	}
	emit_close(&j);
	if (emit_end(&j) < 0)
		abort(); /* cannot happen: a command line is shorter than ARGS_MAX */
	one_line(out);
}
