/* socket.h - sets options of sockets, and finds the process at the other end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SOCKET_SEND_BUFFER (128 << 10) /* the kernel doubles it */
#define SOCKET_SERVER_MS   20000 /* bytes are unacknowledged for this time: the peer is gone */
#define SOCKET_CLIENT_MS   10000

/* TCP: acknowledge received bytes now. The kernel resets this mode, so call it after each read. */
void socket_acknowledge(int fd);
/* TCP: send small messages at once, and notice dead peers. */
void socket_tune(int fd, int user_timeout_ms);
/* False: the path is too long for the address of a socket. */
bool socket_unix_address(const char *path, struct sockaddr_un *out);
/* The process that called connect on a unix socket, as it was then. False: the kernel does not say.
 */
bool socket_peer(int fd, struct ucred *out);
/* Does this process belong to the user of this program, or to root? All users that are not mapped
 * in this user namespace share the overflow id, so a process with the overflow id is refused. */
bool socket_peer_is_ours(const struct ucred *who);
