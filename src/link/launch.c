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

#define NUMBER_SIZE    16 /* bytes of a pid or a descriptor as text */
#define LAUNCH_RECORDS "KILLICK_RUNTIME_DIR"

/* The keeper's command line in one block, which the caller frees. `control` is the name of the
 * control channel. */
static char **keeper_words(const struct recipe *recipe, const char *control)
{
	const char *const first[] = { "killick", "run", "--control", control, "--owner" };
	/* the owner's pid, "--users" and its number, "--" */
	const size_t fixed = sizeof(first) / sizeof(first[0]) + 4;
	size_t argc = strings_count(recipe->argv), size = recipe_write(recipe, NULL, 0), n = 0;
	size_t most = fixed + RECIPE_OPTIONS + argc + 1;
	char **all = mem_grow(NULL, most * sizeof(*all) + 2 * NUMBER_SIZE + size, 1);
	char *owner = (char *)(all + most), *users = owner + NUMBER_SIZE;
	char *words = users + NUMBER_SIZE;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		all[n++] = (char *)first[i];
	snprintf(owner, NUMBER_SIZE, "%d", spawn_own_pid());
	all[n++] = owner;
	if (recipe->users) {
		snprintf(users, NUMBER_SIZE, "%d", SPAWN_FDS); /* `more` of os/spawn.h */
		all[n++] = "--users";
		all[n++] = users;
	}
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

static void launch_add(char ***list, const char *name, const char *value)
{
	size_t size = strlen(name) + strlen(value) + 2;
	char *text;

	text = mem_grow(NULL, size, 1);
	snprintf(text, size, "%s=%s", name, value);
	strings_add(list, text);
}

/* The variables in front of envp. KILLICK_RUNTIME_DIR says where the records are: the keeper reads
 * the first variable of this name and does not pass it on, so that a variable of the server cannot
 * move the record to a place where `killick ps` and `killick reap` do not look. The value of our
 * own environment; empty: the default. Then what envp lacks and no process of this system can do
 * without. For strings_free. */
static char **launch_first(char *const *envp)
{
	const char *records = env_get(LAUNCH_RECORDS), *value;
	char **list = NULL;

	if (records || launch_has_variable(envp, LAUNCH_RECORDS))
		launch_add(&list, LAUNCH_RECORDS, records ? records : "");
	for (const char *const *name = env_needed; *name; name++) {
		value = launch_has_variable(envp, *name) ? NULL : env_get(*name);
		if (value)
			launch_add(&list, *name, value);
	}
	return list;
}

/* Both lists as one; the strings stay theirs. */
static char **launch_join(char *const *first, char *const *envp)
{
	size_t added = strings_count(first), count = strings_count(envp);
	char **all = mem_grow(NULL, added + count + 1, sizeof(*all));

	assert(first || !added);
	for (size_t i = 0; i < added; i++)
		all[i] = first[i];
	for (size_t i = 0; i < count; i++)
		all[added + i] = envp[i];
	all[added + count] = NULL;
	return all;
}

/* Start job with the environment envp and the variables in front of it. */
static int launch_start(struct spawn *job, char *const *envp, struct spawned *out, struct err *e)
{
	char **first = launch_first(envp), **all = launch_join(first, envp);
	const char *failed;
	int r;

	job->envp = all;
	r = spawn_detached(job, out, &failed);
	free(all);
	strings_free(first);
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
	struct spawn job = { .path = recipe->keeper, .more = recipe->users };
	AUTO(mem_drop) char **argv = NULL;
	char control[SPAWN_NAME_SIZE];

	memcpy(job.fds, fds, sizeof(job.fds));
	spawn_name(&job, control);
	argv = keeper_words(recipe, control);
	job.argv = argv;
	return launch_start(&job, recipe->envp, out, e);
}

int launch_janitor(const char *program, struct spawned *out)
{
	/* --no-wait: do not wait for the keepers of other trees, because a thread of the host waits
	 * for this process */
	char *const argv[] = { "killick", "reap", "--no-wait", NULL }, *const nothing[] = { NULL };
	struct spawn job = { .path = program, .argv = argv };
	AUTO(fd_drop) int null = -1;
	int r = spawn_keeper_can_leave_processes() ? pipe_null(&null) : -ENOTSUP;

	if (r < 0)
		return r;
	for (int i = 0; i < SPAWN_FDS; i++)
		job.fds[i] = null;
	return launch_start(&job, nothing, out, NULL);
}
