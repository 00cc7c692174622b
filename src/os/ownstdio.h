/* ownstdio.h - take the stdin and stdout of this program for a client that speaks over them.
 *
 * Afterwards stdin is empty, and other writes to stdout go to stderr, so that no text of the
 * program reaches the client. On Windows two threads copy the bytes between the handles and pipes
 * of ours, because the handles of a parent cannot be waited for. For programs of killick. Threads:
 * the first one, once.  Blocking: never.
 */
#pragma once

/* Two descriptors for the loop, which the caller closes. 0 or -errno. */
int ownstdio_take(int *out_in, int *out_out);
