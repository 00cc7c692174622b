/* engine.c - a container engine for tests, where no docker runs.
 *
 *   fake-engine serve DIR            the daemon: the parent of all containers, and of nothing else
 *   docker [options] run|ps|stop|rm  the client, under the name docker, podman or nerdctl
 *
 * A container is a process of the daemon, so it is outside of every tree that killick holds. The
 * image says how the process behaves: `polite` ends when its stdin is closed and at SIGTERM, `deaf`
 * at SIGTERM only, `stubborn` at SIGKILL only, `quick` at once with status 3.
 *
 * The client reads its command line by its own, strict rules: an unknown option is an error. Each
 * call is a line in DIR/calls, each container a line in DIR/created, each end a line in DIR/ends.
 * ENGINE_DIR is DIR. ENGINE_HANG=WORD: the subcommand WORD never ends, ENGINE_FAIL=WORD: it fails.
 * ENGINE_CID=empty|garbage|none: what the client writes into the cidfile.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONTAINERS = 16, CLIENTS = 32, TEXT = 4096, ID = 64 };

struct box { /* a container; id "": the slot is free */
	char id[ID + 1], label[200];
	char image[32];
	bool rm, removing;
	pid_t pid;         /* 0: not running */
	int runner;        /* the client to tell of the end, or -1 */
	int waiter;        /* the client of `stop` or `rm`, or -1 */
	long long kill_at; /* ms; 0: never */
};

static struct box boxes[CONTAINERS];
static int clients[CLIENTS];

static void note(const char *file, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(const char *file, const char *fmt, ...)
{
	char path[400], text[TEXT];
	va_list ap;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", getenv("ENGINE_DIR"), file);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(70);
	close(fd);
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", getenv("ENGINE_DIR"));
	return a;
}

/* --- the daemon --- */

static void answer(int *client, const char *text)
{
	if (*client >= 0)
		send(*client, text, strlen(text), MSG_NOSIGNAL);
	*client = -1;
}

static struct box *find(const char *id)
{
	for (int i = 0; i < CONTAINERS; i++)
		if (boxes[i].id[0] && strcmp(boxes[i].id, id) == 0)
			return &boxes[i];
	return NULL;
}

static void create(int client, bool rm, const char *image, const char *label)
{
	struct box *b = boxes;
	unsigned char raw[ID / 2];

	while (b < boxes + CONTAINERS && b->id[0])
		b++;
	if (b == boxes + CONTAINERS || getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		_exit(70);
	*b = (struct box){ .rm = rm, .runner = -1, .waiter = -1 };
	for (int i = 0; i < ID / 2; i++)
		snprintf(b->id + 2 * i, 3, "%02x", raw[i]);
	snprintf(b->image, sizeof(b->image), "%s", image);
	snprintf(b->label, sizeof(b->label), "%s", label);
	answer(&client, b->id);
}

static volatile sig_atomic_t got_term, got_eof;

static void on_container_signal(int sig)
{
	if (sig == SIGTERM)
		got_term = 1;
	else
		got_eof = 1;
}

static _Noreturn void be_container(const char *image)
{
	bool quick = strcmp(image, "quick") == 0, stubborn = strcmp(image, "stubborn") == 0;
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no container outlives the test's daemon */
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_container_signal }, NULL);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_container_signal }, NULL);
	sigemptyset(&set);
	while (!quick) {
		sigsuspend(&set);
		if (!stubborn && (got_term || (got_eof && strcmp(image, "polite") == 0)))
			_exit(0);
	}
	_exit(3);
}

static void start(int client, struct box *b)
{
	send(client, "started", 7, MSG_NOSIGNAL);
	b->runner = client;
	b->pid = fork();
	if (b->pid == 0)
		be_container(b->image);
	note("pids", "%d\n", b->pid);
}

static void forget(struct box *b)
{
	answer(&b->waiter, "ok");
	*b = (struct box){ .id = "" };
}

