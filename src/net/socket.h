/* socket.h - how our sockets are set up, and who is at the other end of them. Mechanical. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SOCKET_SEND_BUFFER (128 << 10) /* which the kernel doubles */
#define SOCKET_SERVER_MS   20000 /* bytes unacknowledged for so long: the other side is gone */
#define SOCKET_CLIENT_MS   10000

/* TCP: acknowledge what has come, now. The kernel forgets it: to be said each time. */
void socket_acknowledge(int fd);
/* TCP: small messages are not held back, dead peers are noticed. */
void socket_tune(int fd, int user_timeout_ms);
/* False: the path is too long for the address of a socket. */
bool socket_unix_address(const char *path, struct sockaddr_un *out);
/* The process that called connect on a unix socket, as it was then. False: the kernel does not say.
 */
bool socket_peer(int fd, struct ucred *out);
/* Does such a process belong to the user that we run as, or to root? A user that does not exist in
 * our user namespace has the overflow id there, and so has every other one of those: it is
 * nobody's.
 */
bool socket_peer_is_ours(const struct ucred *who);
