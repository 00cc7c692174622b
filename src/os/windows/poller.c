/* poller.c - see poller.h
 *
 * A completion port tells what has happened, once; a poller tells what is the case, as often as it
 * is asked. So each wait asks the entries that are due (`due`): those that were reported by the
 * last wait, those that were read, written or changed since, and those whose operation has
 * completed. An entry that is not ready gets an operation that will complete when it is: a pipe a
 * read of zero bytes, a socket the driver's poll. An event or the end of a process makes its entry
 * due without an operation.
 */
#include "os/poller.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "error.h"
#include "os/time.h"
#include "table.h"

#define BATCH 64

/* --- lists of entries --- */

static void ring_append(struct entry_link *ring, struct entry_link *l)
{
	assert(!l->next);
	*l = (struct entry_link){ ring, ring->prev };
	ring->prev->next = l;
	ring->prev = l;
}

static void ring_take(struct entry_link *l)
{
	if (!l->next)
		return;
	l->prev->next = l->next;
	l->next->prev = l->prev;
	*l = (struct entry_link){ NULL, NULL };
}

static struct entry *entry_of_due(struct entry_link *l)
{
	return (struct entry *)(void *)((char *)l - offsetof(struct entry, in_due));
}

static struct entry *entry_of_member(struct entry_link *l)
{
	return (struct entry *)(void *)((char *)l - offsetof(struct entry, in_poller));
}

/* --- what is due --- */

void poller_make_due(struct entry *e)
{
	struct entry *p = e->poller;

	if (!e->registered || e->in_due.next)
		return;
	ring_append(&p->due, &e->in_due);
	if (p->waiting && !p->woken)
		p->woken = PostQueuedCompletionStatus(p->handle, 0, 0, NULL);
}

void poller_begin(struct entry_op *op)
{
	assert(!op->flying && op->entry->poller);
	op->flying = true;
	op->entry->poller->flying++;
	table_keep(op->entry);
}

static void poller_cancel_look(struct entry *e)
{
	if (e->kind == TABLE_SOCKET)
		afd_cancel(e);
	else if (e->look.flying)
		CancelIoEx(e->handle, &e->look.o);
}

void poller_forget(struct entry *e)
{
	e->registered = false;
	e->wanted = 0;
	ring_take(&e->in_due);
	poller_cancel_look(e);
}

static void CALLBACK poller_on_process(void *arg, BOOLEAN timed_out)
{
	(void)timed_out;
	table_lock();
	poller_make_due(arg);
	table_unlock();
}

/* --- members --- */

static bool poller_is_pipe(const struct entry *e)
{
	return e->kind == TABLE_PIPE_IN || e->kind == TABLE_PIPE_OUT || e->kind == TABLE_CHANNEL;
}

static void poller_part(struct entry *e)
{
	struct entry *p = e->poller;

	ring_take(&e->in_poller);
	e->poller = NULL;
	table_drop(p);
}

/* Windows binds a pipe to one port for ever. */
static int poller_bind(struct entry *p, struct entry *e)
{
	if (e->poller == p)
		return 0;
	if (e->poller && (poller_is_pipe(e) || e->look.flying))
		return -EBUSY;
	if (poller_is_pipe(e) && !CreateIoCompletionPort(e->handle, p->handle, 0, 0))
		return error_of(GetLastError());
	if (e->poller)
		poller_part(e);
	e->poller = p;
	ring_append(&p->members, &e->in_poller);
	table_keep(p);
	return 0;
}

static int poller_find(int poller, int fd, struct entry **out_p, struct entry **out_e)
{
	*out_p = table_find(poller);
	*out_e = table_find(fd);
	if (!*out_p || !*out_e || (*out_p)->kind != TABLE_POLLER)
		return fd >= 0 && !*out_e && *out_p ? -EPERM : -EBADF;
	return (*out_e)->kind == TABLE_HANDLE || (*out_e)->kind == TABLE_POLLER ? -EPERM : 0;
}

/* With the lock. A socket whose driver was asked for less is asked again. */
static void poller_want(struct entry *e, uint32_t events, uint64_t data)
{
	e->wanted = events;
	e->data = data;
	if (e->kind == TABLE_SOCKET && (events & ~e->asked))
		afd_cancel(e);
	poller_make_due(e);
}

