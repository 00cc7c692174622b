/* hub_place.c - see cli/hub_place.h: Windows has no hub for all programs of a user */
#include "cli/hub_place.h"

#include <errno.h>

static int hub_place_refuse(struct err *e)
{
	return err_set(e, -ENOSYS,
		       "a shared hub is not available on Windows; use: killick hub --listen stdio");
}

int hub_place_take(struct hub_place *out, struct err *e)
{
	out->lock = -1;
	return hub_place_refuse(e);
}

int hub_place_connect(char out[NET_PATH_MAX], struct err *e)
{
	out[0] = '\0';
	return hub_place_refuse(e);
}

void hub_place_leave(void)
{
}

void hub_place_find_tree(long pid, struct hub_tree *out)
{
	(void)pid;
	*out = (struct hub_tree){ .name = "" };
}
