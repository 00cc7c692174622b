/* engine_run.c - see engine_run.h */
#include "engine_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/strings.h"
#include "cli/cli.h"
#include "engine.h"
#include "engine_call.h"
#include "engine_spec.h"
#include "keeper/linux/clock.h"
#include "keeper/linux/container.h"
#include "keeper/linux/record.h"
#include "cli/on.h"

#define VERB           "run"
#define PAUSE_START_MS 5000

bool engine_run_is_meant(char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--on") == 0 || strncmp(*argv, "--on=", 5) == 0)
			return false;
	return *argv && argv[1];
}

/* Does this machine have the init program that the engine puts into the container? The daemon of
 * docker has its own; podman and nerdctl refuse --init when this machine has no such program. */
static bool has_init(const struct engine_command *c)
{
	static const char *const places[] = {
		"/usr/libexec/podman/catatonit",
		"/usr/local/libexec/podman/catatonit",
		"/usr/lib/podman/catatonit",
		"/usr/local/lib/podman/catatonit",
		"/usr/bin/catatonit",
	};

	if (strcmp(c->engine, "docker") == 0)
		return true;
	if (strcmp(c->engine, "nerdctl") == 0)
		return access("/usr/local/bin/tini", X_OK) == 0 ||
		       access("/usr/bin/tini", X_OK) == 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], X_OK) == 0)
			return true;
	return false;
}

/* Returns the path of a new file in the first usable directory for records. The engine creates the
 * file, and refuses a file that exists. NULL: no directory is usable; the report then has no id. */
static char *new_cidfile(const char *label)
{
	for (const char *const *dir = record_dirs(); *dir; dir++) {
		struct buf b = BUF_INIT(BUF_ANY_SIZE);
		char cwd[PATH_MAX] = "";
		int fd = record_make_dir(*dir);

		if (fd < 0)
			continue;
		close(fd);
		if (**dir != '/' && !getcwd(cwd, sizeof(cwd)))
			continue;
		buf_addf(&b, "%s%s%s/%s%s", cwd, *cwd ? "/" : "", *dir, CONTAINER_FILE, label);
		return buf_take(&b);
	}
	return NULL;
}

/* The words of the new command line: options of killick, "--", the command. */
struct words {
	char **list;
	int count;
};

static void add(struct words *w, const char *word)
{
	w->list[w->count++] = (char *)word;
}

static void addf(struct words *w, const char *option, const char *value)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&b, "%s=%s", option, value);
	add(w, buf_take(&b)); /* not freed: in use until the program ends or calls execv */
}

/* Add the words of the command, with new options behind `run`. Without a label the command is not
 * changed. */
static void add_command(struct words *w, char **command, const struct engine_command *c,
			const char *label, const char *cidfile)
{
	for (int i = 0; command[i]; i++) {
		add(w, command[i]);
		if (i != c->run || !label)
			continue;
		if (!c->rm && !c->no_rm)
			add(w, "--rm");
		if (!c->init && !c->no_init && has_init(c))
			add(w, "--init");
		addf(w, "--label=" ENGINE_LABEL, label);
		if (cidfile)
			addf(w, "--cidfile", cidfile);
	}
}

/* Can killick hold this command together with its container? */
static bool engine_is_held(char **command, struct engine_command *c)
{
	engine_parse(command, c);
	if (c->unknown && strings_have(command, "run"))
		cli_say(VERB,
			"the container of '%s' is not held, because the option '%s' is not known; "
			"to hide this line, use --no-container",
			c->engine, c->unknown);
	else if (c->run && !c->detach && c->label)
		cli_say(VERB,
			"the container of '%s' is not held, because the command sets the label "
			"'" ENGINE_LABEL "' itself; to hide this line, use --no-container",
			c->engine);
	return c->run && !c->detach && !c->unknown && !c->label;
}

/* Returns the path of the `killick` that executed this program; if the user started this program
 * directly, the keeper is searched. */
static char *engine_keeper(void)
{
	const char *slash = strrchr(cli_program, '/');

	if (slash && strcmp(slash, "/killick-more") != 0 && access(cli_program, X_OK) == 0)
		return mem_dup(cli_program);
	return on_keeper(VERB);
}

/* Rootless podman keeps one process for each user; it holds the user's namespace for all
 * containers. The first podman command starts this process. If the first command is a server, the
 * process would be part of the tree and end with it; podman then refuses every command until
 * `podman system migrate`. So another command starts the process now, outside of every tree. */
static void start_pause_process(const struct engine_command *c)
{
	AUTO(buf_done) struct buf out = BUF_INIT(BUF_ANY_SIZE);

	if (strcmp(c->engine, "podman") == 0 && geteuid() != 0 && !getenv("CONTAINER_HOST"))
		ENGINE_CALL(c->call, clock_us() + PAUSE_START_MS * 1000LL, &out, "unshare", "true");
}

/* Give the spec to the keeper in a variable: other users can read command lines, but not
 * environments. */
static void add_container(struct words *w, const struct engine_command *c, const char *label)
{
	AUTO(mem_drop) char *spec = engine_spec_write(label, c->call);

	setenv(CONTAINER_VARIABLE, spec, 1);
	add(w, "--container");
}

int engine_run(int argc, char **argv)
{
	AUTO(mem_drop) char *keeper = engine_keeper();
	AUTO(mem_drop) char *cidfile = NULL;
	char label[ENGINE_LABEL_LEN + 1];
	struct words w = { .list = mem_grow(NULL, (size_t)argc + 16, sizeof(char *)) };
	struct engine_command c;
	char **command;
	bool held;
	int i = 1;

	if (!keeper)
		return EXIT_UNAVAILABLE;
	add(&w, "killick");
	add(&w, VERB);
	for (; strcmp(argv[i], "--") != 0; i++)
		add(&w, argv[i]);
	command = argv + i + 1;
	random_hex(label, ENGINE_LABEL_LEN);
	held = engine_is_held(command, &c);
	if (held && !c.cidfile)
		cidfile = new_cidfile(label);
	if (held)
		add_container(&w, &c, label);
	else
		add(&w, "--no-container");
	add(&w, "--");
	add_command(&w, command, &c, held ? label : NULL, cidfile);
	add(&w, NULL);
	if (held)
		start_pause_process(&c);
	execv(keeper, w.list);
	cli_say(VERB, "cannot execute '%s': %s; reinstall killick", keeper, strerror(errno));
	return EXIT_UNAVAILABLE;
}
