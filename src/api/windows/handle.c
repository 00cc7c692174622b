/* handle.c - killick_handle, which killick.h has on Windows only */
#include "killick/killick.h"
#include "base/loop.h"
#include "os/event.h"
#include "session/runtime.h"

/* The bell of the runtime is an event in the table of os/fd.h. */
void *killick_handle(const struct killick *k)
{
	int fd = k ? loop_host_fd(k->loop) : -1;

	return fd < 0 ? NULL : event_handle(fd);
}
