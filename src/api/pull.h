/* pull.h - callbacks that make items, for a host that uses KILLICK_DISPATCH_PULL.
 *
 * The library calls these functions instead of callbacks of the host. In a thread that is in
 * killick_next, each function makes one item. In a thread that is in killick_free, each function
 * frees the arguments, which the host did not fetch.
 */
#pragma once

#include "killick/killick.h"

/* The error for a callback that the host has given nevertheless. */
#define PULL_NO_CALLBACKS                                                                          \
	"a runtime with KILLICK_DISPATCH_PULL takes no callbacks: leave them NULL, and use "       \
	"killick_next"

void pull_on_event(void *ctx, const struct killick_event *ev);
void pull_on_ask(void *ctx, struct killick_ask *ask);
/* ask.c: the host did not fetch the ask. */
void pull_drop_ask(struct killick_ask *ask);
void pull_on_progress(void *ctx, const struct killick_progress *p);
void pull_on_done(void *ctx, struct killick_result *r);
void pull_on_opened(void *ctx, struct killick_session *s, const struct killick_error *e);
void pull_on_ended(void *ctx, struct killick_report *report, const struct killick_error *e);
