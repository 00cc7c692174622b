/* ping.c - `killick ping`: measures how fast the servers answer. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/table.h"
#include "os/time.h"
#include "show.h"
#include "talk.h"

enum { COUNT_MAX = 100000 };

const char ping_help[] =
	"usage: killick ping " TALK_USAGE "\n"
	"\n"
	"Start the servers of a config, ping each server several times, one ping after\n"
	"the other, and print how long the answers took.\n"
	"\n"
	"  --count N       number of round trips per server (5)\n" TALK_HELP(
		"print an array with an object per server: server, ms") TALK_EXITS;

struct trips { /* the round trips of one server */
	double *ms;
	size_t count; /* answered pings */
	double least, most, sum;
};

static bool ping(struct talk *t, const char *server, size_t count, struct trips *out)
{
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_PING, .server = server);

	out->ms = mem_grow(NULL, count, sizeof(*out->ms));
	while (out->count < count) {
		long long began = time_now_us();
		struct killick_result *r = talk_do(t, &rq);
		double ms = (double)(time_now_us() - began) / 1000;

		if (!r)
			return false;
		killick_result_free(r);
		if (out->count == 0 || ms < out->least)
			out->least = ms;
		if (out->count == 0 || ms > out->most)
			out->most = ms;
		out->sum += ms;
		out->ms[out->count++] = ms;
	}
	return true;
}

static void trips_done(struct trips *tr)
{
	free(tr->ms);
	*tr = (struct trips){ .ms = NULL };
}

static void json_trips(struct emit *j, const char *server, const struct trips *tr)
{
	char text[32];

	emit_open(j, NULL, '{');
	emit_str(j, "server", server);
	emit_open(j, "ms", '[');
	for (size_t i = 0; i < tr->count; i++) {
		snprintf(text, sizeof(text), "%.3f", tr->ms[i]);
		emit_raw(j, NULL, text, strlen(text));
	}
	emit_close(j);
	emit_close(j);
}

static void ping_add_row(struct table *table, const char *server, const struct trips *tr)
{
	table_add(table, server);
	table_addf(table, "%zu", tr->count);
	table_addf(table, "%.2f ms", tr->least);
	table_addf(table, "%.2f ms", tr->count ? tr->sum / (double)tr->count : 0);
	table_addf(table, "%.2f ms", tr->most);
}

static void ping_all(struct talk *t, size_t count)
{
	static const struct table_col cols[] = {
		{ .title = "SERVER", .min = 12 },    { .title = "ANSWERS", .right = true },
		{ .title = "LEAST", .right = true }, { .title = "MEAN", .right = true },
		{ .title = "MOST", .right = true },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	emit_open(&j, NULL, '[');
	for (size_t i = 0; i < t->status->count && !t->caught; i++) {
		const struct killick_server_status *sv = t->status->servers[i];
		AUTO(trips_done) struct trips tr = { .ms = NULL };

		if (!talk_is_ready(sv))
			continue;
		ping(t, sv->name, count, &tr);
		ping_add_row(&table, sv->name, &tr);
		json_trips(&j, sv->name, &tr);
	}
	emit_close(&j);
	if (t->json)
		show_emitted(&j);
	else
		table_print(&table, stdout, 0, cli_width());
}

int verb_ping(int argc, char **argv)
{
	struct talk t = TALK_INIT(argv);
	const char *given = NULL;
	const struct option more[] = {
		{ "count", OPTION_WORD, .text = &given },
		{ .name = NULL },
	};
	long count = 5;
	char *end;
	int status;

	if (!talk_options(&t, argc, argv, ping_help, more, 0, &status))
		return status;
	if (given) {
		count = strtol(given, &end, 10);
		if (*end || end == given || count < 1 || count > COUNT_MAX)
			return cli_usage("ping",
					 "'--count' needs a number from 1 to %d, not '%.60s'",
					 COUNT_MAX, given);
	}
	if (talk_open(&t)) {
		talk_missing_all(&t);
		ping_all(&t, (size_t)count);
	}
	return talk_close(&t);
}
