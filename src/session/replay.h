/* replay.h - sends the log levels and subscriptions of sessions again to a new process of a server.
 *
 * Levels and subscriptions are stored per lease. They are sent right after the handshake of the new
 * process, before any other request, if the session is one of the hub or if the server may rest. A
 * host whose servers do not rest must send them again itself (killick(3)).
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

struct client_call;
struct lease;
struct server;

/* A request of the lease is about to be passed to the client. */
void replay_note(struct lease *l, const struct client_call *op);
/* The request has failed. */
void replay_refused(struct lease *l, const struct client_call *op);
/* The server has a new client. */
void replay_begin(struct server *sv);
/* Forget the level and the subscriptions of the lease. */
void replay_drop(struct lease *l);