static void on_child(pid_t pid, int status)
{
	char text[32];

	for (int i = 0; i < CONTAINERS; i++) {
		struct box *b = &boxes[i];

		if (!b->id[0] || b->pid != pid)
			continue;
		note("ends", "%s %s %d\n", b->image, WIFEXITED(status) ? "exit" : "signal",
		     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
		b->pid = 0;
		b->kill_at = 0;
		snprintf(text, sizeof(text), "exit %d",
			 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		answer(&b->runner, text);
		if (b->rm || b->removing)
			forget(b);
		else
			answer(&b->waiter, "ok");
		return;
	}
}

static void list(int client, const char *filter)
{
	char text[TEXT] = "\n";

	for (int i = 0; i < CONTAINERS; i++) {
		const struct box *b = &boxes[i];
		bool fits = strncmp(filter, "label=", 6) == 0 ? strcmp(b->label, filter + 6) == 0
			    : strncmp(filter, "id=", 3) == 0  ? strcmp(b->id, filter + 3) == 0
							      : true;

		if (b->id[0] && fits)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.64s\n",
				 b->id);
	}
	answer(&client, text);
}

static void on_request(int client, const char *text)
{
	char word[16] = "", a[200] = "", c[200] = "", d[200] = "";
	struct box *b;

	sscanf(text, "%15s %199s %199s %199s", word, a, c, d);
	if (strcmp(word, "create") == 0) {
		create(client, atoi(a), c, d);
		return;
	}
	if (strcmp(word, "ps") == 0) {
		list(client, a);
		return;
	}
	b = find(a);
	if (!b) {
		answer(&client, "no such container");
	} else if (strcmp(word, "start") == 0) {
		start(client, b);
	} else if (strcmp(word, "signal") == 0) {
		if (b->pid)
			kill(b->pid, atoi(c));
	} else if (strcmp(word, "stop") == 0) {
		b->waiter = client;
		if (!b->pid) {
			answer(&b->waiter, "ok");
			return;
		}
		kill(b->pid, SIGTERM);
		b->kill_at = now_ms() + atoi(c) * 1000LL;
	} else if (strcmp(word, "rm") == 0) {
		b->waiter = client;
		b->removing = true;
		if (b->pid)
			kill(b->pid, SIGKILL);
		else
			forget(b);
	}
}

static void drop_client(int i)
{
	for (int k = 0; k < CONTAINERS; k++) {
		if (boxes[k].runner == clients[i])
			boxes[k].runner = -1;
		if (boxes[k].waiter == clients[i])
			boxes[k].waiter = -1;
	}
	close(clients[i]);
	clients[i] = -1;
}

static void on_clients(const struct pollfd *fds)
{
	for (int i = 0; i < CLIENTS; i++) {
		char text[TEXT];
		ssize_t n;

		if (clients[i] < 0 || !fds[i].revents)
			continue;
		n = recv(clients[i], text, sizeof(text) - 1, 0);
		if (n <= 0) {
			drop_client(i);
			continue;
		}
		text[n] = '\0';
		on_request(clients[i], text);
	}
}

static void on_time(void)
{
	for (int i = 0; i < CONTAINERS; i++)
		if (boxes[i].kill_at && now_ms() >= boxes[i].kill_at && boxes[i].pid)
			kill(boxes[i].pid, SIGKILL);
}

static void greet(int listener)
{
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i] < 0) {
			clients[i] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			return;
		}
	_exit(70);
}

static int serve(void)
{
	struct sockaddr_un a = address();
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), status, sigs;
	struct signalfd_siginfo si;
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM); /* blocked in a new container until it can handle them */
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigs = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	memset(clients, -1, sizeof(clients));
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(listener, 64) < 0)
		return 70;
	if (write(STDOUT_FILENO, "ready\n", 6) < 0)
		return 70;
	for (;;) {
		struct pollfd fds[CLIENTS + 2];

		for (int i = 0; i < CLIENTS; i++)
			fds[i] = (struct pollfd){ .fd = clients[i], .events = POLLIN };
		fds[CLIENTS] = (struct pollfd){ .fd = listener, .events = POLLIN };
		fds[CLIENTS + 1] = (struct pollfd){ .fd = sigs, .events = POLLIN };
		poll(fds, CLIENTS + 2, 20);
		while (read(sigs, &si, sizeof(si)) > 0)
			;
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			on_child(pid, status);
		on_time();
		on_clients(fds);
		if (fds[CLIENTS].revents)
			greet(listener);
	}
}

/* --- the client --- */

static int ask(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int ask(const char *fmt, ...)
{
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char text[TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
		fprintf(stderr, "cannot connect to the daemon\n");
		exit(1);
	}
	return fd;
}

static void hear(int fd, char *text)
{
	ssize_t n = recv(fd, text, TEXT - 1, 0);

	if (n < 0)
		exit(1);
	text[n] = '\0';
}

static bool is_one_of(const char *word, const char *list)
{
	char spaced[64];

	snprintf(spaced, sizeof(spaced), " %.*s ", (int)strcspn(word, "="), word);
	return strstr(list, spaced) != NULL;
}

struct run {
	bool rm, init, detach;
	const char *label, *cidfile, *image;
};

/* Returns the index of the image. */
static int read_run_options(char **argv, int i, struct run *r)
{
	for (; argv[i] && argv[i][0] == '-'; i++) {
		const char *word = argv[i], *eq = strchr(word, '='), *value;

		if (is_one_of(word, " --rm --init -i -t -d --detach --privileged ")) {
			bool on = !eq || strcmp(eq, "=true") == 0;

			r->rm = strncmp(word, "--rm", 4) == 0 ? on : r->rm;
			r->init = strncmp(word, "--init", 6) == 0 ? on : r->init;
			r->detach = word[1] == 'd' || strncmp(word, "--detach", 8) == 0 ? on
											: r->detach;
			continue;
		}
		if (!is_one_of(
			    word,
			    " --root --label --cidfile -e --env -v --name --network --entrypoint "
			    "--new-in-next-release --restart --pid ")) {
			fprintf(stderr, "unknown flag: %s\n", word);
			exit(125);
		}
		value = eq ? eq + 1 : argv[++i];
		if (strncmp(word, "--label", 7) == 0)
			r->label = value;
		else if (strncmp(word, "--cidfile", 9) == 0)
			r->cidfile = value;
	}
	if (!argv[i])
		exit(125);
	return i;
}

static void write_cidfile(const char *path, const char *id)
{
	const char *how = getenv("ENGINE_CID");
	int fd;

	if (how && strcmp(how, "none") == 0)
		for (;;)
			pause(); /* killed before it could write the file */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		fprintf(stderr, "container ID file found\n");
		exit(125);
	}
	if (how && strcmp(how, "empty") == 0)
		id = "";
	else if (how && strcmp(how, "garbage") == 0)
		id = "../../etc/passwd; rm -rf /";
	if (write(fd, id, strlen(id)) < 0)
		exit(1);
	close(fd);
}

