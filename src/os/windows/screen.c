/* screen.c - see screen.h: Windows has no screen yet. */
#include "os/screen.h"

#include <errno.h>

int screen_open(struct screen **out)
{
	(void)out;
	return -ENOSYS;
}

void screen_close(struct screen *s)
{
	(void)s;
}

unsigned screen_wait(struct screen *s, int other, int timeout_ms)
{
	(void)s;
	(void)other;
	(void)timeout_ms;
	return SCREEN_END;
}

size_t screen_keys(struct screen *s, char *out, size_t size)
{
	(void)s;
	(void)out;
	(void)size;
	return 0;
}

int screen_signal(const struct screen *s)
{
	(void)s;
	return 0;
}

void screen_draw(struct screen *s, char *const *lines, size_t count)
{
	(void)s;
	(void)lines;
	(void)count;
}
