/* record.c - see record.h */
#include "record.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"
#include "line_fd.h"

#define LOCK_WAIT_MS 100
#define BIRTH_S      2 /* an empty record younger than this is still being written */

/* A record is smaller than TEXT_MAX. Of a larger file the beginning and the end are read, which
 * have the lines of the keeper and those of janitors. */
enum { TEXT_MAX = 8192, TEXT_TAIL = 1024 };

/* The open must not block, whatever kind of file is in the place of a record. */
#define RECORD_OPEN (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

const char *const *record_dirs(void)
{
	static char own[64], tmp[64];
	static const char *dirs[3];
	const char *given = getenv(RECORD_ENV);
	unsigned uid = geteuid();

	/* XDG_RUNTIME_DIR is not used: clients pass only a few variables to their servers, and it
	 * is not among them. The directory must be the same for the keeper below a client and for
	 * `killick ps` in a shell. */
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

int record_open_dir(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | RECORD_OPEN);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int record_make_dir(const char *path)
{
	int fd = record_open_dir(path);

	return fd == -ENOENT && mkdir(path, 0700) == 0 ? record_open_dir(path) : fd;
}

/* The lines that must be written before a process starts; record_add writes the others. */
static void first_text(const struct record *rec, struct line *l)
{
	line_init(l);
	line_add(l,
		 RECORD_FIRST_LINE "tree=%s\nowner=%d 0\nwatch=%d %llu\npidns=%llu\ntimens=%llu\n"
				   "grace_ms=%u\nstarted_ms=%lld\n",
		 rec->tree, rec->owner.pid, rec->watch.pid, rec->watch.start, rec->pidns,
		 rec->timens, rec->grace_ms, rec->started_ms);
}

/* A janitor may hold the lock of the new file for an instant, and releases that of an empty file at
 * once. So wait for LOCK_WAIT_MS, and fail when another process keeps the lock. */
static int lock_new(int fd)
{
	for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; ms++) {
		if (ms == LOCK_WAIT_MS)
			return -errno;
		poll(NULL, 0, 1);
	}
	return 0;
}

static int open_in(const char *dir, const struct record *rec, int *out_dirfd)
{
	struct line text;
	int fd, r, dirfd;

	assert(rec->tree[0] && rec->watch.pid > 0);
	dirfd = record_make_dir(dir);
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
	r = lock_new(fd);
	if (r == 0)
		r = line_write(&text, fd);
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
	static struct line l; /* a stack that grows by 16 KiB costs page faults in each keeper */
	va_list ap;

	if (fd < 0)
		return -EBADF;
	va_start(ap, fmt);
	record_line(&l, key, fmt, ap);
	va_end(ap);
	return line_write(&l, fd);
}

void record_remove(int dirfd, const char *tree)
{
	unlinkat(dirfd, tree, 0);
}

static bool is_id(const char *name)
{
	return strlen(name) == TREE_ID_LEN && strspn(name, "0123456789abcdef") == TREE_ID_LEN;
}

/* The text of the file of fd, up to TEXT_MAX; only complete lines where a part is left out. */
static int read_text(int fd, off_t size, char text[TEXT_MAX])
{
	ssize_t n = pread(fd, text, TEXT_MAX - 1, 0);
	char tail[TEXT_TAIL + 1];
	const char *line;
	char *end;

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (size < TEXT_MAX)
		return 0;
	n = pread(fd, tail, TEXT_TAIL, size - TEXT_TAIL);
	if (n < 0)
		return -errno;
	tail[n] = '\0';
	end = memrchr(text, '\n', TEXT_MAX - TEXT_TAIL - 1);
	line = strchr(tail, '\n');
	if (end)
		snprintf(end, TEXT_TAIL + 1, "%s", line ? line : "\n");
	return 0;
}

bool record_read(int fd, const char *tree, struct record *out)
{
	char text[TEXT_MAX];
	struct stat st;
	bool ours = fd >= 0 && fstat(fd, &st) == 0 && read_text(fd, st.st_size, text) == 0 &&
		    record_parse(text, out) == 0;

	if (!ours)
		memset(out, 0, sizeof(*out));
	snprintf(out->tree, sizeof(out->tree), "%.*s", TREE_ID_LEN, tree);
	return ours;
}

int record_note(int dirfd, const char *tree, const char *key, const char *value)
{
	int r, fd = openat(dirfd, tree, O_WRONLY | O_APPEND | RECORD_OPEN);

	if (fd < 0)
		return -errno;
	r = record_add(fd, key, "%s", value);
	close(fd);
	return r;
}

int record_add_orphaned(int dirfd, const char *tree, long long now_ms)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", now_ms);
	return record_note(dirfd, tree, "orphaned", text);
}

struct each {
	record_fn fn;
	void *ctx;
	unsigned at, from, to; /* call fn for the names number `from` to `to` - 1 */
};

static int each_record(const struct each *e, const char *name, int fd)
{
	struct record rec;
	bool kept = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
	struct stat st = { .st_nlink = 1 };

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink == 0))
		return 0; /* not a record; or removed between open and lock */
	if (!record_read(fd, name, &rec) && (kept || st.st_mtime + BIRTH_S > time(NULL)))
		return 0; /* still being written */
	rec.kept = kept;
	return e->fn(e->ctx, &rec, fd);
}

static int each_name(void *ctx, int dirfd, const char *name)
{
	struct each *e = ctx;
	struct stat st;
	unsigned at;
	int fd, r;

	if (!is_id(name))
		return 0;
	at = e->at++;
	if (at < e->from || at >= e->to)
		return 0;
	/* checked before the open: opening a device may have effects */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	fd = openat(dirfd, name, O_RDONLY | RECORD_OPEN);
	if (fd < 0 && errno != EWOULDBLOCK)
		return proc_want(errno);
	r = each_record(e, name, fd);
	if (fd >= 0)
		close(fd);
	return r;
}

int record_each_in(int dirfd, record_fn fn, void *ctx)
{
	struct each e = { .fn = fn, .ctx = ctx };
	unsigned count, start = 0;
	int r = dir_each(dirfd, each_name, &e); /* to = 0: counts the names */

	count = e.at;
	if (r == 0 && count > 1 && getrandom(&start, sizeof(start), GRND_NONBLOCK) > 0)
		start %= count;
	if (r == 0) {
		e = (struct each){ .fn = fn, .ctx = ctx, .from = start, .to = ~0u };
		r = dir_each(dirfd, each_name, &e);
	}
	if (r == 0 && start > 0) {
		e = (struct each){ .fn = fn, .ctx = ctx, .to = start };
		r = dir_each(dirfd, each_name, &e);
	}
	return r;
}

int record_each(record_fn fn, void *ctx)
{
	for (const char *const *dir = record_dirs(); *dir; dir++) {
		int fd = record_open_dir(*dir);
		int r = fd < 0 ? proc_want(-fd) : record_each_in(fd, fn, ctx);

		if (fd >= 0)
			close(fd);
		if (r)
			return r;
	}
	return 0;
}
