/* attach.h - which server a lease gets: a running one that sessions share, or a new one.
 *
 * A session of a host shares what its config calls "identical". A session of the hub (with a sink)
 * follows the rule of share.h. Some answers of the rule are known only after the handshake or the
 * first list of tools. Sessions that come meanwhile do not all start a copy: their servers wait
 * (`awaits`) for the verdict of the first one; then each lease joins the first server or its own
 * server starts.
 * Threads: with the loop's lock.  Blocking: looks at the files of the program, for the hub only and
 * if the reader of the config has not (config_server.looked).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct catalogue_entry;
struct lease;
struct server;

/* Give the lease, whose config can be used, a server, and start the server if necessary. */
void attach_lease(struct lease *l);
/* The lease needs its server: start the server. With session_spec.lazy, a server whose catalogue is
 * known, and is not old, is not started; the lease is settled. */
void attach_start(struct lease *l);
/* The verdict of the server is known. */
void attach_decided(struct server *sv);
/* The server has failed, or its last lease has left: its verdict will not come. If the server
 * failed, every waiting server starts. Otherwise one waiting server starts, and the others wait for
 * its verdict. */
void attach_release(struct server *sv, bool failed);

/* The lease has left the server, or is about to: its session has handled the end of its owners. */
void attach_hide_owners(struct lease *l, struct server *sv);

/* The catalogue entry of the server of the lease; NULL: none. Borrowed: valid until the handler of
 * the loop returns. */
const struct catalogue_entry *lease_catalogue(const struct lease *l);
/* The first difference between the server and another one of the same name, which explains why
 * their sessions do not share one process. If no other server has this name, those with the same
 * command are compared. Returns the other server; NULL: there is no difference, and out is "". */
const struct server *server_difference(const struct server *sv, char *out, size_t size);
