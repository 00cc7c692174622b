/* pull.h - in place of the callbacks of a host that pulls (KILLICK_DISPATCH_PULL).
 *
 * These functions are given to the library where the host's callbacks would be. Each becomes one
 * item for the thread that is in killick_next. In another thread, which is in killick_free, what
 * the host never fetched is let go of.
 */
#pragma once

#include "killick/killick.h"

struct killick_request;

void pull_on_event(void *ctx, const struct killick_event *ev);
void pull_on_ask(void *ctx, struct killick_ask *ask);
void pull_on_progress(void *ctx, const struct killick_progress *p);
void pull_on_done(void *ctx, struct killick_result *r);
void pull_on_opened(void *ctx, struct killick_session *s, const struct killick_error *e);
void pull_on_ended(void *ctx, struct killick_report *report, const struct killick_error *e);
