/* process.c - see process.h */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "os/fd.h"

int process_open(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

bool process_has_ended(int fd)
{
	struct pollfd ended = { .fd = fd, .events = POLLIN };

	return poll(&ended, 1, 0) != 0;
}

int process_parent(void)
{
	return getppid();
}

void process_wake_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGCONT);
}

void process_continue(int fd)
{
	syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
}

/* The parent of the process; 0: not known. */
static int process_read_parent(int pid)
{
	char text[512], *at;
	AUTO(fd_drop) int fd = -1;
	ssize_t n;
	int parent = 0;

	snprintf(text, sizeof(text), "/proc/%d/stat", pid);
	fd = open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')'); /* the name may have spaces and parentheses */
	if (!at || sscanf(at + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

int process_open_parent(int pid)
{
	int parent = process_read_parent(pid);
	int fd = parent > 0 ? process_open(parent) : -ESRCH;

	/* the number is that of the parent if the process has the same parent now */
	if (fd >= 0 && process_read_parent(pid) != parent) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

/* The pid of the process that a pidfd means; -1: the process has ended, or is not visible here. */
static int process_read_pid(int fd)
{
	char path[40], line[80];
	int pid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Pid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

int process_again(int fd)
{
	int pid = process_read_pid(fd);
	int again = pid > 0 ? process_open(pid) : -ESRCH;

	if (again >= 0 && !process_has_ended(fd))
		return again;
	if (again >= 0)
		close(again);
	again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return again < 0 ? -errno : again;
}
