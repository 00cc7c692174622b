/* bench - what killick costs and how fast it ends trees, next to nothing and next to its peers.
 *
 *	bench --killick PATH --echo PATH [--zoo PATH] [--node SERVER.mjs] [--percent N]
 *	      [--only MEASURE] [--peers LIST] [--versions TEXT]
 *
 * Prints a Markdown page on stdout. Exit status: 0 whether or not targets are met (they depend on
 * the machine), 1 when something could not be measured, 64 usage.
 */
#include "bench.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

#define WHOLE_RUN_S 900 /* three minutes on an idle machine; never for ever */

size_t bench_rounds(const struct bench *b, size_t rounds)
{
	size_t n = rounds * b->percent / 100;

	return n < 3 ? 3 : n;
}

static const struct measure {
	const char *name;
	void (*run)(struct bench *b);
} measures[] = {
	{ "start", bench_start }, { "talk", bench_talk }, { "memory", bench_memory },
	{ "death", bench_death }, { "bomb", bench_bomb }, { "crowd", bench_crowd },
};

static int usage(void)
{
	fprintf(stderr, "usage: bench --killick PATH --echo PATH [--zoo PATH] [--node SERVER.mjs] "
			"[--percent N] [--only start|talk|memory|death|bomb|crowd] [--peers "
			"tini,...] [--versions TEXT]\n");
	return 64;
}

static void print(struct bench *b, const char *versions)
{
	char header[2048], day[32];
	struct utsname u;
	time_t now = time(NULL);

	uname(&u);
	strftime(day, sizeof(day), "%Y-%m-%d", gmtime(&now));
	snprintf(header, sizeof(header),
		 "# Benchmarks\n\n%s, Linux %s %s, %ld CPUs, load %.1f before, as %s; %s%s%s.\n\n"
		 "Every measure runs all peers interleaved, in another order each round; `bare "
		 "again` is bare once more and shows the noise. Ratios are of medians.\n",
		 day, u.release, u.machine, sysconf(_SC_NPROCESSORS_ONLN), b->load,
		 getuid() ? "a user" : "root", versions,
		 b->peers.missing[0] ? "; not working here: " : "", b->peers.missing);
	report_print(&b->report, stdout, header);
}

static void run(struct bench *b, const char *only)
{
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		double t0 = now_us();

		if (only && strcmp(only, measures[i].name) != 0)
			continue;
		measures[i].run(b);
		fprintf(stderr, "bench: %s took %.1f s\n", measures[i].name, (now_us() - t0) / 1e6);
	}
}

/* Options into b and the rest; false on anything unknown or missing. */
static bool parse(int argc, char **argv, struct bench *b, const char *text[])
{
	static const struct option options[] = {
		{ "killick", required_argument, NULL, 'k' },
		{ "echo", required_argument, NULL, 'e' },
		{ "zoo", required_argument, NULL, 'z' },
		{ "node", required_argument, NULL, 'n' },
		{ "percent", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "versions", required_argument, NULL, 'v' },
		{ "peers", required_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 },
	};

	if (!bench_options(argc, argv, options, text))
		return false;
	b->killick = text['k'];
	b->echo = text['e'];
	b->zoo = text['z'];
	b->node_server = text['n'];
	b->percent = text['c'] ? strtoul(text['c'], NULL, 10) : 100;
	return b->killick && b->echo && b->percent;
}

int main(int argc, char **argv)
{
	const char *text[128] = { NULL }, *tmp = getenv("TMPDIR");
	static char self[PATH_MAX];
	static struct bench b;
	bool bare, killick;

	if (argc > 2 && !strcmp(argv[1], "owner"))
		return owner_main(argv + 2);
	if (!parse(argc, argv, &b, text) || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return usage();
	b.self = self;
	alarm(WHOLE_RUN_S);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	snprintf(b.fifo, sizeof(b.fifo), "%s/killick-bench-%d", tmp ? tmp : "/tmp", getpid());
	if (mkfifo(b.fifo, 0600) < 0) {
		perror(b.fifo);
		return 1;
	}
	getloadavg(&b.load, 1); /* other people's: this machine should be idle */
	report_open(&b.report);
	peer_find(&b.peers, b.killick, b.echo, text['p']);
	bare = peer_named(&b.peers, "bare") >= 0;
	killick = peer_named(&b.peers, "killick") >= 0;
	if (bare && killick)
		run(&b, text['o']);
	else
		fprintf(stderr, "bench: %s does not run here\n", bare ? b.killick : b.echo);
	unlink(b.fifo);
	if (bare && killick)
		print(&b, text['v'] ? text['v'] : "");
	return bare && killick ? 0 : 1;
}
