/* ends.c - see ends.h */
#include "link/ends.h"

#include "os/fd.h"
#include "os/pipe.h"

void ends_drop(struct ends *ends)
{
	for (int i = 0; i < SPAWN_FDS; i++) {
		fd_drop(&ends->ours[i]);
		fd_drop(&ends->theirs[i]);
	}
}

static int ends_make_stdio(struct ends *ends, enum stdio kind)
{
	int r = 0;

	switch (kind) {
	case STDIO_TERMINAL:
		return pipe_terminal(ends->ours, ends->theirs);
	case STDIO_NULL:
		r = pipe_null(&ends->theirs[0]);
		break;
	case STDIO_PIPES:
		r = pipe_to_child(&ends->ours[0], &ends->theirs[0]);
		break;
	}
	if (r == 0)
		r = pipe_from_child(&ends->ours[1], &ends->theirs[1]);
	return r < 0 ? r : pipe_from_child(&ends->ours[2], &ends->theirs[2]);
}

int ends_make(struct ends *ends, enum stdio kind)
{
	const int control = SPAWN_FDS - 1;
	int r = ends_make_stdio(ends, kind);

	return r < 0 ? r : pipe_channel(&ends->ours[control], &ends->theirs[control]);
}
