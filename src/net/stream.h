/* stream.h - bytes to and from another program: over a socket, two descriptors, or TLS.
 *
 * The stream reports when it is readable or writable; reads and writes are partial. Regular files
 * and /dev/null, which no poller supports, are always ready.
 * Life: stream_new -> stream_listen -> ... -> stream_free.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "os/net.h"
#include "os/tls.h"

struct stream;

/* Called only from the loop. May free the stream. */
typedef void (*stream_fn)(void *ctx, bool readable, bool writable);

/* Takes ownership of the descriptors (which may be the same socket). No events before
 * stream_listen. */
struct stream *stream_new(struct loop *loop, int in, int out);
/* Set the receiver of events. At first only `readable` is reported (see stream_want). May be called
 * again. 0 or -errno. */
int stream_listen(struct stream *s, stream_fn on_ready, void *ctx);
/* fn is called once when the stream is freed, for a caller that counts streams. */
void stream_on_freed(struct stream *s, void (*fn)(void *ctx), void *ctx);
void stream_free(struct stream *s);
int stream_fd(const struct stream *s); /* the descriptor for reading */

/* Use TLS from now on. The stream owns t and the context `own`; NULL: the context belongs to a
 * listener, which lives longer. */
void stream_use_tls(struct stream *s, struct tls *t, struct tls_context *own);
/* 1: the handshake is done, or there is no TLS. 0: call again when the stream is ready, for reading
 * or writing. */
int stream_handshake(struct stream *s, struct err *e);

/* Acknowledge received TCP bytes at once: the other side may delay its next small message until the
 * acknowledgement, which the kernel otherwise sends 40 ms later. */
void stream_be_eager(struct stream *s);

/* Keep descriptors that come with the bytes, NET_FDS of them at most; without this call they are
 * closed. Only for a unix socket. */
void stream_keep_fds(struct stream *s);
/* Move the descriptors that came so far to *out. */
void stream_take_fds(struct stream *s, struct net_fds *out);

/* The number of bytes; 0: end of stream; -EAGAIN; -errno. */
ssize_t stream_read(struct stream *s, char *out, size_t size);
/* The number of bytes written; -EAGAIN; -errno. After -EAGAIN the next call must begin with the
 * same bytes; more may follow. */
ssize_t stream_write(struct stream *s, const char *bytes, size_t len);
/* Choose the events to report. */
void stream_want(struct stream *s, bool reading, bool writing);
