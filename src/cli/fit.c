/* fit.c - see fit.h */
#include "fit.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { FIT_NAME = 128 };

static void fit_name(struct json key, char out[FIT_NAME])
{
	char raw[FIT_NAME];

	json_string_into(key, raw, sizeof(raw));
	text_clean(raw, strlen(raw), out, FIT_NAME);
}

/* May there be arguments that `properties` does not name? By the letter of JSON Schema any object
 * may, unless additionalProperties is false; but the authors of tools rarely write that, so only a
 * schema that says it, or that has other ways to define properties, is taken to be open. */
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

/* The property that was probably meant by `name`, which is none; "": no property is near. */
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
	char name[FIT_NAME];

	json_string_into(key, name, sizeof(name));
	while (json_each(&it))
		if (json_is(it.key, name))
			return true;
	return false;
}

static bool fit_refuse(struct talk *t, const struct tool *tool, const char *what)
{
	talk_say(t,
		 "tool '%.80s' %s; 'killick tools %.80s' shows its arguments, and '--no-check' "
		 "calls the tool anyway",
		 tool->name, what, tool->name);
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
		snprintf(text, sizeof(text), "has no argument '%s'%s%s%s", name,
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
						count ? ", " : "needs ", name);
		count++;
	}
	return count == 0 || fit_refuse(t, tool, text);
}

bool fit_check(struct talk *t, const struct tool *tool, struct json args)
{
	struct json schema = json_get(tool->item, "inputSchema");

	if (!fit_is_open(schema) && !fit_unknown(t, tool, args, json_get(schema, "properties")))
		return false;
	return fit_missing(t, tool, args, json_get(schema, "required"));
}