int poller_add(int poller, int fd, uint32_t events, uint64_t data)
{
	struct entry *p, *e;
	int r;

	table_lock();
	r = poller_find(poller, fd, &p, &e);
	if (r == 0 && e->registered)
		r = -EEXIST;
	if (r == 0)
		r = poller_bind(p, e);
	if (r == 0 && e->kind == TABLE_PROCESS && !e->wait &&
	    !RegisterWaitForSingleObject(&e->wait, e->handle, poller_on_process, e, INFINITE,
					 WT_EXECUTEONLYONCE))
		r = error_of(GetLastError());
	if (r == 0) {
		e->registered = true;
		poller_want(e, events, data);
	}
	table_unlock();
	return r;
}

int poller_change(int poller, int fd, uint32_t events, uint64_t data)
{
	struct entry *p, *e;
	int r;

	table_lock();
	r = poller_find(poller, fd, &p, &e);
	if (r == 0 && (!e->registered || e->poller != p))
		r = -ENOENT;
	if (r == 0)
		poller_want(e, events, data);
	table_unlock();
	return r;
}

int poller_remove(int poller, int fd)
{
	struct entry *p, *e;
	int r;

	table_lock();
	r = poller_find(poller, fd, &p, &e);
	if (r == 0 && (!e->registered || e->poller != p))
		r = -ENOENT;
	if (r == 0)
		poller_forget(e);
	table_unlock();
	return r;
}

/* --- asking; all with the lock --- */

static uint32_t poller_ask_socket(struct entry *e)
{
	uint32_t ready = e->ready & (e->wanted | POLLER_ERR | POLLER_HUP);

	e->ready = 0;
	if (ready || e->look.flying)
		return ready;
	return afd_ask(e) ? 0 : POLLER_ERR | POLLER_HUP;
}

static uint32_t poller_hang_up(struct entry *e)
{
	e->hung_up = true;
	if (e->kind == TABLE_PIPE_OUT)
		return POLLER_ERR;
	return POLLER_HUP | (e->wanted & (POLLER_IN | POLLER_RDHUP));
}

/* A read of zero bytes completes when there are bytes to read, or nobody to write them. */
static bool poller_look(struct entry *e)
{
	e->look.o = (OVERLAPPED){ .hEvent = NULL };
	if (!ReadFile(e->handle, &e->look, 0, NULL, &e->look.o) &&
	    GetLastError() != ERROR_IO_PENDING && GetLastError() != ERROR_MORE_DATA)
		return false;
	poller_begin(&e->look);
	return true;
}

static uint32_t poller_ask_pipe(struct entry *e)
{
	uint32_t ready = e->write.flying ? 0 : e->wanted & POLLER_OUT;
	DWORD there = 0;

	if (e->look.flying)
		return ready;
	if (e->hung_up || !PeekNamedPipe(e->handle, NULL, 0, NULL, &there, NULL))
		return ready | poller_hang_up(e);
	if (there) /* if they are not asked for, a read of zero bytes would complete at once */
		return ready | (e->wanted & POLLER_IN);
	return poller_look(e) ? ready : ready | poller_hang_up(e);
}

static uint32_t poller_ask(struct entry *e)
{
	switch (e->kind) {
	case TABLE_PIPE_IN:
	case TABLE_PIPE_OUT:
	case TABLE_CHANNEL:
		return poller_ask_pipe(e);
	case TABLE_SOCKET:
		return poller_ask_socket(e);
	case TABLE_EVENT:
		return e->set ? e->wanted & POLLER_IN : 0;
	case TABLE_PROCESS:
		return WaitForSingleObject(e->handle, 0) == WAIT_OBJECT_0 ? e->wanted & POLLER_IN
									  : 0;
	case TABLE_HANDLE:
	case TABLE_POLLER:
		break;
	}
	return 0;
}

