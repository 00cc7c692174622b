/* rows_lab.c - see rows.h */
#include "rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void rows_add(struct mate *m, const struct mate_spec *spec)
{
	mate_open(m, spec);
	mate_hello(m, spec);
}

void rows_begin_with(struct rows *r, const char *more, const char *capabilities, const char *way,
		     const char *version)
{
	struct mate_spec spec = { .capabilities = capabilities, .version = version };
	char entry[512];

	snprintf(entry, sizeof(entry), "\"share\":\"identical\"%s%s", more ? "," : "",
		 more ? more : "");
	mate_hub_start();
	snprintf(r->config, sizeof(r->config), "%s",
		 MATE_CONFIG("config.json", { "one", way, NULL, entry }));
	spec.config = r->config;
	rows_add(&r->a, &spec);
	rows_add(&r->b, &spec);
}

void rows_begin(struct rows *r, const char *more)
{
	rows_begin_with(r, more, NULL, NULL, NULL);
}

void rows_stop(void)
{
	mate_hub_stop();
}

void rows_end(struct rows *r)
{
	mate_close(&r->a);
	mate_close(&r->b);
	rows_stop();
}

void rows_await_count(struct mate *m, const char *method, long count)
{
	double end = t_now_ms() + MATE_MS;
	long got;

	while ((got = mate_count(m, method)) != count) {
		if (t_now_ms() > end || got > count)
			FAIL("the server has seen %ld messages of %s instead of %ld", got, method,
			     count);
		usleep(2000);
	}
}

/* The number of open calls may fall as well as rise: only the deadline fails the test. */
void rows_await_calls(struct mate *m, const char *tool, long count)
{
	double end = t_now_ms() + MATE_MS;
	char key[64];
	long got;

	snprintf(key, sizeof(key), "open %s", tool);
	while ((got = mate_count(m, key)) != count) {
		if (t_now_ms() > end)
			FAIL("the server has %ld calls of %s instead of %ld", got, tool, count);
		usleep(2000);
	}
}
