/* matrix.c - every mode of the zoo x level x ending, against the checked-in table.
 *
 * matrix [--expect FILE] [--user UID [--lone]] [--quick] [--jobs N] [--mode M] [--level L]
 * [--ending E]
 *        [--print] [--patient] [--instead tini|bwrap]
 *
 * The table must be true: a cell that is worse than it says fails, and a cell that is better fails
 * too. --user, for root only, runs everything as that user, in a cgroup that was handed to it;
 * with --lone it gets none. --fights takes only the servers that attack their keepers.
 * Cells that are known as escapes are watched for a short time; --patient gives them the same time
 * as the others, to see whether one is better than it says.
 * --print writes the table that was measured; --instead puts another wrapper in the place of no
 * wrapper, to see what it would have there.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "cell.h"
#include "pool.h"

#define DEADLINE_MS 8000 /* well below the zoo's own 12 s, or its clock would do killick's work */
#define FROZEN_MS   1500 /* keepers that cannot run do nothing, however long they are given */
#define MAX_MODES   96
#define CELL_WEIGHT 8 /* places of the pool that a cell takes */

static const char *levels[] = { "namespace", "cgroup", "keeper", "group", "bare" };
enum { LEVELS = sizeof(levels) / sizeof(*levels) };

struct row { /* one mode at one level */
	char mode[24];
	int level;
	char expect[END_COUNT + 1];
	char got[END_COUNT + 1];
	double ms[END_COUNT];
	char text[END_COUNT][400];
	int left;    /* cells still to come */
	bool fights; /* its keepers */
};

struct result {
	char verdict;
	double ms;
	char text[400];
};

static struct row rows[MAX_MODES * LEVELS];
static int row_count;
static struct planned {
	struct row *row;
	enum cell_ending ending;
} cells[MAX_MODES * LEVELS * END_COUNT];
static int cell_count;

static const char *killick, *zoo, *expect_file = "matrix.expect";
static const char *only_mode, *only_level, *only_ending;
static bool quick, print, lone, only_fights, patient;
static int jobs = 4;

static bool is_quick(const char *mode)
{
	static const char *const some[] = { "plain",    "ignore",   "bg", "daemon",
					    "chainsid", "deadlead", "npx" };

	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		if (!strcmp(some[i], mode))
			return true;
	return false;
}

/* Does the list of words after MODE@ hold `who`? */
static bool is_for(const char *list, const char *who)
{
	size_t len = strlen(who);

	for (const char *p = list; p && *p; p = strchr(p, ','), p = p ? p + 1 : NULL)
		if (!strncmp(p, who, len) && (p[len] == ',' || p[len] == '\0'))
			return true;
	return false;
}

/* A line: mode, then one word of END_COUNT letters per level. `#` starts a comment. MODE@root,
 * MODE@user and MODE@lone (several with commas) are for some runs only. `fights` begins the servers
 * that attack their keepers. */
static bool read_expect(const char *who)
{
	bool fights = false;
	FILE *f = fopen(expect_file, "re");
	char line[400], *at;

	while (f && fgets(line, sizeof(line), f)) {
		char mode[32], word[LEVELS][16];

		if (!strncmp(line, "fights\n", 7))
			fights = true;
		if (sscanf(line, "%31s %15s %15s %15s %15s %15s", mode, word[0], word[1], word[2],
			   word[3], word[4]) != 1 + LEVELS ||
		    mode[0] == '#')
			continue;
		at = strchr(mode, '@');
		if ((at && !is_for(at + 1, who)) || (only_fights && !fights))
			continue;
		if (at)
			*at = '\0';
		if ((only_mode && strcmp(only_mode, mode)) || (quick && !is_quick(mode)))
			continue;
		for (int i = 0; i < LEVELS && row_count < MAX_MODES * LEVELS; i++) {
			struct row *r = &rows[row_count];

			if (strlen(word[i]) != END_COUNT ||
			    (only_level && strcmp(only_level, levels[i])))
				continue;
			*r = (struct row){ .level = i };
			snprintf(r->mode, sizeof(r->mode), "%.23s", mode);
			r->fights = fights;
			memcpy(r->expect, word[i], END_COUNT);
			memset(r->got, ' ', END_COUNT);
			row_count++;
		}
	}
	if (f)
		fclose(f);
	return row_count > 0;
}

