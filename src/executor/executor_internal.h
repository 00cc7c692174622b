/* executor_internal.h - what the parts of an executor share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/ring.h"
#include "executor/executor.h"
#include "executor/retention.h"
#include "executor/roster.h"

struct files;
struct workers;

struct executor {
	struct loop *loop;
	struct executor_options o; /* its texts are ours */
	char instance[33];         /* hexadecimal */
	char *info;                /* the result of environment/info */
	struct roster roster;
	struct retention retention;
	struct ring owners, connections;
	unsigned last_number;   /* of connections and owners, for traces */
	unsigned process_count; /* links that have not ended */
	unsigned idle_away;     /* owners that are away and have no process */
	struct buf scratch;     /* for bytes that are used at once */
	struct files *files;
	struct workers *scanners; /* read long messages */
	bool closing, channels_closing, over;
	struct loop_timer closed;
};

/* One line: "event=start process=...". */
void executor_log(struct executor *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Untrusted text for the log, quoted and cut; valid until the fourth call after this one. */
const char *executor_quote(const char *text);
/* A connection, owner or process ended: finish executor_close if nothing is left. */
void executor_settle(struct executor *x);
