/* peer.h - one way to start a server: bare, or behind killick, tini, dumb-init or bwrap.
 *
 * A peer is an argv prefix. peer_find tries each peer once; peers that do not work are left out of
 * every table and named in the header.
 * Threads: one.  Blocking: peer_find runs each peer once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PEER_ARGS 12
#define PEER_MAX  12

enum peer_kind {
	PEER_BARE,
	PEER_CONTROL, /* bare again: to measure the noise, or with one change */
	PEER_KILLICK, /* with the level that `auto` chooses */
	PEER_LEVEL,   /* killick with an explicit level */
	PEER_RIVAL,
};

struct peer {
	const char *name;
	enum peer_kind kind;
	const char *prefix[PEER_ARGS]; /* NULL after the last; empty for bare */
};

struct peers {
	struct peer at[PEER_MAX]; /* only peers that work */
	size_t count;
	char missing[256]; /* names of the peers that do not work; empty: none */
};

/* Try every peer with `echo` as its server. `only`, when not NULL, is a comma-separated list of
 * names; bare and killick are always included. */
void peer_find(struct peers *out, const char *killick, const char *echo, const char *only);

/* The index of the peer called `name`, or -1. */
int peer_named(const struct peers *p, const char *name);

/* prefix + args into out (room for PEER_ARGS * 2), NULL at the end. Borrows all strings. */
void peer_argv(const struct peer *p, const char *const *args, const char **out);
