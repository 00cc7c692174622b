/* file.c - see file.h */
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

static bool file_is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & 022) &&
	       (st.st_uid == geteuid() || st.st_uid == 0);
}

int file_open(const char *path, enum file_how how)
{
	static const struct {
		int flags;
		mode_t mode;
	} kinds[] = {
		[FILE_READ] = { O_RDONLY, 0 },
		[FILE_READ_NOW] = { O_RDONLY | O_NONBLOCK, 0 },
		[FILE_READ_OWN] = { O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0 },
		[FILE_APPEND] = { O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY, 0600 },
		[FILE_REPORT] = { O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0600 },
		[FILE_PRIVATE] = { O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600 },
	};
	int fd = open(path, kinds[how].flags | O_CLOEXEC, kinds[how].mode);

	if (fd < 0)
		return -errno;
	if (how != FILE_READ_OWN || file_is_own(fd))
		return fd;
	close(fd);
	return -EPERM;
}

int file_copy(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

bool file_may_hang(int fd)
{
	static const unsigned remote[] = { FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,  CIFS_SUPER_MAGIC,
					   SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,
					   V9FS_MAGIC };
	struct stat st;
	struct statfs fs;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
		if ((unsigned)fs.f_type == remote[i])
			return true;
	return false;
}

void file_open_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool file_has_no_stdin(void)
{
	struct stat st;

	if (fstat(STDIN_FILENO, &st) < 0)
		return true;
	return S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

int file_rename(const char *from, const char *to)
{
	return rename(from, to) < 0 ? -errno : 0;
}

int file_remove(const char *path)
{
	return unlink(path) < 0 ? -errno : 0;
}

int file_make_directory(const char *path)
{
	return mkdir(path, 0700) < 0 ? -errno : 0;
}

int file_sync(int fd)
{
	return fsync(fd) < 0 ? -errno : 0;
}

/* Copy one extended attribute. If setting it fails, but the new file already has the same value
 * from the kernel or a policy, this is no error. */
static int file_copy_attribute(int from, int to, const char *name)
{
	AUTO(mem_drop) char *value = NULL, *has = NULL;
	ssize_t n = fgetxattr(from, name, NULL, 0);
	size_t size = n > 0 ? (size_t)n : 0;

	if (n < 0)
		return errno == ENODATA ? 0 : -errno;
	value = mem_grow(NULL, size + 1, 1);
	has = mem_grow(NULL, size + 1, 1);
	if (fgetxattr(from, name, value, size) != n)
		return -ESTALE;
	if (fsetxattr(to, name, value, size, 0) == 0)
		return 0;
	n = -errno;
	if (fgetxattr(to, name, has, size + 1) == (ssize_t)size && memcmp(has, value, size) == 0)
		return 0;
	return (int)n;
}

/* Copy all extended attributes, except for the kernel's own hashes of the contents. */
static int file_copy_attributes(int from, int to)
{
	AUTO(mem_drop) char *names = NULL;
	ssize_t n = flistxattr(from, NULL, 0);
	int error = 0;

	if (n <= 0)
		return n == 0 || errno == ENOTSUP ? 0 : -errno;
	names = mem_grow(NULL, (size_t)n + 1, 1);
	n = flistxattr(from, names, (size_t)n);
	if (n < 0)
		return -errno;
	names[n] = '\0';
	for (const char *name = names; !error && name < names + n; name += strlen(name) + 1)
		if (strcmp(name, "security.ima") != 0 && strcmp(name, "security.evm") != 0)
			error = file_copy_attribute(from, to, name);
	return error;
}

int file_copy_rights(int from, int to)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return -errno;
	if ((st.st_uid != geteuid() || st.st_gid != getegid()) &&
	    fchown(to, st.st_uid, st.st_gid) < 0)
		return -errno;
	if (fchmod(to, st.st_mode & 07777) < 0)
		return -errno;
	return file_copy_attributes(from, to);
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

int file_may_read(const char *path)
{
	return access(path, R_OK) < 0 ? -errno : 0;
}

int file_real_path(const char *path, char *out, size_t size)
{
	AUTO(mem_drop) char *real = realpath(path, NULL);

	if (!real)
		return -errno;
	return snprintf(out, size, "%s", real) < (int)size ? 0 : -ENAMETOOLONG;
}

char **file_names(const char *directory)
{
	DIR *d = opendir(directory);
	char **names = NULL;
	size_t count = 0;

	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		names = mem_grow(names, count + 2, sizeof(*names));
		names[count++] = mem_dup(e->d_name);
		names[count] = NULL;
	}
	if (d)
		closedir(d);
	return names;
}
