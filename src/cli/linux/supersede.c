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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/sha256.h"
#include "keeper/linux/proc.h"
#include "keeper/linux/record.h"
#include "os/fd.h"

#define FILE_PREFIX "copy-"
#define KEY_LEN     32

static void supersede_add(struct sha256 *h, const char *text)
{
	sha256_add(h, text, strlen(text) + 1);
}

/* The name of the file: a hash of owner, name, command and directory. */
static int supersede_name(const struct options *o, char *out, size_t size)
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
	supersede_add(&h, o->recipe.cwd ? o->recipe.cwd : "");
	for (char **word = o->recipe.argv; *word; word++)
		supersede_add(&h, *word);
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
	int pidfd = proc_hold(older->pid, older->start);

	if (pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0);
	close(pidfd);
}

static int supersede_write(int fd, const struct proc_stat *self)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%ld %llu\n", (long)self->pid, self->start);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		return -errno;
	return 0;
}

/* With the lock, copies that start at the same time take turns, so that each copy asks the copy
 * before. While this copy waits for the lock, the older copy may remove the file; a later copy
 * would not find the removed file, so this copy opens the name again. Without O_CREAT this returns
 * -ENOENT. */
static int supersede_open_file(const struct supersede *s, int flags)
{
	for (;;) {
		AUTO(fd_drop)
		int fd = openat(s->dir, s->file,
				O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
		struct stat st;

		if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
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

int supersede_open(const struct options *o, struct supersede *out, struct err *e)
{
	struct supersede s = { .requests = supersede_take_signal(), .dir = supersede_open_dir() };
	struct proc_stat self = { .pid = 0 }, older;
	AUTO(fd_drop) int file = -1;
	int r = s.requests < 0 ? s.requests : s.dir < 0 ? s.dir : proc_stat_get(0, &self);

	if (r == 0)
		r = supersede_name(o, s.file, sizeof(s.file));
	if (r == 0) {
		file = supersede_open_file(&s, O_CREAT);
		r = file < 0 ? file : 0;
	}
	if (r == 0) {
		if (supersede_read(file, &older))
			supersede_ask(&older);
		r = supersede_write(file, &self);
	}
	if (r < 0) {
		if (s.requests >= 0)
			close(s.requests);
		if (s.dir >= 0)
			close(s.dir);
		return err_set(e, r, "--supersede: cannot use the runtime directory: %s",
			       strerror(-r));
	}
	*out = s;
	return 0;
}

bool supersede_is_asked(struct supersede *s)
{
	struct signalfd_siginfo info;

	return read(s->requests, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

void supersede_close(struct supersede *s)
{
	struct proc_stat newest;
	int file = supersede_open_file(s, 0);

	if (file >= 0 && supersede_read(file, &newest) && newest.pid == getpid())
		unlinkat(s->dir, s->file, 0);
	if (file >= 0)
		close(file);
	close(s->dir);
	close(s->requests);
	*s = (struct supersede){ .requests = -1, .dir = -1 };
}
