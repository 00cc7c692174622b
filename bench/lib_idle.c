/* lib_idle.c - what servers cost that nobody uses: memory of the host, and wake-ups of its threads.
 *
 * In a process of its own, so that no other measure's memory is used again and called free. */
#include "lib.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <killick/killick.h>

#include "server.h"

#define IDLE_SERVERS 100
#define IDLE_MS      2000
#define SETTLE_MS    300

/* Private memory of this process in KiB. */
static double private_kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	unsigned long kb, sum = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Clean: %lu", &kb) == 1 ||
		    sscanf(line, "Private_Dirty: %lu", &kb) == 1)
			sum += kb;
	if (f)
		fclose(f);
	return (double)sum;
}

/* How often the threads of this process but ours were put on a CPU. */
static unsigned long wake_ups(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned long n, sum = 0;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[300], line[256];
		FILE *f;

		if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				sum += n;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

int lib_idle_main(const char *killick, const char *echo, size_t count)
{
	struct killick_options options = KILLICK_OPTIONS(.keeper = killick);
	char *first = own_config(echo, 1), *rest = own_config(echo, count);
	struct killick_session *a = NULL, *b = NULL;
	struct killick_error e = { 0 };
	struct killick *k = NULL;
	unsigned long before;
	double kib;

	/* The first session pays for the thread and for pages of code. */
	if (killick_open(&options, &k, &e) ||
	    killick_session_open(k, &KILLICK_SESSION_OPTIONS(.config = first), &a, &e)) {
		fprintf(stderr, "bench: %s\n", e.text);
		return 1;
	}
	kib = private_kib();
	if (killick_session_open(k, &KILLICK_SESSION_OPTIONS(.config = rest), &b, &e)) {
		fprintf(stderr, "bench: %s\n", e.text);
		return 1;
	}
	kib = private_kib() - kib;
	nanosleep(&(struct timespec){ 0, SETTLE_MS * 1000000 }, NULL); /* the end of the opening */
	before = wake_ups();
	nanosleep(&(struct timespec){ IDLE_MS / 1000, IDLE_MS % 1000 * 1000000 }, NULL);
	printf("%.2f %lu\n", kib / (double)count, wake_ups() - before);
	fflush(stdout);
	killick_session_free(b);
	killick_session_free(a);
	killick_free(k);
	free(first);
	free(rest);
	return 0;
}

void lib_idle(struct lib *b)
{
	char count[16], line[128];
	const char *argv[] = { b->self, "idle", b->killick, b->echo, count, NULL };
	struct samples kib = { 0 }, wakes = { 0 };

	snprintf(count, sizeof(count), "%d", IDLE_SERVERS);
	for (size_t round = 0; round < lib_rounds(b, 3); round++) {
		double memory, switches;
		struct server s;
		ssize_t n;

		if (server_start(&s, argv, NULL) < 0)
			lib_die("idle", "does not start");
		n = read(s.out, line, sizeof(line) - 1);
		line[n > 0 ? n : 0] = '\0';
		if (sscanf(line, "%lf %lf", &memory, &switches) != 2)
			lib_die("idle", "says nothing");
		server_finish(&s);
		samples_add(&kib, memory);
		samples_add(&wakes, switches);
	}
	report_text(&b->report,
		    "## %d idle servers\n\nPrivate memory that the host grew by, per server "
		    "(keepers not counted): %.1f KiB. Wake-ups of the library's thread in %d s: "
		    "%.0f.\n\n",
		    IDLE_SERVERS, samples_median(&kib), IDLE_MS / 1000, samples_median(&wakes));
	report_target(&b->report, "memory per idle server in the host, KiB", "%.1f", 64,
		      samples_median(&kib));
	report_target(&b->report, "wake-ups of an idle library in 2 s", "%.0f", 0,
		      samples_median(&wakes));
	samples_done(&kib);
	samples_done(&wakes);
}
