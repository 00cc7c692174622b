/* afd.c - see table.h: the readiness of sockets, asked of the driver that select() is made of.
 *
 * The driver's poll is the only one whose answer goes to a completion port. It is not documented,
 * but Windows has had it since NT 4, and other event loops depend on it.
 */
#include <winsock2.h>

#include "table.h"

#include <winternl.h>

#include <stdint.h>

#include "os/poller.h"

enum {
	AFD_RECEIVE = 0x1,
	AFD_SEND = 0x4,
	AFD_DISCONNECT = 0x8,
	AFD_ABORT = 0x10,
	AFD_LOCAL_CLOSE = 0x20,
	AFD_ACCEPT = 0x80,
	AFD_CONNECT_FAIL = 0x100,
};
#define AFD_POLL_CODE   0x00012024
#define AFD_OPEN        1          /* FILE_OPEN: the device must exist */
#define AFD_BASE_SOCKET 0x48000022 /* SIO_BASE_HANDLE: the socket below layered providers */

/* With the lock: the driver, for the port of this poller. */
static HANDLE afd_open(struct entry *poller)
{
	static const WCHAR name[] = L"\\Device\\Afd\\killick";
	UNICODE_STRING path = { sizeof(name) - sizeof(*name), sizeof(name), (WCHAR *)name };
	OBJECT_ATTRIBUTES what = { .Length = sizeof(what), .ObjectName = &path };
	IO_STATUS_BLOCK done;
	HANDLE h;

	if (poller->afd)
		return poller->afd;
	if (NtCreateFile(&h, SYNCHRONIZE, &what, &done, NULL, 0, FILE_SHARE_READ | FILE_SHARE_WRITE,
			 AFD_OPEN, 0, NULL, 0) != 0)
		return NULL;
	if (!CreateIoCompletionPort(h, poller->handle, 0, 0)) {
		CloseHandle(h);
		return NULL;
	}
	poller->afd = h;
	return h;
}

static HANDLE afd_base(SOCKET s)
{
	SOCKET base;
	DWORD n;

	if (WSAIoctl(s, AFD_BASE_SOCKET, NULL, 0, &base, sizeof(base), &n, NULL, NULL) != 0)
		base = s;
	return (HANDLE)base;
}

bool afd_ask(struct entry *e)
{
	HANDLE afd = afd_open(e->poller);
	NTSTATUS status;

	if (!afd)
		return false;
	e->poll.timeout.QuadPart = INT64_MAX;
	e->poll.count = 1;
	e->poll.exclusive = FALSE;
	e->poll.status = 0;
	if (!e->poll.socket)
		e->poll.socket = afd_base((SOCKET)e->handle);
	e->poll.events = AFD_ABORT | AFD_LOCAL_CLOSE | AFD_CONNECT_FAIL;
	if (e->wanted & (POLLER_IN | POLLER_RDHUP))
		e->poll.events |= AFD_DISCONNECT;
	if (e->wanted & POLLER_IN)
		e->poll.events |= AFD_RECEIVE | AFD_ACCEPT;
	if (e->wanted & POLLER_OUT)
		e->poll.events |= AFD_SEND;
	e->asked = e->wanted;
	e->look.o = (OVERLAPPED){ .Internal = (ULONG_PTR)STATUS_PENDING };
	status = NtDeviceIoControlFile(afd, NULL, NULL, &e->look.o,
				       (IO_STATUS_BLOCK *)(void *)&e->look.o, AFD_POLL_CODE,
				       &e->poll, sizeof(e->poll), &e->poll, sizeof(e->poll));
	if (status != 0 && status != STATUS_PENDING)
		return false;
	poller_begin(&e->look);
	return true;
}

void afd_cancel(struct entry *e)
{
	if (e->look.flying)
		CancelIoEx(e->poller->afd, &e->look.o);
}

uint32_t afd_events(const struct entry *e)
{
	ULONG told = e->look.o.Internal == 0 && e->poll.count ? e->poll.events : 0;
	uint32_t events = 0;

	if (told & (AFD_RECEIVE | AFD_ACCEPT))
		events |= POLLER_IN;
	if (told & AFD_DISCONNECT)
		events |= POLLER_IN | POLLER_RDHUP;
	if (told & AFD_SEND)
		events |= POLLER_OUT;
	if (told & (AFD_ABORT | AFD_CONNECT_FAIL | AFD_LOCAL_CLOSE))
		events |= POLLER_IN | POLLER_OUT | POLLER_ERR | POLLER_HUP;
	return events;
}
