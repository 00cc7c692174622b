/* table.h - the table behind the descriptors of Windows; for files of src/os/windows.
 *
 * A descriptor is FD_FIRST plus an index into the table. Its entry has a kind, a HANDLE, and the
 * operations of the kernel that are under way. One lock protects all entries; no function waits
 * while it holds the lock.
 *
 * The memory of an entry stays until the kernel is done with it: each caller and each operation
 * under way has a reference. The reference of an operation ends when a poller takes the completion
 * out of its port. fd_close of a poller cancels the operations of its members and takes out all
 * completions. So the kernel never writes into freed memory, and no memory is left.
 *
 * Life: table_assign -> the functions of fd.h, poller.h -> fd_close. Threads: any.
 */
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum table_kind {
	TABLE_HANDLE,   /* only kept and closed, for example the end of a pipe for a child */
	TABLE_PIPE_IN,  /* of bytes, overlapped */
	TABLE_PIPE_OUT, /* the same; it may be read, too: a read that waits tells of the hang-up */
	TABLE_CHANNEL,  /* a pipe of messages in both directions, overlapped */
	TABLE_EVENT,    /* reset by hand */
	TABLE_PROCESS,  /* readable when the process has ended */
	TABLE_SOCKET,   /* does not block; the HANDLE is the SOCKET */
	TABLE_POLLER,   /* a completion port */
};

/* A new descriptor, which owns h, or -errno: h stays the caller's. */
int table_assign(HANDLE h, enum table_kind kind);
/* The HANDLE of fd; NULL: no such descriptor. It is valid until the owner of fd closes fd. */
HANDLE table_handle(int fd);
/* The same; NULL also if fd is of another kind. */
HANDLE table_handle_of(int fd, enum table_kind kind);
/* Entries whose memory is not freed yet: open ones, and closed ones that the kernel still uses. */
unsigned table_count(void);
/* The caller has read from or written to the socket fd: let its poller ask again. */
void table_used(int fd);

/* --- for table.c, fd.c, poller.c, event.c and afd.c --- */

struct entry;

struct entry_op { /* one operation of the kernel; its OVERLAPPED must be the first member */
	OVERLAPPED o;
	struct entry *entry;
	bool flying; /* the kernel uses `o`, and a completion will come; has a reference */
};

struct entry_link { /* in a ring of entries; next is NULL: in none */
	struct entry_link *next, *prev;
};

struct afd_poll { /* what the driver of sockets is asked, and what it answers */
	LARGE_INTEGER timeout;
	ULONG count, exclusive;
	HANDLE socket;
	ULONG events;
	LONG status;
};

struct entry {
	enum table_kind kind;
	HANDLE handle;
	uint64_t generation;   /* of no other entry, ever */
	unsigned refs;         /* of the table, callers, operations, and members of a poller */
	struct entry_op look;  /* a read of nothing, or the driver's poll */
	struct entry_op write; /* of `out` */
	char *out;             /* TABLE_ROOM bytes; NULL: nothing was written yet */
	HANDLE read_done;      /* of a pipe: an event for reads that are waited for */
	bool hung_up;          /* of a pipe */
	bool set;              /* of an event */
	HANDLE wait;           /* of a process: the registered wait */
	struct afd_poll poll;  /* of a socket */
	uint32_t asked, ready; /* of a socket: events that the driver was asked for, and told */

	struct entry *poller; /* where its completions go; NULL: to none yet. Has a reference */
	struct entry_link in_poller, in_due;
	bool registered; /* between poller_add and poller_remove */
	uint32_t wanted; /* events */
	uint64_t data;

	/* of a poller, whose handle is the port: */
	struct entry_link members; /* entries with this poller */
	struct entry_link due;     /* entries that are asked before the next wait */
	HANDLE afd;                /* the driver of sockets; NULL: not opened yet */
	bool waiting;              /* a thread waits for the port */
	bool woken;                /* it was told to look at `due` */
	unsigned flying;           /* completions that will come */
};
#define TABLE_ROOM 65536 /* bytes of one write to a pipe */

void table_lock(void);
void table_unlock(void);
/* With the lock: the entry of fd, or NULL. */
struct entry *table_find(int fd);
/* Without the lock: the same with a reference; table_put ends it. */
struct entry *table_get(int fd);
void table_put(struct entry *e);
/* With the lock: one reference more or less. The last one frees the entry. */
void table_keep(struct entry *e);
void table_drop(struct entry *e);
/* With the lock: take fd out of the table. The reference of the table becomes the caller's. NULL:
 * no such descriptor. */
struct entry *table_remove(int fd);

/* All of these, of poller.c, with the lock: */
/* Ask e before the next wait whether it is ready, and end a wait that has begun. */
void poller_make_due(struct entry *e);
/* The kernel has accepted the operation. */
void poller_begin(struct entry_op *op);
/* Nothing waits for e any more. Bytes that are being written are still delivered. */
void poller_forget(struct entry *e);
/* Without the lock: the poller p was closed. Waits until the kernel is done with its members. */
void poller_shut(struct entry *p);
/* Of afd.c, with the lock: ask the driver for e->wanted. False: the socket is broken. */
bool afd_ask(struct entry *e);
void afd_cancel(struct entry *e);
/* The answer of the driver, as events of poller.h. */
uint32_t afd_events(const struct entry *e);