/* Copy lines from stdin to stdout, as a server of one line; pass signals and the end on. */
static int attend(int fd, const char *id)
{
	struct signalfd_siginfo si;
	char text[TEXT];
	bool open_in = true;
	sigset_t set;
	int sigs;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigs = signalfd(-1, &set, SFD_CLOEXEC);
	if (write(STDOUT_FILENO, "up\n", 3) < 0)
		return 1;
	for (;;) {
		struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
					{ .fd = sigs, .events = POLLIN },
					{ .fd = open_in ? STDIN_FILENO : -1, .events = POLLIN } };

		poll(fds, 3, -1);
		if (fds[0].revents) {
			hear(fd, text);
			return strncmp(text, "exit ", 5) == 0 ? atoi(text + 5) : 1;
		}
		if (fds[1].revents && read(sigs, &si, sizeof(si)) > 0)
			close(ask("signal %s %u", id, si.ssi_signo));
		if (fds[2].revents) {
			ssize_t n = read(STDIN_FILENO, text, sizeof(text));

			if (n > 0 && write(STDOUT_FILENO, text, (size_t)n) < 0)
				return 1;
			if (n <= 0) {
				open_in = false;
				close(ask("signal %s %d", id, SIGUSR1));
			}
		}
	}
}

static int run(char **argv, int i)
{
	struct run r = { .label = "-" };
	char id[TEXT], text[TEXT] = "";
	int fd;

	i = read_run_options(argv, i, &r);
	for (int k = i; argv[k]; k++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", argv[k]);
	note("created", "rm=%d init=%d label=%s cidfile=%s image:%s\n", r.rm, r.init, r.label,
	     r.cidfile ? r.cidfile : "-", text);
	if (r.cidfile && access(r.cidfile, F_OK) == 0) {
		fprintf(stderr, "container ID file found\n");
		return 125;
	}
	fd = ask("create %d %s %s", r.rm, argv[i], r.label);
	hear(fd, id);
	close(fd);
	if (r.cidfile)
		write_cidfile(r.cidfile, id);
	fd = ask("start %s", id);
	hear(fd, text);
	if (!r.detach)
		return attend(fd, id);
	printf("%s\n", id);
	return 0;
}

/* stop and rm of each id, ps */
static int others(const char *word, char **argv, int i)
{
	const char *filter = "all", *seconds = "10";
	char text[TEXT];
	int fd, status = 0;

	for (; argv[i] && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--filter") == 0)
			filter = argv[++i];
		else if (strcmp(argv[i], "-t") == 0)
			seconds = argv[++i];
		else if (!is_one_of(argv[i], " -a -q --no-trunc -f "))
			return 125;
	}
	if (strcmp(word, "ps") == 0 && getenv("DOCKER_HOST") &&
	    strcmp(getenv("DOCKER_HOST"), "empty") == 0)
		return 0; /* another daemon */
	if (strcmp(word, "ps") == 0) {
		fd = ask("ps %s", filter);
		hear(fd, text);
		close(fd);
		fputs(text + 1, stdout);
		return 0;
	}
	for (; argv[i]; i++) {
		fd = strcmp(word, "stop") == 0 ? ask("stop %s %s", argv[i], seconds)
					       : ask("rm %s", argv[i]);
		hear(fd, text);
		close(fd);
		status |= strcmp(text, "ok") != 0;
	}
	return status;
}

int main(int argc, char **argv)
{
	const char *hang = getenv("ENGINE_HANG"), *fail = getenv("ENGINE_FAIL");
	char text[TEXT] = "";
	int i = 1;

	if (argc == 3 && strcmp(argv[1], "serve") == 0) {
		setenv("ENGINE_DIR", argv[2], 1);
		return serve();
	}
	for (int k = 0; argv[k]; k++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", k ? " " : "",
			 k                       ? argv[k]
			 : strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1
						 : argv[0]);
	note("calls", "%s\n", text);
	for (; argv[i] && argv[i][0] == '-'; i++)
		if (is_one_of(argv[i], " --log-level -H --host --root --config ") &&
		    !strchr(argv[i], '='))
			i++;
	if (argv[i] && strcmp(argv[i], "container") == 0)
		i++;
	if (!argv[i])
		return 125;
	if (hang && strcmp(hang, argv[i]) == 0)
		for (;;)
			pause();
	if (fail && strcmp(fail, argv[i]) == 0)
		return 1;
	return strcmp(argv[i], "run") == 0 ? run(argv, i + 1) : others(argv[i], argv, i + 1);
}
