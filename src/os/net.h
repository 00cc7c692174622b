/* net.h - stream sockets: TCP, and unix sockets where the system has them.
 *
 * All sockets are non-blocking and are not inherited by programs that are started. Functions return
 * -errno on failure. Windows has TCP only: net_open refuses NET_UNIX with -EAFNOSUPPORT there.
 * Life: net_open -> net_connect, or net_bind and net_listen; fd_drop closes it (fd.h).
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/address.h"

#define NET_SEND_BUFFER (128 << 10) /* Linux doubles it */
#define NET_SERVER_MS   20000       /* bytes are unacknowledged for this time: the peer is gone */
#define NET_CLIENT_MS   10000
#define NET_PATH_MAX    108 /* of a unix socket, with its NUL */

enum net_kind { NET_IPV4 = ADDRESS_IPV4, NET_IPV6 = ADDRESS_IPV6, NET_UNIX };

int net_open(enum net_kind kind); /* a socket */
/* A socket that another program made and this process inherited: make it non-blocking and keep it
 * from programs that are started. Returns fd. */
int net_adopt(int fd);

/* Begin to connect. 0: begun or done; wait until the socket is writable, then ask net_result. */
int net_connect(int fd, const struct address *to);
int net_connect_unix(int fd, const char *path);
int net_result(int fd); /* 0: connected, or the -errno of the failed connect */

/* A port that was used a moment ago may be used again at once. */
int net_bind(int fd, const struct address *at);
int net_listen(int fd, int backlog);
/* Take one connection: its socket. -EAGAIN: there is none. *out_from is ADDRESS_NONE for a unix
 * socket. */
int net_accept(int fd, struct address *out_from);
/* The address of this end. False: not an internet socket. */
bool net_name(int fd, struct address *out);

/* The file of a unix socket, as net_bind_unix made it. */
struct net_file { /* zero: none */
	uint64_t device, inode;
};
/* Make the file, which only the user of this process may open. The file of a listener that was
 * killed is replaced. Call net_listen afterwards: until then no client can connect. -errno, and
 * then *out is zero, or names a file to be removed. */
int net_bind_unix(int fd, const char *path, struct net_file *out);
/* Was the file removed, or replaced by another one? An open socket keeps its inode, so that a new
 * file has another one. False also if the file system does not say. */
bool net_has_lost_unix(const char *path, const struct net_file *f);
/* Remove the file if it is still the same one. */
void net_remove_unix(const char *path, const struct net_file *f);

/* Receive and send: the number of bytes, 0 (received): end of stream, -EAGAIN, -errno. No signal is
 * raised when the peer is gone. */
ssize_t net_receive(int fd, void *out, size_t size);
ssize_t net_send(int fd, const void *bytes, size_t len);
void net_end_sending(int fd); /* the peer reads the end of the stream */

/* Descriptors that came over a unix socket. */
#define NET_FDS 2 /* further ones are closed */
struct net_fds {
	int list[NET_FDS];
	unsigned count;
};
/* net_receive; descriptors that came with these bytes are added to *fds. They are not inherited by
 * programs that are started. */
ssize_t net_receive_fds(int fd, void *out, size_t size, struct net_fds *fds);
/* net_send; the descriptors go with the first byte, and stay open here. -ENOSYS on Windows. */
ssize_t net_send_fds(int fd, const void *bytes, size_t len, const struct net_fds *fds);
/* Close the descriptors. */
void net_drop_fds(struct net_fds *fds);

/* All of these are optional for the system: errors are ignored. */
/* TCP: acknowledge received bytes now. Linux resets this mode, so call it after each read. */
void net_acknowledge(int fd);
/* TCP: send small messages at once, and notice dead peers. */
void net_tune(int fd, int user_timeout_ms);
void net_limit_send_buffer(int fd, int size);

bool net_is_socket(int fd);

/* The process that called connect on a unix socket, as it was then. */
struct net_peer {
	long pid;
	unsigned long uid;
	/* The process belongs to the user of this program, or to root. All users that are not
	 * mapped in this user namespace share the overflow id, so a process with the overflow id is
	 * not ours. */
	bool ours;
};
bool net_peer(int fd, struct net_peer *out); /* false: the system does not say */
/* A descriptor of that process (process.h), which is readable when the process has ended, also if
 * it had ended before this call. The pid is that of net_peer, for kernels before Linux 6.5: call
 * this right after net_accept, when the pid is not yet used again. -ENOSYS: the system does not
 * say, or the process is in a pid namespace that this one does not see; -EMFILE, -ENFILE, -ENOMEM.
 */
int net_peer_process(int fd, long pid);
