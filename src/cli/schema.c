/* schema.c - see schema.h */
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "schema.h"
#include "show.h"

enum { NAME_MAX_COLUMNS = 24, TYPE_SIZE = 160, NAME_SIZE = 128 };

static void schema_append(char *out, size_t size, const char *text)
{
	size_t len = strlen(out);

	snprintf(out + len, size - len, "%s", text);
}

/* Write a value as plain text: strings without quotes. */
static void plain(struct json v, char *out, size_t size)
{
	if (json_type(v) == JSON_STRING) {
		char raw[NAME_SIZE];

		json_string_into(v, raw, sizeof(raw));
		text_clean(raw, strlen(raw), out, size);
	} else {
		text_clean(v.at, v.len, out, size);
	}
}

/* Append the items of an array, joined by `between`. Ends with ", ..." when `out` is full. */
static void join(struct json array, const char *between, char *out, size_t size)
{
	struct json_iter it = json_iter(array);
	char text[NAME_SIZE];

	for (bool first = true; json_each(&it); first = false) {
		plain(it.value, text, sizeof(text));
		if (strlen(out) + strlen(between) + strlen(text) + 5 >= size) {
			schema_append(out, size, ", ...");
			return;
		}
		if (!first)
			schema_append(out, size, between);
		schema_append(out, size, text);
	}
}

static struct json either(struct json schema)
{
	struct json any = json_get(schema, "anyOf");

	return any.at ? any : json_get(schema, "oneOf");
}

/* Write the type of a schema. The JSON parser bounds the depth; five levels are enough for a
 * reader. */
static void type_at(struct json schema, char *out, size_t size, int depth)
{
	struct json type = json_get(schema, "type"), choice = either(schema);
	struct json values = json_get(schema, "enum"), only = json_get(schema, "const");

	out[0] = '\0';
	if (depth > 5 || json_type(schema) != JSON_OBJECT) {
		schema_append(out, size, "any");
	} else if (json_type(values) == JSON_ARRAY) {
		schema_append(out, size, "one of ");
		join(values, ", ", out, size);
	} else if (only.at) {
		schema_append(out, size, "always ");
		plain(only, out + strlen(out), size - strlen(out));
	} else if (json_is(type, "array")) {
		char item[TYPE_SIZE];

		type_at(json_get(schema, "items"), item, sizeof(item), depth + 1);
		schema_append(out, size, "list of ");
		schema_append(out, size, item);
	} else if (json_type(type) == JSON_STRING) {
		plain(type, out, size);
	} else if (json_type(type) == JSON_ARRAY) {
		join(type, " or ", out, size);
	} else if (json_type(choice) == JSON_ARRAY) {
		struct json_iter it = json_iter(choice);
		char one[TYPE_SIZE];

		for (bool first = true; json_each(&it); first = false) {
			type_at(it.value, one, sizeof(one), depth + 1);
			schema_append(out, size, first ? "" : " or ");
			schema_append(out, size, one);
		}
	} else {
		schema_append(out, size, json_get(schema, "properties").at ? "object" : "any");
	}
}

void schema_type(struct json schema, char *out, size_t size)
{
	type_at(schema, out, size, 0);
}

static bool is_in(struct json array, const char *name)
{
	struct json_iter it = json_iter(array);

	while (json_each(&it))
		if (json_is(it.value, name))
			return true;
	return false;
}

struct layout { /* layout of a list of parameters */
	FILE *out;
	size_t indent, width;
	size_t names; /* columns of the longest name below the limit */
};

static void schema_widen(struct layout *l, const char *name)
{
	size_t w = text_width(name);

	if (w <= NAME_MAX_COLUMNS && w > l->names)
		l->names = w;
}

/* Print "name type, required: description", wrapped behind the name. */
static void parameter(const struct layout *l, const char *name, const char *type, bool required,
		      const char *description)
{
	char label[NAME_SIZE + 64];
	AUTO(mem_drop) char *text = NULL;

	snprintf(label, sizeof(label), "%*s%s", (int)l->indent, "", name);
	if (asprintf(&text, "%s%s%s%s%s", type, *type && required ? ", " : "",
		     required ? "required" : "", *description && (*type || required) ? ": " : "",
		     description) < 0)
		abort();
	show_labelled(l->out, label, text, l->indent + l->names + 2, l->width);
}

static void clean_key(struct json key, char *out, size_t size)
{
	char raw[NAME_SIZE];

	json_string_into(key, raw, sizeof(raw));
	text_clean(raw, strlen(raw), out, size);
}

void schema_params(FILE *out, struct json schema, size_t indent, size_t width)
{
	struct json properties = json_get(schema, "properties");
	struct json required = json_get(schema, "required");
	struct layout l = { .out = out, .indent = indent, .width = width };
	struct json_iter it = json_iter(properties);
	char name[NAME_SIZE], type[TYPE_SIZE], value[NAME_SIZE];

	while (json_each(&it)) {
		clean_key(it.key, name, sizeof(name));
		schema_widen(&l, name);
	}
	it = json_iter(properties);
	while (json_each(&it)) {
		AUTO(mem_drop) char *about = NULL;
		struct json otherwise = json_get(it.value, "default");
		char raw[NAME_SIZE];

		clean_key(it.key, name, sizeof(name));
		json_string_into(it.key, raw, sizeof(raw));
		schema_type(it.value, type, sizeof(type) - 1);
		if (otherwise.at) {
			plain(otherwise, value, 40);
			schema_append(type, sizeof(type), ", default ");
			schema_append(type, sizeof(type), value);
		}
		json_string(json_get(it.value, "description"), &about);
		parameter(&l, name, type, is_in(required, raw), about ? about : "");
	}
}

void schema_arguments(FILE *out, struct json arguments, size_t indent, size_t width)
{
	struct layout l = { .out = out, .indent = indent, .width = width };
	struct json_iter it = json_iter(arguments);
	char name[NAME_SIZE];

	while (json_each(&it)) {
		show_member(it.value, "name", name, sizeof(name));
		schema_widen(&l, name);
	}
	it = json_iter(arguments);
	while (json_each(&it)) {
		AUTO(mem_drop) char *about = NULL;
		bool required = false;

		show_member(it.value, "name", name, sizeof(name));
		json_bool(json_get(it.value, "required"), &required);
		json_string(json_get(it.value, "description"), &about);
		parameter(&l, name, "", required, about ? about : "");
	}
}
