/* channel_internal.h - the inside of a channel, for connect.c, program.c and listen.c.
 *
 *	OPENING -> OPEN -> [BROKEN | CLOSING] -> ENDED -> CLOSED
 *
 * OPENING: connecting, or on_open is due. BROKEN: writing failed; received bytes are still read,
 * then the channel ends. CLOSING: unsent bytes have 1 s to be sent, received bytes are ignored.
 * ENDED: on_closed is due. CLOSED: on_closed was called.
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

struct program { /* of a channel over a program */
	struct link *link;
	struct tail said; /* the end of its stderr */
	bool stopping;    /* link_stop was called */
	char name[40];
};

struct channel {
	struct loop *loop;
	const struct channel_events *ev;
	void *ctx;
	enum channel_kind kind;
	enum channel_state state;
	struct stream *stream;   /* NULL: not connected yet, or closed */
	struct seat *seat;       /* of a listener; lives as long as the stream */
	struct dial *dial;       /* while connecting */
	struct program *program; /* instead of a stream */
	struct ws ws;            /* WS */
	struct frame lines;      /* LINES, PROGRAM */

	struct buf out; /* queued bytes; */
	size_t sent;    /* those before this offset are sent */
	size_t text_at; /* start of the message between channel_begin and channel_commit, */
	bool writing;   /* if there is one */
	bool blocked;   /* the stream takes no more bytes now, and reports when it does */
	bool high;      /* CHANNEL_HIGH was reached: on_room is due later */
	bool full;      /* on_full(true) was called */
	bool patient;   /* CLOSING: as long as the other side reads */
	bool used;      /* since the last `trim` */
	bool close_sent, close_came;
	bool paused; /* reading is stopped */
	bool eof;    /* the other side has closed its direction */
	bool deaf;   /* received bytes were invalid; all later ones are ignored */
	size_t send_limit;
	struct loop_task flush;
	struct loop_timer timer; /* of the state */
	struct loop_timer trim;  /* frees memory of buffers after a time without messages */
	struct loop_timer look;  /* on_full is due */
	int64_t moved_us;        /* while `blocked`: when a byte was sent last */

	int64_t heard_us;
	bool has_why;
	struct err why;
	struct loop_watch process; /* see channel_follow */
	long pid;
	unsigned char masks[CHANNEL_MASKS]; /* random bytes for the next masks of a client */
	unsigned mask_at;
	char peer[64];
};

/* The one writer of the state. */
void channel_go(struct channel *c, enum channel_state to, const char *why);

struct channel *channel_new(struct loop *loop, enum channel_kind kind, enum ws_role role,
			    size_t send_limit);
/* The channel owns the stream from now on. Errors end the channel. */
void channel_use_stream(struct channel *c, struct stream *s);
/* Set the seat of the stream before channel_use_stream. */
void channel_use_seat(struct channel *c, struct seat *seat);
/* Call on_open; only from the loop. */
void channel_opened(struct channel *c);
/* Feed bytes that were received before the channel had its stream; they are changed. Only from the
 * loop. */
void channel_feed(struct channel *c, char *bytes, size_t len);
/* Writing has failed. */
void channel_broke(struct channel *c, int error);

/* channel_out.c. Write as many queued bytes as the stream takes. */
void channel_flush(struct channel *c);
void channel_drop_queue(struct channel *c);
/* Call on_full(false) if it is due. Only from the loop. */
void channel_tell_full(struct channel *c);
/* Tell the stream which events the channel needs. */
void channel_want(struct channel *c);
/* Remove the message after channel_begin, if there is one. */
void channel_take_back(struct channel *c);
void channel_send_control(struct channel *c, enum ws_op op, const char *bytes, size_t len);
void channel_send_close(struct channel *c, unsigned code);
/* Send bytes without framing. */
void channel_send_raw(struct channel *c, const char *bytes, size_t len);
/* Set the reason of the end, unless there is one already. */
void channel_set_why(struct channel *c, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* End the channel: no byte is sent or read any more; on_closed follows. */
void channel_end(struct channel *c);
/* Start the timer that frees memory of buffers. */
void channel_trim_later(struct channel *c);
/* Call on_room if it is due; only from the loop. */
void channel_tell_room(struct channel *c);

/* program.c. Send the complete line at the end of c->out, from c->text_at on. */
int program_commit(struct channel *c);
size_t program_unsent(const struct channel *c);
void program_close(struct channel *c, bool now);
void program_free(struct program *p);

/* connect.c: stop connecting. */
void dial_free(struct dial *d);
