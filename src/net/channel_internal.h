/* channel_internal.h - a channel as its makers see it (connect.c, program.c, listen.c).
 *
 *	OPENING -> OPEN -> [BROKEN | CLOSING] -> ENDED -> CLOSED
 *
 * OPENING: somebody makes it (dial), or on_open is due. BROKEN: nothing can be written any more;
 * what has come is read, then it ends. CLOSING: what is unsent is given a moment, what comes is of
 * no interest. ENDED: on_closed is due. CLOSED: it was called.
 */
#pragma once

#include "base/frame.h"
#include "base/loop.h"
#include "base/tail.h"
#include "net/channel.h"
#include "net/stream.h"
#include "net/ws.h"

#define CHANNEL_MESSAGE_MAX (16u << 20)
#define CHANNEL_CLOSE_MS    1000
#define CHANNEL_MASKS       64 /* bytes */

#define CHANNEL_OF(ptr, member) ((struct channel *)((char *)(ptr)-offsetof(struct channel, member)))

enum channel_kind { CHANNEL_WS, CHANNEL_LINES, CHANNEL_PROGRAM };
enum channel_state {
	CHANNEL_OPENING,
	CHANNEL_OPEN,
	CHANNEL_BROKEN,
	CHANNEL_CLOSING,
	CHANNEL_ENDED,
	CHANNEL_CLOSED,
};
extern const char *const channel_state_names[];

struct dial;
struct seat;

struct program { /* of a channel over one */
	struct link *link;
	struct tail said; /* the end of its stderr */
	bool stopping;    /* it was asked to end */
	char name[40];
};

struct channel {
	struct loop *loop;
	const struct channel_events *ev;
	void *ctx;
	enum channel_kind kind;
	enum channel_state state;
	struct stream *stream;   /* NULL: not yet, or no more */
	struct seat *seat;       /* of a listener; lives as long as the stream */
	struct dial *dial;       /* while it connects */
	struct program *program; /* instead of a stream */
	struct ws ws;            /* WS */
	struct frame lines;      /* LINES, PROGRAM */

	struct buf out; /* what is unsent ... */
	size_t sent;    /* ... from here on */
	size_t text_at; /* of the message that is being written, */
	bool writing;   /* if one is */
	bool blocked;   /* the other side is behind: the stream says when to go on */
	bool high;      /* CHANNEL_HIGH was reached: on_room is due one day */
	bool used;      /* since `trim` last looked */
	bool close_sent, close_came;
	bool paused; /* nothing is read */
	bool eof;    /* nothing more comes */
	bool deaf;   /* what comes makes no sense */
	size_t send_limit;
	struct loop_task flush;
	struct loop_timer timer; /* of the state */
	struct loop_timer trim;  /* gives back memory when nothing was sent for a while */

	int64_t heard_us;
	bool has_why;
	struct err why;
	unsigned char masks[CHANNEL_MASKS]; /* random; a client's next ones */
	unsigned mask_at;
	char peer[64];
};

/* The one writer of the state. */
void channel_go(struct channel *c, enum channel_state to, const char *why);

struct channel *channel_new(struct loop *loop, enum channel_kind kind, enum ws_role role,
			    size_t send_limit);
/* The stream is the channel's now. Errors end the channel. */
void channel_use_stream(struct channel *c, struct stream *s);
/* The seat of the stream that it is about to use. */
void channel_use_seat(struct channel *c, struct seat *seat);
/* Say that it is open, from the loop. */
void channel_opened(struct channel *c);
/* Bytes that came before the channel had its stream; they are changed. From the loop. */
void channel_feed(struct channel *c, char *bytes, size_t len);
/* Nothing can be written any more. */
void channel_broke(struct channel *c, int error);

/* channel_out.c. Write what waits, as much as goes. */
void channel_flush(struct channel *c);
void channel_drop_queue(struct channel *c);
/* Have the stream tell what is of interest. */
void channel_want(struct channel *c);
/* Forget the message that was begun, if one was. */
void channel_take_back(struct channel *c);
void channel_send_control(struct channel *c, enum ws_op op, const char *bytes, size_t len);
void channel_send_close(struct channel *c, unsigned code);
/* Send bytes as they are. */
void channel_send_raw(struct channel *c, const char *bytes, size_t len);
/* Remember why it ends; the first reason is the one. */
void channel_set_why(struct channel *c, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* It is over: nothing is sent or read any more, on_closed follows. */
void channel_end(struct channel *c);
/* Give back memory of buffers one day. */
void channel_trim_later(struct channel *c);
/* From the loop: on_room, if it is due. */
void channel_tell_room(struct channel *c);

/* program.c. The message that is a line, whole, at the end of c->out from c->text_at on. */
int program_commit(struct channel *c);
size_t program_unsent(const struct channel *c);
void program_close(struct channel *c, bool now);
void program_free(struct program *p);

/* connect.c: stop connecting. */
void dial_free(struct dial *d);
