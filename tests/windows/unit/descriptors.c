/* descriptors.c - the table of descriptors and the poller of Windows (src/os/windows). */
#include "os/windows/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/event.h"
#include "os/fd.h"
#include "os/own.h"
#include "os/poller.h"
#include "os/thread.h"
#include "t.h"

#define DEADLINE_MS 5000

/* Both ends of a pipe, as descriptors. */
static void make_pipe(int *out_in, int *out_out)
{
	int pair[2];

	EQ(pipe(pair), 0);
	*out_in = pair[0];
	*out_out = pair[1];
}

/* The events of the only descriptor that is ready; 0: none is. */
static uint32_t wait_for(int poller, int timeout_ms)
{
	struct poller_event ev[4];
	int n = poller_wait(poller, ev, 4, timeout_ms);

	OK(n >= 0 && n <= 1);
	return n ? poller_event_events(&ev[0]) : 0;
}

TEST(a_number_that_is_used_again_has_another_identity)
{
	int fd = event_open(), again;
	struct own id = own_of(fd);

	OK(fd >= FD_FIRST && own_is(&id, fd));
	fd_close(fd);
	OK(!own_is(&id, fd));
	again = event_open();
	EQ(again, fd);
	OK(!own_is(&id, again));
	fd_close(again);
	fd_close(again); /* closes nothing */
}

TEST(there_may_be_ten_thousand_descriptors, .timeout_ms = 60000)
{
	const int many = 10000;
	int *fds = calloc((size_t)many, sizeof(*fds));

	for (int i = 0; i < many; i++) {
		fds[i] = event_open();
		EQ(fds[i], FD_FIRST + i);
	}
	for (int i = 0; i < many; i++)
		fd_close(fds[i]);
	free(fds);
}

TEST(an_event_is_ready_until_it_is_cleared)
{
	int poller = poller_open(), fd = event_open();
	struct poller_event ev;

	EQ(poller_add(poller, fd, POLLER_IN, 42), 0);
	EQ(poller_add(poller, fd, POLLER_IN, 42), -EEXIST);
	EQ(wait_for(poller, 0), 0);
	EQ(event_set(fd), 0);
	for (int i = 0; i < 3; i++) {
		EQ(poller_wait(poller, &ev, 1, 0), 1);
		EQ(poller_event_data(&ev), 42);
	}
	EQ(event_clear(fd), 0);
	EQ(event_clear(fd), -EAGAIN);
	EQ(wait_for(poller, 0), 0);
	EQ(poller_remove(poller, fd), 0);
	EQ(poller_remove(poller, fd), -ENOENT);
	event_set(fd);
	EQ(wait_for(poller, 0), 0);
	fd_close(fd);
	fd_close(poller);
}

static void *set_event(void *arg)
{
	Sleep(20); /* a wait has begun by then, or has not: both must work */
	event_set(*(int *)arg);
	return NULL;
}

TEST(an_event_of_another_thread_ends_a_wait)
{
	int poller = poller_open(), fd = event_open();
	struct thread t;

	EQ(poller_add(poller, fd, POLLER_IN, 0), 0);
	EQ(thread_start(&t, THREAD_SMALL, "test", set_event, &fd), 0);
	EQ(wait_for(poller, -1), POLLER_IN);
	thread_join(&t);
	fd_close(poller); /* before its member */
	fd_close(fd);
}

TEST(a_pipe_is_readable_while_it_has_bytes)
{
	int poller = poller_open(), in, out;
	char bytes[8];

	make_pipe(&in, &out);
	EQ(poller_add(poller, in, POLLER_IN, 0), 0);
	EQ(wait_for(poller, 0), 0);
	EQ(fd_read(in, bytes, sizeof(bytes)), -EAGAIN);
	EQ(fd_write(out, "abc", 3), 3);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_IN);
	EQ(fd_read(in, bytes, 2), 2);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_IN);
	EQ(fd_read(in, bytes + 2, 2), 1);
	OK(memcmp(bytes, "abc", 3) == 0);
	EQ(wait_for(poller, 0), 0);
	EQ(poller_change(poller, in, POLLER_ERR, 0), 0);
	EQ(fd_write(out, "d", 1), 1);
	EQ(wait_for(poller, 20), 0); /* not asked for */
	EQ(poller_change(poller, in, POLLER_IN, 0), 0);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_IN);
	fd_close(out);
	EQ(fd_read(in, bytes, sizeof(bytes)), 1);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_IN | POLLER_HUP);
	EQ(fd_read(in, bytes, sizeof(bytes)), 0);
	fd_close(in);
	fd_close(poller);
}

/* A write is taken whole and written while the reader reads; the next one waits for that. */
TEST(a_full_pipe_becomes_writable)
{
	int poller = poller_open(), in, out;
	static char bytes[TABLE_ROOM];
	size_t sent = 0, got = 0;
	ssize_t n;

	make_pipe(&in, &out);
	EQ(poller_add(poller, out, POLLER_OUT, 0), 0);
	for (int i = 0; i < 4; i++) {
		if (wait_for(poller, 20) != POLLER_OUT)
			break;
		n = fd_write(out, bytes, sizeof(bytes));
		sent += n > 0 ? (size_t)n : 0;
	}
	EQ(fd_write(out, bytes, 1), -EAGAIN);
	OK(sent >= sizeof(bytes) && sent < 4 * sizeof(bytes));
	while ((n = fd_read(in, bytes, sizeof(bytes))) > 0 || (got < sent && n == -EAGAIN)) {
		got += n > 0 ? (size_t)n : 0;
		wait_for(poller, 0);
	}
	EQ(got, sent);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_OUT);
	fd_close(in);
	fd_close(out);
	fd_close(poller);
}

