/* lib_sdk.c - the SDK's client: sdk.mjs in node, told what to do line by line. */
#include "lib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

static struct server node;
static bool running;

/* Node stays for the whole run, so that its start is in no number. */
static bool run_node(const struct lib *b)
{
	const char *argv[] = { "node", b->sdk, b->echo, NULL };

	if (!running)
		running = server_start(&node, argv, NULL) == 0;
	return running;
}

/* Give an order and wait for its time in microseconds. */
__attribute__((format(printf, 1, 2))) static double order(const char *fmt, ...)
{
	char line[64];
	size_t len = 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (write(node.in, line, (size_t)n) != n)
		return -1;
	while (len < sizeof(line) - 1 && read(node.out, line + len, 1) == 1 && line[len] != '\n')
		len++;
	line[len] = '\0';
	return len > 0 ? strtod(line, NULL) : -1;
}

static bool sdk_start(void *state, const struct lib *b)
{
	(void)state;
	return run_node(b) && order("start\n") >= 0;
}

static double sdk_burst(void *state, const struct burst *u)
{
	(void)state;
	return order("burst %zu %zu %zu\n", u->len, u->count, u->window);
}

static void sdk_stop(void *state)
{
	(void)state;
	order("stop\n");
	server_finish(&node);
	running = false;
}

static double sdk_launch(void *state, const struct lib *b, size_t count)
{
	(void)state;
	return run_node(b) ? order("launch %zu\n", count) / 1e3 : -1;
}

static double sdk_end(void *state)
{
	(void)state;
	return order("end\n") / 1e3;
}

const struct talker talker_sdk = {
	.name = "npm SDK",
	.start = sdk_start,
	.burst = sdk_burst,
	.stop = sdk_stop,
	.launch = sdk_launch,
	.end = sdk_end,
};
