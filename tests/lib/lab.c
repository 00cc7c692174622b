/* lab.c - see lab.h */
#include "lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PIDS 16384

struct killick *lab_open(const struct killick_options *options)
{
	struct killick_options o = options ? *options : KILLICK_OPTIONS();
	struct killick_error e = { 0 };
	struct killick *k = NULL;
	char path[128];

	if (!o.keeper)
		o.keeper = t_program("KILLICK", "build/killick");
	snprintf(path, sizeof(path), "%s/pids", t_audit.dir);
	setenv("ZOO_PIDS", path, 1);
	setenv("ZOO_LIFE_MS", "120000", 0);
	if (killick_open(&o, &k, &e))
		FAIL("killick_open: %s", e.text);
	return k;
}

static void add_server(FILE *f, const struct lab_server *s)
{
	fprintf(f, "\"%s\":{\"command\":\"%s\",\"args\":[", s->name,
		t_program("ZOO", "build/tests/zoo/killick-zoo"));
	if (s->mode)
		fprintf(f, "\"%s\"", s->mode);
	else
		fprintf(f, "\"mcp\",\"%s\"", s->way ? s->way : "good");
	if (s->argument)
		fprintf(f, ",\"%s\"", s->argument);
	fprintf(f, "],\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\",\"ZOO_PIDS\",\"ZOO_LIFE_MS\"%s]%s%s}",
		getenv("ZOO_PIDNS") ? ",\"ZOO_PIDNS\"" : "", s->more ? "," : "",
		s->more ? s->more : "");
}

char *lab_config(const struct lab_server *list)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	OK(f);
	fprintf(f, "{\"mcpServers\":{");
	for (const struct lab_server *s = list; s->name; s++) {
		if (s > list)
			fprintf(f, ",");
		add_server(f, s);
	}
	fprintf(f, "}}");
	fclose(f);
	return text;
}

struct killick_session *lab_session_with(struct killick *k, const struct lab_server *list,
					 const struct killick_session_options *options)
{
	struct killick_session_options o = *options;
	char *config = lab_config(list);
	struct killick_session *s = NULL;
	struct killick_error e = { 0 };

	o.config = config;
	if (killick_session_open(k, &o, &s, &e))
		FAIL("killick_session_open: %s (%s)", e.text, killick_code_name(e.code));
	free(config);
	return s;
}

struct killick_session *lab_session(struct killick *k, const struct lab_server *list)
{
	return lab_session_with(k, list, &KILLICK_SESSION_OPTIONS());
}

static void must_be_proved(struct killick_report *r)
{
	OK(r);
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->endings[i]->proof, "none") || r->endings[i]->survivors)
			FAIL("%s (pid %d, why %s) ended by %s: proof %s, %d survivors, report %s",
			     r->endings[i]->server, r->endings[i]->pid, r->endings[i]->why,
			     r->endings[i]->step, r->endings[i]->proof, r->endings[i]->survivors,
			     r->endings[i]->json);
	OK(r->proved);
	EQ(r->survivors, 0);
	killick_report_free(r);
}

void lab_end(struct killick_session *s)
{
	struct killick_report *r = NULL;

	EQ(killick_session_close(s, &r, NULL), 0);
	must_be_proved(r);
	killick_session_free(s);
}

void lab_close(struct killick *k)
{
	struct killick_report *r = NULL;

	EQ(killick_close(k, &r, NULL), 0);
	must_be_proved(r);
	killick_free(k);
}

void lab_refresh(struct killick_session *s, const struct lab_server *list)
{
	struct killick_report *r = NULL;
	struct killick_error e = { 0 };
	char *config = lab_config(list);

	if (killick_session_refresh(s, config, NULL, &r, &e))
		FAIL("killick_session_refresh: %s", e.text);
	free(config);
	must_be_proved(r);
}

struct killick_result *lab_do(struct killick_session *s, const struct killick_request *rq, int code)
{
	struct killick_result *r = NULL;
	int got = killick_do(s, rq, &r);

	if (got != code)
		FAIL("%s instead of %s: %s", killick_code_name(got), killick_code_name(code),
		     r ? killick_result_error(r) : "no result");
	OK(r);
	EQ(killick_result_code(r), code);
	return r;
}

