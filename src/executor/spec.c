/* spec.c - see spec.h */
#include "executor/spec.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/strings.h"
#include "executor/envpolicy.h"
#include "executor/input.h"
#include "executor/params.h"
#include "executor/process.h"
#include "wire/wire.h"

#define ARGV_SHOWN    512          /* bytes of JSON that are kept */
#define ARGV_MAX      (256u << 10) /* words; Linux takes hardly more */
#define LABEL_MAX     63           /* of names, as the keeper takes them */
#define LINGER_MAX_MS 3600000u
#define GRACE_MS      2000

enum {
	PROCESS_ID,
	ARGV,
	CWD,
	ENV,
	TTY,
	PIPE_STDIN,
	LINGER,
	ARG0,
	ENV_POLICY,
	SANDBOX,
	MANAGED,
	NETWORK,
	NAME,
	SESSION,
	CONTAIN,
	MAX_PROCS,
	MEMORY,
	MEMBERS
};

static const char *const names[MEMBERS] = {
	[PROCESS_ID] = "processId",
	[ARGV] = "argv",
	[CWD] = "cwd",
	[ENV] = "env",
	[TTY] = "tty",
	[PIPE_STDIN] = "pipeStdin",
	[LINGER] = "lingerMs",
	[ARG0] = "arg0",
	[ENV_POLICY] = "envPolicy",
	[SANDBOX] = "sandbox",
	[MANAGED] = "enforceManagedNetwork",
	[NETWORK] = "networkProxy",
	[NAME] = "name",
	[SESSION] = "session",
	[CONTAIN] = "contain",
	[MAX_PROCS] = "maxProcs",
	[MEMORY] = "memory",
};

static int read_argv(struct spec *s, const struct param *p, struct err *e)
{
	struct buf shown = BUF_INIT(ARGV_SHOWN);
	struct emit j = EMIT_INIT(&shown);
	struct json_iter it = json_iter(p->value);
	size_t n = 0;

	if (param_is(p, JSON_ARRAY, e) < 0)
		return e->code;
	if (json_count(p->value) > ARGV_MAX)
		return err_set(e, WIRE_BAD_PARAMS, "argv has more than %u words", ARGV_MAX);
	s->argv = mem_grow(NULL, json_count(p->value) + 1, sizeof(*s->argv));
	s->argv[0] = NULL;
	emit_open(&j, NULL, '[');
	while (json_each(&it)) {
		struct param word = { "argv", it.value };

		if (param_text(&word, &s->argv[n], e) < 0) {
			buf_done(&shown);
			return e->code;
		}
		emit_text(&j, NULL, s->argv[n], strlen(s->argv[n]));
		s->argv[++n] = NULL;
	}
	emit_close(&j);
	if (emit_end(&j) < 0) { /* a long one: the program's name is enough */
		assert(n > 0);
		buf_reset(&shown, 0);
		if (emit_quoted(&shown, s->argv[0], strlen(s->argv[0])) < 0)
			buf_adds(&shown, "\"\"");
		s->argv_json = mem_grow(NULL, shown.len + 8, 1);
		memcpy(s->argv_json, "[", 1);
		memcpy(s->argv_json + 1, shown.data, shown.len);
		memcpy(s->argv_json + 1 + shown.len, ",\"..\"]", 7);
		buf_done(&shown);
	} else {
		s->argv_json = mem_text(shown.data, shown.len);
		buf_done(&shown);
	}
	return n ? 0 : err_set(e, WIRE_BAD_PARAMS, "argv must not be empty");
}

