/* launch.c - see launch.h */
#include "link/launch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "os/env.h"
#include "os/fd.h"
#include "os/pipe.h"

#define OWNER_SIZE 16 /* bytes of a pid as text */

/* The keeper's command line in one block, which the caller frees. `control` is the name of the
 * control channel. */
static char **keeper_words(const struct recipe *recipe, const char *control)
{
	const char *const first[] = { "killick", "run", "--control", control, "--owner" };
	const size_t fixed = sizeof(first) / sizeof(first[0]) + 2; /* the owner's pid, "--" */
	size_t argc = strings_count(recipe->argv), size = recipe_write(recipe, NULL, 0), n = 0;
	size_t most = fixed + RECIPE_OPTIONS + argc + 1;
	char **all = mem_grow(NULL, most * sizeof(*all) + OWNER_SIZE + size, 1);
	char *owner = (char *)(all + most), *words = owner + OWNER_SIZE;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		all[n++] = (char *)first[i];
	snprintf(owner, OWNER_SIZE, "%d", spawn_own_pid());
	all[n++] = owner;
	recipe_write(recipe, words, size);
	for (char *word = words; word < words + size; word += strlen(word) + 1)
		all[n++] = word;
	all[n++] = "--";
	for (size_t i = 0; i < argc; i++)
		all[n++] = recipe->argv[i];
	assert(n < most);
	all[n] = NULL;
	return all;
}

static bool launch_has_variable(char *const *envp, const char *name)
{
	for (; *envp; envp++)
		if (env_is_named(*envp, name, strlen(name)))
			return true;
	return false;
}

/* Append NAME=value of our own environment to the list, if it has that variable. */
static void launch_pass(char ***list, const char *name)
{
	const char *value = env_get(name);
	size_t size = value ? strlen(name) + strlen(value) + 2 : 0;
	char *text;

	if (!value)
		return;
	text = mem_grow(NULL, size, 1);
	snprintf(text, size, "%s=%s", name, value);
	strings_add(list, text);
}

/* The variables that envp lacks: KILLICK_RUNTIME_DIR of our own environment, because killick must
 * know where the records are, and what no process of this system can do without. For strings_free.
 */
static char **launch_missing(char *const *envp)
{
	char **list = NULL;

	launch_pass(&list, "KILLICK_RUNTIME_DIR");
	for (const char *const *name = env_needed; *name; name++)
		if (!launch_has_variable(envp, *name))
			launch_pass(&list, *name);
	return list;
}

/* Both lists as one; the strings stay theirs. */
static char **launch_join(char *const *envp, char *const *more)
{
	size_t count = strings_count(envp), added = strings_count(more);
	char **all = mem_grow(NULL, count + added + 1, sizeof(*all));

	assert(more || !added);
	for (size_t i = 0; i < count; i++)
		all[i] = envp[i];
	for (size_t i = 0; i < added; i++)
		all[count + i] = more[i];
	all[count + added] = NULL;
	return all;
}

/* Start job with the environment envp and what it lacks. */
static int launch_start(struct spawn *job, char *const *envp, struct spawned *out, struct err *e)
{
	char **missing = launch_missing(envp), **all = launch_join(envp, missing);
	const char *failed;
	int r;

	job->envp = all;
	r = spawn_detached(job, out, &failed);
	free(all);
	strings_free(missing);
	if (r == 0)
		return 0;
	if (!failed)
		return err_set(e, r, "cannot run the keeper '%s': %s", job->path, strerror(-r));
	return err_set(e, r, "cannot start a process (%s): %s%s", failed, strerror(-r),
		       err_next(r));
}

int launch_keeper(const struct recipe *recipe, const int fds[SPAWN_FDS], struct spawned *out,
		  struct err *e)
{
	struct spawn job = { .path = recipe->keeper };
	AUTO(mem_drop) char **argv = NULL;
	char control[SPAWN_NAME_SIZE];

	memcpy(job.fds, fds, sizeof(job.fds));
	spawn_name(&job, control);
	argv = keeper_words(recipe, control);
	job.argv = argv;
	return launch_start(&job, recipe->envp, out, e);
}

int launch_janitor(const char *program, int *out_process)
{
	/* --no-wait: do not wait for the keepers of other trees, because a thread of the host waits
	 * for this process */
	char *const argv[] = { "killick", "reap", "--no-wait", NULL }, *const nothing[] = { NULL };
	struct spawn job = { .path = program, .argv = argv };
	AUTO(fd_drop) int null = -1;
	struct spawned started;
	int r = spawn_keeper_can_leave_processes() ? pipe_null(&null) : -ENOTSUP;

	if (r < 0)
		return r;
	for (int i = 0; i < SPAWN_FDS; i++)
		job.fds[i] = null;
	r = launch_start(&job, nothing, &started, NULL);
	if (r == 0)
		*out_process = started.process;
	return r;
}
