/* owner.c - see owner.h */
#include "owner.h"

#include <errno.h>

#include "cli.h"
#include "os/fd.h"
#include "os/process.h"

int owner_watch(struct loop *loop, const char *verb, const struct options *o, struct loop_watch *w,
		void (*on_dead)(struct loop_watch *w, uint32_t events))
{
	bool parent = o->owner == OWNER_PARENT;
	int pid = parent ? process_parent() : (int)o->owner_pid;
	int fd;

	w->fd = -1;
	process_wake_with_parent(); /* a server may have stopped this process */
	if (o->owner == OWNER_STDIN || pid == 0)
		return 0;
	fd = process_open(pid);
	if (fd == -ESRCH && !parent)
		return cli_usage(verb, "--owner %d: no such process", pid);
	if (fd == -ENOSYS && !parent) { /* the end of a parent closes stdin as well */
		cli_say(verb,
			"--owner %d needs Linux 5.3 here; use --owner parent or --owner stdin",
			pid);
		return EXIT_UNAVAILABLE;
	}
	if (parent && process_parent() != pid)
		return EXIT_UNAVAILABLE; /* the owner is gone */
	if (fd >= 0 && loop_watch(loop, w, fd, POLLER_IN, on_dead) < 0)
		fd_close(fd);
	return 0;
}
