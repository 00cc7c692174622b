/* activity.c - see activity.h */
#include "link/activity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

struct activity_process {
	pid_t pid, parent;
	unsigned long long cpu; /* clock ticks, with those of its children that were reaped */
	bool inside;            /* in the tree */
};

struct activity_list {
	struct activity_process *list;
	size_t count, room;
};

static ssize_t activity_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	AUTO(fd_drop) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

static void activity_add(struct activity_list *l, pid_t pid)
{
	struct activity_process p = { .pid = pid };
	unsigned long long user, system;
	long long children_user, children_system;
	char text[1024], *at;

	if (activity_file(pid, "stat", text, sizeof(text)) <= 0)
		return;
	at = strrchr(text, ')'); /* the name may have spaces and parentheses */
	if (!at || sscanf(at + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld",
			  &p.parent, &user, &system, &children_user, &children_system) != 5)
		return;
	p.cpu = user + system + (unsigned long long)(children_user + children_system);
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 256;
		l->list = mem_grow(l->list, l->room, sizeof(*l->list));
	}
	l->list[l->count++] = p;
}

static bool activity_is_inside(const struct activity_list *l, pid_t pid)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].pid == pid)
			return l->list[i].inside;
	return false;
}

/* Find the descendants of the keeper. A child mostly has a higher pid than its parent, so that one
 * or two rounds find all. */
static void activity_find(struct activity_list *l, pid_t keeper)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < l->count; i++) {
			struct activity_process *p = &l->list[i];

			if (p->inside || (p->parent != keeper && !activity_is_inside(l, p->parent)))
				continue;
			p->inside = more = true;
		}
	}
}

/* Bytes that the process read and wrote; 0 when that is not told to us. */
static unsigned long long activity_bytes(pid_t pid)
{
	unsigned long long in = 0, out = 0;
	char text[512];

	if (activity_file(pid, "io", text, sizeof(text)) <= 0 ||
	    sscanf(text, "rchar: %llu wchar: %llu", &in, &out) != 2)
		return 0;
	return in + out;
}

bool activity_read(pid_t keeper, pid_t server, unsigned long long *out)
{
	struct activity_list l = { .list = NULL };
	unsigned long long sum = 0;
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (!dir)
		return false;
	while ((e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			activity_add(&l, (pid_t)atoi(e->d_name));
	closedir(dir);
	activity_find(&l, keeper);
	for (size_t i = 0; i < l.count; i++) {
		const struct activity_process *p = &l.list[i];

		if (p->inside && (p->parent != keeper || p->pid == server))
			sum += (unsigned long long)p->pid + p->cpu + activity_bytes(p->pid);
	}
	free(l.list);
	*out = sum;
	return true;
}
