/* guest.c - see guest.h */
#include "guest.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "config/config.h"
#include "session/runtime.h"
#include "t_line.h"

#define MODERN_META                                                                                \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"guest\",\"version\":\"1\"},"           \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"sampling\":{}}"

/* --- events of the desk --- */

static void guest_on_open(void *ctx, const struct killick_error *e)
{
	struct guest *g = ctx;

	g->error = *e;
	lab_add(&g->opened);
}

static void guest_on_closed(void *ctx, struct killick_report *report, const char *kept,
			    const char *why)
{
	struct guest *g = ctx;

	g->report = report;
	g->kept = strdup(kept);
	g->why = strdup(why);
	lab_add(&g->closed);
}

static void guest_on_change(void *ctx)
{
	lab_add(&((struct guest *)ctx)->changes);
}

void guest_config(const struct lab_server *list, struct config *out)
{
	char *text = lab_config(list);
	struct err e = ERR_INIT;
	extern char **environ;

	if (config_parse(text, strlen(text), &(struct config_source){ .environ_ = environ }, out,
			 &e) < 0)
		FAIL("config: %s", e.text);
	free(text);
}

static void guest_start(struct guest *g, struct killick *k, const struct lab_server *list, int fd)
{
	static const struct desk_events events = { .on_open = guest_on_open,
						   .on_closed = guest_on_closed,
						   .on_change = guest_on_change };
	struct config config;
	struct desk_spec spec = { .k = k, .config = &config, .tag = "guest", .in = fd, .out = fd };
	struct err e = ERR_INIT;

	*g = (struct guest){ .k = k,
			     .fd = -1,
			     .opened = LAB_COUNT_INIT,
			     .closed = LAB_COUNT_INIT,
			     .changes = LAB_COUNT_INIT,
			     .answers = LAB_COUNT_INIT };
	guest_config(list, &config);
	loop_lock(k->loop);
	if (desk_open(&spec, &events, g, &g->desk, &e) < 0)
		FAIL("desk_open: %s", e.text);
	loop_attend(k->loop);
	loop_unlock(k->loop);
	config_done(&config);
}

void guest_open(struct guest *g, struct killick *k, const struct lab_server *list)
{
	int fds[2];

	EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	guest_start(g, k, list, fds[1]);
	g->fd = fds[0];
}

void guest_open_bare(struct guest *g, struct killick *k, const struct lab_server *list)
{
	guest_start(g, k, list, -1);
	lab_await(&g->opened, 1);
	EQ(g->error.code, 0);
}

/* --- lines --- */

void guest_send(struct guest *g, const char *fmt, ...)
{
	size_t len, done = 0;
	va_list ap;
	char *line;

	va_start(ap, fmt);
	line = t_line(fmt, ap, &len);
	va_end(ap);
	while (done < len) {
		ssize_t n = send(g->fd, line + done, len - done, MSG_NOSIGNAL);

		if (n <= 0 && g->careless)
			break;
		if (n <= 0)
			FAIL("the desk does not read");
		done += (size_t)n;
	}
	free(line);
}

/* The next line of the socket; NULL: none within ms, or the end. */
static char *guest_read(struct guest *g, int ms)
{
	for (double end = t_now_ms() + ms;;) {
		char *nl = g->in_len ? memchr(g->in, '\n', g->in_len) : NULL;
		double left = end - t_now_ms();
		ssize_t n;

		if (nl) {
			size_t len = (size_t)(nl - g->in);
			char *line = strndup(g->in, len);

			g->in_len -= len + 1;
			memmove(g->in, nl + 1, g->in_len);
			return line;
		}
		if (g->fd < 0 || !t_wait_fd(g->fd, POLLIN, left > 0 ? (int)left + 1 : 0))
			return NULL;
		if (g->in_room - g->in_len < 65536) {
			g->in_room = 2 * g->in_room + 65536;
			g->in = realloc(g->in, g->in_room);
			OK(g->in);
		}
		n = read(g->fd, g->in + g->in_len, g->in_room - g->in_len);
		if (n <= 0)
			return NULL;
		g->in_len += (size_t)n;
	}
}

static const char *guest_show(struct guest *g, char *line)
{
	free(g->line);
	g->line = line;
	return line;
}

static void guest_note(struct guest *g, char *line)
{
	if (g->note_count == GUEST_NOTES)
		FAIL("too many lines; the last one is %s", line);
	g->notes[g->note_count++] = line;
}

static char *guest_take_note(struct guest *g, size_t i)
{
	char *line = g->notes[i];

	g->note_count--;
	memmove(g->notes + i, g->notes + i + 1, (g->note_count - i) * sizeof(char *));
	return line;
}

const char *guest_line(struct guest *g)
{
	char *line = g->note_count ? guest_take_note(g, 0) : guest_read(g, LAB_MS);

	if (!line)
		FAIL("no line came");
	return guest_show(g, line);
}

const char *guest_await(struct guest *g, const char *text)
{
	double end = t_now_ms() + LAB_MS;
	char *line;

	for (size_t i = 0; i < g->note_count; i++)
		if (strstr(g->notes[i], text))
			return guest_show(g, guest_take_note(g, i));
	while ((line = guest_read(g, (int)(end - t_now_ms())))) {
		if (strstr(line, text))
			return guest_show(g, line);
		guest_note(g, line);
	}
	FAIL("no line with %s came; the first other line is %s", text,
	     g->note_count ? g->notes[0] : "none");
}

