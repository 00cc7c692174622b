/* socket.c - see socket.h */
#include "net/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"

static void socket_set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value)); /* optional: errors are ignored */
}

void socket_acknowledge(int fd)
{
	socket_set(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

void socket_tune(int fd, int user_timeout_ms)
{
	socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	socket_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms);
	socket_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1); /* for connections without traffic: */
	socket_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, user_timeout_ms / 2000);
	socket_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
	socket_set(fd, IPPROTO_TCP, TCP_KEEPCNT, user_timeout_ms / 4000);
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

bool socket_peer(int fd, struct ucred *out)
{
	socklen_t len = sizeof(*out);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, &len) == 0 && len == sizeof(*out);
}

/* The beginning of a small file in /proc; empty when it cannot be read. */
static void read_proc(const char *path, char *out, size_t size)
{
	AUTO(fd_drop) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
}

/* Is the id the overflow id, which stands for all users that this user namespace does not map? */
static bool is_overflow(uid_t uid)
{
	unsigned long first = 1, outside = 1, count = 0;
	char text[128];

	read_proc("/proc/sys/kernel/overflowuid", text, sizeof(text));
	if (uid != (text[0] ? (uid_t)strtoul(text, NULL, 10) : 65534))
		return false;
	read_proc("/proc/self/uid_map", text, sizeof(text));
	/* without user namespaces, or with all ids mapped, there are no unmapped users */
	return text[0] && (sscanf(text, "%lu %lu %lu", &first, &outside, &count) != 3 ||
			   first != 0 || count != (uint32_t)-1);
}

bool socket_peer_is_ours(const struct ucred *who)
{
	return who->uid == 0 || (who->uid == geteuid() && !is_overflow(who->uid));
}
