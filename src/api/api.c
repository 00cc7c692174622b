/* api.c - those functions of killick.h that need no runtime, or little of it. */
#include <stdlib.h>
#include <string.h>

#include "killick/killick.h"
#include "base/json.h"
#include "base/mem.h"
#include "session/session.h"

const char *killick_version(void)
{
	return KILLICK_VERSION;
}

const char *killick_code_name(int code)
{
	static const char *const names[] = {
		[-KILLICK_OK] = "ok",
		[-KILLICK_ERR_USAGE] = "usage",
		[-KILLICK_ERR_CONFIG] = "config",
		[-KILLICK_ERR_NO_SERVER] = "no-server",
		[-KILLICK_ERR_START] = "start",
		[-KILLICK_ERR_EXITED] = "exited",
		[-KILLICK_ERR_CLOSED] = "closed",
		[-KILLICK_ERR_TIMEOUT] = "timeout",
		[-KILLICK_ERR_CANCELLED] = "cancelled",
		[-KILLICK_ERR_ANSWER] = "answer",
		[-KILLICK_ERR_PROTOCOL] = "protocol",
		[-KILLICK_ERR_BUSY] = "busy",
		[-KILLICK_ERR_SYSTEM] = "system",
		[-KILLICK_ERR_FORKED] = "forked",
		[-KILLICK_ERR_LOST] = "lost",
	};

	if (code > 0 || code < KILLICK_ERR_LOST)
		return "unknown";
	return names[-code];
}

const char *killick_state_name(enum killick_state state)
{
	static const char *const names[] = {
		[KILLICK_IDLE] = "idle",
		[KILLICK_STARTING] = "starting",
		[KILLICK_HANDSHAKING] = "handshaking",
		[KILLICK_READY] = "ready",
		[KILLICK_DRAINING] = "draining",
		[KILLICK_STOPPING] = "stopping",
		[KILLICK_GONE] = "gone",
		[KILLICK_DISABLED] = "disabled",
	};

	return (unsigned)state < sizeof(names) / sizeof(*names) ? names[state] : "unknown";
}

static struct json find(const char *json, size_t len, const char *path)
{
	struct json_fault fault;
	struct json v;

	if (!json || !path || json_check(json, len, 0, &v, &fault) < 0)
		return JSON_NONE;
	return *path ? json_find(v, path) : v;
}

const char *killick_json_find(const char *json, size_t len, const char *path, size_t *out_len)
{
	struct json v = find(json, len, path);

	if (out_len)
		*out_len = v.at ? v.len : 0;
	return v.at;
}

char *killick_json_string(const char *json, size_t len, const char *path)
{
	char *text = NULL;

	return json_string(find(json, len, path), &text) ? text : NULL;
}

int killick_tool_find(struct killick_session *s, const char *qualified, char **out_server,
		      char **out_tool)
{
	const struct name *name;
	int r = s && qualified && out_server && out_tool ? runtime_enter(s->k, NULL)
							 : KILLICK_ERR_USAGE;

	if (r < 0)
		return r;
	name = names_find(&s->names, qualified);
	if (name) {
		*out_server = mem_text(name->server, strlen(name->server));
		*out_tool = mem_text(name->tool, strlen(name->tool));
	}
	runtime_leave(s->k);
	return name ? 0 : KILLICK_ERR_NO_SERVER;
}
