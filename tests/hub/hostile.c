/* hostile.c - callers of the hub that misbehave, other users, and hubs on stdio. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_lab.h"
#include "fuse.h"

/* --- callers that misbehave --- */

static int hub_fds(pid_t hub)
{
	char path[64];
	int count = 0;

	for (int fd = 0; fd < 4096; fd++) {
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", hub, fd);
		count += lstat(path, &st) == 0;
	}
	return count;
}

/* Send a line with `count` descriptors: copies of two. */
static void send_fds(int to, const char *text, const int fds[2], size_t count)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(200 * sizeof(int))];
	} u = { .head = { .cmsg_len = CMSG_LEN(count * sizeof(int)),
			  .cmsg_level = SOL_SOCKET,
			  .cmsg_type = SCM_RIGHTS } };
	struct iovec v = { .iov_base = (void *)text, .iov_len = strlen(text) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(&u.head) + i * sizeof(int), &fds[i % 2], sizeof(int));
	EQ(sendmsg(to, &m, MSG_NOSIGNAL), strlen(text));
}

TEST(a_flood_of_descriptors_is_closed)
{
	struct control c;
	pid_t hub = mate_hub_start();
	int before;

	control_open(&c);
	control_do(&c, "hub.status", "");
	before = hub_fds(hub);
	for (int i = 0; i < 300; i++) {
		send_fds(c.fd, "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"hub.status\"}\n",
			 (int[]){ c.fd, c.fd }, 100);
		control_wait(&c, 99);
	}
	EQ(hub_fds(hub), before);
	/* a message that never ends keeps two of them at most */
	for (int i = 0; i < 50; i++)
		send_fds(c.fd, " ", (int[]){ c.fd, c.fd }, 100);
	/* each of them is open for a moment before it is closed */
	for (double end = t_now_ms() + MATE_MS; hub_fds(hub) > before + 2;)
		OK(t_now_ms() < end);
	send_fds(c.fd, "{\"jsonrpc\":\"2.0\",\"id\":100,\"method\":\"session.attach\"}\n",
		 (int[]){ c.fd, c.fd }, 3);
	EQ(error_code(control_wait(&c, 100)), -32602);
	EQ(hub_fds(hub), before);
	control_close(&c);
	mate_hub_stop();
}

/* A connection has one attached session. The first one waits for a program that hangs; a session of
 * another kind, made meanwhile, must not let a second one in. */
TEST(a_connection_cannot_attach_twice_while_a_config_is_read, .timeout_ms = 40000)
{
	int in[2], out[2];
	char line[400];
	struct control c;
	struct fuse f;
	pid_t hub;

	fuse_mount(&f, true);
	hub = mate_hub_start();
	OK(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	control_open(&c);
	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"id\":901,\"method\":\"session.attach\",\"params\":{"
		 "\"mcpServers\":{\"a\":{\"command\":\"%s/server\"}}}}\n",
		 f.dir);
	send_fds(c.fd, line, (int[]){ in[0], out[1] }, 2);
	fuse_await(&f);
	control_do(&c, "session.create", "\"mcpServers\":{}");
	EQ(error_code(control_ask(&c, "session.create", "\"config\":\"/nowhere\"")) != 0, true);
	send_fds(c.fd,
		 "{\"jsonrpc\":\"2.0\",\"id\":902,\"method\":\"session.attach\",\"params\":{"
		 "\"mcpServers\":{}}}\n",
		 (int[]){ in[0], out[1] }, 2);
	HAS(control_wait(&c, 902), "this connection has attached a session already");
	control_close(&c);
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
	kill(hub, SIGTERM);
	fuse_end(&f); /* a process ends when its last thread does */
	EQ(t_wait_child(hub, MATE_MS), 0);
	mate_reap();
}

