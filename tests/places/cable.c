/* cable.c - see cable.h */
#include "cable.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "place.h"

enum { SLOTS = 8192, PACKET_MAX = 2048, BATCH = 64 };

struct cable_wire {
	atomic_int ready, cut, delay_ms;
	pid_t near_pid; /* a process that is in the near namespace */
};

/* --- the wire: a process that carries packets --- */

struct packet {
	double due_ms;
	int len;
	char bytes[PACKET_MAX];
};

struct lane {
	int from, to;
	struct packet *slots;
	unsigned head, count;
};

static struct cable_wire *the_wire; /* of this test; the minder's fork has it, too */

static int open_tun(const char *name)
{
	struct ifreq r = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &r)) {
		perror("tun");
		_exit(126);
	}
	return fd;
}

/* Take what there is; with the cable cut, or too much of it under way, it is lost. */
static void lane_take(struct lane *l, double now)
{
	for (int i = 0; i < BATCH; i++) {
		struct packet *p = &l->slots[(l->head + l->count) % SLOTS];
		char lost[PACKET_MAX];
		bool room = l->count < SLOTS;
		ssize_t n = read(l->from, room ? p->bytes : lost, PACKET_MAX);

		if (n <= 0)
			return;
		if (!room || atomic_load(&the_wire->cut))
			continue;
		p->len = (int)n;
		p->due_ms = now + atomic_load(&the_wire->delay_ms);
		l->count++;
	}
}

/* Deliver what is due; milliseconds until something else is, at most 20. */
static int lane_give(struct lane *l, double now)
{
	if (atomic_load(&the_wire->cut))
		l->count = 0;
	while (l->count > 0) {
		struct packet *p = &l->slots[l->head];

		if (p->due_ms > now)
			return p->due_ms - now < 20 ? (int)(p->due_ms - now) + 1 : 20;
		(void)!write(l->to, p->bytes, (size_t)p->len);
		l->head = (l->head + 1) % SLOTS;
		l->count--;
	}
	return 20;
}

/* Called in the far namespace, as a daemon that is never executed. */
static void be_the_wire(void)
{
	struct lane there = { 0 }, back = { 0 };
	char path[64];
	int near;

	there.to = back.from = open_tun("far");
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)the_wire->near_pid);
	near = open(path, O_RDONLY | O_CLOEXEC);
	if (near < 0 || setns(near, CLONE_NEWNET)) {
		perror(path);
		_exit(126);
	}
	close(near);
	there.from = back.to = open_tun("near");
	there.slots = malloc(SLOTS * sizeof(*there.slots));
	back.slots = malloc(SLOTS * sizeof(*back.slots));
	if (!there.slots || !back.slots)
		_exit(126);
	atomic_store(&the_wire->ready, 1);
	for (;;) {
		struct pollfd p[] = { { .fd = there.from, .events = POLLIN },
				      { .fd = back.from, .events = POLLIN } };
		double now = t_now_ms();
		int a = lane_give(&there, now), b = lane_give(&back, now);

		poll(p, 2, a < b ? a : b);
		now = t_now_ms();
		lane_take(&there, now);
		lane_take(&back, now);
	}
}