static void plan_cells(void)
{
	for (int i = 0; i < row_count; i++) {
		for (int e = 0; e < END_COUNT; e++) {
			struct row *r = &rows[i];

			/* without a cgroup these levels are not there, or as for everybody */
			bool elsewhere = lone && r->level != 0 && r->level != 2;

			if (r->expect[e] == '-' || elsewhere ||
			    (only_ending && strcmp(only_ending, cell_ending_names[e])))
				r->got[e] = '-', r->expect[e] = '-';
			else
				cells[cell_count].row = r,
				cells[cell_count++].ending = (enum cell_ending)e, r->left++;
		}
	}
}

/* Where the keepers cannot run, a cell waits for a deadline and needs no processor. */
static bool is_waiting(const struct row *r)
{
	static const char *const modes[] = { "freeze", "seize", "stopboth", "lobotomy" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strncmp(r->mode, modes[i], strlen(modes[i])))
			return r->fights && r->level < 3;
	return false;
}

/* A bomb takes the machine: alone. */
static int weight(int index)
{
	const struct row *r = cells[index].row;

	if (!strncmp(r->mode, "bomb", 4))
		return POOL_MAX_WIDTH;
	if (!strcmp(r->mode, "idle") || strstr(r->mode, "flood") ||
	    !strncmp(r->mode, "chain", 5)) /* forks without pause */
		return 2 * CELL_WEIGHT;
	return is_waiting(r) ? 1 : CELL_WEIGHT;
}

/* Spread the waiting cells over the run, so that others run meanwhile: one after every fourth,
 * until there are no more. */
static void mix_cells(void)
{
	static struct planned others[MAX_MODES * LEVELS * END_COUNT],
		waiting[MAX_MODES * LEVELS * END_COUNT];
	int o = 0, w = 0, next_o = 0, next_w = 0;

	for (int i = 0; i < cell_count; i++) {
		if (is_waiting(cells[i].row))
			waiting[w++] = cells[i];
		else
			others[o++] = cells[i];
	}
	for (int i = 0; i < cell_count; i++)
		cells[i] = next_w < w && (i % 5 == 4 || next_o == o) ? waiting[next_w++]
								     : others[next_o++];
}

static bool leaves_early(const char *mode)
{
	return !strcmp(mode, "exit0") || !strcmp(mode, "exitleft") || !strcmp(mode, "noread");
}

/* How long what is left may take to go. Where `reap` has to end keepers that still exist, it waits
 * for 8 s by itself. */
static int patience_ms(char expect, enum cell_ending ending)
{
	bool by_reap = strchr("MJm", expect) && ending != END_BOTH;

	return by_reap || (expect == 'E' && !patient) ? FROZEN_MS : DEADLINE_MS;
}

static void run_cell(int index, void *result)
{
	struct row *r = cells[index].row;
	enum cell_ending ending = cells[index].ending;
	struct cell_spec spec = { .killick = killick,
				  .zoo = zoo,
				  .level = levels[r->level],
				  .mode = r->mode,
				  .grace_ms = 100 };
	bool janitor = ending == END_BOTH || strchr("MJm", r->expect[ending]);
	struct result *out = result;
	struct cell c;

	out->verdict = CELL_ERROR;
	if (janitor && ending != END_BOTH)
		setenv("ZOO_LIFE_MS", "20000", 1);
	if (cell_start(&c, &spec) && cell_await(&c, 8000)) {
		if (c.ready) {
			cell_find(&c);
			if (!strcmp(r->mode, "selfstop"))
				cell_await_stopped(c.server);
			cell_end(&c, ending);
			/* with keepers that still exist, `reap` itself waits for 8 s */
			out->verdict = (char)cell_judge(&c, patience_ms(r->expect[ending], ending),
							janitor);
		} else if (WIFEXITED(c.status) &&
			   (WEXITSTATUS(c.status) == 69 || WEXITSTATUS(c.status) == 77)) {
			out->verdict = CELL_NONE;
			snprintf(c.text, sizeof(c.text), "%s",
				 WEXITSTATUS(c.status) == 69 ? "this level is not available here"
							     : "the zoo cannot do this here");
		} else if (leaves_early(r->mode)) {
			out->verdict = (char)cell_judge(&c, DEADLINE_MS, false);
		} else {
			snprintf(c.text, sizeof(c.text),
				 "ended before it was ready, wait status %#x", c.status);
		}
	}
	out->ms = c.ms;
	snprintf(out->text, sizeof(out->text), "%s", c.text);
	cell_done(&c);
}

