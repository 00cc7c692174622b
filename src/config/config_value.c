/* config_value.c - reads values of a config, for several files. */
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
