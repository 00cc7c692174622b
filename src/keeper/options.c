/* options.c - see options.h */
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS (3600 * 1000u)

static const char *const level_names[] = {
	[LEVEL_AUTO] = "auto",     [LEVEL_GROUP] = "group",         [LEVEL_KEEPER] = "keeper",
	[LEVEL_CGROUP] = "cgroup", [LEVEL_NAMESPACE] = "namespace",
};

const char *level_name(enum level l)
{
	assert((unsigned)l < sizeof(level_names) / sizeof(*level_names));
	return level_names[l];
}

/* Decimal digits, at most `max`; *end points after them. Signs and spaces are not allowed. */
static int digits(const char *text, unsigned long long max, const char **end,
		  unsigned long long *out)
{
	unsigned long long n = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned d = (unsigned)(*p - '0');
		if (n > (max - d) / 10)
			return -EINVAL;
		n = n * 10 + d;
	}
	if (p == text)
		return -EINVAL;
	*end = p;
	*out = n;
	return 0;
}

static int whole_number(const char *text, unsigned long long max, unsigned long long *out)
{
	const char *end;

	return digits(text, max, &end, out) < 0 || *end || *out == 0 ? -EINVAL : 0;
}

int options_time(const char *text, unsigned *out_ms)
{
	unsigned long long whole, thousandths = 0, unit = 1000, ms;
	const char *p;

	if (digits(text, HOUR_MS, &p, &whole) < 0)
		return -EINVAL;
	if (*p == '.') {
		unsigned weight = 100;
		for (p++; *p >= '0' && *p <= '9'; p++, weight /= 10)
			thousandths += (unsigned)(*p - '0') * weight;
	}
	if (strcmp(p, "ms") == 0)
		unit = 1;
	else if (strcmp(p, "m") == 0)
		unit = 60 * 1000;
	else if (strcmp(p, "h") == 0)
		unit = HOUR_MS;
	else if (*p && strcmp(p, "s") != 0)
		return -EINVAL;
	ms = whole * unit + thousandths * unit / 1000;
	if (ms > HOUR_MS)
		return -EINVAL;
	*out_ms = (unsigned)ms;
	return 0;
}

int options_milliseconds(const char *text, unsigned *out_ms)
{
	unsigned long long ms;
	const char *end;

	if (digits(text, HOUR_MS, &end, &ms) < 0 || *end)
		return -EINVAL;
	*out_ms = (unsigned)ms;
	return 0;
}

int options_size(const char *text, unsigned long long *out_bytes)
{
	unsigned long long n, unit = 1;
	const char *p;

	if (digits(text, ULLONG_MAX >> 1, &p, &n) < 0 || n == 0)
		return -EINVAL;
	switch (*p) {
	case 'k':
	case 'K':
		unit = 1ULL << 10;
		break;
	case 'm':
	case 'M':
		unit = 1ULL << 20;
		break;
	case 'g':
	case 'G':
		unit = 1ULL << 30;
		break;
	case '\0':
		break;
	default:
		return -EINVAL;
	}
	if (*p && p[1] && strcmp(p + 1, "B") != 0 && strcmp(p + 1, "iB") != 0)
		return -EINVAL;
	if (n > (ULLONG_MAX >> 1) / unit)
		return -EINVAL;
	*out_bytes = n * unit;
	return 0;
}

static int parse_level(const char *text, enum level *out)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*out = (enum level)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_owner(const char *text, struct options *o)
{
	unsigned long long pid;

	if (strcmp(text, "parent") == 0) {
		o->owner = OWNER_PARENT;
	} else if (strcmp(text, "stdin") == 0) {
		o->owner = OWNER_STDIN;
	} else {
		if (whole_number(text, INT_MAX, &pid) < 0)
			return -EINVAL;
		o->owner = OWNER_PID;
		o->owner_pid = (pid_t)pid;
	}
	return 0;
}

static int parse_procs(const char *text, unsigned long *out)
{
	unsigned long long n;

	if (whole_number(text, 1000000, &n) < 0)
		return -EINVAL;
	*out = (unsigned long)n;
	return 0;
}

/* Never 0, 1 or 2: these belong to the server. */
static int parse_descriptor(const char *text, int *out)
{
	unsigned long long n;

	if (whole_number(text, INT_MAX, &n) < 0 || n < 3)
		return -EINVAL;
	*out = (int)n;
	return 0;
}

static int parse_text(const char *text, const char **out)
{
	*out = text;
	return *text ? 0 : -EINVAL;
}

static int parse_yes_or_no(const char *text, bool *out)
{
	*out = strcmp(text, "yes") == 0;
	return *out || strcmp(text, "no") == 0 ? 0 : -EINVAL;
}

/* A name is shown in tables and records: one short printable line. */
static int parse_label(const char *text, const char **out)
{
	size_t len = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++, len++) {
		if (*p < 0x20 || *p == 0x7f)
			return -EINVAL;
	}
	return len < LABEL_SIZE ? parse_text(text, out) : -EINVAL;
}

