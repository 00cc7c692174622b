/* net.c - see net.h */
#include "os/net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/sockaddr.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

int net_open(enum net_kind kind)
{
	int family = kind == NET_UNIX ? AF_UNIX : kind == NET_IPV6 ? AF_INET6 : AF_INET;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int net_adopt(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

static int net_begin(int fd, const void *at, socklen_t len)
{
	return connect(fd, at, len) < 0 && errno != EINPROGRESS ? -errno : 0;
}

int net_connect(int fd, const struct address *to)
{
	struct sockaddr_storage at;
	socklen_t len = sockaddr_of(to, &at);

	return net_begin(fd, &at, len);
}

/* False: the path is too long for the address of a socket. */
static bool net_unix_address(const char *path, struct sockaddr_un *out)
{
	size_t len = strlen(path);

	_Static_assert(sizeof(out->sun_path) == NET_PATH_MAX, "net.h has the size");
	if (len >= sizeof(out->sun_path))
		return false;
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(out->sun_path, path, len + 1);
	return true;
}

int net_connect_unix(int fd, const char *path)
{
	struct sockaddr_un at;

	return net_unix_address(path, &at) ? net_begin(fd, &at, sizeof(at)) : -ENAMETOOLONG;
}

int net_result(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

static void net_set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value)); /* optional: errors are ignored */
}

int net_bind(int fd, const struct address *at)
{
	struct sockaddr_storage to;
	socklen_t len = sockaddr_of(at, &to);

	net_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return bind(fd, (const struct sockaddr *)&to, len) < 0 ? -errno : 0;
}

int net_listen(int fd, int backlog)
{
	return listen(fd, backlog) < 0 ? -errno : 0;
}

int net_accept(int fd, struct address *out_from)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(from);
	int s = accept4(fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (s < 0)
		return -errno;
	sockaddr_read((const struct sockaddr *)&from, out_from);
	return s;
}

bool net_name(int fd, struct address *out)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(at);

	getsockname(fd, (struct sockaddr *)&at, &len);
	return sockaddr_read((const struct sockaddr *)&at, out);
}

/* --- the file of a unix socket --- */

/* A socket file without a listener was left by a process that was killed. */
static bool net_is_left_behind(const struct sockaddr_un *at)
{
	AUTO(fd_drop) int fd = net_open(NET_UNIX);
	struct stat st;

	return fd >= 0 && lstat(at->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 && errno == ECONNREFUSED;
}

int net_bind_unix(int fd, const char *path, struct net_file *out)
{
	struct sockaddr_un at;
	struct stat st;
	int r;

	*out = (struct net_file){ .inode = 0 };
	if (!net_unix_address(path, &at))
		return -ENAMETOOLONG;
	r = bind(fd, (struct sockaddr *)&at, sizeof(at));
	if (r < 0 && errno == EADDRINUSE && net_is_left_behind(&at)) {
		unlink(path);
		r = bind(fd, (struct sockaddr *)&at, sizeof(at));
	}
	if (r < 0 || lstat(path, &st) < 0)
		return -errno;
	*out = (struct net_file){ .device = st.st_dev, .inode = st.st_ino };
	return chmod(path, 0600) < 0 ? -errno : 0;
}

bool net_has_lost_unix(const char *path, const struct net_file *f)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT;
	return st.st_dev != f->device || st.st_ino != f->inode;
}