static void judge_row(struct row *r)
{
	char name[256];
	const char *skip = NULL;
	bool ok = true;
	int used = snprintf(name, sizeof(name), "%-11s %-9s %s ms:", r->mode, levels[r->level],
			    r->got);

	for (int e = 0; e < END_COUNT; e++) {
		if (r->got[e] == '-' || r->got[e] == CELL_ERROR)
			used += snprintf(name + used, sizeof(name) - (size_t)used, "      -");
		else
			used += snprintf(name + used, sizeof(name) - (size_t)used, " %6.1f",
					 r->ms[e]);
		if (r->got[e] == CELL_NONE && r->expect[e] != '-')
			skip = r->text[e];
		else if (r->got[e] == CELL_EMPTY && r->expect[e] == 'E' && r->level < 3)
			t_note("%s %s %s: better than the table: nothing escapes", r->mode,
			       levels[r->level], cell_ending_names[e]);
		else if (r->expect[e] != r->got[e] &&
			 !(r->expect[e] == '?' && strchr(".MJE", r->got[e])) &&
			 !(r->expect[e] == 'm' && strchr(".M", r->got[e])) &&
			 !(r->expect[e] == 'L' && r->got[e] == '.')) {
			t_note("%s %s %s: expected '%c', got '%c' %s", r->mode, levels[r->level],
			       cell_ending_names[e], r->expect[e], r->got[e], r->text[e]);
			ok = false;
		}
	}
	t_result(ok, name, skip);
}

static void cell_came(int index, const void *result)
{
	struct row *r = cells[index].row;
	enum cell_ending e = cells[index].ending;
	const struct result *res = result;

	r->got[e] = res ? res->verdict : CELL_ERROR;
	r->ms[e] = res ? res->ms : 0;
	snprintf(r->text[e], sizeof(r->text[e]), "%s", res ? res->text : "the trial died or hung");
	if (--r->left == 0)
		judge_row(r);
}

static void print_table(void)
{
	for (int i = 0; i < row_count; i++) {
		if (i == 0 || strcmp(rows[i].mode, rows[i - 1].mode))
			printf("%s%-12s", i ? "\n" : "", rows[i].mode);
		printf(" %-9s", rows[i].got);
	}
	printf("\n");
}

static int run_matrix(void)
{
	struct pool pool = { .count = cell_count,
			     .width = jobs * CELL_WEIGHT,
			     .timeout_ms = 60000,
			     .size = sizeof(struct result),
			     .weight = weight,
			     .run = run_cell,
			     .done = cell_came };
	double start = t_now_ms();

	printf("# endings: term eof oterm okill wkill hkill both\n"
	       "# . empty  M main at once, rest by reap  J all by reap  E escape  L litter  - not "
	       "tried  ! trial failed\n");
	fflush(stdout);
	pool_run(&pool);
	if (print)
		print_table();
	t_note("%d cells in %.1f s as uid %d", cell_count, (t_now_ms() - start) / 1e3,
	       (int)getuid());
	return t_finish();
}

/* A copy of the zoo that runs as a third user. Only root can make one; without it mode setuid is
 * skipped. */
