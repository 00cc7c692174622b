/* words.c - functions of killick.h: the words for codes and states, the version, the log, and the
 * end of a text. */
#include <stdlib.h>

#include "killick/killick.h"
#include "base/mem.h"
#include "base/trace.h"

const char *killick_version(void)
{
	return KILLICK_VERSION;
}

static struct {
	killick_log_fn fn;
	void *ctx;
} logger;

static void log_last_line(const char *line)
{
	logger.fn(logger.ctx, line);
}

void killick_set_logger(killick_log_fn fn, void *ctx)
{
	logger.fn = fn;
	logger.ctx = ctx;
	mem_tell = fn ? log_last_line : NULL;
	trace_send_to(fn, ctx);
}

void killick_text_free(char *text)
{
	free(text);
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
		[KILLICK_REMOTE] = "remote",
		[KILLICK_RESTING] = "resting",
	};

	return (unsigned)state < sizeof(names) / sizeof(*names) ? names[state] : "unknown";
}