TEST(many_connections_come_and_go, .timeout_ms = 30000)
{
	struct control c[200];
	pid_t hub = mate_hub_start();
	int before;

	control_open(&c[0]);
	control_do(&c[0], "hub.status", "");
	before = hub_fds(hub);
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i < 200; i++)
			control_open(&c[i]);
		for (int i = 1; i < 200; i++)
			control_do(&c[i], "hub.status", "");
		for (int i = 1; i < 200; i++)
			control_close(&c[i]);
	}
	for (double end = t_now_ms() + MATE_MS; hub_fds(hub) != before;) {
		OK(t_now_ms() < end);
		usleep(5000);
	}
	control_close(&c[0]);
	mate_hub_stop();
}

/* --- a private hub --- */

/* Start a hub whose control connection is its stdin and stdout, with one session; its pid. */
static pid_t stdio_hub_start(struct control *c)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "hub", "--listen", "stdio",
			 NULL };
	int pair[2];
	pid_t pid;

	mate_room();
	OK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = t_spawn(argv, (int[]){ pair[1], pair[1], -1 });
	close(pair[1]);
	*c = (struct control){ .fd = pair[0] };
	create(c, "stays", NULL);
	return pid;
}

TEST(a_hub_on_stdio_ends_with_its_caller)
{
	struct control c;
	pid_t pid = stdio_hub_start(&c);

	EQ(mate_servers(), 1);
	HAS(control_do(&c, "hub.status", ""), "\"socket\":null");
	shutdown(c.fd, SHUT_WR);
	EQ(t_wait_child(pid, MATE_MS), 0);
	EQ(mate_servers(), 0);
	control_close(&c);
	mate_reap();
}

TEST(a_killed_hub_on_stdio_leaves_nothing)
{
	struct control c;
	pid_t pid = stdio_hub_start(&c);

	kill(pid, SIGKILL);
	OK(t_wait_child(pid, MATE_MS) >= 0);
	control_close(&c);
	mate_reap();
}

/* --- other users --- */

TEST(other_users_are_refused)
{
	struct control c;
	char got[64];
	pid_t pid;
	char dir[160];

	if (geteuid() != 0)
		SKIP("not root: no other user can be tried");
	mate_hub_start();
	/* the modes are not what keeps others out */
	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	OK(!chmod(t_audit.dir, 0755) && !chmod(dir, 0755) && !chmod(mate_hub_socket(), 0777));
	pid = fork();
	if (pid == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		control_open(&c);
		(void)!send(c.fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub.status\"}\n", 47,
			    MSG_NOSIGNAL);
		t_wait_fd(c.fd, POLLIN | POLLHUP, MATE_MS);
		_exit(read(c.fd, got, sizeof(got)) > 0 ? 3 : 0);
	}
	EQ(t_wait_child(pid, MATE_MS), 0);
	mate_hub_stop();
}

/* The hub of a user cannot open pipes of root again, and must change the mode of these pipes. */
TEST(pipes_of_root_block_again_after_the_session)
{
	const char *program = t_program("KILLICK", "build/killick");
	struct control c;
	int in[2], out[2];
	char dir[160];
	pid_t hub;

	if (geteuid() != 0)
		SKIP("not root");
	mate_room();
	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	OK(!chmod(t_audit.dir, 0755) && !chown(dir, 65534, 65534));
	hub = fork();
	if (hub == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0 || access(program, X_OK) < 0)
			_exit(77);
		dup2(2, 1); /* the hub says its address */
		execl(program, "killick", "hub", NULL);
		_exit(77);
	}
	while (access(mate_hub_socket(), F_OK) < 0) {
		int status = t_wait_child(hub, 5);

		if (status >= 0)
			SKIP("another user cannot run killick here");
	}
	mate_hub_adopt();
	OK(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	control_open(&c);
	send_fds(c.fd,
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.attach\",\"params\":{"
		 "\"mcpServers\":{}}}\n",
		 (int[]){ in[0], out[1] }, 2);
	HAS(control_wait(&c, 1), "\"session\":\"s1\"");
	EQ(fcntl(in[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	close(in[1]);
	HAS(control_note(&c), "session.over");
	EQ(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	EQ(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
	close(in[0]);
	close(out[0]);
	close(out[1]);
	control_close(&c);
	kill(hub, SIGTERM);
	EQ(t_wait_child(hub, MATE_MS), 0);
	mate_reap();
}
