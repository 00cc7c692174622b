/* faulty.c - preloaded into a program: lets the n-th call of a kind fail, once or from then on.
 *
 * Kinds are families of functions that fail for the same reason: no memory, no descriptors, no
 * processes. Only calls of the process that armed it count, and only while it is armed; what
 * children do between clone and exec does not.
 */
#undef _FILE_OFFSET_BITS /* both names of open and fcntl are wanted */
#include "faulty.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int armed_pid, armed_kind = FAULTY_KINDS;
static atomic_long count, fail_at;
static atomic_bool for_ever;

void faulty_arm(enum faulty_kind kind, long at, bool ever)
{
	count = 0;
	fail_at = at;
	for_ever = ever;
	armed_pid = getpid();
	armed_kind = kind;
}

long faulty_disarm(void)
{
	armed_kind = FAULTY_KINDS;
	return count;
}

/* Is this the one? */
static bool hit(enum faulty_kind kind)
{
	long n;

	if (armed_kind != (int)kind || getpid() != armed_pid)
		return false;
	n = atomic_fetch_add(&count, 1) + 1;
	return fail_at > 0 && (for_ever ? n >= fail_at : n == fail_at);
}

/* The function behind ours; libc's own, found once. */
#define REAL(name_)                                                                                \
	({                                                                                         \
		static _Atomic(void *) real_;                                                      \
		void *fn_ = real_;                                                                 \
		if (!fn_)                                                                          \
			real_ = fn_ = dlsym(RTLD_NEXT, #name_);                                    \
		(__typeof__(&name_))fn_;                                                           \
	})

#define FAIL_IF(kind_, errno_, result_)                                                            \
	do {                                                                                       \
		if (hit(kind_)) {                                                                  \
			errno = (errno_);                                                          \
			return (result_);                                                          \
		}                                                                                  \
	} while (0)

/* dlsym may allocate: memory goes to libc by its other names. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	FAIL_IF(FAULTY_MEMORY, ENOMEM, NULL);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	FAIL_IF(FAULTY_MEMORY, ENOMEM, NULL);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	FAIL_IF(FAULTY_MEMORY, ENOMEM, NULL);
	return __libc_realloc(p, size);
}

#define MMAP(name_, offset_)                                                                       \
	void *name_(void *at, size_t len, int prot, int flags, int fd, offset_ offset)             \
	{                                                                                          \
		FAIL_IF(FAULTY_MEMORY, ENOMEM, MAP_FAILED);                                        \
		return REAL(name_)(at, len, prot, flags, fd, offset);                              \
	}
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

int pipe2(int fds[2], int flags)
{
	FAIL_IF(FAULTY_DESCRIPTOR, EMFILE, -1);
	return REAL(pipe2)(fds, flags);
}

int socketpair(int domain, int type, int protocol, int fds[2])
{
	FAIL_IF(FAULTY_DESCRIPTOR, ENFILE, -1);
	return REAL(socketpair)(domain, type, protocol, fds);
}

int eventfd(unsigned value, int flags)
{
	FAIL_IF(FAULTY_DESCRIPTOR, EMFILE, -1);
	return REAL(eventfd)(value, flags);
}

int epoll_create1(int flags)
{
	FAIL_IF(FAULTY_DESCRIPTOR, EMFILE, -1);
	return REAL(epoll_create1)(flags);
}

#define OPEN(name_)                                                                                \
	int name_(const char *path, int flags, ...)                                                \
	{                                                                                          \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;                                   \
		va_end(ap);                                                                        \
		FAIL_IF(FAULTY_DESCRIPTOR, EMFILE, -1);                                            \
		return REAL(name_)(path, flags, mode);                                             \
	}
OPEN(open)
OPEN(open64)

#define FCNTL(name_)                                                                               \
	int name_(int fd, int cmd, ...)                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
		long arg;                                                                          \
                                                                                                   \
		va_start(ap, cmd);                                                                 \
		arg = va_arg(ap, long);                                                            \
		va_end(ap);                                                                        \
		FAIL_IF(FAULTY_DESCRIPTOR, EINVAL, -1);                                            \
		return REAL(name_)(fd, cmd, arg);                                                  \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

int epoll_ctl(int fd, int op, int target, struct epoll_event *ev)
{
	/* Only adding needs memory; the others cannot fail on what is there. */
	if (op == EPOLL_CTL_ADD)
		FAIL_IF(FAULTY_DESCRIPTOR, ENOSPC, -1);
	return REAL(epoll_ctl)(fd, op, target, ev);
}

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	void *rest[3];
	va_list ap;

	va_start(ap, arg);
	for (int i = 0; i < 3; i++)
		rest[i] = va_arg(ap, void *);
	va_end(ap);
	FAIL_IF(FAULTY_PROCESS, EAGAIN, -1);
	return REAL(clone)(fn, stack, flags, arg, rest[0], rest[1], rest[2]);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	if (hit(FAULTY_PROCESS))
		return EAGAIN;
	return REAL(pthread_create)(thread, attr, fn, arg);
}

/* The raw ones; arguments are passed on as they are. */
long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_pidfd_open)
		FAIL_IF(FAULTY_DESCRIPTOR, EMFILE, -1);
	if (number == SYS_clone || number == SYS_clone3)
		FAIL_IF(FAULTY_PROCESS, EAGAIN, -1);
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int epoll_wait(int fd, struct epoll_event *ev, int max, int timeout)
{
	FAIL_IF(FAULTY_INTERRUPT, EINTR, -1);
	return REAL(epoll_wait)(fd, ev, max, timeout);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	FAIL_IF(FAULTY_WRITE, EIO, -1);
	FAIL_IF(FAULTY_INTERRUPT, EINTR, -1);
	return REAL(write)(fd, bytes, hit(FAULTY_SHORT) && len > 1 ? 1 : len);
}

#define PWRITEV2(name_, offset_)                                                                   \
	ssize_t name_(int fd, const struct iovec *v, int n, offset_ at, int flags)                 \
	{                                                                                          \
		struct iovec one = v[0];                                                           \
                                                                                                   \
		FAIL_IF(FAULTY_WRITE, EIO, -1);                                                    \
		FAIL_IF(FAULTY_INTERRUPT, EINTR, -1);                                              \
		if (!hit(FAULTY_SHORT) || one.iov_len <= 1)                                        \
			return REAL(name_)(fd, v, n, at, flags);                                   \
		one.iov_len = 1;                                                                   \
		return REAL(name_)(fd, &one, 1, at, flags);                                        \
	}
PWRITEV2(pwritev2, off_t)
PWRITEV2(pwritev64v2, off64_t)

ssize_t read(int fd, void *bytes, size_t len)
{
	FAIL_IF(FAULTY_READ, EIO, -1);
	FAIL_IF(FAULTY_INTERRUPT, EINTR, -1);
	return REAL(read)(fd, bytes, hit(FAULTY_SHORT) && len > 1 ? 1 : len);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	FAIL_IF(FAULTY_WRITE, ENOBUFS, -1);
	FAIL_IF(FAULTY_INTERRUPT, EINTR, -1);
	return REAL(send)(fd, bytes, len, flags);
}

ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
	FAIL_IF(FAULTY_READ, ENOMEM, -1);
	FAIL_IF(FAULTY_INTERRUPT, EINTR, -1);
	return REAL(recv)(fd, bytes, len, flags);
}