struct killick_result *lab_try(struct killick_session *s, const char *server, const char *tool,
			       const char *args, long timeout_ms)
{
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = server, .name = tool, .args = args,
				.timeout_ms = timeout_ms);
	struct killick_result *r = NULL;

	killick_do(s, &rq, &r);
	OK(r);
	return r;
}

void lab_call(struct killick_session *s, const char *server, const char *tool, const char *args,
	      int code, char *out, size_t size)
{
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = server, .name = tool, .args = args,
				.timeout_ms = LAB_MS);
	struct killick_result *r = lab_do(s, &rq, code);

	if (out)
		snprintf(out, size, "%s", killick_result_text(r));
	killick_result_free(r);
}

pid_t lab_pid(struct killick_session *s, const char *server)
{
	char text[32];

	lab_call(s, server, "pid", NULL, 0, text, sizeof(text));
	return (pid_t)atoi(text);
}

struct killick_call *lab_block(struct killick_session *s, const char *server)
{
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = server, .name = "block");
	struct killick_call *c = NULL;

	EQ(killick_start(s, &rq, &c, NULL), 0);
	OK(c);
	lab_pid(s, server); /* lines are read in order: an answer to this means that one arrived */
	return c;
}

void lab_seen(struct killick_session *s, const char *server, const char *path, char *out,
	      size_t size)
{
	struct killick_result *r = lab_try(s, server, "seen", NULL, LAB_MS);
	char full[128];
	const char *json, *at;
	size_t len, value_len = 0;

	EQ(killick_result_code(r), 0);
	json = killick_result_json(r, &len);
	snprintf(full, sizeof(full), "structuredContent.%s", path);
	at = killick_json_find(json, len, full, &value_len);
	snprintf(out, size, "%.*s", (int)value_len, at ? at : "");
	killick_result_free(r);
}

static const struct killick_server_status *status_of(struct killick_status *st, const char *server)
{
	for (size_t i = 0; i < st->count; i++)
		if (!strcmp(st->servers[i]->name, server))
			return st->servers[i];
	FAIL("no server '%s' in the status", server);
}

enum killick_state lab_state(struct killick_session *s, const char *server)
{
	struct killick_status *st = NULL;
	enum killick_state state;

	EQ(killick_session_status(s, &st, NULL), 0);
	state = status_of(st, server)->state;
	killick_status_free(st);
	return state;
}

void lab_await_state(struct killick_session *s, const char *server, enum killick_state state)
{
	double end = t_now_ms() + LAB_MS;

	while (lab_state(s, server) != state) {
		if (t_now_ms() > end)
			FAIL("%s is %s, not %s", server, killick_state_name(lab_state(s, server)),
			     killick_state_name(state));
		poll(NULL, 0, 2);
	}
}

void lab_errors(struct killick_session *s, const char *server, char *out_error, size_t error_size,
		char *out_stderr, size_t stderr_size)
{
	struct killick_status *st = NULL;

	EQ(killick_session_status(s, &st, NULL), 0);
	if (out_error)
		snprintf(out_error, error_size, "%s", status_of(st, server)->error);
	if (out_stderr)
		snprintf(out_stderr, stderr_size, "%s", status_of(st, server)->stderr_tail);
	killick_status_free(st);
}

size_t lab_pids(pid_t *out, size_t max)
{
	const char *path = getenv("ZOO_PIDS");
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[128];
	size_t n = 0;

	while (f && n < max && fgets(line, sizeof(line), f))
		out[n++] = (pid_t)atoi(line);
	if (f)
		fclose(f);
	return n;
}

static ssize_t slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

bool lab_lives(pid_t pid)
{
	char path[64], text[8192], entry[64], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (slurp(path, text, sizeof(text)) <= 0 || !(p = strrchr(text, ')')) || p[2] == 'Z' ||
	    p[2] == 'X')
		return false;
	if (strstr(text, "(killick)")) /* a keeper that got the pid of a server of the past */
		return false;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	snprintf(entry, sizeof(entry), "ZOO_AUDIT=%s", t_audit.tag);
	n = slurp(path, text, sizeof(text));
	return n > 0 && memmem(text, (size_t)n, entry, strlen(entry));
}

