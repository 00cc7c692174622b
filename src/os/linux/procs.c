/* procs.c - see procs.h: /proc/PID/stat and /proc/PID/io. */
#include "os/procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

static ssize_t procs_file(int pid, const char *name, char *text, size_t size)
{
	char path[64];
	AUTO(fd_drop) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

static bool procs_read_stat(int pid, struct procs_entry *out)
{
	unsigned long long user, system;
	long long children_user, children_system;
	char text[1024], *at;

	if (procs_file(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')'); /* the name may have spaces and parentheses */
	if (!at || sscanf(at + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld",
			  &out->parent, &user, &system, &children_user, &children_system) != 5)
		return false;
	out->pid = pid;
	out->cpu = user + system + (unsigned long long)(children_user + children_system);
	return true;
}

int procs_list(struct procs_list *out)
{
	DIR *dir = opendir("/proc");
	struct procs_entry p;
	size_t room = 0;

	*out = (struct procs_list){ .list = NULL };
	if (!dir)
		return -errno;
	for (struct dirent *d; (d = readdir(dir));) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9' ||
		    !procs_read_stat(atoi(d->d_name), &p))
			continue;
		if (out->count == room) {
			room = room ? 2 * room : 256;
			out->list = mem_grow(out->list, room, sizeof(*out->list));
		}
		out->list[out->count++] = p;
	}
	closedir(dir);
	return 0;
}

void procs_list_done(struct procs_list *l)
{
	free(l->list);
	*l = (struct procs_list){ .list = NULL };
}

unsigned long long procs_used(const struct procs_entry *e)
{
	unsigned long long in = 0, out = 0;
	char text[512];

	if (procs_file(e->pid, "io", text, sizeof(text)) <= 0 ||
	    sscanf(text, "rchar: %llu wchar: %llu", &in, &out) != 2)
		return e->cpu;
	return e->cpu + in + out;
}

unsigned long long procs_memory(const struct procs_entry *e)
{
	unsigned long long kib = 0, pages = 0;
	char text[1024], *at;

	if (procs_file(e->pid, "smaps_rollup", text, sizeof(text)) > 0) {
		at = strstr(text, "\nPss:");
		if (at && sscanf(at + 5, "%llu", &kib) == 1)
			return kib << 10;
	}
	if (procs_file(e->pid, "statm", text, sizeof(text)) > 0 &&
	    sscanf(text, "%*u %llu", &pages) == 1)
		return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
	return 0;
}
