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

#define LOW_FDS (SPAWN_FDS + 1)

/* A host may have closed its stdio; what becomes 0 to 3 in the child must not be there already. */
int launch_raise_fd(int *fd)
{
	int higher;

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
static const struct rlimit *files_limit; /* NULL: ours */

void launch_limit_files(const struct rlimit *lim)
{
	files = *lim;
	files_limit = &files;
}

/* The words before the server's own. */
#define MAX_WORDS 32
struct words {
	const char *list[MAX_WORDS];
	size_t count;
	char *texts[4]; /* those that are ours to free */
	size_t text_count;
	char owner[16], grace[24], procs[24], memory[32], linger[24];
};

static void words_done(struct words *w)
{
	while (w->text_count)
		free(w->texts[--w->text_count]);
}

static void add_words(struct words *w, const char *option, const char *value)
{
	assert(w->count + 2 <= MAX_WORDS);
	w->list[w->count++] = option;
	w->list[w->count++] = value;
}

/* Somebody's text, if there is one, as one word: alone it might look like an option. */
static void add_text(struct words *w, const char *option, const char *text)
{
	size_t size = text ? strlen(option) + 1 + strlen(text) + 1 : 0;
	char *word;

	if (!text)
		return;
	word = mem_grow(NULL, size, 1);
	snprintf(word, size, "%s=%s", option, text);
	assert(w->text_count < sizeof(w->texts) / sizeof(w->texts[0]) && w->count < MAX_WORDS);
	w->list[w->count++] = w->texts[w->text_count++] = word;
}

static void keeper_words(const struct link_spec *spec, struct words *w)
{
	snprintf(w->owner, sizeof(w->owner), "%d", getpid());
	snprintf(w->grace, sizeof(w->grace), "%ums", spec->grace_ms);
	snprintf(w->procs, sizeof(w->procs), "%lu", spec->max_procs);
	snprintf(w->memory, sizeof(w->memory), "%llu", spec->memory);
	snprintf(w->linger, sizeof(w->linger), "%ums", spec->linger_ms);
	add_words(w, "killick", "run");
	add_words(w, "--control", "3");
	add_words(w, "--owner", w->owner);
	add_words(w, "--grace", w->grace);
	add_text(w, "--name", spec->name);
	add_text(w, "--session", spec->session);
	add_text(w, "--cwd", spec->cwd);
	add_text(w, "--arg0", spec->arg0);
	if (spec->no_sweep)
		add_words(w, "--sweep", "no");
	if (spec->contain)
		add_words(w, "--contain", spec->contain);
	if (spec->max_procs)
		add_words(w, "--max-procs", w->procs);
	if (spec->memory)
		add_words(w, "--memory", w->memory);
	if (spec->linger_ms)
		add_words(w, "--linger", w->linger);
	if (spec->stdio == LINK_TERMINAL)
		add_words(w, "--terminal", "yes");
	w->list[w->count++] = "--";
}

/* One list of words after another, NULL at the end; to be given to free(). */
static char **join(const char *const *first, size_t first_count, char *const *second)
{
	size_t count = strings_count(second);
	char **all = mem_grow(NULL, first_count + count + 1, sizeof(*all));

	memcpy(all, first, first_count * sizeof(*all));
	memcpy(all + first_count, second, (count + 1) * sizeof(*all));
	return all;
}

/* envp, and the one thing of our own environment that a killick must know: where records are. One
 * block, to be given to free(). */
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

int launch_keeper(const struct link_spec *spec, const int fds[SPAWN_FDS], int *out_pidfd,
		  pid_t *out_pid, struct err *e)
{
	AUTO(words_done) struct words words = { .count = 0 };
	AUTO(mem_drop) char **argv = NULL;
	AUTO(mem_drop) char **envp = NULL;
	struct spawn job = { .path = spec->keeper, .files = files_limit };

	keeper_words(spec, &words);
	argv = join(words.list, words.count, spec->argv);
	envp = keeper_environment(spec->envp);
	job.argv = argv;
	job.envp = envp;
	memcpy(job.fds, fds, sizeof(job.fds));
	return spawn_detached(&job, out_pidfd, out_pid, e);
}

int launch_janitor(const char *program, int *out_pidfd)
{
	/* without waiting for the keepers of other trees: a thread of the host waits for this one
	 */
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
