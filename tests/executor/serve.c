/* serve.c - `killick exec-server` as a program: where it listens, what it refuses, as a service and
 * as process 1.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "records.h"
#include "t.h"

/* Run it to its end; what it said on stderr. */
static int run(char *said, size_t size, const char *const *words)
{
	const char *argv[32] = { t_program("KILLICK", "build/killick"), "exec-server" };
	int err[2], n = 2, status;
	ssize_t got;
	size_t len = 0;
	pid_t pid;

	while (*words)
		argv[n++] = *words++;
	EQ(pipe2(err, O_CLOEXEC), 0);
	pid = t_spawn((char *const *)argv, (int[]){ -1, err[1], err[1] });
	close(err[1]);
	while ((got = read(err[0], said + len, size - len - 1)) > 0)
		len += (size_t)got;
	said[len] = '\0';
	close(err[0]);
	status = t_wait_child(pid, GUEST_MS);
	OK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void refused(const char *why, const char *const *words)
{
	char said[4000];

	EQ(run(said, sizeof(said), words), 64);
	if (!strstr(said, why))
		FAIL("'%s' is not in: %s", why, said);
}
#define REFUSED(why_, ...) refused(why_, (const char *const[]){ __VA_ARGS__, NULL })

TEST(an_address_that_others_can_reach_needs_token_and_tls)
{
	REFUSED("--insecure", "--listen", "ws://0.0.0.0:0");
	REFUSED("--insecure", "--listen", "ws://[::]:0");
	REFUSED("--insecure", "--listen", "ws://0.0.0.0:0", "--token-sha256",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	REFUSED("--insecure", "--listen", "wss://0.0.0.0:0", "--tls-cert", "a", "--tls-key", "b");
}

TEST(wrong_command_lines_are_refused)
{
	REFUSED("--listen", "--listen", "http://127.0.0.1:1");
	REFUSED("--listen", "--listen", "ws://localhost:1");
	REFUSED("--listen", "--listen", "ws://127.0.0.1");
	REFUSED("--tls-cert", "--listen", "wss://127.0.0.1:0");
	REFUSED("wss://", "--tls-cert", "x", "--tls-key", "y");
	REFUSED("64 hexadecimal", "--token-sha256", "abc");
	REFUSED("/no/such/file", "--token-file", "/no/such/file");
	REFUSED("--lease", "--lease", "soon");
	REFUSED("--max-processes", "--max-processes", "0");
	REFUSED("--max-startups", "--max-startups", "10:30");
	REFUSED("--max-startups", "--max-startups", "10:0:100");
	REFUSED("--max-startups", "--max-startups", "100:30:10");
	REFUSED("--max-startups", "--max-startups", "10:30:100x");
	REFUSED("--max-output", "--max-output", "1000");
	REFUSED("--max-output", "--max-output", "much");
	REFUSED("--contain", "--contain", "bottle");
	REFUSED("--sandbox takes bwrap", "--sandbox", "docker");
	REFUSED("try 'killick exec-server --help'", "--colour");
}

/* What it says on stderr before its address; it is ended then. */
static void says(char *said, size_t size, const char *const *words)
{
	const char *argv[32] = { t_program("KILLICK", "build/killick"), "exec-server" };
	struct host h = { .in = -1, .out = -1 };
	int err[2], out[2], n = 2;
	size_t len = 0;
	ssize_t got;
	char c;

	while (*words)
		argv[n++] = *words++;
	OK(pipe2(err, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	h.pid = t_spawn((char *const *)argv, (int[]){ -1, out[1], err[1] });
	close(out[1]);
	close(err[1]);
	do {
		OK(t_wait_fd(out[0], POLLIN, GUEST_MS));
	} while (read(out[0], &c, 1) == 1 && c != '\n');
	host_stop(&h);
	while ((got = read(err[0], said + len, size - len - 1)) > 0)
		len += (size_t)got;
	said[len] = '\0';
	close(err[0]);
	close(out[0]);
}
#define SAYS(said_, ...)                                                                           \
	says(said_, sizeof(said_), (const char *const[]){ "--quiet", __VA_ARGS__, NULL })

/* Every user of the machine can reach a port on loopback: one line says so, and what to do. */
TEST(an_open_port_on_loopback_is_announced)
{
	static const char hash[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	char said[4000], path[200];

	SAYS(said, NULL);
	OK(strstr(said, "every user of this machine") && strstr(said, "ws://127.0.0.1:"));
	OK(strstr(said, "--token-file") && strstr(said, "--listen unix:"));
	EQ(strchr(said, '\n') - said, (long)strlen(said) - 1); /* one line */
	SAYS(said, "--listen", "ws://[::1]:0");
	OK(strstr(said, "every user of this machine"));
	SAYS(said, "--insecure");
	STREQ(said, "");
	SAYS(said, "--token-sha256", hash);
	STREQ(said, "");
	snprintf(path, sizeof(path), "unix:%s/quiet", t_audit.dir);
	SAYS(said, "--listen", path);
	STREQ(said, "");
}

/* --- HTTP --- */

static int status_of(const struct host *h, const char *path, const char *headers)
{
	char text[2000];
	int fd = guest_port(h), status = 0;
	ssize_t n;

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, headers);
	EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	OK(t_wait_fd(fd, POLLIN, GUEST_MS));
	n = read(fd, text, sizeof(text) - 1);
	OK(n > 0);
	text[n] = '\0';
	EQ(sscanf(text, "HTTP/1.1 %d ", &status), 1);
	close(fd);
	return status;
}

#define UPGRADE                                                                                    \
	"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"               \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

TEST(http_requests_get_the_right_status)
{
	struct host h;

	HOST(&h, "ws://127.0.0.1:0", "--quiet");
	EQ(status_of(&h, "/readyz", ""), 200);
	EQ(status_of(&h, "/", UPGRADE), 101);
	EQ(status_of(&h, "/", ""), 400);
	EQ(status_of(&h, "/elsewhere", UPGRADE), 404);
	EQ(status_of(&h, "/healthz", ""), 404);
	EQ(status_of(&h, "/readyz", "Origin: http://evil.example\r\n"), 403);
	EQ(status_of(&h, "/", UPGRADE "Origin: null\r\n"), 403);
	host_stop(&h);
}

TEST(clients_must_send_the_token)
{
	char file[200];
	struct host h;
	FILE *f;

	snprintf(file, sizeof(file), "%s/token", t_audit.dir);
	f = fopen(file, "we");
	fputs("correct horse battery staple\n", f);
	fclose(f);
	HOST(&h, "ws://127.0.0.1:0", "--quiet", "--token-file", file);
	EQ(status_of(&h, "/readyz", ""), 200);
	EQ(status_of(&h, "/", UPGRADE), 401);
	EQ(status_of(&h, "/", UPGRADE "Authorization: Bearer wrong\r\n"), 401);
	EQ(status_of(&h, "/", UPGRADE "Authorization: Basic correct horse battery staple\r\n"),
	   401);
	EQ(status_of(&h, "/", UPGRADE "Authorization: Bearer correct horse battery staple\r\n"),
	   101);
	host_stop(&h);
	REFUSED("shorter than 16", "--token-file", "/dev/null");
}

/* A head that never ends keeps nobody else waiting, and gives up its place. */
TEST(slow_heads)
{
	struct host h;
	int slow[20];

	HOST(&h, "ws://127.0.0.1:0", "--quiet");
	for (int i = 0; i < 20; i++) {
		slow[i] = guest_port(&h);
		EQ(write(slow[i], "GET / HT", 8), 8);
	}
	EQ(status_of(&h, "/", UPGRADE), 101);
	for (int i = 0; i < 20; i++)
		close(slow[i]);
	host_stop(&h);
}

/* --- as a service --- */

TEST(a_unix_socket_is_private_and_removed_at_the_end)
{
	struct host h;
	struct stat st;

	HOST(&h, NULL, "--quiet");
	EQ(stat(h.url + 5, &st), 0);
	EQ(st.st_mode & 0777, 0600);
	host_stop(&h);
	EQ(stat(h.url + 5, &st), -1);
}

/* As a service manager does it: a listening socket as descriptor 3. */
TEST(a_socket_from_the_service_manager)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct host h;
	struct guest g;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/given", t_audit.dir);
	EQ(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	EQ(listen(fd, 5), 0);
	host_start_given(&h, fd, NULL, "--quiet");
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "echo \"<$LISTEN_FDS$LISTEN_PID>\"; exec cat");
	guest_await_output(&g, "p", "<>");
	guest_close(&g);
	host_stop(&h);
	unlink(at.sun_path);
}

/* It serves, and ends as it should. */
static void works(struct host *h)
{
	double until = t_now_ms() + GUEST_MS;
	struct guest g;
	struct stat st;

	while (stat(h->url + 5, &st) < 0) {
		OK(t_now_ms() < until);
		t_wait_fd(-1, 0, 5);
	}
	for (int i = 0; i < 3; i++) { /* each has its lines in the log */
		guest_open(&g, h);
		guest_start(&g, "p", PIPED, "echo here; exit 0");
		free(guest_await(&g, "process/closed", "p"));
		guest_close(&g);
	}
	host_stop(h);
}

/* Its log is nobody's life: a pipe that is not read any more, as behind `| head -1`, or nothing at
 * all. What it opens next must not be taken for its stdin, stdout or stderr. */
TEST(a_log_without_a_reader_does_not_block_the_executor)
{
	static const char *const outputs[] = { ">&- 2>&- <&-", "2>&-", ">/dev/full 2>/dev/full" };
	struct host h = { .in = -1, .out = -1 };
	char script[400];
	char *const argv[] = { "sh", "-c", script, NULL };
	int p[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(h.url, sizeof(h.url), "unix:%s/unread", t_audit.dir);
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		snprintf(script, sizeof(script), "exec %s exec-server --listen %s %s",
			 t_program("KILLICK", "build/killick"), h.url, outputs[i]);
		h.pid = t_spawn(argv, (int[]){ null, null, -1 });
		works(&h);
	}
	snprintf(script, sizeof(script), "exec %s exec-server --listen %s",
		 t_program("KILLICK", "build/killick"), h.url);
	EQ(pipe2(p, O_CLOEXEC), 0);
	h.pid = t_spawn(argv, (int[]){ null, null, p[1] });
	close(null);
	close(p[0]);
	close(p[1]);
	works(&h);
}

static int zombies_of(pid_t parent)
{
	DIR *d = opendir("/proc");
	const struct dirent *entry;
	int count = 0;

	while ((entry = readdir(d)) != NULL) {
		char path[300], state;
		int ppid;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		f = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (f && fscanf(f, "%*d (%*[^)]) %c %d", &state, &ppid) == 2 && ppid == parent)
			count += state == 'Z';
		if (f)
			fclose(f);
	}
	closedir(d);
	return count;
}

static pid_t only_child_of(pid_t parent)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%d", &child) != 1)
		child = 0;
	if (f)
		fclose(f);
	return child;
}

/* In a pid namespace of its own everything that loses its parent is its child. */
TEST(process_one_of_a_container, .timeout_ms = 20000)
{
	char url[200];
	char *argv[] = { "unshare",
			 geteuid() == 0 ? "-p" : "-Urp",
			 "-f",
			 "--mount-proc",
			 (char *)t_program("KILLICK", "build/killick"),
			 "exec-server",
			 "--quiet",
			 "--listen",
			 url,
			 NULL };
	struct host h = { .in = -1, .out = -1 };
	struct guest g;
	struct stat st;
	double until = t_now_ms() + GUEST_MS;
	int status, null;
	pid_t first;

	snprintf(url, sizeof(url), "unix:%s/one", t_audit.dir);
	snprintf(h.url, sizeof(h.url), "%s", url);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	h.pid = t_spawn(argv, (int[]){ null, null, -1 });
	close(null);
	while (stat(url + 5, &st) < 0) {
		if (waitpid(h.pid, &status, WNOHANG) == h.pid)
			SKIP("no pid namespace can be made here");
		OK(t_now_ms() < until);
		t_wait_fd(-1, 0, 5);
	}
	first = only_child_of(h.pid);
	OK(first > 0);
	guest_open(&g, &h);
	for (int i = 0; i < 5; i++) {
		char id[8];

		snprintf(id, sizeof(id), "p%d", i);
		guest_start(&g, id, PIPED, "sleep 60 & setsid sleep 60 & exit 0");
		free(guest_await(&g, "process/closed", id));
	}
	while (zombies_of(first) > 0) {
		OK(t_now_ms() < until);
		t_wait_fd(-1, 0, 5);
	}
	guest_start(&g, "last", PIPED, "exec cat");
	kill(first, SIGTERM);
	EQ(host_end(&h), 0);
	guest_close(&g);
}

/* `killick ps` looks where the executor's records are. */
TEST(a_variable_of_a_process_does_not_move_its_record)
{
	char own[160];
	struct guest g;
	struct host h;

	snprintf(own, sizeof(own), "%s/own", t_audit.dir);
	EQ(mkdir(own, 0700), 0);
	setenv("KILLICK_RUNTIME_DIR", own, 1);
	HOST(&h, NULL, "--quiet");
	guest_open(&g, &h);
	free(guest_ask(&g, "process/start",
		       "{\"processId\":\"p\",\"argv\":[\"cat\"],\"cwd\":\"file:///\",\"env\":{"
		       "\"KILLICK_RUNTIME_DIR\":\"%s\"},\"envPolicy\":{\"inherit\":\"all\","
		       "\"ignoreDefaultExcludes\":true,\"exclude\":[],\"set\":{},"
		       "\"includeOnly\":[]}," PIPED "}",
		       t_audit.dir));
	EQ(records_count(own), 1);
	EQ(records_count(t_audit.dir), 0);
	guest_close(&g);
	host_stop(&h);
}