void net_remove_unix(const char *path, const struct net_file *f)
{
	struct stat st;

	if (f->inode && lstat(path, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode)
		unlink(path);
}

/* --- bytes --- */

ssize_t net_receive(int fd, void *out, size_t size)
{
	ssize_t n = recv(fd, out, size, MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

ssize_t net_send(int fd, const void *bytes, size_t len)
{
	ssize_t n = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? -errno : n;
}

union net_rights { /* the control message of NET_FDS descriptors, aligned */
	struct cmsghdr head;
	char room[CMSG_SPACE(NET_FDS * sizeof(int))];
};

/* Without room for them the kernel closes descriptors that came, and sets MSG_CTRUNC. */
static void net_keep_fds(struct msghdr *m, struct net_fds *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (fds->count < NET_FDS)
				fds->list[fds->count++] = fd;
			else
				close(fd);
		}
	}
}

ssize_t net_receive_fds(int fd, void *out, size_t size, struct net_fds *fds)
{
	union net_rights rights;
	struct iovec bytes = { .iov_base = out, .iov_len = size };
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = &rights,
			    .msg_controllen = sizeof(rights) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	net_keep_fds(&m, fds);
	return n;
}

ssize_t net_send_fds(int fd, const void *bytes, size_t len, const struct net_fds *fds)
{
	union net_rights rights = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec piece = { .iov_base = (void *)bytes, .iov_len = len };
	struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1 };
	size_t size = fds->count * sizeof(int);
	ssize_t n;

	if (fds->count) {
		rights.head.cmsg_len = (socklen_t)CMSG_LEN(size);
		memcpy(CMSG_DATA(&rights.head), fds->list, size);
		m.msg_control = &rights;
		m.msg_controllen = (socklen_t)CMSG_SPACE(size); /* musl's type */
	}
	n = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

void net_drop_fds(struct net_fds *fds)
{
	while (fds->count)
		close(fds->list[--fds->count]);
}

void net_end_sending(int fd)
{
	shutdown(fd, SHUT_WR);
}

/* --- options --- */

void net_acknowledge(int fd)
{
	net_set(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

void net_tune(int fd, int user_timeout_ms)
{
	net_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	net_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms);
	net_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1); /* for connections without traffic: */
	net_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, user_timeout_ms / 2000);
	net_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
	net_set(fd, IPPROTO_TCP, TCP_KEEPCNT, user_timeout_ms / 4000);
}

void net_limit_send_buffer(int fd, int size)
{
	net_set(fd, SOL_SOCKET, SO_SNDBUF, size);
}

bool net_is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* --- the peer --- */

/* The beginning of a small file in /proc; empty when it cannot be read. */
static void net_read_proc(const char *path, char *out, size_t size)
{
	AUTO(fd_drop) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
}

/* Is the id the overflow id, which stands for all users that this user namespace does not map? */
static bool net_is_overflow(uid_t uid)
{
	unsigned long first = 1, outside = 1, count = 0;
	char text[128];

	net_read_proc("/proc/sys/kernel/overflowuid", text, sizeof(text));
	if (uid != (text[0] ? (uid_t)strtoul(text, NULL, 10) : 65534))
		return false;
	net_read_proc("/proc/self/uid_map", text, sizeof(text));
	/* without user namespaces, or with all ids mapped, there are no unmapped users */
	return text[0] && (sscanf(text, "%lu %lu %lu", &first, &outside, &count) != 3 ||
			   first != 0 || count != (uint32_t)-1);
}

int net_peer_process(int fd, long pid)
{
	int process = -1, error;
	socklen_t len = sizeof(process);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &len) == 0) {
		fcntl(process, F_SETFD, FD_CLOEXEC);
		return process;
	}
	error = errno;
	if (error == ENOPROTOOPT && pid > 0) {
		process = process_open((int)pid);
		error = process < 0 ? -process : 0;
	} else if (error == EINVAL) {
		error = ESRCH; /* the answer of Linux 6.5 for a process that was reaped */
	}
	if (error == ESRCH) /* readable from the start */
		process = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (process >= 0)
		return process;
	error = error == ESRCH ? errno : error;
	return error == EMFILE || error == ENFILE || error == ENOMEM ? -error : -ENOSYS;
}

bool net_peer(int fd, struct net_peer *out)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 || len != sizeof(who))
		return false;
	*out = (struct net_peer){ .pid = who.pid, .uid = who.uid };
	out->ours = who.uid == 0 || (who.uid == geteuid() && !net_is_overflow(who.uid));
	return true;
}