/* A text that the keeper takes as a name: one short printable line. */
static char *label(struct json v, const char *otherwise)
{
	char *text = NULL;
	size_t len;

	if (!json_string(v, &text) || !*text) {
		free(text);
		text = mem_dup(otherwise);
	}
	len = strlen(text);
	if (len > LABEL_MAX)
		for (len = LABEL_MAX; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	text[len] = '\0';
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '_';
	return text;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Bytes, or a text such as "512M". */
static int read_memory(struct spec *s, const struct param *p, struct err *e)
{
	uint64_t bytes = 0;
	char text[32], *end = text;
	int shift = 0;

	if (json_type(p->value) != JSON_STRING) {
		if (param_number_if(p, &bytes, e) < 0)
			return e->code;
	} else {
		json_string_into(p->value, text, sizeof(text));
		if (*text >= '0' && *text <= '9')
			bytes = strtoull(text, &end, 10);
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
		if (end == text || *(shift ? end + 1 : end) || bytes > (UINT64_MAX >> 1) >> shift)
			return err_set(e, WIRE_BAD_PARAMS, "memory '%s' is not a size such as 512M",
				       text);
	}
	s->link.memory = bytes << shift;
	return 0;
}

static int read_limits(struct spec *s, const struct param *p, struct err *e)
{
	static const char *const levels[] = { "auto", "namespace", "cgroup", "keeper", "group" };
	uint64_t procs = 0;

	if (param_number_if(&p[MAX_PROCS], &procs, e) < 0 || read_memory(s, &p[MEMORY], e) < 0)
		return e->code;
	s->link.max_procs = (unsigned long)procs;
	if (!p[CONTAIN].value.at)
		return 0;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (json_is(p[CONTAIN].value, levels[i]))
			s->link.contain = levels[i];
	return s->link.contain
		       ? 0
		       : err_set(e, WIRE_BAD_PARAMS,
				 "contain must be auto, namespace, cgroup, keeper or group");
}

static int read_stdio(struct spec *s, const struct param *p, struct err *e)
{
	bool tty = false, piped = false;
	uint64_t linger = 0;

	if (param_bool(&p[TTY], &tty, e) < 0 || param_bool_if(&p[PIPE_STDIN], &piped, e) < 0)
		return e->code;
	s->link.stdio = tty ? LINK_TERMINAL : piped ? LINK_PIPES : LINK_NO_STDIN;
	s->says_linger = p[LINGER].value.at != NULL;
	if (param_number_if(&p[LINGER], &linger, e) < 0)
		return e->code;
	if (linger > LINGER_MAX_MS)
		return err_set(e, WIRE_BAD_PARAMS, "lingerMs: at most an hour");
	s->link.linger_ms = (unsigned)linger;
	return 0;
}

static int refuse_limits(const struct param *p, struct err *e)
{
	bool managed = false;

	if (p[SANDBOX].value.at)
		return err_set(e, WIRE_INVALID_REQUEST,
			       "this executor has no sandbox: nothing was started");
	if (param_bool_if(&p[MANAGED], &managed, e) < 0)
		return e->code;
	if (managed || p[NETWORK].value.at)
		return err_set(e, WIRE_INVALID_REQUEST,
			       "this executor has no managed network: nothing was started");
	return 0;
}

static int read_places(struct spec *s, const struct param *p, struct err *e)
{
	if (param_is(&p[CWD], JSON_STRING, e) < 0)
		return e->code;
	if (wire_file_path(p[CWD].value, &s->cwd) < 0)
		return err_set(e, WIRE_BAD_PARAMS, "cwd: not a file: URI of an absolute path");
	if (p[ARG0].value.at && param_text(&p[ARG0], &s->arg0, e) < 0)
		return e->code;
	return 0;
}

static int read_environment(struct spec *s, const struct param *p, char *const *envp, struct err *e)
{
	if (param_is(&p[ENV], JSON_OBJECT, e) < 0)
		return e->code;
	return envpolicy_apply(p[ENV_POLICY].value, p[ENV].value, envp, &s->envp, e);
}

int spec_read(struct spec *s, struct json params, char *const *envp, struct err *e)
{
	struct param p[MEMBERS];
	int r;

	*s = (struct spec){ .id = NULL };
	for (int i = 0; i < MEMBERS; i++)
		p[i] = (struct param){ .name = names[i] };
	r = params_read(params, p, MEMBERS, e);
	if (r == 0)
		r = param_text(&p[PROCESS_ID], &s->id, e);
	if (r == 0 && strlen(s->id) > PROCESS_ID_MAX)
		r = err_set(e, WIRE_BAD_PARAMS, "processId is longer than %d bytes",
			    PROCESS_ID_MAX);
	if (r == 0)
		r = read_argv(s, &p[ARGV], e);
	if (r == 0)
		r = read_places(s, p, e);
	if (r == 0)
		r = read_environment(s, p, envp, e);
	if (r == 0)
		r = read_stdio(s, p, e);
	if (r == 0)
		r = read_limits(s, p, e);
	if (r == 0)
		r = refuse_limits(p, e);
	if (r < 0)
		return r;
	s->name = label(p[NAME].value, last_part(s->argv[0]));
	s->session = p[SESSION].value.at ? label(p[SESSION].value, "-") : NULL;
	s->link.name = s->name;
	s->link.session = s->session;
	s->link.argv = s->argv;
	s->link.envp = s->envp;
	s->link.cwd = s->cwd;
	s->link.arg0 = s->arg0;
	s->link.grace_ms = GRACE_MS;
	s->link.write_limit = INPUT_LINK_BYTES;
	return 0;
}

void spec_done(struct spec *s)
{
	strings_free(s->argv);
	strings_free(s->envp);
	free(s->id);
	free(s->argv_json);
	free(s->cwd);
	free(s->arg0);
	free(s->name);
	free(s->session);
	*s = (struct spec){ .id = NULL };
}
