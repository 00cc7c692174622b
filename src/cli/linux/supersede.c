/* supersede.c - see supersede.h */
#include "supersede.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/sha256.h"
#include "keeper/linux/proc.h"
#include "keeper/linux/record.h"
#include "os/fd.h"

#define FILE_PREFIX "copy-"
#define KEY_LEN     32
#define TRIES       25 /* half a second; a copy has the lock for less than a millisecond */

static void supersede_add(struct sha256 *h, const char *text)
{
	sha256_add(h, text, strlen(text) + 1);
}

/* The name of the file: a hash of owner, name, working directory and fingerprint. */
static int supersede_name(const struct options *o, const char *fingerprint, char *out, size_t size)
{
	pid_t owner = o->owner == OWNER_PID ? o->owner_pid : getppid();
	char hex[SHA256_HEX_SIZE], who[64], here[PATH_MAX] = "";
	struct proc_stat st;
	struct sha256 h;
	int r = proc_stat_get(owner, &st);

	if (r < 0)
		return r;
	if (!getcwd(here, sizeof(here)))
		return -errno;
	snprintf(who, sizeof(who), "%ld %llu", (long)owner, st.start);
	sha256_init(&h);
	supersede_add(&h, who);
	supersede_add(&h, o->recipe.name);
	supersede_add(&h, here);
	supersede_add(&h, fingerprint);
	sha256_hex(&h, hex);
	snprintf(out, size, "%s%.*s", FILE_PREFIX, KEY_LEN, hex);
	return 0;
}

static int supersede_open_dir(void)
{
	int fd = -ENOENT;

	for (const char *const *dir = record_dirs(); *dir && fd < 0; dir++)
		fd = record_make_dir(*dir);
	return fd;
}

/* Read "PID START" of the newest copy. False: the file is empty, or has another text. */
static bool supersede_read(int fd, struct proc_stat *out)
{
	char text[64];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *end;

	if (n <= 0)
		return false;
	text[n] = '\0';
	out->pid = (pid_t)strtol(text, &end, 10);
	out->start = strtoull(end, NULL, 10);
	return out->pid > 1 && out->start > 0;
}

/* Another process of this user may forge the file, but gains nothing: this process could send the
 * signal itself. The pidfd is opened only for the process that started at that time. */
static void supersede_ask(const struct proc_stat *older)
{
	int fd = proc_hold(older->pid, older->start);

	if (fd < 0)
		return;
	proc_signal(fd, SIGUSR1);
	close(fd);
}

static int supersede_write(int fd, const struct proc_stat *self)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%ld %llu\n", (long)self->pid, self->start);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		return -errno;
	return 0;
}

/* Another copy may remove the file between the open and the lock. A later copy would not find the
 * removed file, so this copy opens the name again. `flags`: O_CREAT; without it -ENOENT when there
 * is no file. `lock`: LOCK_EX, -EAGAIN when another process has the lock; or 0. */
static int supersede_open_file(const struct supersede *s, int flags, int lock)
{
	for (;;) {
		AUTO(fd_drop)
		int fd = openat(s->dir, s->file,
				O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
		struct stat st;

		if (fd < 0 || (lock && flock(fd, lock | LOCK_NB) < 0) || fstat(fd, &st) < 0)
			return -errno;
		if (st.st_nlink > 0)
			return TAKE_FD(fd);
	}
}

/* SIGUSR1 waits in a descriptor from now on. */
static int supersede_take_signal(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int supersede_fail(struct err *e, int r)
{
	return err_set(e, r, "--supersede: cannot use the runtime directory: %s", strerror(-r));
}

int supersede_open(struct supersede *out, struct err *e)
{
	struct supersede s = { .requests = supersede_take_signal(), .dir = supersede_open_dir() };
	int r = s.requests < 0 ? s.requests : s.dir;

	if (r >= 0) {
		*out = s;
		return 0;
	}
	if (s.requests >= 0)
		close(s.requests);
	if (s.dir >= 0)
		close(s.dir);
	return supersede_fail(e, r);
}

int supersede_claim(struct supersede *s, const struct options *o, const char *fingerprint,
		    struct err *e)
{
	struct proc_stat self = { .pid = 0 }, older;
	AUTO(fd_drop) int file = -1;
	int r = proc_stat_get(0, &self);

	if (r == 0 && !*s->file)
		r = supersede_name(o, fingerprint, s->file, sizeof(s->file));
	if (r < 0)
		return supersede_fail(e, r);
	s->has_waited = ++s->tries > TRIES;
	file = supersede_open_file(s, O_CREAT, s->has_waited ? 0 : LOCK_EX);
	if (file == -EAGAIN && !s->has_waited)
		return -EAGAIN;
	if (file == -EAGAIN) /* a lease on the file */
		return supersede_fail(e, -EBUSY);
	if (file < 0)
		return supersede_fail(e, file);
	if (supersede_read(file, &older))
		supersede_ask(&older);
	r = supersede_write(file, &self);
	return r < 0 ? supersede_fail(e, r) : 0;
}

bool supersede_is_asked(struct supersede *s)
{
	struct signalfd_siginfo info;

	return read(s->requests, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

void supersede_close(struct supersede *s)
{
	struct proc_stat newest;
	int file = *s->file ? supersede_open_file(s, 0, LOCK_EX) : -ENOENT;

	if (file >= 0 && supersede_read(file, &newest) && newest.pid == getpid())
		unlinkat(s->dir, s->file, 0);
	if (file >= 0)
		close(file);
	close(s->dir);
	close(s->requests);
	*s = (struct supersede){ .requests = -1, .dir = -1 };
}
