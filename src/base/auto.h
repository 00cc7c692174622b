/* auto.h - variables that free themselves at the end of their block. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO(fn) __attribute__((cleanup(fn)))

/* Close once; EINTR is not retried, because on Linux the descriptor is gone by then. */
static inline void fd_drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void mem_drop(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}

/* The value of fd; fd itself becomes -1, so that its cleanup closes nothing. */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *take_fd_p = &(fd);                                                            \
		int take_fd_v = *take_fd_p;                                                        \
		*take_fd_p = -1;                                                                   \
		take_fd_v;                                                                         \
	})
