/* hub_process.c - see hub.h */
#include "hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char answer[1 << 20];

int hub_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *dir = getenv("KILLICK_RUNTIME_DIR");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/hub.sock", dir ? dir : "");
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void hub_start(struct hub *h, const struct lib *b)
{
	const char *argv[] = { b->killick, "hub", "--quiet", NULL };
	double end = now_us() + 1e3 * SERVER_DEADLINE_MS;

	*h = (struct hub){ .control = -1 };
	if (server_start(&h->process, argv, NULL) < 0)
		lib_die("killick hub", "does not start");
	while ((h->control = hub_connect()) < 0) {
		if (now_us() > end)
			lib_die("killick hub", "does not listen");
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	hub_do(h, "hub.status", "{}"); /* a connection that says nothing is closed */
}

const char *hub_do(struct hub *h, const char *method, const char *params)
{
	size_t len = 0;
	char *line = NULL;
	int n = asprintf(&line,
			 "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":%s}\n",
			 ++h->next_id, method, params);

	if (n < 0 || write(h->control, line, (size_t)n) != n)
		lib_die(method, "cannot be sent");
	free(line);
	while (len == 0 || answer[len - 1] != '\n') {
		ssize_t got = read(h->control, answer + len, sizeof(answer) - 1 - len);

		if (got <= 0)
			lib_die(method, "the hub has closed the connection");
		len += (size_t)got;
	}
	answer[len] = '\0';
	if (!strstr(answer, "\"result\""))
		lib_die(method, answer);
	return answer;
}

void hub_stop(struct hub *h)
{
	hub_do(h, "hub.shutdown", "{}");
	close(h->control);
	server_finish(&h->process);
}

double hub_pss_kib(const struct hub *h)
{
	char path[64], line[256];
	double kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)h->process.pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %lf", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}
