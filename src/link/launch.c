/* launch.c - see launch.h */
#include "link/launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"

#define LOW_FDS    (SPAWN_FDS + 1)
#define OWNER_SIZE 16 /* bytes of a pid as text */

/* If the host has closed its stdio, a new descriptor can have a number from 0 to 3. The child needs
 * these numbers for its own descriptors, so ours are moved to higher numbers. */
int launch_raise_fd(int *fd)
{
	int higher;

	assert(*fd >= 0);
	if (*fd >= LOW_FDS)
		return 0;
	higher = fcntl(*fd, F_DUPFD_CLOEXEC, LOW_FDS);
	if (higher < 0)
		return -errno;
	close(*fd);
	*fd = higher;
	return 0;
}

static struct rlimit files;
static const struct rlimit *files_limit; /* NULL: do not change the limit */

void launch_limit_files(const struct rlimit *lim)
{
	files = *lim;
	files_limit = &files;
}

/* The keeper's command line in one block, which the caller frees. */
static char **keeper_words(const struct recipe *recipe)
{
	static const char *const first[] = { "killick", "run", "--control", "3", "--owner" };
	const size_t fixed = sizeof(first) / sizeof(first[0]) + 2; /* the owner's pid, "--" */
	size_t argc = strings_count(recipe->argv), size = recipe_write(recipe, NULL, 0), n = 0;
	size_t most = fixed + RECIPE_OPTIONS + argc + 1;
	char **all = mem_grow(NULL, most * sizeof(*all) + OWNER_SIZE + size, 1);
	char *owner = (char *)(all + most), *words = owner + OWNER_SIZE;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		all[n++] = (char *)first[i];
	snprintf(owner, OWNER_SIZE, "%d", getpid());
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

/* envp, and KILLICK_RUNTIME_DIR of our own environment, because killick must know where the records
 * are. One block, which the caller frees. */
static char **keeper_environment(char *const *envp)
{
	static const char name[] = "KILLICK_RUNTIME_DIR=";
	const char *dir = getenv("KILLICK_RUNTIME_DIR");
	size_t count = strings_count(envp), text = dir ? sizeof(name) + strlen(dir) : 0;
	char **all, *variable;

	all = mem_grow(NULL, (count + 2) * sizeof(*all) + text, 1);
	for (size_t i = 0; i < count; i++)
		all[i] = envp[i];
	if (dir) {
		variable = (char *)(all + count + 2);
		snprintf(variable, text, "%s%s", name, dir);
		all[count++] = variable;
	}
	all[count] = NULL;
	return all;
}

int launch_keeper(const struct recipe *recipe, const int fds[SPAWN_FDS], int *out_pidfd,
		  pid_t *out_pid, struct err *e)
{
	AUTO(mem_drop) char **argv = keeper_words(recipe);
	AUTO(mem_drop) char **envp = keeper_environment(recipe->envp);
	struct spawn job = {
		.path = recipe->keeper, .argv = argv, .envp = envp, .files = files_limit
	};

	memcpy(job.fds, fds, sizeof(job.fds));
	return spawn_detached(&job, out_pidfd, out_pid, e);
}

int launch_janitor(const char *program, int *out_pidfd)
{
	/* --no-wait: do not wait for the keepers of other trees, because a thread of the host waits
	 * for this process */
	char *const argv[] = { "killick", "reap", "--no-wait", NULL }, *const nothing[] = { NULL };
	struct spawn job = { .path = program, .argv = argv };
	AUTO(mem_drop) char **envp = keeper_environment(nothing);
	AUTO(fd_drop) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int r = null < 0 ? -errno : launch_raise_fd(&null);

	if (r < 0)
		return r;
	for (int i = 0; i < SPAWN_FDS; i++)
		job.fds[i] = null;
	job.envp = envp;
	return spawn_detached(&job, out_pidfd, NULL, NULL);
}
