/* stream.h - bytes to and from another program: over a socket, two descriptors, or TLS.
 *
 * It says when something can be read or written, and moves as much as goes. Regular files and
 * /dev/null, which epoll does not take, are always ready.
 * Life: stream_new -> stream_listen -> ... -> stream_free.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "net/tls.h"

struct stream;

/* From the loop alone. It may free the stream. */
typedef void (*stream_fn)(void *ctx, bool readable, bool writable);

/* The descriptors (which may be the same socket) are the stream's now. Nothing is told before
 * stream_listen. */
struct stream *stream_new(struct loop *loop, int in, int out);
/* Who is told; at first that something can be read is, and not that something can be written. May
 * be called again. 0 or -errno. */
int stream_listen(struct stream *s, stream_fn on_ready, void *ctx);
/* Called once when the stream is freed; for whoever counts them. */
void stream_on_freed(struct stream *s, void (*fn)(void *ctx), void *ctx);
void stream_free(struct stream *s);
int stream_fd(const struct stream *s); /* that is read */

/* From now on everything is TLS. It and the context are the stream's; a server's context may be
 * NULL here when it belongs to somebody who lives longer. */
void stream_use_tls(struct stream *s, struct tls *t, struct tls_context *own);
/* Without TLS, or once it is done: 1. 0: it goes on when the stream is ready, however. */
int stream_handshake(struct stream *s, struct err *e);

/* Acknowledge at once what comes over TCP: the other side may hold back its next small message
 * until then, which would be 40 ms later. */
void stream_be_eager(struct stream *s);

/* 0: nothing more will come; -EAGAIN; -errno. */
ssize_t stream_read(struct stream *s, char *out, size_t size);
/* How many were taken; -EAGAIN; -errno. After -EAGAIN the same bytes must come again, more may
 * follow behind them. */
ssize_t stream_write(struct stream *s, const char *bytes, size_t len);
/* What is to be told. */
void stream_want(struct stream *s, bool reading, bool writing);
