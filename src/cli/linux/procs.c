/* procs.c - see procs.h */
#include "procs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "keeper/conceal.h"
#include "keeper/linux/clock.h"

enum { ARGS_MAX = 16384 };

/* Returns false when the process is gone already. */
static bool read_one(int proc_fd, const char *name, struct proc *p)
{
	char path[64], stat_text[1024], args[ARGS_MAX];
	struct stat sb;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/stat", name);
	if (proc_read_file(proc_fd, path, stat_text, sizeof(stat_text)) <= 0 ||
	    proc_stat_parse(stat_text, &p->st) < 0)
		return false;
	if (p->st.state == 'Z') /* zombies have no more information, and may be many */
		return true;
	snprintf(path, sizeof(path), "%.20s", name);
	if (fstatat(proc_fd, path, &sb, 0) < 0)
		return false;
	p->uid = sb.st_uid;
	/* The /proc files of a process that is not dumpable belong to root; its status file has the
	 * real user. */
	snprintf(path, sizeof(path), "%.20s/status", name);
	if (p->uid == 0 && geteuid() != 0 &&
	    proc_read_file(proc_fd, path, args, sizeof(args)) > 0) {
		const char *line = strstr(args, "\nUid:");

		if (line)
			sscanf(line, "\nUid: %*u %u", &p->uid);
	}
	snprintf(path, sizeof(path), "%.20s/cmdline", name);
	n = proc_read_file(proc_fd, path, args, sizeof(args));
	p->args_len = n > 0 ? (size_t)n : 0;
	p->args = p->args_len ? mem_text(args, p->args_len) : NULL;
	return true;
}

static int procs_by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return (x->st.pid > y->st.pid) - (x->st.pid < y->st.pid);
}

int procs_read(struct procs *ps)
{
	DIR *dir = opendir("/proc");
	size_t room = 0;

	if (!dir)
		return -errno;
	*ps = (struct procs)PROCS_INIT;
	ps->now_ms = clock_boot_ms();
	for (struct dirent *d; (d = readdir(dir));) {
		struct proc p = { .args = NULL };

		if (d->d_name[0] < '1' || d->d_name[0] > '9' ||
		    !read_one(dirfd(dir), d->d_name, &p))
			continue;
		if (ps->count == room) {
			room = room ? room * 2 : 256;
			ps->list = mem_grow(ps->list, room, sizeof(*ps->list));
		}
		ps->list[ps->count++] = p;
	}
	closedir(dir);
	if (ps->count)
		qsort(ps->list, ps->count, sizeof(*ps->list), procs_by_pid);
	return 0;
}

void procs_done(struct procs *ps)
{
	for (size_t i = 0; i < ps->count; i++)
		free(ps->list[i].args);
	free(ps->list);
	*ps = (struct procs)PROCS_INIT;
}

const struct proc *procs_find(const struct procs *ps, pid_t pid)
{
	struct proc key = { .st.pid = pid };

	return ps->count ? bsearch(&key, ps->list, ps->count, sizeof(key), procs_by_pid) : NULL;
}

const struct proc *procs_find_who(const struct procs *ps, pid_t pid, unsigned long long start)
{
	const struct proc *p = pid > 0 ? procs_find(ps, pid) : NULL;

	return p && p->st.start == start && p->st.state != 'Z' ? p : NULL;
}

static bool is_among(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

size_t procs_family(const struct procs *ps, pid_t root, pid_t *out_pids, size_t max)
{
	size_t found = 0, before;

	if (!procs_find(ps, root) || max == 0)
		return 0;
	out_pids[found++] = root;
	do { /* repeat until a round finds nothing: a child may have a smaller pid */
		before = found;
		for (size_t i = 0; i < ps->count && found < max; i++) {
			const struct proc_stat *st = &ps->list[i].st;

			if (is_among(out_pids, found, st->ppid) &&
			    !is_among(out_pids, found, st->pid))
				out_pids[found++] = st->pid;
		}
	} while (found != before && found < max);
	return found;
}

void proc_command(const struct proc *p, char *out, size_t size)
{
	char name[sizeof(p->st.comm) + 2];

	assert(size > 0);
	if (p->args_len) {
		AUTO(mem_drop) char *args = mem_text(p->args, p->args_len);
		struct conceal c = { .before = NULL };
		struct line l;

		line_init(&l);
		for (const char *word = args; word < args + p->args_len; word += strlen(word) + 1) {
			struct conceal_part part = conceal_word(&c, word);

			if (cli_show_secrets)
				part = (struct conceal_part){ 0, 0 };
			line_add(&l, "%s%.*s%s%s", word > args ? " " : "", (int)part.at, word,
				 part.len ? CONCEALED : "", word + part.at + part.len);
		}
		text_clean(l.text, l.len, out, size);
		if (*out)
			return;
	}
	snprintf(name, sizeof(name), "[%s]", p->st.comm);
	text_clean(name, strlen(name), out, size);
}

long long proc_age_ms(const struct procs *ps, const struct proc *p)
{
	long long born_ms =
		(long long)(p->st.start * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK));

	return ps->now_ms > born_ms ? ps->now_ms - born_ms : 0;
}

long long proc_cpu_ms(const struct proc *p)
{
	return (long long)(p->st.cpu_ticks * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK));
}

unsigned long long proc_rss(const struct proc *p)
{
	return (unsigned long long)p->st.rss_pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}
