/* program.c - a channel over the stdin and stdout of a program that a keeper holds. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/channel_internal.h"
#include "os/status.h"

int program_commit(struct channel *c)
{
	int r;

	buf_add(&c->out, "\n", 1);
	r = c->out.len == 1 ? 0 : link_write(c->program->link, c->out.data, c->out.len);
	buf_reset(&c->out, CHANNEL_LOW);
	channel_trim_later(c);
	if (program_unsent(c) >= CHANNEL_HIGH)
		c->high = true;
	return r;
}

size_t program_unsent(const struct channel *c)
{
	return c->state < CHANNEL_ENDED ? link_unwritten(c->program->link) : 0;
}

void program_free(struct program *p)
{
	if (!p)
		return;
	link_free(p->link);
	tail_done(&p->said);
	free(p);
}

/* --- the end --- */

static void program_stop(struct channel *c, enum link_stop how)
{
	c->program->stopping = true;
	link_stop(c->program->link, how);
}

static void on_flush_late(struct loop_timer *t)
{
	program_stop(CONTAINER_OF(t, struct channel, timer), LINK_STOP_EOF);
}

void program_close(struct channel *c, bool now)
{
	if (c->state >= CHANNEL_ENDED)
		return;
	channel_set_why(c, 0, "closed by this side");
	if (now) {
		loop_timer_stop(c->loop, &c->timer);
		channel_go(c, CHANNEL_CLOSING, "closed by this side, now");
		program_stop(c, LINK_STOP_KILL);
	} else if (c->state != CHANNEL_CLOSING) {
		channel_go(c, CHANNEL_CLOSING, "closed by this side");
		if (program_unsent(c)) /* on_room or this timer stops the program */
			loop_timer_set(c->loop, &c->timer, CHANNEL_CLOSE_MS, on_flush_late);
		else
			program_stop(c, LINK_STOP_EOF);
	}
}

/* How the program ended, if the channel did not stop it. */
static void say_how(struct channel *c, const struct link_end *end)
{
	const struct program *p = c->program;
	char how[64], said[120];

	if (end->refused) {
		channel_set_why(c, -ENOENT, "%s", end->text);
		return;
	}
	if (end->exit_signal)
		snprintf(how, sizeof(how), "was ended by SIG%s",
			 status_signal_name(end->exit_signal) ? status_signal_name(end->exit_signal)
							      : "?");
	else if (end->exit_code != -1)
		snprintf(how, sizeof(how), "exited with %d", end->exit_code);
	else
		snprintf(how, sizeof(how), "ended");
	tail_last(&p->said, 3, said, sizeof(said));
	channel_set_why(c, -ECONNRESET, "%s %s%s%s", p->name, how, *said ? ": " : "", said);
}

static void program_on_ended(void *ctx, const struct link_end *end)
{
	struct channel *c = ctx;

	say_how(c, end);
	channel_end(c);
}

/* The program's stdout is closed, so no message can come any more. Wait a short time for its exit
 * status, which says more than an end of file. */
static void program_on_eof(void *ctx)
{
	struct channel *c = ctx;

	if (c->state >= CHANNEL_CLOSING)
		return;
	channel_go(c, CHANNEL_CLOSING, "its stdout is closed");
	program_stop(c, LINK_STOP_EOF);
}

/* --- events of the link --- */

static void program_on_started(void *ctx, int pid, const char *level)
{
	struct channel *c = ctx;

	(void)level;
	snprintf(c->peer, sizeof(c->peer), "%s, pid %d", c->program->name, (int)pid);
	if (c->state == CHANNEL_OPENING)
		channel_opened(c);
}

static void program_on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct channel *c = ctx;

	/* The keeper tells of the start on a socket of its own. A program that writes at once may
	 * be heard first, and none of its bytes may be dropped. */
	if (c->state == CHANNEL_OPENING)
		channel_opened(c);
	c->heard_us = loop_now_us();
	channel_feed(c, (char *)bytes, len); /* channel_feed does not change lines */
}

static void program_on_stderr(void *ctx, const char *bytes, size_t len)
{
	tail_add(&((struct channel *)ctx)->program->said, bytes, len);
}

static void program_on_room(void *ctx)
{
	struct channel *c = ctx;

	if (c->state == CHANNEL_CLOSING && !c->program->stopping) {
		loop_timer_stop(c->loop, &c->timer);
		program_stop(c, LINK_STOP_EOF);
	}
	channel_tell_room(c);
}

int channel_over_program(struct loop *loop, const struct recipe *recipe,
			 const struct channel_events *ev, void *ctx, struct channel **out,
			 struct err *e)
{
	static const struct link_events events = { .on_started = program_on_started,
						   .on_bytes = program_on_bytes,
						   .on_stderr = program_on_stderr,
						   .on_eof = program_on_eof,
						   .on_ended = program_on_ended,
						   .on_room = program_on_room };
	struct channel *c = channel_new(loop, CHANNEL_PROGRAM, WS_CLIENT, recipe->write_limit);
	const char *slash = strrchr(recipe->argv[0], '/');
	int r;

	c->program = mem_grow(NULL, 1, sizeof(*c->program));
	*c->program = (struct program){ .link = NULL };
	snprintf(c->program->name, sizeof(c->program->name), "%s",
		 slash && slash[1] ? slash + 1 : recipe->argv[0]);
	snprintf(c->peer, sizeof(c->peer), "%s", c->program->name);
	channel_listen(c, ev, ctx);
	r = link_open(loop, recipe, &events, c, &c->program->link, e);
	if (r < 0) {
		free(c->program);
		free(c);
		return r;
	}
	*out = c;
	return 0;
}