enum option {
	GRACE,
	CONTAIN,
	OWNER,
	MAX_PROCS,
	MEMORY,
	NAME,
	SESSION,
	LOG,
	REPORT,
	CONTROL,
	SWEEP,
	LINGER,
	ARG0,
	CWD,
	TERMINAL,
	OPTION_COUNT
};

static const struct {
	const char *name, *takes;
} option_table[OPTION_COUNT] = {
	[GRACE] = { "--grace", "a time such as 2s or 500ms, at most 1h" },
	[CONTAIN] = { "--contain", "auto, namespace, cgroup, keeper or group" },
	[OWNER] = { "--owner", "parent, stdin or a process id" },
	[MAX_PROCS] = { "--max-procs", "a number from 1 to 1000000" },
	[MEMORY] = { "--memory", "a size such as 512M or 2G" },
	[NAME] = { "--name", "a printable name of at most 63 bytes" },
	[SESSION] = { "--session", "a printable tag of at most 63 bytes" },
	[LOG] = { "--log", "a file" },
	[REPORT] = { "--report", "a file or the number of an open descriptor" },
	[CONTROL] = { "--control", "the number of an open socket above 2" },
	[SWEEP] = { "--sweep", "yes or no" },
	[LINGER] = { "--linger", "a time such as 30s, at most 1h" },
	[ARG0] = { "--arg0", "a name" },
	[CWD] = { "--cwd", "a directory" },
	[TERMINAL] = { "--terminal", "yes or no" },
};

static int set(struct options *o, enum option which, const char *value)
{
	switch (which) {
	case GRACE:
		return options_time(value, &o->grace_ms);
	case CONTAIN:
		return parse_level(value, &o->contain);
	case OWNER:
		return parse_owner(value, o);
	case MAX_PROCS:
		return parse_procs(value, &o->limits.max_procs);
	case MEMORY:
		return options_size(value, &o->limits.memory);
	case NAME:
		return parse_label(value, &o->name);
	case SESSION:
		return parse_label(value, &o->session);
	case LOG:
		return parse_text(value, &o->log);
	case REPORT:
		return parse_text(value, &o->report);
	case CONTROL:
		return parse_descriptor(value, &o->control);
	case SWEEP:
		return parse_yes_or_no(value, &o->sweep);
	case LINGER:
		return options_time(value, &o->linger_ms);
	case ARG0:
		return parse_text(value, &o->arg0);
	case CWD:
		return parse_text(value, &o->cwd);
	case TERMINAL:
		return parse_yes_or_no(value, &o->terminal);
	case OPTION_COUNT:
		break;
	}
	return -EINVAL;
}

/* Which option is `word`, as --name or --name=value? OPTION_COUNT: none. */
static enum option lookup(const char *word, const char **out_value)
{
	size_t len = strcspn(word, "=");

	for (int i = 0; i < OPTION_COUNT; i++) {
		const char *name = option_table[i].name;
		if (strlen(name) == len && strncmp(name, word, len) == 0) {
			*out_value = word[len] ? word + len + 1 : NULL;
			return (enum option)i;
		}
	}
	return OPTION_COUNT;
}

static int refuse(struct line *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct line *why, const char *fmt, ...)
{
	va_list ap;

	line_init(why);
	va_start(ap, fmt);
	line_vadd(why, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int options_parse(int argc, char **argv, struct options *out, struct line *why)
{
	struct options o = { .grace_ms = 2000,
			     .contain = LEVEL_AUTO,
			     .owner = OWNER_PARENT,
			     .control = -1,
			     .sweep = true };
	int i;

	for (i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *value;
		enum option which = lookup(argv[i], &value);

		if (which == OPTION_COUNT && argv[i][0] == '-')
			return refuse(why,
				      "unknown option '%s'; 'killick run --help' lists the options",
				      argv[i]);
		if (which == OPTION_COUNT)
			return refuse(
				why,
				"missing '--' before '%s'; write: killick run [options] -- %s ...",
				argv[i], argv[i]);
		if (!value && (i + 1 >= argc || strcmp(argv[i + 1], "--") == 0))
			return refuse(why, "%s needs %s", option_table[which].name,
				      option_table[which].takes);
		if (!value)
			value = argv[++i];
		if (set(&o, which, value) < 0)
			return refuse(why, "%s '%s' is not %s", option_table[which].name, value,
				      option_table[which].takes);
	}
	if (i >= argc)
		return refuse(why, "missing '--' and the command; write: killick run [options] -- "
				   "CMD ARGS...");
	if (i + 1 >= argc || !argv[i + 1][0])
		return refuse(why,
			      "no command after '--'; write: killick run [options] -- CMD ARGS...");
	o.argv = argv + i + 1;
	if (!o.name) {
		const char *slash = strrchr(o.argv[0], '/');
		o.name = slash && slash[1] ? slash + 1 : o.argv[0];
	}
	*out = o;
	return 0;
}