size_t lab_living(void)
{
	static _Thread_local pid_t pids[MAX_PIDS];
	size_t n = lab_pids(pids, MAX_PIDS), living = 0;

	for (size_t i = 0; i < n; i++) {
		bool again = false; /* a server that got the pid of another one */

		for (size_t j = 0; j < i && !again; j++)
			again = pids[j] == pids[i];
		living += !again && lab_lives(pids[i]);
	}
	return living;
}

void lab_await_pids(size_t count)
{
	static _Thread_local pid_t pids[MAX_PIDS];
	double end = t_now_ms() + LAB_MS;

	while (lab_pids(pids, MAX_PIDS) < count) {
		if (t_now_ms() > end)
			FAIL("fewer than %zu servers have begun", count);
		poll(NULL, 0, 1);
	}
}

void lab_reap(void)
{
	double end = t_now_ms() + LAB_MS;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) >= 0) {
		if (pid == 0)
			poll(NULL, 0, 1);
		if (t_now_ms() > end)
			FAIL("a child does not end");
	}
}

int lab_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n - 1; /* the directory's own */
}

long lab_memory_kib(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 0; /* their allocator keeps what was freed for a while */
#else
	struct mallinfo2 m = mallinfo2();

	return (long)((m.uordblks + m.hblkhd) / 1024);
#endif
}

void lab_add(struct lab_count *c)
{
	pthread_mutex_lock(&c->lock);
	c->value++;
	pthread_cond_broadcast(&c->grew);
	pthread_mutex_unlock(&c->lock);
}

int lab_value(struct lab_count *c)
{
	int value;

	pthread_mutex_lock(&c->lock);
	value = c->value;
	pthread_mutex_unlock(&c->lock);
	return value;
}

void lab_await(struct lab_count *c, int value)
{
	struct timespec end;
	int got, r = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LAB_MS / 1000;
	pthread_mutex_lock(&c->lock);
	while (c->value < value && r == 0)
		r = pthread_cond_timedwait(&c->grew, &c->lock, &end);
	got = c->value;
	pthread_mutex_unlock(&c->lock);
	if (got < value)
		FAIL("waited for %d, saw %d", value, got);
}

void lab_events_init(struct lab_events *ev)
{
	memset(ev, 0, sizeof(*ev));
	for (int i = 0; i < LAB_KINDS; i++)
		ev->count[i] = (struct lab_count)LAB_COUNT_INIT;
	ev->asks = (struct lab_count)LAB_COUNT_INIT;
	pthread_mutex_init(&ev->lock, NULL);
}

static void on_event(void *ctx, const struct killick_event *e)
{
	struct lab_events *ev = ctx;

	if ((int)e->kind >= LAB_KINDS)
		FAIL("event of kind %d", (int)e->kind);
	pthread_mutex_lock(&ev->lock);
	snprintf(ev->last[e->kind].server, sizeof(ev->last[0].server), "%s",
		 e->server ? e->server : "");
	snprintf(ev->last[e->kind].text, sizeof(ev->last[0].text), "%.*s", (int)e->text_len,
		 e->text ? e->text : "");
	snprintf(ev->last[e->kind].json, sizeof(ev->last[0].json), "%.*s", (int)e->json_len,
		 e->json ? e->json : "");
	pthread_mutex_unlock(&ev->lock);
	lab_add(&ev->count[e->kind]);
}

static void on_ask(void *ctx, struct killick_ask *ask)
{
	struct lab_events *ev = ctx;
	const char *params;
	size_t len = 0;

	pthread_mutex_lock(&ev->lock);
	params = killick_ask_params(ask, &len);
	snprintf(ev->ask_method, sizeof(ev->ask_method), "%s", killick_ask_method(ask));
	snprintf(ev->ask_params, sizeof(ev->ask_params), "%.*s", (int)len, params);
	pthread_mutex_unlock(&ev->lock);
	lab_add(&ev->asks); /* before the call can be over */
	if (ev->answer)
		killick_answer(ask, ev->answer, NULL);
	else
		killick_decline(ask, "the test says no", NULL);
}

const struct killick_handlers *lab_handlers(struct lab_events *ev, unsigned answers)
{
	ev->handlers = KILLICK_HANDLERS(.ctx = ev, .on_event = on_event, .on_ask = on_ask,
					.answers = answers);
	return &ev->handlers;
}

pthread_t lab_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, arg))
		FAIL("pthread_create: %s", strerror(errno));
	return thread;
}
