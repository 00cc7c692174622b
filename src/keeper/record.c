/* record.c - see record.h */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"
#include "line.h"

#define FIRST_LINE "killick-record 1\n"
#define BIRTH_S    2 /* an empty record younger than this is being written */

const char *const *record_dirs(void)
{
	static char own[64], tmp[64];
	static const char *dirs[3];
	const char *given = getenv(RECORD_ENV);
	unsigned uid = geteuid();

	/* Not XDG_RUNTIME_DIR: clients hand their servers a handful of variables, and it is not
	 * among them. The answer must be the same for the keeper below a client and for `killick
	 * ps` in a shell. */
	if (given && given[0]) {
		dirs[0] = given;
		dirs[1] = NULL;
		return dirs;
	}
	if (uid == 0)
		snprintf(own, sizeof(own), "/run/killick");
	else
		snprintf(own, sizeof(own), "/run/user/%u/killick", uid);
	snprintf(tmp, sizeof(tmp), "/tmp/killick-%u", uid);
	dirs[0] = own;
	dirs[1] = tmp;
	dirs[2] = NULL;
	return dirs;
}

/* Open a directory only if nobody else could have made or filled it. */
static int open_private(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* What has to be known before anything runs; record_add tells the rest. */
static void first_text(const struct record *rec, struct line *l)
{
	line_init(l);
	line_add(l, FIRST_LINE "tree=%s\nowner=%d 0\nwatch=%d\ngrace_ms=%u\nstarted_ms=%lld\n",
		 rec->tree, rec->owner.pid, rec->watch, rec->grace_ms, rec->started_ms);
}

static int open_in(const char *dir, const struct record *rec, int *out_dirfd)
{
	struct line text;
	int fd, r, dirfd;

	dirfd = open_private(dir);
	if (dirfd == -ENOENT && mkdir(dir, 0700) == 0)
		dirfd = open_private(dir);
	if (dirfd < 0)
		return dirfd;
	fd = openat(dirfd, rec->tree, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0) {
		r = -errno;
		close(dirfd);
		return r;
	}
	first_text(rec, &text);
	/* a janitor may look at the new file for an instant; it lets go of an empty one at once */
	r = flock(fd, LOCK_EX) < 0 ? -errno : line_write(&text, fd);
	if (r < 0) {
		record_remove(dirfd, rec->tree);
		close(fd);
		close(dirfd);
		return r;
	}
	*out_dirfd = dirfd;
	return fd;
}

int record_open(const struct record *rec, int *out_dirfd)
{
	int r = -ENOENT;

	for (const char *const *dir = record_dirs(); *dir && r < 0; dir++)
		r = open_in(*dir, rec, out_dirfd);
	return r;
}

int record_add(int fd, const char *key, const char *fmt, ...)
{
	struct line l;
	va_list ap;

	if (fd < 0)
		return -EBADF;
	line_init(&l);
	line_add(&l, "%s=", key);
	va_start(ap, fmt);
	line_vadd(&l, fmt, ap);
	va_end(ap);
	line_flatten(&l);
	if (l.cut)
		l.len--;
	line_add(&l, "\n");
	return line_write(&l, fd);
}

void record_remove(int dirfd, const char *tree)
{
	unlinkat(dirfd, tree, 0);
}

static void copy(char *to, size_t size, const char *from, size_t len)
{
	snprintf(to, size, "%.*s", (int)(len < size ? len : size), from);
}

/* One line `key=value`, value[0..len). */
static void take_line(struct record *r, const char *key, const char *value, size_t len)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{ "tree", r->tree, sizeof(r->tree) },
		{ "boot", r->boot, sizeof(r->boot) },
		{ "name", r->name, sizeof(r->name) },
		{ "session", r->session, sizeof(r->session) },
		{ "level", r->level, sizeof(r->level) },
		{ "command", r->command, sizeof(r->command) },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(key, texts[i].key) == 0) {
			copy(texts[i].to, texts[i].size, value, len);
			return;
		}
	}
	if (strcmp(key, "cgroup") == 0) {
		int n = 0;
		while (n < RECORD_CGROUPS - 1 && r->cgroups[n][0])
			n++;
		copy(r->cgroups[n], sizeof(r->cgroups[n]), value, len);
		return;
	}
	copy(text, sizeof(text), value, len);
	if (strcmp(key, "owner") == 0)
		sscanf(text, "%d %llu", &r->owner.pid, &r->owner.start);
	else if (strcmp(key, "server") == 0)
		sscanf(text, "%d %llu", &r->server.pid, &r->server.start);
	else if (strcmp(key, "watch") == 0)
		sscanf(text, "%d", &r->watch);
	else if (strcmp(key, "hold") == 0)
		sscanf(text, "%d", &r->hold);
	else if (strcmp(key, "grace_ms") == 0)
		sscanf(text, "%u", &r->grace_ms);
	else if (strcmp(key, "started_ms") == 0)
		sscanf(text, "%lld", &r->started_ms);
	else if (strcmp(key, "stopping") == 0)
		sscanf(text, "%lld %lld %23s", &r->stopping_ms, &r->deadline_ms, r->why);
	else if (strcmp(key, "survivors") == 0)
		sscanf(text, "%d", &r->survivors);
}

int record_parse(const char *text, struct record *out)
{
	if (strncmp(text, FIRST_LINE, sizeof(FIRST_LINE) - 1) != 0)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	for (const char *line = text + sizeof(FIRST_LINE) - 1; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *eq = memchr(line, '=', (size_t)(end - line));
		char key[24];

		/* a last line without its end is a write that was cut off: not to be believed */
		if (eq && *end && (size_t)(eq - line) < sizeof(key)) {
			copy(key, sizeof(key), line, (size_t)(eq - line));
			take_line(out, key, eq + 1, (size_t)(end - eq - 1));
		}
		line = *end ? end + 1 : end;
	}
	return 0;
}

static bool is_id(const char *name)
{
	return strlen(name) == TREE_ID_LEN && strspn(name, "0123456789abcdef") == TREE_ID_LEN;
}

struct each {
	enum record_which which;
	record_fn fn;
	void *ctx;
	const char *name; /* of the file: the id, also when the text says none */
};

static int each_record(int dirfd, int fd, const struct each *e)
{
	char text[8192];
	struct record rec = { .kept = false };
	bool kept = flock(fd, LOCK_EX | LOCK_NB) < 0;
	struct stat st;
	ssize_t n;

	if (kept && e->which == RECORD_FREE)
		return 0;
	if (fstat(fd, &st) < 0 || st.st_nlink == 0)
		return 0; /* removed between open and lock */
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return 0;
	text[n] = '\0';
	if (record_parse(text, &rec) < 0 && (kept || st.st_mtime + BIRTH_S > time(NULL)))
		return 0; /* being born */
	rec.kept = kept;
	copy(rec.tree, sizeof(rec.tree), e->name, TREE_ID_LEN);
	return e->fn(e->ctx, &rec, dirfd);
}

static int each_name(void *ctx, int dirfd, const char *name)
{
	struct each *e = ctx;
	int fd, r;

	if (!is_id(name))
		return 0;
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	e->name = name;
	r = each_record(dirfd, fd, e);
	close(fd);
	return r;
}

int record_each(enum record_which which, record_fn fn, void *ctx)
{
	struct each e = { .which = which, .fn = fn, .ctx = ctx };

	for (const char *const *dir = record_dirs(); *dir; dir++) {
		int r, fd = open_private(*dir);
		if (fd < 0)
			continue;
		r = dir_each(fd, each_name, &e);
		close(fd);
		if (r)
			return r;
	}
	return 0;
}
