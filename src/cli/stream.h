/* stream.h - lists the tools of several servers on a terminal. The tools of a server are printed as
 * soon as the server is ready, so that a slow server does not delay the others.
 *
 * Life: stream_begin -> talk_open -> stream_end.
 */
#pragma once

#include "session/names.h"
#include "talk.h"
#include "toolnames.h"

struct stream {
	struct talk *talk;
	struct names names;
	struct toolnames listed; /* for the completion of shells */
	size_t waiting;          /* servers that were asked and have not answered */
	size_t printed;          /* number of printed tools */
	bool done;               /* true when waiting is 0 */
	bool over;               /* answers are not printed any more */
};

/* Let the talk ask each server that becomes ready. Does nothing if the config has only one
 * server. */
void stream_begin(struct stream *s, struct talk *t);
/* Wait for the answers. Returns true if the tools were listed here. Answers that arrive later, when
 * the session is closed, are dropped, so *s must live until talk_close. */
bool stream_end(struct stream *s);
