/* netstream.c - streams over a cable that is cut, reset, slow and joined again: no byte is lost,
 * doubled or moved. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "far.h"
#include "place.h"

enum { LINE = 16, MIB = 1 << 20 };

static long long size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) ? 0 : (long long)st.st_size;
}

/* Until so many bytes have arrived in all. */
static void await_size(struct child *c, long long bytes)
{
	double until = t_now_ms() + RUN_MS;

	while (size_of("received") < bytes) {
		if (t_now_ms() > until || !minder_lives(c->pid, NULL)) {
			listen_for(c, NULL);
			FAIL("%lld bytes of %lld: %s", size_of("received"), bytes, err);
		}
		t_wait_fd(-1, 0, 2);
	}
}

/* Every line has its number, and the last one says how many there are. */
static void check_received(long long least)
{
	char line[LINE + 1], want[LINE + 1];
	unsigned long long number = 0;
	FILE *f = fopen("received", "re");
	size_t n;

	OK(f);
	while ((n = fread(line, 1, LINE, f)) == LINE && line[0] != 'e') {
		line[LINE] = '\0';
		snprintf(want, sizeof(want), "%015llu\n", number);
		if (strcmp(line, want) != 0)
			FAIL("byte %llu: '%.15s' instead of '%.15s'", number * LINE, line, want);
		number++;
	}
	line[n] = '\0';
	snprintf(want, sizeof(want), "end %011llu\n", number);
	if (strcmp(line, want) != 0)
		FAIL("it ends with '%s' and not with '%s'", line, want);
	EQ(fread(line, 1, LINE, f), 0);
	fclose(f);
	if ((long long)number * LINE < least)
		FAIL("only %llu bytes", number * LINE);
	t_note("%llu MiB, each byte in its place", number * LINE / MIB);
}

/* sh: a pipe on the near side, where "$@" is `killick run --on URL --`. */
static struct child begin_stream(const struct far *f, const char *script)
{
	char *argv[] = { "sh",
			 "-c",
			 (char *)script,
			 (char *)t_program("STREAM", "build/stream"),
			 (char *)killick(),
			 "run",
			 "--on",
			 (char *)f->url,
			 "--",
			 NULL };

	unlink("enough");
	unlink("received");
	return start(argv, -1);
}
static const char from_there[] = "exec \"$@\" \"$0\" \"$PWD/enough\" >received";
static const char there_and_back[] = "\"$0\" \"$PWD/enough\" | \"$@\" cat >received";

static void end_stream(struct child *c, long long least)
{
	write_file("enough", "");
	place_ends(c, 0);
	check_received(least);
	place_nothing_left(GONE_MS);
}

TEST(a_whole_cable, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "30s");
	c = begin_stream(&f, from_there);
	await_size(&c, 50 * MIB);
	end_stream(&c, 50 * MIB);
	c = begin_stream(&f, there_and_back);
	await_size(&c, 20 * MIB);
	end_stream(&c, 20 * MIB);
	far_close(&f);
}

TEST(connections_are_reset, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "30s");
	c = begin_stream(&f, from_there);
	for (int i = 1; i <= 5; i++) {
		await_size(&c, i * 10 * MIB);
		cable_reset(&f.cable);
	}
	await_size(&c, size_of("received") + MIB);
	end_stream(&c, 50 * MIB);
	far_close(&f);
}

TEST(connections_are_reset_both_ways, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "30s");
	c = begin_stream(&f, there_and_back);
	for (int i = 1; i <= 5; i++) {
		await_size(&c, i * 4 * MIB);
		cable_reset(&f.cable);
	}
	await_size(&c, size_of("received") + MIB);
	end_stream(&c, 20 * MIB);
	far_close(&f);
}

/* Down for some seconds, with the connection reset meanwhile here and not there. */
static void cut_for_seconds(enum cable_end end, const char *script)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_VETH, "30s");
	c = begin_stream(&f, script);
	await_size(&c, 10 * MIB);
	cable_cut(&f.cable, end);
	cable_reset(&f.cable);
	t_wait_fd(-1, 0, 3000); /* the cut itself takes time */
	cable_join(&f.cable);
	await_size(&c, size_of("received") + 10 * MIB);
	end_stream(&c, 20 * MIB);
	far_close(&f);
}

TEST(a_cut_here, .timeout_ms = TEST_MS)
{
	cut_for_seconds(CABLE_NEAR_END, from_there);
}

TEST(a_cut_there, .timeout_ms = TEST_MS)
{
	cut_for_seconds(CABLE_FAR_END, there_and_back);
}

/* Longer than it takes to notice that nothing is heard, on a slow cable. */
TEST(a_silent_cut, .timeout_ms = TEST_MS)
{
	struct far f;
	struct child c;

	far_open(&f, CABLE_WIRE, "30s");
	cable_delay(&f.cable, 20);
	c = begin_stream(&f, from_there);
	await_size(&c, 2 * MIB);
	cable_cut(&f.cable, CABLE_NEAR_END);
	t_wait_fd(-1, 0, 13000); /* the cut itself takes time */
	cable_join(&f.cable);
	await_size(&c, size_of("received") + 2 * MIB);
	end_stream(&c, 4 * MIB);
	far_close(&f);
}
