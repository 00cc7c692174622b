/* kernel.c - see kernel.h */
#include "os/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

int kernel_look(struct kernel *out)
{
	struct utsname u;

	if (uname(&u) < 0)
		return -errno;
	snprintf(out->name, sizeof(out->name), "%.64s", u.sysname);
	snprintf(out->release, sizeof(out->release), "%.64s", u.release);
	snprintf(out->machine, sizeof(out->machine), "%.64s", u.machine);
	return 0;
}

bool kernel_libc(char *out, size_t size)
{
#ifdef __GLIBC__
	return snprintf(out, size, "%s", gnu_get_libc_version()) < (int)size;
#else
	(void)out;
	(void)size;
	return false;
#endif
}
