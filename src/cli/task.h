/* task.h - calls a tool as a task: create, poll, fetch the result.
 *
 * Tools whose `execution.taskSupport` is "required" (revision 2025-11-25) refuse a plain call. In
 * the modern era the server decides for each call, if the server has the extension for tasks and
 * the client declares it. The server answers at once with a task, which is polled until it is over.
 * A signal or a timeout cancels the task on the server.
 *
 * Blocking: until done, timed out or a signal.
 */
#pragma once

#include "talk.h"
#include "toolbox.h"

enum task_kind {
	TASK_NONE,   /* a plain call */
	TASK_LEGACY, /* the tool demands a task */
	TASK_MODERN, /* the answer may be a task */
};
enum task_kind task_kind(const struct talk *t, const struct tool *tool);

/* Call the tool with `args`, an object. *out is the result of the tool, as of a plain call, and
 * borrowed from the returned result, which the caller frees. NULL: an error was printed. */
struct killick_result *task_call(struct talk *t, const struct tool *tool, enum task_kind kind,
				 const char *args, struct json *out);