static void make_setuid_copy(char *path, size_t size)
{
	char dir[] = "/tmp/killick-matrix-XXXXXX", buf[65536];
	int from = open(zoo, O_RDONLY | O_CLOEXEC), to;
	ssize_t n;

	if (from < 0 || !mkdtemp(dir) || chmod(dir, 0755)) {
		fprintf(stderr, "matrix: cannot copy '%s': %s\n", zoo, strerror(errno));
		exit(70);
	}
	snprintf(path, size, "%s/zoo", dir);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	while (to >= 0 && (n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			exit(70);
	close(from);
	if (to < 0 || fchown(to, 65533, 65533) || fchmod(to, 04755))
		exit(70);
	close(to);
	setenv("ZOO_SETUID", path, 1);
}

/* Make a cgroup v2 subtree and hand it to uid. Without cgroup v2 the level is just not there. */
static bool delegate(uid_t uid, char *dir, int size)
{
	static const char *const files[] = { "", "/cgroup.procs", "/cgroup.subtree_control",
					     "/cgroup.threads" };
	char own[400], path[512];

	if (!audit_own_cgroup(own, sizeof(own)) ||
	    snprintf(dir, (size_t)size, "%s/killick-matrix-%d", own, (int)getpid()) >= size ||
	    mkdir(dir, 0755))
		return *dir = '\0', false;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, files[i]);
		if (chown(path, uid, uid))
			t_note("chown %s: %s", path, strerror(errno));
	}
	return true;
}

static _Noreturn void be_user(uid_t uid, const char *dir)
{
	struct audit in = AUDIT_INIT;
	int status;

	snprintf(in.cgroup, sizeof(in.cgroup), "%s", dir);
	audit_enter(&in);
	if (uid > 0) {
		if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
			_exit(70);
		prctl(PR_SET_DUMPABLE, 1); /* or our own /proc files stay root's */
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* last: a change of uid clears it */
	status = run_matrix();
	fflush(stdout);
	_exit(status);
}

/* Root's part: prepare, let a child do the work as the user it should be, clean up. */
static int run_as(uid_t uid)
{
	char copy[64] = "", dir[480] = "";
	int status = -1;
	pid_t pid;

	make_setuid_copy(copy, sizeof(copy));
	if (uid > 0 && !lone && !delegate(uid, dir, sizeof(dir)))
		t_note("no cgroup could be handed to uid %d", (int)uid);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		be_user(uid, dir);
	waitpid(pid, &status, 0);
	if (*dir && rmdir(dir))
		t_note("cgroup '%s' stays: %s", dir, strerror(errno));
	unlink(copy);
	*strrchr(copy, '/') = '\0';
	rmdir(copy);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 70;
}

int main(int argc, char **argv)
{
	long uid = 0;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		const char **text = !strcmp(argv[i], "--expect")    ? &expect_file
				    : !strcmp(argv[i], "--mode")    ? &only_mode
				    : !strcmp(argv[i], "--level")   ? &only_level
				    : !strcmp(argv[i], "--ending")  ? &only_ending
				    : !strcmp(argv[i], "--instead") ? &levels[LEVELS - 1]
								    : NULL;

		if (text)
			*text = value, i++;
		else if (!strcmp(argv[i], "--user"))
			uid = atol(value), i++;
		else if (!strcmp(argv[i], "--jobs"))
			jobs = atoi(value), i++;
		else if (!strcmp(argv[i], "--quick"))
			quick = true;
		else if (!strcmp(argv[i], "--lone"))
			lone = true;
		else if (!strcmp(argv[i], "--fights"))
			only_fights = true;
		else if (!strcmp(argv[i], "--patient"))
			patient = true;
		else if (!strcmp(argv[i], "--print"))
			print = true;
		else
			return fprintf(stderr, "matrix: unknown option '%s'\n", argv[i]), 64;
	}
	killick = t_program("KILLICK", "build/killick");
	zoo = t_program("ZOO", "build/tests/zoo/killick-zoo");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (uid && geteuid() != 0)
		return printf("1..0 # SKIP not root: the run without --user is that of a user "
			      "already\n"),
		       0;
	if (!read_expect(lone ? "lone" : uid || geteuid() ? "user" : "root"))
		return fprintf(stderr, "matrix: no row in '%s' is for this mode and user\n",
			       expect_file),
		       64;
	plan_cells();
	mix_cells();
	if (cell_count == 0)
		return fprintf(stderr, "matrix: no such cell; a test of nothing is no test\n"), 64;
	return geteuid() == 0 ? run_as((uid_t)uid) : run_matrix();
}
