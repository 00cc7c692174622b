/* ear.h - the process that notices when the client closes stdin.
 *
 * A pipe on Windows gives no event when its other end is closed; it answers to a process that asks.
 * The server has the pipe and reads from it, so killick must ask without reading. But while another
 * process waits in a read of the same pipe, the question waits too, in the kernel, and a thread
 * that waits there may not end when its process is terminated: then the handle of the job would
 * stay open, and the tree would live on. So killick does not ask itself. The ear is a second
 * process, inside the job, which asks every EAR_PERIOD_MS. It has stdin and one event, nothing
 * else, and its end is the answer. When a question waits, the client's end of the pipe ends the
 * read that the question waits for.
 *
 * Life: ear_can_hear -> ear_start -> the ear ends: ear_news; ear_ask at the server's end. The ear
 * itself ends with the job.
 * Threads: one.  Allocates: never.
 */
#pragma once

#include <stdbool.h>

#include "job.h"
#include "win.h"

#define EAR_PERIOD_MS 100

enum ear_news {
	EAR_OPEN = 40, /* also the exit codes of the ear: stdin is open, the answer to ear_ask */
	EAR_CLOSED,    /* the client closed stdin */
	EAR_LOST,      /* the ear ended in another way */
};

struct ear {
	HANDLE process; /* NULL: none */
	HANDLE ask;     /* event: look once more, and end */
};

/* Can the other end of this handle hang up, and can we ask for it? */
bool ear_can_hear(HANDLE in);

/* Start the ear for `in`. 0, or an error of Windows. */
DWORD ear_start(struct ear *e, const struct job *j, HANDLE in);

/* The answer of an ear that has ended. */
enum ear_news ear_news(const struct ear *e);

/* Let the ear look at once, because the server has exited: was stdin closed before? Blocking: for
 * at most EAR_PERIOD_MS; EAR_OPEN when no answer came. */
enum ear_news ear_ask(struct ear *e);

/* Be the ear: `killick ear HANDLE`, where HANDLE is the number of the event. Returns its exit code.
 */
int ear_main(const char *handle);
