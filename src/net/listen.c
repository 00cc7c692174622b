/* listen.c - see listen.h */
#include "net/listen.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "net/greet.h"
#include "net/seats.h"
#include "os/fd.h"
#include "os/lookup.h"
#include "os/net.h"
#include "os/poller.h"
#include "os/tls.h"

#define BACKLOG  1024
#define BATCH    16   /* connections accepted per turn, so that other events are not delayed */
#define WAIT_MS  200  /* retry after a failed accept: descriptors may be free again */
#define LOOK_MS  2000 /* between two looks at the file of the socket */
#define NOTES    20   /* lines for the log in NOTES_US */
#define NOTES_US 10000000

struct listener {
	struct loop *loop;
	struct greet_rules rules;
	unsigned char token_sha256[SHA256_SIZE];
	struct listen_events ev;
	void *ctx;
	struct loop_watch socket;
	struct loop_timer again; /* retries accept */
	struct loop_timer look;  /* at the file of the socket, with keeps_file */
	struct seats seats;
	unsigned visitors; /* open streams */
	bool closed;
	enum url_kind kind;
	bool fds;
	char url[160];
	char *made; /* the file of the socket, if the listener made it */
	struct net_file file;
	int renew_error; /* of the last attempt to make the file again */
	unsigned notes, unsaid;
	int64_t notes_since_us;
};

struct visitor { /* a connection, for the life of its stream */
	struct listener *listener;
	struct seat seat;
};

/* --- notes for the log --- */

static void note(struct listener *l, const char *peer, const char *text)
{
	char line[400];
	int64_t now = loop_now_us();
	int n;

	if (now - l->notes_since_us > NOTES_US) {
		l->notes_since_us = now;
		l->notes = 0;
	}
	if (l->notes >= NOTES) {
		l->unsaid++;
		return;
	}
	l->notes++;
	n = snprintf(line, sizeof(line), "%s: %s", peer, text);
	if (l->unsaid && n > 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, " (and %u more before)", l->unsaid);
	l->unsaid = 0;
	if (l->ev.on_note)
		l->ev.on_note(l->ctx, line);
}

static void on_greet_note(void *ctx, const char *peer, const char *text)
{
	note(ctx, peer, text);
}

static void listener_on_channel(void *ctx, struct channel *c)
{
	struct listener *l = ctx;

	l->ev.on_channel(l->ctx, c);
}

/* --- connections --- */

static void listener_destroy(struct listener *l)
{
	assert(l->closed && l->visitors == 0);
	seats_done(&l->seats);
	tls_context_free(l->rules.tls);
	free(l->made);
	free(l);
}

static void listener_leave(struct listener *l)
{
	assert(l->visitors > 0);
	l->visitors--;
	if (l->closed && l->visitors == 0)
		listener_destroy(l);
}

static void on_stream_freed(void *ctx)
{
	struct visitor *v = ctx;
	struct listener *l = v->listener;

	seat_leave(&v->seat);
	free(v);
	listener_leave(l);
}

/* On a unix socket a stranger is a process of another user. The mode of the socket is not used: a
 * service manager may have made the socket with any mode, and an abstract socket has none. */
static void name_peer(int fd, enum url_kind kind, const struct address *from, char *out,
		      size_t size, struct greet_peer *to)
{
	struct net_peer who;

	if (kind != URL_UNIX) {
		address_text(from, out, size);
	} else if (net_peer(fd, &who)) {
		snprintf(out, size, "pid %ld uid %lu", who.pid, who.uid);
		to->stranger = !who.ours;
		to->pid = who.pid;
	} else {
		snprintf(out, size, "unix");
		to->stranger = true;
	}
}

static void listener_take(struct listener *l, int fd, const struct address *from)
{
	struct greet_peer who = { .process = -1 };
	struct visitor *v;
	struct stream *s;
	char peer[64];

	name_peer(fd, l->kind, from, peer, sizeof(peer), &who);
	if (l->kind == URL_UNIX)
		who.process = net_peer_process(fd, who.pid);
	if (who.process < 0 && l->kind == URL_UNIX && who.process != -ENOSYS) {
		note(l, peer, "refused: cannot wait for the end of the process that connected");
		fd_close(fd);
		return;
	}
	if (seats_make_room(&l->seats))
		note(l, peer,
		     "another connection was dropped for this one: too many have not called "
		     "initialize yet");
	/* the send buffer is limited, because a client may request its content again */
	net_limit_send_buffer(fd, NET_SEND_BUFFER);
	if (l->kind != URL_UNIX)
		net_tune(fd, NET_SERVER_MS);
	s = stream_new(l->loop, fd, fd);
	if (l->fds)
		stream_keep_fds(s);
	v = mem_grow(NULL, 1, sizeof(*v));
	v->listener = l;
	l->visitors++;
	seat_take(&l->seats, &v->seat);
	if (l->kind == URL_UNIX && !who.stranger && !l->rules.token_sha256)
		seat_know(&v->seat);
	stream_on_freed(s, on_stream_freed, v);
	who.name = peer;
	who.seat = &v->seat;
	greet_begin(&l->rules, s, &who);
}