/* --- namespaces --- */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* To a namespace of our own, as root of a user namespace where we are not root. */
static void move_near(void)
{
	char uid[32], gid[32];

	if (!unshare(CLONE_NEWNET))
		return;
	snprintf(uid, sizeof(uid), "0 %u 1", getuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		SKIP("network namespaces need root here: %s", strerror(errno));
	OK(write_text("/proc/self/setgroups", "deny"));
	OK(write_text("/proc/self/uid_map", uid));
	OK(write_text("/proc/self/gid_map", gid));
}

static int new_namespace(void)
{
	int near = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;

	OK(near >= 0 && unshare(CLONE_NEWNET) == 0);
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	OK(fd >= 0 && setns(near, CLONE_NEWNET) == 0);
	close(near);
	return fd;
}

/* Run `ip WORDS` in a namespace. */
static void ip(int netns, const char *words)
{
	const char *program = place_program("ip", "iproute2");
	char text[256], *argv[24] = { (char *)program }, *rest = text;
	int n = 1;
	pid_t pid;

	snprintf(text, sizeof(text), "%s", words);
	while (n < 23 && (argv[n] = strsep(&rest, " ")))
		n++;
	pid = fork();
	if (pid == 0) {
		if (setns(netns, CLONE_NEWNET))
			_exit(126);
		execv(program, argv);
		_exit(127);
	}
	if (t_wait_child(pid, GONE_MS) != 0)
		FAIL("'ip %s' failed", words);
}

static void lay_veth(struct cable *c)
{
	char words[128];

	/* the descriptor as a path: iproute2 takes a pid or a name below /run/netns */
	snprintf(words, sizeof(words), "link add near type veth peer name far netns /proc/%d/fd/%d",
		 (int)getpid(), c->far);
	ip(c->near, words);
}

static void lay_wire(struct cable *c)
{
	static const char *const nothing[] = { "", NULL };
	double until = t_now_ms() + GONE_MS;

	if (access("/dev/net/tun", R_OK | W_OK))
		SKIP("no /dev/net/tun for us here: no cable that can be cut silently");
	the_wire = mmap(NULL, sizeof(*the_wire), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	OK(the_wire != MAP_FAILED);
	the_wire->near_pid = getpid();
	c->wire = the_wire;
	minder_start(&c->carrier, &(struct minder_spec){ .argv = nothing,
							 .prepare = be_the_wire,
							 .log = place_file("wire.log"),
							 .netns = c->far });
	while (!atomic_load(&the_wire->ready)) {
		if (t_now_ms() > until || !minder_lives(c->carrier.daemon, NULL))
			FAIL("no wire: see %s", place_file("wire.log"));
		poll(NULL, 0, 1);
	}
}

void cable_open(struct cable *c, enum cable_kind kind)
{
	*c = (struct cable){ .kind = kind };
	move_near();
	c->near = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	OK(c->near >= 0);
	c->far = new_namespace();
	if (kind == CABLE_VETH)
		lay_veth(c);
	else
		lay_wire(c);
	ip(c->near, "link set lo up");
	ip(c->far, "link set lo up");
	ip(c->near, "addr add " CABLE_NEAR "/24 dev near");
	ip(c->far, "addr add " CABLE_FAR "/24 dev far");
	ip(c->near, "link set near up");
	ip(c->far, "link set far up");
}

void cable_close(struct cable *c)
{
	if (c->wire) {
		EQ(minder_end(&c->carrier), 0);
		munmap(c->wire, sizeof(*c->wire));
		the_wire = c->wire = NULL;
	}
	close(c->near);
	close(c->far);
}

void cable_cut(struct cable *c, enum cable_end end)
{
	if (c->wire)
		atomic_store(&c->wire->cut, 1);
	else if (end == CABLE_NEAR_END)
		ip(c->near, "link set near down");
	else
		ip(c->far, "link set far down");
}

void cable_join(struct cable *c)
{
	if (c->wire) {
		atomic_store(&c->wire->cut, 0);
		return;
	}
	ip(c->near, "link set near up");
	ip(c->far, "link set far up");
}

void cable_delay(struct cable *c, int ms)
{
	OK(c->wire);
	atomic_store(&c->wire->delay_ms, ms);
}

int cable_reset(struct cable *c)
{
	char *argv[] = { (char *)place_program("ss", "iproute2"),
			 "-K",
			 "-t",
			 "-n",
			 "-H",
			 "dst",
			 CABLE_FAR,
			 NULL };
	double until = t_now_ms() + GONE_MS;
	int lines = 0;

	(void)c; /* the test is in the near namespace */
	/* after the last reset it may take a moment until there is a connection again */
	while (lines == 0 && t_now_ms() < until) {
		struct child p = start(argv, -1);

		place_ends(&p, 0);
		for (const char *at = out; (at = strchr(at, '\n')); at++)
			lines++;
	}
	if (lines == 0)
		SKIP("no connection was reset: a kernel without CONFIG_INET_DIAG_DESTROY?");
	return lines;
}

int cable_listen_far(struct cable *c, int *out_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd;

	OK(setns(c->far, CLONE_NEWNET) == 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	OK(setns(c->near, CLONE_NEWNET) == 0);
	OK(fd >= 0 && !bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 8) &&
	   !getsockname(fd, (struct sockaddr *)&a, &len));
	*out_port = ntohs(a.sin_port);
	return fd;
}
