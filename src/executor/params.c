/* params.c - see params.h */
#include "executor/params.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/mem.h"
#include "rpc/message.h"

#define MEMBERS_MAX 1024 /* of params; each is compared with all known names */

static const char *type_name(struct json v)
{
	switch (json_type(v)) {
	case JSON_NULL:
		return "null";
	case JSON_BOOL:
		return "boolean";
	case JSON_NUMBER:
		return "number";
	case JSON_STRING:
		return "string";
	case JSON_ARRAY:
		return "sequence";
	case JSON_OBJECT:
		return "map";
	case JSON_ABSENT:
		break;
	}
	return "nothing";
}

static int wrong_type(struct json v, const char *expected, struct err *e)
{
	return err_set(e, RPC_BAD_PARAMS, "invalid type: %s, expected %s", type_name(v), expected);
}

int params_no_memory(const char *name, struct err *e)
{
	return err_set(e, RPC_INTERNAL, "there is no memory for %s", name);
}

int params_read(struct json params, struct param *list, size_t count, struct err *e)
{
	struct json_iter it = json_iter(params);
	unsigned members = 0;

	if (params.at && json_type(params) != JSON_OBJECT)
		return wrong_type(params, "a map", e);
	while (params.at && json_each(&it)) {
		if (++members > MEMBERS_MAX)
			return err_set(e, RPC_BAD_PARAMS, "more than %d members", MEMBERS_MAX);
		for (size_t i = 0; i < count; i++)
			if (json_is(it.key, list[i].name))
				list[i].value =
					json_type(it.value) == JSON_NULL ? JSON_NONE : it.value;
	}
	return 0;
}

int params_none(struct json params, struct err *e)
{
	if (!params.at || (json_type(params) == JSON_OBJECT && json_count(params) == 0))
		return 0;
	return wrong_type(params, "unit", e);
}

int param_is(const struct param *p, enum json_type type, struct err *e)
{
	static const char *const expected[] = {
		[JSON_ABSENT] = "nothing",  [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean",
		[JSON_NUMBER] = "a number", [JSON_STRING] = "a string", [JSON_ARRAY] = "a sequence",
		[JSON_OBJECT] = "a map"
	};

	if (!p->value.at)
		return err_set(e, RPC_BAD_PARAMS, "missing field `%s`", p->name);
	return json_type(p->value) == type ? 0 : wrong_type(p->value, expected[type], e);
}

int param_text(const struct param *p, char **out, struct err *e)
{
	int r = param_is(p, JSON_STRING, e);

	if (r < 0)
		return r;
	if (param_has_nul(p->value))
		return err_set(e, RPC_BAD_PARAMS, "%s has a NUL in it", p->name);
	if (!json_string(p->value, out))
		return params_no_memory(p->name, e);
	return 0;
}

int param_base64(const struct param *p, struct buf *out, struct err *e)
{
	AUTO(mem_drop) char *text = NULL;
	int r = param_is(p, JSON_STRING, e);

	if (r < 0)
		return r;
	/* JSON allows escapes in the text, but they are rare */
	if (!memchr(p->value.at, '\\', p->value.len))
		r = base64_decode(out, p->value.at + 1, p->value.len - 2);
	else if (json_string(p->value, &text))
		r = base64_decode(out, text, strlen(text));
	else
		r = -ENOMEM;
	if (r == -ENOMEM)
		return params_no_memory(p->name, e);
	if (r == -EMSGSIZE)
		return err_set(e, RPC_BAD_PARAMS, "%s is longer than %zu bytes", p->name, out->max);
	return r < 0 ? err_set(e, RPC_BAD_PARAMS, "%s is not base64", p->name) : 0;
}

int param_bool(const struct param *p, bool *out, struct err *e)
{
	int r = param_is(p, JSON_BOOL, e);

	if (r == 0)
		json_bool(p->value, out);
	return r;
}

int param_bool_if(const struct param *p, bool *out, struct err *e)
{
	return p->value.at ? param_bool(p, out, e) : 0;
}

int param_number_if(const struct param *p, uint64_t *out, struct err *e)
{
	int64_t number;
	double large;

	if (!p->value.at)
		return 0;
	if (json_type(p->value) != JSON_NUMBER)
		return wrong_type(p->value, "a number", e);
	if (!json_int(p->value, &number)) {
		if (!json_double(p->value, &large) || large < 9e18)
			return err_set(e, RPC_BAD_PARAMS, "invalid number");
		number = INT64_MAX;
	}
	if (number < 0)
		return err_set(e, RPC_BAD_PARAMS, "invalid number");
	*out = (uint64_t)number;
	return 0;
}

bool param_has_nul(struct json v)
{
	const char *p = v.at, *end = v.at + v.len;

	while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
		if (end - p >= 6 && memcmp(p, "\\u0000", 6) == 0)
			return true;
		p += 2; /* skip the escaped character; the closing quote comes later */
	}
	return false;
}