size_t guest_count(struct guest *g, const char *text, int ms)
{
	double end = t_now_ms() + ms;
	size_t count = 0;
	char *line;

	while (t_now_ms() < end && (line = guest_read(g, (int)(end - t_now_ms()))))
		guest_note(g, line);
	for (size_t i = 0; i < g->note_count; i++)
		count += strstr(g->notes[i], text) != NULL;
	return count;
}

/* --- requests --- */

long guest_ask(struct guest *g, const char *method, const char *params)
{
	long id = ++g->last_id;

	if (g->modern)
		guest_send(g,
			   "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":{%s%"
			   "s" MODERN_META "%s%s}}}",
			   id, method, params, *params ? "," : "", g->meta ? "," : "",
			   g->meta ? g->meta : "");
	else
		guest_send(g, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":{%s}}",
			   id, method, params);
	return id;
}

/* A request of a server may have the same id. */
static bool guest_answers(const char *line, long id)
{
	char result[64], error[64];

	snprintf(result, sizeof(result), "\"id\":%ld,\"result\"", id);
	snprintf(error, sizeof(error), "\"id\":%ld,\"error\"", id);
	return strstr(line, result) || strstr(line, error);
}

const char *guest_answer(struct guest *g, long id)
{
	double end = t_now_ms() + LAB_MS;
	char *line;

	for (size_t i = 0; i < g->note_count; i++)
		if (guest_answers(g->notes[i], id))
			return guest_show(g, guest_take_note(g, i));
	while ((line = guest_read(g, (int)(end - t_now_ms())))) {
		if (guest_answers(line, id))
			return guest_show(g, line);
		guest_note(g, line);
	}
	FAIL("request %ld was not answered; the first other line is %s", id,
	     g->note_count ? g->notes[0] : "none");
}

const char *guest_do(struct guest *g, const char *method, const char *params)
{
	return guest_answer(g, guest_ask(g, method, params));
}

const char *guest_call(struct guest *g, const char *tool, const char *args)
{
	char params[1024];

	snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":%s", tool, args);
	return guest_do(g, "tools/call", params);
}

const char *guest_meet(struct guest *g, const char *capabilities)
{
	char params[512];
	const char *line;

	snprintf(params, sizeof(params),
		 "\"protocolVersion\":\"2025-11-25\",\"capabilities\":%s,\"clientInfo\":"
		 "{\"name\":\"guest\",\"version\":\"1\"}",
		 capabilities ? capabilities : "{}");
	line = guest_do(g, "initialize", params);
	if (strstr(line, "\"result\""))
		guest_send(g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	return line;
}

const char *guest_discover(struct guest *g)
{
	g->modern = true;
	return guest_do(g, "server/discover", "");
}

/* --- the control API --- */

static void guest_on_answered(void *ctx, struct json result, struct json error)
{
	struct guest *g = ctx;

	OK(!result.at != !error.at);
	g->result = result.at ? strndup(result.at, result.len) : NULL;
	g->answer_error = error.at ? strndup(error.at, error.len) : NULL;
	lab_add(&g->answers);
}

const char *guest_request(struct guest *g, const char *server, const char *method,
			  const char *params)
{
	int before = lab_value(&g->answers);

	free(g->result);
	free(g->answer_error);
	g->result = g->answer_error = NULL;
	loop_lock(g->k->loop);
	desk_request(g->desk, server, method,
		     params ? (struct json){ params, strlen(params) } : JSON_NONE, 0,
		     guest_on_answered, g);
	EQ(lab_value(&g->answers), before); /* not from inside */
	loop_attend(g->k->loop);
	loop_unlock(g->k->loop);
	lab_await(&g->answers, before + 1);
	return g->result;
}

struct guest_refreshed {
	struct lab_count done;
	struct killick_error error;
	struct killick_report *report;
};

static void guest_on_refreshed(void *ctx, struct killick_report *report,
			       const struct killick_error *e)
{
	struct guest_refreshed *r = ctx;

	r->error = *e;
	r->report = report;
	lab_add(&r->done);
}

void guest_refresh(struct guest *g, const struct lab_server *list)
{
	struct guest_refreshed r = { .done = LAB_COUNT_INIT };
	struct config config;

	guest_config(list, &config);
	loop_lock(g->k->loop);
	desk_refresh(g->desk, &config, guest_on_refreshed, &r);
	loop_attend(g->k->loop);
	loop_unlock(g->k->loop);
	lab_await(&r.done, 1);
	if (r.error.code)
		FAIL("refresh: %s", r.error.text);
	OK(r.report && r.report->proved);
	killick_report_free(r.report);
	config_done(&config);
}

/* --- the end --- */

size_t guest_bury(struct guest *g)
{
	size_t count;

	lab_await(&g->closed, 1);
	loop_lock(g->k->loop);
	desk_free(g->desk);
	loop_unlock(g->k->loop);
	EQ(lab_value(&g->opened), 1);
	EQ(lab_value(&g->closed), 1);
	OK(!g->report || g->report->proved);
	count = g->report ? g->report->count : 0;
	killick_report_free(g->report);
	if (g->fd >= 0)
		close(g->fd);
	while (g->note_count)
		free(guest_take_note(g, 0));
	free(g->in);
	free(g->line);
	free(g->kept);
	free(g->why);
	free(g->result);
	free(g->answer_error);
	return count;
}

size_t guest_leave(struct guest *g)
{
	if (g->fd >= 0) {
		close(g->fd);
		g->fd = -1;
	} else {
		loop_lock(g->k->loop);
		desk_close(g->desk, "the test is over");
		loop_attend(g->k->loop);
		loop_unlock(g->k->loop);
	}
	return guest_bury(g);
}
