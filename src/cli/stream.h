/* stream.h - lists the tools of several servers on a terminal, each server's as soon as it is
 * ready, so that a slow server does not hold up the others.
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
	size_t printed;          /* tools */
	bool done;               /* waiting is 0 */
	bool over;               /* nothing is printed any more */
};

/* Have the talk ask each server that becomes ready. A config of one server is left alone. */
void stream_begin(struct stream *s, struct talk *t);
/* Wait for the answers. True: the tools were listed this way. Answers that come later, when the
 * session is closed, are dropped, so *s must live until talk_close. */
bool stream_end(struct stream *s);
