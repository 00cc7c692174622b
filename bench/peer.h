/* peer.h - one way to start a server: bare, or behind killick, tini, dumb-init or bwrap.
 *
 * A peer is an argv prefix. Which exist is found out once, by trying; the ones that do not are left
 * out of every table and named in the header, never silently.
 * Threads: one.  Blocking: peer_find runs each peer once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PEER_ARGS 12
#define PEER_MAX  12

enum peer_kind {
	PEER_BARE,
	PEER_CONTROL, /* bare once more: for the noise, or with one thing changed */
	PEER_KILLICK, /* as shipped: the level `auto` chooses */
	PEER_LEVEL,   /* killick at a level that was asked for */
	PEER_RIVAL,
};

struct peer {
	const char *name;
	enum peer_kind kind;
	const char *prefix[PEER_ARGS]; /* NULL after the last; empty for bare */
};

struct peers {
	struct peer at[PEER_MAX]; /* only those that work */
	size_t count;
	char missing[256]; /* names of those that do not, for people; empty: none */
};

/* Try every peer with `echo` as its server. `only`, when not NULL, is a comma-separated list of
 * names; bare and killick are always there. */
void peer_find(struct peers *out, const char *killick, const char *echo, const char *only);

/* The index of the peer called `name`, or -1. */
int peer_named(const struct peers *p, const char *name);

/* prefix + args into out (room for PEER_ARGS * 2), NULL at the end. Borrows all strings. */
void peer_argv(const struct peer *p, const char *const *args, const char **out);
