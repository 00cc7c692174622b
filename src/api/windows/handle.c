/* handle.c - killick_handle, which killick.h has on Windows only */
#include "killick/killick.h"
#include "os/event.h"

/* The bell of the runtime is an event, and killick_fd its number in the table of os/fd.h. */
void *killick_handle(const struct killick *k)
{
	int fd = killick_fd(k);

	return fd < 0 ? NULL : event_handle(fd);
}