static void listener_on_again(struct loop_timer *t)
{
	struct listener *l = CONTAINER_OF(t, struct listener, again);

	loop_watch_change(l->loop, &l->socket, POLLER_IN);
}

/* Ignore connections that ended before the accept. Without descriptors or memory the listener
 * waits: the connection stays pending, and the loop would report it again and again. */
static void accept_failed(struct listener *l, int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
	case ECONNABORTED:
	case EPROTO:
	case EPERM:
		return;
	default:
		note(l, l->url, strerror(error));
		loop_watch_change(l->loop, &l->socket, POLLER_ERR);
		loop_timer_set(l->loop, &l->again, WAIT_MS, listener_on_again);
	}
}

static void on_connection(struct loop_watch *w, uint32_t events)
{
	struct listener *l = CONTAINER_OF(w, struct listener, socket);

	(void)events;
	for (int i = 0; i < BATCH && w->fd >= 0; i++) {
		struct address from;
		int fd = net_accept(w->fd, &from);

		if (fd < 0) {
			accept_failed(l, -fd);
			return;
		}
		listener_take(l, fd, &from);
	}
}

/* --- the beginning --- */

static int bind_unix(struct listener *l, int fd, const char *path, struct err *e)
{
	int r = net_bind_unix(fd, path, &l->file);

	if (r == -ENAMETOOLONG)
		return err_set(e, r, "the path of the socket is too long: %s", path);
	if (!l->made && (r == 0 || l->file.inode))
		l->made = mem_dup(path);
	return r == 0 ? 0 : err_set(e, r, "cannot listen on unix:%s: %s", path, strerror(-r));
}

static int bind_tcp(int fd, const struct address *at, const struct url *u, struct err *e)
{
	int r = net_bind(fd, at);

	return r == 0 ? 0
		      : err_set(e, r, "cannot listen on %s port %u: %s", u->host, u->port,
				strerror(-r));
}

static int make_socket(struct listener *l, const struct url *u, int *out, struct err *e)
{
	AUTO(fd_drop) int fd = -1;
	struct address at = { .kind = ADDRESS_NONE };
	int r;

	if (u->kind != URL_UNIX && !lookup_literal(u->host, u->port, &at))
		return err_set(e, -EINVAL, "cannot listen on '%s': give an IP address", u->host);
	fd = net_open(u->kind == URL_UNIX ? NET_UNIX : (enum net_kind)at.kind);
	if (fd < 0)
		return err_set(e, fd, "cannot make a socket: %s%s", strerror(-fd), err_next(fd));
	r = u->kind == URL_UNIX ? bind_unix(l, fd, u->path, e) : bind_tcp(fd, &at, u, e);
	if (r < 0)
		return r;
	r = net_listen(fd, BACKLOG);
	if (r < 0)
		return err_set(e, r, "cannot listen: %s", strerror(-r));
	*out = TAKE_FD(fd);
	return 0;
}

static void name_url(struct listener *l, int fd, const struct url *u)
{
	struct address at;
	char where[64];

	if (u->kind == URL_UNIX) {
		snprintf(l->url, sizeof(l->url), "unix:%.120s", u->path);
		return;
	}
	net_name(fd, &at);
	address_text(&at, where, sizeof(where));
	snprintf(l->url, sizeof(l->url), "%s://%s", u->kind == URL_WSS ? "wss" : "ws", where);
}

static void remove_file(struct listener *l)
{
	if (l->made)
		net_remove_unix(l->made, &l->file);
}

/* --- the file of a unix socket, while the listener runs --- */

/* Make a socket under the same path, and accept connections from it only: without its file no
 * client reaches the old socket. */
