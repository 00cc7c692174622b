/* table.c - see table.h */
#include <winsock2.h>

#include "table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "os/fd.h"
#include "os/own.h"

static SRWLOCK lock = SRWLOCK_INIT;
static struct entry **entries;
static int room;
static int free_hint; /* no free index below it */
static uint64_t generations;
static unsigned alive; /* entries */

void table_lock(void)
{
	AcquireSRWLockExclusive(&lock);
}

void table_unlock(void)
{
	ReleaseSRWLockExclusive(&lock);
}

static struct entry *entry_new(HANDLE h, enum table_kind kind)
{
	bool is_pipe = kind == TABLE_PIPE_IN || kind == TABLE_PIPE_OUT || kind == TABLE_CHANNEL;
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->kind = kind;
	e->handle = h;
	e->refs = 1;
	e->look.entry = e->write.entry = e;
	e->members = (struct entry_link){ &e->members, &e->members };
	e->due = (struct entry_link){ &e->due, &e->due };
	e->read_done = is_pipe ? CreateEventW(NULL, TRUE, FALSE, NULL) : NULL;
	if (is_pipe && !e->read_done) {
		free(e);
		return NULL;
	}
	return e;
}

static void entry_free(struct entry *e)
{
	assert(!e->look.flying && !e->write.flying && !e->registered && !e->in_due.next);
	if (e->in_poller.next) {
		e->in_poller.prev->next = e->in_poller.next;
		e->in_poller.next->prev = e->in_poller.prev;
		table_drop(e->poller);
	}
	if (e->kind == TABLE_SOCKET)
		closesocket((SOCKET)e->handle);
	else if (e->handle)
		CloseHandle(e->handle);
	if (e->read_done)
		CloseHandle(e->read_done);
	free(e->out);
	alive -= e->generation != 0;
	free(e);
}

void table_keep(struct entry *e)
{
	assert(e->refs > 0);
	e->refs++;
}

void table_drop(struct entry *e)
{
	assert(e->refs > 0);
	if (--e->refs == 0)
		entry_free(e);
}

/* With the lock. */
static bool table_grow(void)
{
	int wider = room ? 2 * room : 64;
	struct entry **all = realloc(entries, (size_t)wider * sizeof(struct entry *));

	if (!all)
		return false;
	for (int i = room; i < wider; i++)
		all[i] = NULL;
	entries = all;
	room = wider;
	return true;
}

int table_assign(HANDLE h, enum table_kind kind)
{
	struct entry *e = entry_new(h, kind);
	int i;

	if (!e)
		return -ENOMEM;
	table_lock();
	for (i = free_hint; i < room && entries[i];)
		i++;
	if (i == room && !table_grow()) {
		e->handle = NULL;
		table_drop(e);
		table_unlock();
		return -ENOMEM;
	}
	e->generation = ++generations;
	alive++;
	entries[i] = e;
	free_hint = i + 1;
	table_unlock();
	return FD_FIRST + i;
}

struct entry *table_find(int fd)
{
	return fd >= FD_FIRST && fd - FD_FIRST < room ? entries[fd - FD_FIRST] : NULL;
}

struct entry *table_get(int fd)
{
	struct entry *e;

	table_lock();
	e = table_find(fd);
	if (e)
		table_keep(e);
	table_unlock();
	return e;
}

void table_put(struct entry *e)
{
	table_lock();
	table_drop(e);
	table_unlock();
}

struct entry *table_remove(int fd)
{
	struct entry *e = table_find(fd);

	if (!e)
		return NULL;
	entries[fd - FD_FIRST] = NULL;
	if (fd - FD_FIRST < free_hint)
		free_hint = fd - FD_FIRST;
	return e;
}

unsigned table_count(void)
{
	unsigned n;

	table_lock();
	n = alive;
	table_unlock();
	return n;
}

HANDLE table_handle(int fd)
{
	struct entry *e;
	HANDLE h;

	table_lock();
	e = table_find(fd);
	h = e ? e->handle : NULL;
	table_unlock();
	return h;
}

HANDLE table_handle_of(int fd, enum table_kind kind)
{
	struct entry *e;
	HANDLE h;

	table_lock();
	e = table_find(fd);
	h = e && e->kind == kind ? e->handle : NULL;
	table_unlock();
	return h;
}

void table_used(int fd)
{
	struct entry *e;

	table_lock();
	e = table_find(fd);
	if (e)
		poller_make_due(e);
	table_unlock();
}

void *fd_handle(int fd)
{
	return table_handle(fd);
}

struct own own_of(int fd)
{
	struct own o = { .generation = fd >= 0 && fd < FD_FIRST ? OWN_FILE : 0 };
	struct entry *e;

	table_lock();
	e = table_find(fd);
	if (e)
		o.generation = e->generation;
	table_unlock();
	return o;
}

bool own_is(const struct own *o, int fd)
{
	return o->generation && own_of(fd).generation == o->generation;
}
