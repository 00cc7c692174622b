/* event.c - see event.h */
#include "os/event.h"

#include "error.h"
#include "os/fd.h"
#include "table.h"

int event_open(void)
{
	HANDLE h = CreateEventW(NULL, TRUE, FALSE, NULL);
	int fd;

	if (!h)
		return error_of(GetLastError());
	fd = table_assign(h, TABLE_EVENT);
	if (fd < 0)
		CloseHandle(h);
	return fd;
}

/* The poller reads `set`; the event of Windows is for a host that waits by itself. */
static int event_change(int fd, bool to)
{
	struct entry *e;
	int r = -EBADF;

	table_lock();
	e = table_find(fd);
	if (e && e->kind == TABLE_EVENT) {
		r = to || e->set ? 0 : -EAGAIN;
		e->set = to;
		if (to)
			SetEvent(e->handle);
		else
			ResetEvent(e->handle);
		if (to)
			poller_make_due(e);
	}
	table_unlock();
	return r;
}

void *event_handle(int fd)
{
	return table_handle_of(fd, TABLE_EVENT);
}

int event_set(int fd)
{
	return event_change(fd, true);
}

int event_clear(int fd)
{
	return event_change(fd, false);
}