/* An entry that is ready stays due, behind the others. */
static int poller_collect(struct entry *p, struct poller_event *out, int max)
{
	struct entry_link ready = { &ready, &ready };
	int n = 0;

	while (n < max && p->due.next != &p->due) {
		struct entry *e = entry_of_due(p->due.next);
		uint32_t events;

		ring_take(&e->in_due);
		events = poller_ask(e);
		if (!events)
			continue;
		out[n++] = (struct poller_event){ events, e->data };
		ring_append(&ready, &e->in_due);
	}
	while (ready.next != &ready) {
		struct entry_link *l = ready.next;

		ring_take(l);
		ring_append(&p->due, l);
	}
	return n;
}

/* --- waiting --- */

static bool poller_is_broken(ULONG_PTR status)
{
	const DWORD broken = 0xC000014B, disconnected = 0xC00000B0, closing = 0xC00000B1;

	return (DWORD)status == broken || (DWORD)status == disconnected || (DWORD)status == closing;
}

/* With the lock: a completion was taken out of the port. */
static void poller_land(struct entry *p, struct entry_op *op)
{
	struct entry *e;

	if (!op) {
		p->woken = false;
		return;
	}
	e = op->entry;
	assert(op->flying && p->flying > 0);
	op->flying = false;
	p->flying--;
	if (e->kind == TABLE_SOCKET)
		e->ready = afd_events(e);
	else if (poller_is_broken(op->o.Internal))
		e->hung_up = true;
	poller_make_due(e);
	table_drop(e);
}

/* Without the lock: take completions out of the port, and wait for the first one. */
static void poller_take(struct entry *p, DWORD timeout_ms)
{
	OVERLAPPED_ENTRY got[BATCH];
	ULONG count = 0;
	BOOL any = GetQueuedCompletionStatusEx(p->handle, got, BATCH, &count, timeout_ms, FALSE);

	table_lock();
	p->waiting = false;
	for (ULONG i = 0; any && i < count; i++)
		poller_land(p, (struct entry_op *)(void *)got[i].lpOverlapped);
	table_unlock();
}

static DWORD poller_time_left(int64_t until_us)
{
	int64_t left = until_us - time_now_us();

	return left > 0 ? (DWORD)((left + 999) / 1000) : 0;
}

static int poller_look_at_due(struct entry *p, struct poller_event *out, int max, bool waits)
{
	int n;

	table_lock();
	n = poller_collect(p, out, max);
	p->waiting = waits && n == 0;
	table_unlock();
	return n;
}

int poller_wait(int poller, struct poller_event *out, int max, int timeout_ms)
{
	int64_t until_us = timeout_ms > 0 ? time_now_us() + (int64_t)timeout_ms * 1000 : 0;
	struct entry *p = table_get(poller);
	int n;

	if (!p)
		return -EBADF;
	do { /* completions are taken also while something else is ready all the time */
		n = poller_look_at_due(p, out, max, true);
		poller_take(p, n ? 0 : timeout_ms < 0 ? INFINITE : poller_time_left(until_us));
		if (!n)
			n = poller_look_at_due(p, out, max, false);
	} while (!n && (timeout_ms < 0 || poller_time_left(until_us)));
	table_put(p);
	return n;
}

/* --- life --- */

int poller_open(void)
{
	HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
	int fd;

	if (!port)
		return error_of(GetLastError());
	fd = table_assign(port, TABLE_POLLER);
	if (fd < 0)
		CloseHandle(port);
	return fd;
}

static void poller_cancel_all(struct entry *p)
{
	for (struct entry_link *l = p->members.next; l != &p->members; l = l->next) {
		struct entry *e = entry_of_member(l);

		poller_forget(e);
		if (e->write.flying)
			CancelIoEx(e->handle, &e->write.o);
	}
}

void poller_shut(struct entry *p)
{
	bool flying;

	table_lock();
	poller_cancel_all(p);
	flying = p->flying > 0;
	table_unlock();
	while (flying) {
		poller_take(p, INFINITE);
		table_lock();
		flying = p->flying > 0;
		table_unlock();
	}
	table_lock();
	while (p->members.next != &p->members)
		poller_part(entry_of_member(p->members.next));
	if (p->afd)
		CloseHandle(p->afd);
	p->afd = NULL;
	table_unlock();
}
