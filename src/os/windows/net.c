/* net.c - see net.h: winsock.
 *
 * A socket is an entry of the table of descriptors (table.h); the poller asks its driver about it.
 * A port is bound exclusively: with Windows' SO_REUSEADDR another program could take over a port in
 * use, and a port that was used a moment ago is free without any option.
 */
#include "os/net.h"

#include <errno.h>

#include "error.h"
#include "os/sockaddr.h"
#include "os/thread.h"
#include "sockets.h"
#include "table.h"

static void net_start(void)
{
	WSADATA data;

	WSAStartup(MAKEWORD(2, 2), &data);
}

void sockets_begin(void)
{
	static struct once once = ONCE_INIT;

	once_run(&once, net_start);
}

static SOCKET net_socket(int fd)
{
	HANDLE h = table_handle_of(fd, TABLE_SOCKET);

	return h ? (SOCKET)h : INVALID_SOCKET;
}

/* Give the socket a number, or close it. */
static int net_number(SOCKET s)
{
	u_long on = 1;
	int fd;

	if (s == INVALID_SOCKET)
		return error_of_socket(WSAGetLastError());
	SetHandleInformation((HANDLE)s, HANDLE_FLAG_INHERIT, 0);
	if (ioctlsocket(s, (long)FIONBIO, &on) != 0)
		fd = error_of_socket(WSAGetLastError());
	else
		fd = table_assign((HANDLE)s, TABLE_SOCKET);
	if (fd < 0)
		closesocket(s);
	return fd;
}

int net_open(enum net_kind kind)
{
	if (kind == NET_UNIX)
		return -EAFNOSUPPORT;
	sockets_begin();
	return net_number(WSASocketW(kind == NET_IPV6 ? AF_INET6 : AF_INET, SOCK_STREAM,
				     IPPROTO_TCP, NULL, 0,
				     WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
}

int net_adopt(int fd)
{
	return fd;
}

static int net_done(int result)
{
	return result == 0 ? 0 : error_of_socket(WSAGetLastError());
}

int net_connect(int fd, const struct address *to)
{
	struct sockaddr_storage at;
	int len = sockaddr_of(to, &at);
	int r = net_done(connect(net_socket(fd), (const struct sockaddr *)&at, len));

	return r == -EAGAIN || r == -EINPROGRESS ? 0 : r;
}

int net_connect_unix(int fd, const char *path)
{
	(void)fd;
	(void)path;
	return -EAFNOSUPPORT;
}

/* A failed connect is reported as an exception, not in SO_ERROR alone; and getpeername tells a
 * connected socket from one whose error was asked for before. */
int net_result(int fd)
{
	struct sockaddr_storage at;
	int error = 0, len = sizeof(error), size = sizeof(at), r;

	r = net_done(getsockopt(net_socket(fd), SOL_SOCKET, SO_ERROR, (char *)&error, &len));
	if (r == 0 && error)
		r = error_of_socket(error);
	if (r == 0 && getpeername(net_socket(fd), (struct sockaddr *)&at, &size) != 0)
		r = -ECONNREFUSED;
	return r;
}

static void net_set(int fd, int level, int option, int value)
{
	setsockopt(net_socket(fd), level, option, (const char *)&value, sizeof(value));
}

int net_bind(int fd, const struct address *at)
{
	struct sockaddr_storage to;
	int len = sockaddr_of(at, &to);

	net_set(fd, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
	return net_done(bind(net_socket(fd), (const struct sockaddr *)&to, len));
}

int net_listen(int fd, int backlog)
{
	return net_done(listen(net_socket(fd), backlog));
}

int net_accept(int fd, struct address *out_from)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	int len = sizeof(from);
	SOCKET s = accept(net_socket(fd), (struct sockaddr *)&from, &len);

	sockaddr_read((const struct sockaddr *)&from, out_from);
	return net_number(s);
}

bool net_name(int fd, struct address *out)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	int len = sizeof(at);

	getsockname(net_socket(fd), (struct sockaddr *)&at, &len);
	return sockaddr_read((const struct sockaddr *)&at, out);
}

int net_bind_unix(int fd, const char *path, struct net_file *out)
{
	(void)fd;
	(void)path;
	*out = (struct net_file){ .inode = 0 };
	return -EAFNOSUPPORT;
}

bool net_has_lost_unix(const char *path, const struct net_file *f)
{
	(void)path;
	(void)f;
	return false;
}

void net_remove_unix(const char *path, const struct net_file *f)
{
	(void)path;
	(void)f;
}

/* --- bytes --- */

static int net_at_most(size_t len)
{
	return len > 1 << 30 ? 1 << 30 : (int)len;
}

ssize_t net_receive(int fd, void *out, size_t size)
{
	int n = recv(net_socket(fd), out, net_at_most(size), 0);

	table_used(fd);
	return n < 0 ? error_of_socket(WSAGetLastError()) : n;
}

ssize_t net_send(int fd, const void *bytes, size_t len)
{
	int n = send(net_socket(fd), bytes, net_at_most(len), 0);

	table_used(fd);
	return n < 0 ? error_of_socket(WSAGetLastError()) : n;
}

ssize_t net_receive_fds(int fd, void *out, size_t size, struct net_fds *fds)
{
	(void)fds;
	return net_receive(fd, out, size);
}

ssize_t net_send_fds(int fd, const void *bytes, size_t len, const struct net_fds *fds)
{
	return fds->count ? -ENOSYS : net_send(fd, bytes, len);
}

void net_drop_fds(struct net_fds *fds)
{
	fds->count = 0;
}

void net_end_sending(int fd)
{
	shutdown(net_socket(fd), SD_SEND);
}

/* --- options --- */

void net_acknowledge(int fd)
{
	(void)fd; /* there is no such option for one socket */
}

void net_tune(int fd, int user_timeout_ms)
{
	/* the first probe after half of the time, then one each 2 s; Windows sends ten of them */
	struct tcp_keepalive alive = { .onoff = 1,
				       .keepalivetime = (ULONG)user_timeout_ms / 2,
				       .keepaliveinterval = (ULONG)user_timeout_ms / 20 };
	DWORD got;

	net_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	net_set(fd, IPPROTO_TCP, TCP_MAXRT, user_timeout_ms / 1000); /* for unacknowledged bytes */
	WSAIoctl(net_socket(fd), SIO_KEEPALIVE_VALS, &alive, sizeof(alive), NULL, 0, &got, NULL,
		 NULL);
}

void net_limit_send_buffer(int fd, int size)
{
	net_set(fd, SOL_SOCKET, SO_SNDBUF, size);
}

bool net_is_socket(int fd)
{
	return net_socket(fd) != INVALID_SOCKET;
}

bool net_peer(int fd, struct net_peer *out)
{
	(void)fd;
	(void)out;
	return false;
}

int net_peer_process(int fd, long pid)
{
	(void)fd;
	(void)pid;
	return -ENOSYS;
}
