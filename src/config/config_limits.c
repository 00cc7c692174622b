/* config_limits.c - reads 'limits' of a server of a config */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "config/config_internal.h"

/* Returns the limit that `key` names, or LIMIT_COUNT if there is none. */
static enum limit config_limits_find(const char *key)
{
	int i = 0;

	while (i < LIMIT_COUNT && strcmp(key, recipe_limits[i].key) != 0 &&
	       !(recipe_limits[i].other_key && strcmp(key, recipe_limits[i].other_key) == 0))
		i++;
	return (enum limit)i;
}

/* An unknown limit is an error: killick cannot enforce it, and the user would believe that it is
 * enforced. */
static int config_limits_refuse(struct config_job *j, const char *at, const char *key)
{
	char known[120] = "";
	size_t len = 0;

	for (int i = 0; i < LIMIT_COUNT; i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s'%s'",
					i == 0                 ? ""
					: i + 1 == LIMIT_COUNT ? " and "
							       : ", ",
					recipe_limits[i].key);
	assert(len < sizeof(known));
	return config_refuse(j, at, "'%s' is not a limit; 'limits' can have %s", key, known);
}

unsigned long long config_limits_value(struct json v, enum option_kind kind)
{
	unsigned long long bytes = 0;
	char text[32];
	int64_t n = 0;

	if (kind == OPTION_SIZE && json_type(v) == JSON_STRING) {
		json_string_into(v, text, sizeof(text));
		return v.len < sizeof(text) && option_size(text, &bytes) == 0 ? bytes : 0;
	}
	if (!json_int(v, &n) || n < 0 || (kind == OPTION_COUNT && n > OPTION_COUNT_MAX))
		return 0;
	return (unsigned long long)n;
}

static int config_limits_read_one(struct config_job *j, struct json_iter *it,
				  struct config_server *s)
{
	char key[CONFIG_SHOW_SIZE];
	enum limit which;
	unsigned long long *limit;

	config_show(it->key, key);
	which = config_limits_find(key);
	if (which == LIMIT_COUNT)
		return config_limits_refuse(j, it->key.at, key);
	limit = &s->recipe.limits[which];
	if (*limit)
		return config_refuse(j, it->key.at, "'limits' has '%s' twice", key);
	*limit = config_limits_value(it->value, recipe_limits[which].kind);
	if (*limit)
		return 0;
	if (recipe_limits[which].kind == OPTION_COUNT)
		return config_refuse(j, it->value.at,
				     "'limits.%s' must be a whole number from 1 to %d", key,
				     OPTION_COUNT_MAX);
	return config_refuse(j, it->value.at,
			     "'limits.%s' must be a number of bytes or a size such as \"512M\" or "
			     "\"2G\"",
			     key);
}

int config_limits_read(struct config_job *j, const struct config_value *v, struct config_server *s)
{
	struct json_iter it = json_iter(v->v);
	int r = 0;

	if (v->v.at && json_type(v->v) != JSON_OBJECT)
		return config_refuse(j, v->v.at, "'limits' must be an object, found %s",
				     config_type(v->v));
	while (r == 0 && v->v.at && json_each(&it)) {
		if (json_type(it.value) != JSON_NULL)
			r = config_limits_read_one(j, &it, s);
	}
	return r;
}