static int listener_renew(struct listener *l, struct err *e)
{
	AUTO(fd_drop) int fd = -1;
	struct url url = { .kind = URL_UNIX };
	int old = l->socket.fd, r;

	snprintf(url.path, sizeof(url.path), "%s", l->made);
	r = make_socket(l, &url, &fd, e);
	if (r == 0) {
		loop_timer_stop(l->loop, &l->again);
		loop_watch_stop(l->loop, &l->socket);
		fd_drop(&old);
		r = loop_watch(l->loop, &l->socket, fd, POLLER_IN, on_connection);
		if (r < 0)
			err_set(e, r, "cannot wait for connections: %s", strerror(-r));
		else
			(void)TAKE_FD(fd);
	}
	if (r < 0) { /* clients must not wait for a socket without a listener; try again later */
		remove_file(l);
		l->file = (struct net_file){ .inode = 0 };
	}
	return r;
}

/* A timer works without other processes: a client that finds no socket cannot reach the listener,
 * and a signal to the pid in a lock file may reach another process. The cost of one lstat in 2 s is
 * too small to measure. */
static void listener_on_look(struct loop_timer *t)
{
	struct listener *l = CONTAINER_OF(t, struct listener, look);

	if (net_has_lost_unix(l->made, &l->file)) {
		struct err e = ERR_INIT;
		int r = listener_renew(l, &e);

		if (r == 0)
			note(l, l->url, "the file of the socket was lost and is made again");
		else if (r != l->renew_error) /* once, not every 2 s */
			note(l, l->url, e.text);
		l->renew_error = r;
	}
	loop_timer_set(l->loop, &l->look, LOOK_MS, listener_on_look);
}

/* All steps that can fail. */
static int set_up(struct listener *l, const struct listen_spec *spec, struct err *e)
{
	AUTO(fd_drop) int fd = -1;
	int r = 0;

	seats_init(&l->seats, &spec->seats);
	if (spec->url->kind == URL_WSS)
		r = tls_server(spec->cert_file, spec->key_file, &l->rules.tls, e);
	if (r == 0 && spec->fd < 0)
		r = make_socket(l, spec->url, &fd, e);
	if (r < 0)
		return r;
	if (spec->fd >= 0) /* the listener owns fd from now on, also on failure */
		fd = net_adopt(spec->fd);
	name_url(l, fd, spec->url);
	r = loop_watch(l->loop, &l->socket, fd, POLLER_IN, on_connection);
	if (r < 0)
		return err_set(e, r, "cannot wait for connections: %s%s", strerror(-r),
			       err_next(r));
	(void)TAKE_FD(fd);
	return 0;
}

int listener_open(struct loop *loop, const struct listen_spec *spec, const struct listen_events *ev,
		  void *ctx, struct listener **out, struct err *e)
{
	struct listener *l = mem_grow(NULL, 1, sizeof(*l));
	int r;

	assert(spec->url->kind != URL_STDIO && spec->seats.max > 0);
	*l = (struct listener){ .loop = loop,
				.rules = { .loop = loop,
					   .lines = spec->url->kind == URL_UNIX,
					   .send_limit = spec->send_limit,
					   .on_channel = listener_on_channel,
					   .on_note = on_greet_note,
					   .ctx = l },
				.ev = *ev,
				.ctx = ctx,
				.socket.fd = -1,
				.kind = spec->url->kind,
				.fds = spec->fds && spec->url->kind == URL_UNIX };
	ring_init(&l->rules.all);
	if (spec->token_sha256) {
		memcpy(l->token_sha256, spec->token_sha256, SHA256_SIZE);
		l->rules.token_sha256 = l->token_sha256;
	}
	r = set_up(l, spec, e);
	if (r < 0) {
		remove_file(l);
		l->closed = true;
		listener_destroy(l);
		return r;
	}
	if (spec->keeps_file && l->made)
		loop_timer_set(loop, &l->look, LOOK_MS, listener_on_look);
	*out = l;
	return 0;
}

const char *listener_url(const struct listener *l)
{
	return l->url;
}

void listener_close(struct listener *l)
{
	int fd = l->socket.fd;

	assert(!l->closed);
	loop_watch_stop(l->loop, &l->socket);
	loop_timer_stop(l->loop, &l->again);
	loop_timer_stop(l->loop, &l->look);
	fd_drop(&fd);
	remove_file(l);
	l->visitors++; /* keeps the listener until all greetings have ended */
	l->closed = true;
	greet_end_all(&l->rules);
	listener_leave(l);
}
