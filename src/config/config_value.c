/* config_value.c - reads values of a config, for several files. */
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "config/config_internal.h"

int config_value_bool(struct config_job *j, const struct config_value *v, bool *out)
{
	if (v->v.at && !json_bool(v->v, out))
		return config_refuse(j, v->v.at, "'%s' must be true or false, found %s", v->key,
				     config_type(v->v));
	return 0;
}

int config_value_text(struct config_job *j, const struct config_value *v, enum config_text how,
		      char **out)
{
	AUTO(mem_drop) char *text = NULL;
	int r = v->v.at ? config_string(j, v->key, v->v, how, &text) : 0;

	if (r == 0 && text && *text) {
		*out = text;
		text = NULL;
	}
	return r;
}

int config_value_list(struct config_job *j, const struct config_value *v, enum config_text how,
		      size_t count, char ***list)
{
	struct json_iter it = json_iter(v->v);
	int r = 0;

	if (v->v.at && json_type(v->v) != JSON_ARRAY)
		return config_refuse(j, v->v.at, "'%s' must be an array of strings, found %s",
				     v->key, config_type(v->v));
	*list = mem_grow(*list, count + json_count(v->v) + 1, sizeof(char *));
	(*list)[count] = NULL;
	while (r == 0 && v->v.at && json_each(&it)) {
		if (json_type(it.value) != JSON_STRING)
			return config_refuse(j, it.value.at,
					     "'%s' must be an array of strings, found %s", v->key,
					     config_type(it.value));
		r = config_string(j, v->key, it.value, how, &(*list)[count]);
		if (r == 0)
			(*list)[++count] = NULL;
	}
	return r;
}

#define IDLE_MAX_S 31536000.0 /* a year; a larger value is a mistake */

/* Returns the seconds of a number, or of a text such as "5m"; -1: neither. */
static double config_value_seconds(struct json v)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 } };
	struct json_fault fault;
	struct json digits;
	char text[32];
	double n = -1;
	size_t len;

	if (json_type(v) == JSON_NUMBER)
		return json_double(v, &n) ? n : -1;
	if (json_type(v) != JSON_STRING || v.len >= sizeof(text))
		return -1;
	json_string_into(v, text, sizeof(text));
	len = strspn(text, "0123456789.");
	if (json_check(text, len, 0, &digits, &fault) < 0 || !json_double(digits, &n))
		return -1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(text + len, units[i].unit) == 0)
			return n * units[i].seconds;
	return -1;
}

int config_value_idle(struct config_job *j, const struct config_value *v, int64_t *out)
{
	double seconds = v->v.at ? config_value_seconds(v->v) : 0;

	if (!(seconds >= 0 && seconds <= IDLE_MAX_S))
		return config_refuse(j, v->v.at,
				     "'%s' must be a number of seconds or a time such as \"90s\", "
				     "\"5m\" or \"1h\", of at most a year",
				     v->key);
	if (v->v.at)
		*out = seconds > 0 && seconds < 0.001 ? 1 : (int64_t)(seconds * 1000 + 0.5);
	return 0;
}

int config_value_count(struct config_job *j, const struct config_value *v, unsigned *out)
{
	int64_t n = 0;

	if (!v->v.at)
		return 0;
	if (!json_int(v->v, &n) || n < 1 || n > OPTION_COUNT_MAX)
		return config_refuse(j, v->v.at, "'%s' must be a whole number from 1 to %d", v->key,
				     OPTION_COUNT_MAX);
	*out = (unsigned)n;
	return 0;
}

int config_value_size(struct config_job *j, const struct config_value *v, unsigned long long *out)
{
	unsigned long long bytes = v->v.at ? config_limits_value(v->v, OPTION_SIZE) : 0;

	if (v->v.at && !bytes)
		return config_refuse(j, v->v.at,
				     "'%s' must be a number of bytes or a size such as \"512M\" "
				     "or \"2G\"",
				     v->key);
	if (bytes)
		*out = bytes;
	return 0;
}
