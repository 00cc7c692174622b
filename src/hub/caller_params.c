/* caller_params.c - params of requests of the control API: see hub_internal.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strings.h"
#include "hub/hub_internal.h"

static const char *caller_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_ABSENT] = "nothing",   [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean",
		[JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return names[type];
}

int caller_params(struct json params, struct caller_param *list, size_t count, struct err *e)
{
	struct json_iter it;

	if (params.at && json_type(params) != JSON_OBJECT)
		return err_set(e, RPC_BAD_PARAMS, "params must be an object, found %s",
			       caller_type_name(json_type(params)));
	it = json_iter(params);
	while (params.at && json_each(&it))
		for (size_t i = 0; i < count; i++)
			if (json_is(it.key, list[i].name))
				list[i].value =
					json_type(it.value) == JSON_NULL ? JSON_NONE : it.value;
	for (size_t i = 0; i < count; i++) {
		enum json_type found = list[i].value.at ? json_type(list[i].value) : JSON_ABSENT;

		if (found == JSON_ABSENT && list[i].required)
			return err_set(e, RPC_BAD_PARAMS, "'%s' is missing", list[i].name);
		if (found != JSON_ABSENT && list[i].type != JSON_ABSENT && found != list[i].type)
			return err_set(e, RPC_BAD_PARAMS, "'%s' must be %s, found %s", list[i].name,
				       caller_type_name(list[i].type), caller_type_name(found));
	}
	return 0;
}

int caller_number(const struct caller_param *p, int64_t least, int64_t most, int64_t *out,
		  struct err *e)
{
	int64_t n;

	if (!p->value.at)
		return 0;
	if (!json_int(p->value, &n) || n < least || n > most)
		return err_set(e, RPC_BAD_PARAMS, "'%s' must be a whole number from %lld to %lld",
			       p->name, (long long)least, (long long)most);
	*out = n;
	return 0;
}

int caller_strings(const struct caller_param *p, char ***out, struct err *e)
{
	struct json_iter it = json_iter(p->value);
	size_t count = p->value.at ? json_count(p->value) : 0, n = 0;
	char **list;

	if (!p->value.at)
		return 0;
	list = mem_grow(NULL, count + 1, sizeof(*list));
	list[0] = NULL;
	while (json_each(&it)) {
		if (!json_string(it.value, &list[n])) {
			list[n] = NULL;
			strings_free(list);
			return err_set(e, RPC_BAD_PARAMS, "'%s' must be an array of strings",
				       p->name);
		}
		list[++n] = NULL;
	}
	*out = list;
	return 0;
}

/* "NAME=value"; NULL: not two strings, or no name of a variable. */
static char *caller_variable(struct json key, struct json value)
{
	char *name = NULL, *text = NULL, *both = NULL;

	if (json_string(key, &name) && json_string(value, &text) && *name && !strchr(name, '=')) {
		size_t size = strlen(name) + strlen(text) + 2;

		both = mem_grow(NULL, size, 1);
		snprintf(both, size, "%s=%s", name, text);
	}
	free(name);
	free(text);
	return both;
}

int caller_variables(const struct caller_param *p, char ***out, struct err *e)
{
	struct json_iter it = json_iter(p->value);
	char **list;
	size_t n = 0;

	if (!p->value.at)
		return 0;
	list = mem_grow(NULL, json_count(p->value) + 1, sizeof(*list));
	list[0] = NULL;
	while (json_each(&it)) {
		list[n] = caller_variable(it.key, it.value);
		if (!list[n]) {
			strings_free(list);
			return err_set(e, RPC_BAD_PARAMS,
				       "'%s' must be an object of strings, the names of variables "
				       "without '='",
				       p->name);
		}
		list[++n] = NULL;
	}
	*out = list;
	return 0;
}
