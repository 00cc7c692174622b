/* What a wrapper occupies while its server runs: PSS and private memory of every process below (and
 * with) the one we started, except the server itself. One wrapper at a time, so that no page is
 * shared with a copy of itself and called cheap. */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

struct weight {
	double pss, private, processes;
};

static void weigh(pid_t pid, struct weight *w)
{
	char path[64], line[256];
	unsigned long kb;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Pss: %lu", &kb) == 1)
			w->pss += (double)kb;
		else if (sscanf(line, "Private_Clean: %lu", &kb) == 1 ||
			 sscanf(line, "Private_Dirty: %lu", &kb) == 1)
			w->private += (double)kb;
	}
	fclose(f);
	w->processes++;
}

/* Depth first over /proc/PID/task/PID/children: the wrappers are single-threaded. */
static void weigh_tree(pid_t pid, const char *echo, struct weight *w)
{
	char path[64], list[1024], *at = list, *next;
	ssize_t n;
	int fd;

	if (server_runs(pid, echo))
		return;
	weigh(pid, w);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, list, sizeof(list) - 1);
	close(fd);
	list[n > 0 ? n : 0] = 0;
	for (long child; (child = strtol(at, &next, 10)) > 0; at = next)
		weigh_tree((pid_t)child, echo, w);
}

void bench_memory(struct bench *b)
{
	const char *args[] = { b->echo, NULL }, *argv[2 * PEER_ARGS];
	int killick = peer_named(&b->peers, "killick");

	report_text(&b->report,
		    "## Memory of the wrapper while its server runs\n\n"
		    "| | PSS KiB | private KiB | processes | n |\n|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < b->peers.count; i++) {
		const struct peer *p = &b->peers.at[i];
		struct samples pss = { 0 }, private = { 0 };
		bool wraps = p->kind != PEER_BARE && p->kind != PEER_CONTROL;
		struct weight w = { 0 };
		struct server s;

		for (size_t round = 0; wraps && round < 5; round++) {
			w = (struct weight){ 0 };
			peer_argv(p, args, argv);
			if (server_start(&s, argv, NULL) < 0 || server_call(&s, "{}\n", 3) < 0)
				exit(1);
			weigh_tree(s.pid, b->echo, &w);
			server_finish(&s);
			samples_add(&pss, w.pss);
			samples_add(&private, w.private);
		}
		if (pss.count)
			report_text(&b->report, "| %s | %.0f | %.0f | %.0f | %zu |\n", p->name,
				    samples_median(&pss), samples_median(&private), w.processes,
				    pss.count);
		if ((int)i == killick)
			report_target(&b->report, "memory of a keeper pair, PSS in KiB", "%.0f",
				      512, samples_median(&pss));
		samples_done(&pss);
		samples_done(&private);
	}
	report_text(&b->report, "\n");
}