TEST(bytes_that_were_taken_are_delivered_after_the_close)
{
	int poller = poller_open(), in, out;
	static char bytes[TABLE_ROOM];
	size_t sent = 0, got = 0;
	ssize_t n;

	make_pipe(&in, &out);
	EQ(poller_add(poller, out, POLLER_OUT, 0), 0);
	while (wait_for(poller, 20) == POLLER_OUT && (n = fd_write(out, bytes, sizeof(bytes))) > 0)
		sent += (size_t)n;
	fd_close(out);
	while ((n = fd_read(in, bytes, sizeof(bytes))) != 0) {
		got += n > 0 ? (size_t)n : 0;
		wait_for(poller, 1);
	}
	EQ(got, sent);
	fd_close(in);
	fd_close(poller);
}

TEST(a_poller_may_be_closed_before_its_pipes)
{
	for (int i = 0; i < 50; i++) {
		int poller = poller_open(), in, out;
		static char bytes[TABLE_ROOM];

		make_pipe(&in, &out);
		EQ(poller_add(poller, in, POLLER_IN, 0), 0);
		EQ(poller_add(poller, out, POLLER_OUT, 0), 0);
		EQ(wait_for(poller, DEADLINE_MS), POLLER_OUT); /* a read of `in` is under way */
		EQ(fd_write(out, bytes, sizeof(bytes)), sizeof(bytes));
		fd_close(poller);
		fd_close(in);
		fd_close(out);
	}
}

TEST(closed_pipes_leave_nothing)
{
	int poller = poller_open();

	for (int i = 0; i < 200; i++) {
		int in, out;

		make_pipe(&in, &out);
		EQ(poller_add(poller, in, POLLER_IN, 0), 0);
		EQ(wait_for(poller, 0), 0);
		fd_close(in);
		fd_close(out);
	}
	fd_close(poller);
}

TEST(a_process_is_readable_when_it_has_ended)
{
	STARTUPINFOA with = { .cb = sizeof(with) };
	int poller = poller_open(), fd;
	char line[] = "cmd.exe /c exit 3";
	PROCESS_INFORMATION p;
	DWORD code = 0;

	OK(CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &with, &p));
	CloseHandle(p.hThread);
	fd = table_assign(p.hProcess, TABLE_PROCESS);
	EQ(poller_add(poller, fd, POLLER_IN, 0), 0);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_IN);
	OK(GetExitCodeProcess(table_handle(fd), &code) && code == 3);
	fd_close(fd);
	fd_close(poller);
}

/* --- sockets --- */

static int make_socket(SOCKET s)
{
	u_long on = 1;

	OK(s != INVALID_SOCKET && ioctlsocket(s, FIONBIO, &on) == 0);
	return table_assign((HANDLE)s, TABLE_SOCKET);
}

static SOCKET socket_of(int fd)
{
	return (SOCKET)table_handle_of(fd, TABLE_SOCKET);
}

static int make_listener(struct sockaddr_in *at)
{
	int len = sizeof(*at), fd = make_socket(socket(AF_INET, SOCK_STREAM, 0));

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	EQ(bind(socket_of(fd), (struct sockaddr *)at, len), 0);
	EQ(listen(socket_of(fd), 8), 0);
	EQ(getsockname(socket_of(fd), (struct sockaddr *)at, &len), 0);
	return fd;
}

TEST(sockets_are_polled)
{
	int poller = poller_open(), listener, ours, theirs;
	struct sockaddr_in at;
	char bytes[8];
	WSADATA d;

	EQ(WSAStartup(0x202, &d), 0);
	listener = make_listener(&at);
	EQ(poller_add(poller, listener, POLLER_IN, 0), 0);
	EQ(wait_for(poller, 0), 0);
	ours = make_socket(socket(AF_INET, SOCK_STREAM, 0));
	connect(socket_of(ours), (struct sockaddr *)&at, sizeof(at));
	EQ(wait_for(poller, DEADLINE_MS), POLLER_IN);
	theirs = make_socket(accept(socket_of(listener), NULL, NULL));
	fd_close(listener);
	EQ(poller_add(poller, ours, POLLER_OUT, 0), 0);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_OUT);
	EQ(poller_change(poller, ours, POLLER_IN, 0), 0);
	EQ(wait_for(poller, 20), 0);
	EQ(fd_write(theirs, "abc", 3), 3);
	EQ(wait_for(poller, DEADLINE_MS), POLLER_IN);
	EQ(fd_read(ours, bytes, sizeof(bytes)), 3);
	EQ(fd_read(ours, bytes, sizeof(bytes)), -EAGAIN);
	EQ(wait_for(poller, 20), 0);
	fd_close(theirs);
	OK(wait_for(poller, DEADLINE_MS) & POLLER_IN);
	EQ(fd_read(ours, bytes, sizeof(bytes)), 0);
	fd_close(ours);
	fd_close(poller);
	WSACleanup();
}

TEST(a_refused_connection_is_reported)
{
	int poller = poller_open(), listener, ours, error = 0, len = sizeof(error);
	struct sockaddr_in at;
	WSADATA d;

	EQ(WSAStartup(0x202, &d), 0);
	listener = make_listener(&at);
	fd_close(listener); /* nothing listens there any more */
	ours = make_socket(socket(AF_INET, SOCK_STREAM, 0));
	connect(socket_of(ours), (struct sockaddr *)&at, sizeof(at));
	EQ(poller_add(poller, ours, POLLER_OUT, 0), 0);
	OK(wait_for(poller, DEADLINE_MS) & POLLER_ERR);
	EQ(getsockopt(socket_of(ours), SOL_SOCKET, SO_ERROR, (char *)&error, &len), 0);
	EQ(error, WSAECONNREFUSED);
	fd_close(ours);
	fd_close(poller);
	WSACleanup();
}
