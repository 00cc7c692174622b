/* socket.c - see socket.h */
#include "net/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value)); /* what is refused was only better */
}

void socket_acknowledge(int fd)
{
	set(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

void socket_tune(int fd, int user_timeout_ms)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1); /* for when nothing is to be said: */
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, user_timeout_ms / 2000);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, user_timeout_ms / 4000);
}

bool socket_unix_address(const char *path, struct sockaddr_un *out)
{
	size_t len = strlen(path);

	if (len >= sizeof(out->sun_path))
		return false;
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(out->sun_path, path, len + 1);
	return true;
}
