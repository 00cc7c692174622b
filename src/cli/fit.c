/* fit.c - see fit.h */
#include "fit.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "schema.h"
#include "word.h"

enum { FIT_NAME = 128, FIT_TYPE = 160 };

static void fit_name(struct json key, char out[FIT_NAME])
{
	char raw[FIT_NAME];

	json_string_into(key, raw, sizeof(raw));
	text_clean(raw, strlen(raw), out, FIT_NAME);
}

/* May a call have arguments that `properties` does not name? According to JSON Schema every object
 * may, unless additionalProperties is false. But the authors of tools rarely write this, so a
 * schema counts as open only if it says so, or if it has other ways to define properties. */
static bool fit_is_open(struct json schema)
{
	static const char *const others[] = {
		"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"
	};
	struct json more = json_get(schema, "additionalProperties");
	bool allowed = false;

	if (json_type(json_get(schema, "properties")) != JSON_OBJECT)
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (json_get(schema, others[i]).at)
			return true;
	return json_type(more) == JSON_OBJECT || (json_bool(more, &allowed) && allowed);
}

/* Find the property that the user probably meant by `name`, which is not a property; "": no
 * property has a similar name. */
static void fit_near(struct json properties, const char *name, char out[FIT_NAME])
{
	struct json_iter it = json_iter(properties);
	size_t least = OPTION_NEAR_MAX;

	out[0] = '\0';
	while (json_each(&it)) {
		char other[FIT_NAME];
		size_t d;

		fit_name(it.key, other);
		d = option_distance(name, other);
		if (d >= least || (!option_is_near(name, other) && !strcasestr(other, name)))
			continue;
		least = d;
		snprintf(out, FIT_NAME, "%s", other);
	}
}

static bool fit_has(struct json object, struct json key)
{
	struct json_iter it = json_iter(object);
	AUTO(mem_drop) char *name = NULL;

	if (!json_string(key, &name))
		return true; /* no memory: the server checks the name */
	while (json_each(&it))
		if (json_is(it.key, name))
			return true;
	return false;
}

/* Append the words with which `killick tools` shows the same tool of the same server. */
static void fit_add_words(const struct talk *t, struct buf *b)
{
	word_add(b, t->words.list[0]);
	if (t->server && t->server != t->chosen) {
		buf_adds(b, " --server");
		word_add(b, t->server);
	}
	if (t->config) {
		buf_adds(b, " --config");
		word_add(b, t->config);
	}
	if (t->words.command)
		buf_adds(b, " --");
	for (char **word = t->words.command; word && *word; word++)
		word_add(b, *word);
}

/* Print an error; `wrong` is the rest of a sentence about the tool. Returns false. */
static bool fit_refuse(struct talk *t, const struct tool *tool, const char *wrong)
{
	AUTO(buf_done) struct buf words = BUF_INIT(BUF_ANY_SIZE);

	fit_add_words(t, &words);
	talk_say(t,
		 "tool '%.80s'%s; 'killick tools%.2000s' shows its arguments, and '--no-check' "
		 "calls the tool anyway",
		 tool->name, wrong, words.data);
	talk_fail(t, EXIT_USAGE);
	return false;
}

static bool fit_unknown(struct talk *t, const struct tool *tool, struct json args,
			struct json properties)
{
	struct json_iter it = json_iter(args);

	while (json_each(&it)) {
		char name[FIT_NAME], near[FIT_NAME], text[3 * FIT_NAME];

		if (fit_has(properties, it.key))
			continue;
		fit_name(it.key, name);
		fit_near(properties, name, near);
		snprintf(text, sizeof(text), " has no argument '%s'%s%s%s", name,
			 *near ? " (did you mean '" : "", near, *near ? "'?)" : "");
		return fit_refuse(t, tool, text);
	}
	return true;
}

static bool fit_missing(struct talk *t, const struct tool *tool, struct json args,
			struct json required)
{
	struct json_iter it = json_iter(required);
	char text[1024] = "";
	size_t len = 0, count = 0;

