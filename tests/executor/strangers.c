/* strangers.c - who may connect to a unix socket: the executor's own user and root; anybody else
 * must show the token, whoever made the socket and whatever its mode is.
 */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"
#include "t.h"

#define ROOT   0
#define DAEMON 1 /* users that own nothing of ours */
#define NOBODY 65534
#define TOKEN  "correct horse battery staple"

static const char hello[] =
	"{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"stranger\"}}\n";

/* A listening socket that every user can connect to. */
static int make_socket(bool abstract)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(at);

	if (abstract) {
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				  (size_t)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1,
						   "killick-%s", t_audit.tag));
		EQ(bind(fd, (struct sockaddr *)&at, len), 0);
	} else {
		snprintf(at.sun_path, sizeof(at.sun_path), "%s/given", t_audit.dir);
		EQ(bind(fd, (struct sockaddr *)&at, len), 0);
		EQ(chmod(at.sun_path, 0666), 0);
		EQ(chmod(t_audit.dir, 0755), 0);
	}
	EQ(listen(fd, 64), 0);
	return fd;
}

static void drop_socket(const struct host *h)
{
	unlink(h->url + 5);
}

/* Say it as this user; what is answered until the executor hangs up, or until there is a line. */
static void answer_to(const struct host *h, uid_t uid, const char *text, char *out, size_t size)
{
	struct guest g;
	size_t len = 0;
	ssize_t n = 1;

	guest_connect_as(&g, h, uid);
	(void)!send(g.out, text, strlen(text), MSG_NOSIGNAL); /* it may have hung up already */
	while (n > 0 && len + 1 < size) {
		OK(t_wait_fd(g.in, POLLIN | POLLHUP, GUEST_MS));
		n = read(g.in, out + len, size - len - 1);
		len += n > 0 ? (size_t)n : 0;
		out[len] = '\0';
		if (strchr(out, '\n'))
			break;
	}
	out[len] = '\0';
	guest_close(&g);
}

static int status_for(const struct host *h, uid_t uid, const char *header)
{
	char request[600], out[1000];
	int status = 0;

	snprintf(request, sizeof(request), "%s%s\r\n", guest_upgrade, header);
	answer_to(h, uid, request, out, sizeof(out));
	sscanf(out, "HTTP/1.1 %d ", &status);
	return status;
}

static void is_refused(const struct host *h, uid_t uid)
{
	char out[1000];

	answer_to(h, uid, hello, out, sizeof(out));
	if (out[0])
		FAIL("uid %u was answered: %s", (unsigned)uid, out);
	EQ(status_for(h, uid, ""), 403);
}

static void is_served(const struct host *h, uid_t uid)
{
	char out[4000];

	answer_to(h, uid, hello, out, sizeof(out));
	if (!strstr(out, "\"sessionId\""))
		FAIL("uid %u was refused: %s", (unsigned)uid, out);
	EQ(status_for(h, uid, ""), 101);
}

static void needs_root(void)
{
	if (geteuid() != 0)
		SKIP("only root can be another user");
}

static void given_socket(bool abstract)
{
	struct host h;

	needs_root();
	host_start_given(&h, make_socket(abstract), NULL, "--quiet");
	is_served(&h, ROOT);
	is_refused(&h, NOBODY);
	is_refused(&h, DAEMON);
	is_served(&h, ROOT);
	host_stop(&h);
	if (!abstract)
		drop_socket(&h);
}

TEST(a_given_socket_of_mode_0666_is_not_for_other_users)
{
	given_socket(false);
}

TEST(a_given_abstract_socket_is_not_for_other_users)
{
	given_socket(true);
}

static void executor_of_nobody(bool abstract)
{
	struct host h;
	bool reachable;

	needs_root();
	EQ(seteuid(NOBODY), 0);
	reachable =
		faccessat(AT_FDCWD, t_program("KILLICK", "build/killick"), X_OK, AT_EACCESS) == 0;
	EQ(seteuid(ROOT), 0);
	if (!reachable)
		SKIP("nobody cannot reach the program");
	host_start_given(&h, make_socket(abstract),
			 "setpriv --reuid 65534 --regid 65534 --clear-groups", "--quiet");
	is_served(&h, NOBODY);
	is_served(&h, ROOT);
	is_refused(&h, DAEMON);
	host_stop(&h);
	if (!abstract)
		drop_socket(&h);
}

TEST(an_executor_of_nobody_serves_nobody_and_root)
{
	executor_of_nobody(false);
}

TEST(an_executor_of_nobody_on_an_abstract_socket)
{
	executor_of_nobody(true);
}

/* Its mode is 0600 until somebody changes that. */
TEST(a_socket_made_world_writable_by_root_refuses_other_users)
{
	struct host h;

	needs_root();
	HOST(&h, NULL, "--quiet");
	EQ(chmod(t_audit.dir, 0755), 0);
	EQ(chmod(h.url + 5, 0666), 0);
	is_refused(&h, NOBODY);
	is_served(&h, ROOT);
	host_stop(&h);
}

/* With a token it is the token that counts, for every user alike. */
TEST(a_token_lets_other_users_in)
{
	char file[200], words[300];
	struct host h;
	FILE *f;

	needs_root();
	snprintf(file, sizeof(file), "%s/token", t_audit.dir);
	f = fopen(file, "we");
	fputs(TOKEN "\n", f);
	fclose(f);
	snprintf(words, sizeof(words), "--quiet --token-file %s", file);
	host_start_given(&h, make_socket(false), NULL, words);
	EQ(status_for(&h, NOBODY, ""), 401);
	EQ(status_for(&h, NOBODY, "Authorization: Bearer wrong\r\n"), 401);
	EQ(status_for(&h, NOBODY, "Authorization: Bearer " TOKEN "\r\n"), 101);
	EQ(status_for(&h, ROOT, ""), 401);
	EQ(status_for(&h, ROOT, "Authorization: Bearer " TOKEN "\r\n"), 101);
	host_stop(&h);
	drop_socket(&h);
}

/* The refusal names the users that may connect, and what others need. */
TEST(the_refusal_says_what_to_do)
{
	char request[600], out[1000];
	struct host h;

	needs_root();
	host_start_given(&h, make_socket(false), NULL, "--quiet");
	snprintf(request, sizeof(request), "%s\r\n", guest_upgrade);
	answer_to(&h, NOBODY, request, out, sizeof(out));
	OK(strstr(out, "--token-file"));
	host_stop(&h);
	drop_socket(&h);
}

TEST(the_executors_user_needs_no_token)
{
	struct host h;
	struct guest g;

	host_start_given(&h, make_socket(true), NULL, "--quiet");
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "exec cat");
	guest_close(&g);
	host_stop(&h);
}
