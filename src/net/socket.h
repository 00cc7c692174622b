/* socket.h - how our sockets are set up. Mechanical. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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