	while (json_each(&it)) {
		char name[FIT_NAME];

		if (json_type(it.value) != JSON_STRING || fit_has(args, it.value))
			continue;
		fit_name(it.value, name);
		if (len + strlen(name) + 8 < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s'%s'",
						count ? ", " : " needs ", name);
		count++;
	}
	return count == 0 || fit_refuse(t, tool, text);
}

static bool fit_is_integer(struct json value)
{
	const double exact = 9007199254740992.0; /* 2^53: larger numbers have no fraction */
	double d;

	return json_double(value, &d) && (d >= exact || d <= -exact || d == (double)(int64_t)d);
}

/* Is this an array that has only strings? */
static bool fit_is_choice(struct json values)
{
	struct json_iter it = json_iter(values);

	while (json_each(&it))
		if (json_type(it.value) != JSON_STRING)
			return false;
	return json_type(values) == JSON_ARRAY && json_count(values) > 0;
}

static bool fit_is_chosen(struct json values, struct json value)
{
	struct json_iter it = json_iter(values);
	AUTO(mem_drop) char *text = NULL;

	if (!json_string(value, &text))
		return false;
	while (json_each(&it))
		if (json_is(it.value, text))
			return true;
	return false;
}

/* Returns what the schema of one argument demands, if the value does not match; NULL: the value
 * matches, or the schema does not state it plainly. */
static const char *fit_demand(struct json schema, struct json value, char out[FIT_TYPE])
{
	struct json type = json_get(schema, "type"), values = json_get(schema, "enum");
	enum json_type is = json_type(value);
	double number;

	/* many servers accept null for a missing argument */
	if (json_get(schema, "$ref").at || is == JSON_NULL)
		return NULL;
	if (json_is(type, "integer"))
		return fit_is_integer(value) ? NULL : "an integer";
	if (json_is(type, "number"))
		return json_double(value, &number) ? NULL : "a number";
	if (json_is(type, "boolean"))
		return is == JSON_BOOL ? NULL : "true or false";
	if (!fit_is_choice(values) || fit_is_chosen(values, value))
		return NULL;
	schema_type(schema, out, FIT_TYPE);
	return out;
}

/* Write a value for a message; a string that looks like a number is called a string. */
static void fit_show(struct json value, char out[FIT_NAME])
{
	char raw[FIT_NAME / 2], clean[FIT_NAME / 2];
	struct json_fault fault;
	struct json inner;

	if (json_type(value) != JSON_STRING) {
		text_clean(value.at, value.len, out, FIT_NAME);
		return;
	}
	json_string_into(value, raw, sizeof(raw));
	text_clean(raw, strlen(raw), clean, sizeof(clean));
	snprintf(out, FIT_NAME, "%s'%s'",
		 json_check(raw, strlen(raw), 0, &inner, &fault) == 0 ? "the string " : "", clean);
}

static bool fit_values(struct talk *t, const struct tool *tool, struct json args,
		       struct json properties)
{
	struct json_iter it = json_iter(args);

	while (json_each(&it)) {
		char name[FIT_NAME], shown[FIT_NAME], type[FIT_TYPE], text[4 * FIT_NAME];
		AUTO(mem_drop) char *key = NULL;
		const char *demand;

		if (!json_string(it.key, &key))
			continue;
		demand = fit_demand(json_get(properties, key), it.value, type);
		if (!demand)
			continue;
		fit_name(it.key, name);
		fit_show(it.value, shown);
		snprintf(text, sizeof(text), ": '%s' must be %s, not %s", name, demand, shown);
		return fit_refuse(t, tool, text);
	}
	return true;
}

bool fit_check(struct talk *t, const struct tool *tool, struct json args)
{
	struct json schema = json_get(tool->item, "inputSchema");

	if (!fit_is_open(schema) && !fit_unknown(t, tool, args, json_get(schema, "properties")))
		return false;
	return fit_missing(t, tool, args, json_get(schema, "required")) &&
	       fit_values(t, tool, args, json_get(schema, "properties"));
}
