/* local.c - a link to a server on this machine: a keeper, three pipes and a channel of messages.
 *
 *	write --- stdin ----> server
 *	read <--- stdout ---  server
 *	read <--- stderr ---  server
 *	      <== control ==> keeper (keeper/linux/control.h)
 *
 * The control channel hangs up when the watch and the hold are both gone; the report came before.
 * The hang-up is the end of the link: the rest in the pipes is read, then on_ended is called. The
 * server's exit and EOF on its stdout do not decide: other processes of the tree may hold the
 * pipes.
 *
 * A terminal replaces all three pipes: we have two descriptors of its master, because a watch is
 * either for reading or for writing.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/queue.h"
#include "base/trace.h"
#include "link/activity.h"
#include "link/end.h"
#include "link/ends.h"
#include "link/launch.h"
#include "link/link.h"
#include "link/looks.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "os/spawn.h"
#include "os/status.h"

#define SMALL       (16 << 10)  /* a shorter message may wait for the end of the turn */
#define PIECES      16          /* blocks of the queue written at once */
#define TURN        (256 << 10) /* bytes read at once, so that no server starves the others */
#define DRAIN       (2 << 20)   /* bytes read from a pipe after the end; no pipe holds more */
#define JANITOR_MS  5000        /* timeout of `killick reap` */
#define TRUST_US    20          /* how long a check of our descriptors stays valid */
#define LOOK_MS     10          /* how often a process without a descriptor is polled */
#define DISOWNED_MS 10000       /* longer than a keeper needs to end its tree */

/* The progress of the link, for traces only: the code decides by the state of the descriptors. */
enum local_stage {
	LOCAL_OPENING,  /* the keeper was started */
	LOCAL_RUNNING,  /* the server runs */
	LOCAL_STOPPING, /* the keeper was told to end the tree */
	LOCAL_HUNG_UP,  /* both keepers are gone, or the link is disowned */
	LOCAL_ENDED,    /* on_ended was called */
};
static const char *const local_stage_names[] = {
	[LOCAL_OPENING] = "opening", [LOCAL_RUNNING] = "running", [LOCAL_STOPPING] = "stopping",
	[LOCAL_HUNG_UP] = "hung-up", [LOCAL_ENDED] = "ended",
};

struct local {
	struct link link;
	enum local_stage stage;
	struct loop *loop;
	struct loop_watch in, out, err, control; /* fd -1: closed */
	int paused_out, paused_err;              /* descriptors of paused watches; -1: none */
	struct loop_watch keeper;                /* on `process`, after the keepers are gone */
	int process; /* descriptor of a keeper that we must reap, or of the janitor; -1: none */
	struct own process_id;
	bool is_child; /* the keeper: we must reap it */
	int keeper_pid, janitor_pid;
	struct loop_timer late; /* timeout of the janitor; or polls a process without `process` */
	int64_t until_us;       /* when that polling ends */
	char *program;          /* path of killick */
	struct loop_task flush; /* writes the queue at the end of the turn */
	struct queue queue;     /* bytes that are not written yet */
	size_t write_limit;     /* of the queue, in bytes */
	bool last;              /* close stdin when the queue is empty */
	int64_t asked_us;       /* when we last checked that stdin and stdout are ours */
	int64_t reading_us;     /* the clock reading at the last write */
	bool wide_in, wide_out; /* these pipes have been widened */
	char word[24];          /* for the keeper; waits because the channel was full */
	enum link_stop stop;    /* what `word` asks for */
	struct looks looks;     /* may share a look through /proc with other links */
	struct link_end end;
	char *report;
	bool hung_up; /* both keepers are gone */
	bool over;    /* the rest in the pipes is read, even if the link was paused */
};

static void local_on_look(struct loop_timer *t);

static void local_go(struct local *l, enum local_stage to, const char *why)
{
	assert(to >= l->stage); /* a stage never comes back */
	TRACE(TRACE_LINK, "keeper=%s tree=%s: %s -> %s (%s)", l->link.id, l->link.tree,
	      local_stage_names[l->stage], local_stage_names[to], why);
	l->stage = to;
}

static void drop_watch(struct local *l, struct loop_watch *w)
{
	struct own id = w->id;
	int fd = w->fd;

	loop_watch_stop(l->loop, w);
	own_drop(&id, &fd);
}

/* The host has closed one of our descriptors, and may have opened a file of its own under that
 * number. Close our other descriptors, too: the keeper treats the hang-up as the end of its owner,
 * and ends the tree. No event can report the end of the keeper any more, so its pid is polled. */
static void local_disown(struct local *l)
{
	if (l->link.disowned || l->over)
		return;
	l->link.disowned = true;
	l->hung_up = true;
	looks_leave(&l->looks);
	local_go(l, LOCAL_HUNG_UP, "the host closed our descriptors");
	loop_task_stop(&l->flush);
	drop_watch(l, &l->in);
	drop_watch(l, &l->out);
	drop_watch(l, &l->err);
	drop_watch(l, &l->control);
	loop_watch_stop(l->loop, &l->keeper);
	l->until_us = loop_now_us() + DISOWNED_MS * 1000;
	loop_timer_set(l->loop, &l->late, 0, local_on_look);
	loop_check(l->loop);
}

/* The loop also reports a hang-up when the host has closed the descriptor. Returns true if the host
 * has done so. */
static bool local_is_disowned(struct local *l, const struct loop_watch *w, uint32_t events)
{
	if (!(events & POLLER_IN) && !loop_watch_is_ours(w))
		local_disown(l);
	return l->link.disowned;
}

/* --- writing --- */

static bool local_has_pipes(const struct local *l)
{
	return (l->in.fd < 0 || loop_watch_is_ours(&l->in)) &&
	       (l->out.fd < 0 || loop_watch_is_ours(&l->out));
}

/* A check before each write would cost 5 % of the time of a call. A host that closes our descriptor
 * and opens a file under the same number needs longer than TRUST_US. The clock is read for the
 * deadline of a call; a reading that an earlier write has used already is too old for this
 * decision. */
static bool local_has_stdin(struct local *l)
{
	int64_t reading_us = loop_last_reading(l->loop);
	bool trusted = loop_has_process(l->loop) ||
		       (reading_us != l->reading_us && reading_us < l->asked_us + TRUST_US);

	l->reading_us = reading_us;
	if (trusted)
		return true;
	l->asked_us = reading_us;
	return local_has_pipes(l);
}

static ssize_t write_some(struct local *l, const struct fd_piece *pieces, int count)
{
	assert(l->in.fd >= 0 && count > 0);
	if (!local_has_stdin(l)) { /* the bytes would go into a file of the host */
		local_disown(l);
		return -ESTALE;
	}
	loop_expect(l->loop, &l->out);
	if (!loop_is_mine(l->loop)) /* our own thread has every signal blocked */
		return fd_writev(l->in.fd, pieces, count);
	return fd_writev_ours(l->in.fd, pieces, count);
}

static void close_stdin(struct local *l)
{
	loop_task_stop(&l->flush);
	drop_watch(l, &l->in);
	queue_done(&l->queue);
}

/* Write as much of the queue as the pipe takes. */
static void flush(struct local *l)
{
	struct fd_piece pieces[PIECES];
	ssize_t n = write_some(l, pieces, queue_pieces(&l->queue, pieces, PIECES));

	if (n < 0 && n != -EAGAIN && n != -EINTR) { /* nothing reads the pipe any more */
		close_stdin(l);
		return;
	}
	queue_drop(&l->queue, n > 0 ? (size_t)n : 0);
	if (l->queue.len) {
		pipe_widen(l->in.fd, &l->wide_in);
		loop_watch_change(l->loop, &l->in, POLLER_OUT);
		return;
	}
	if (l->last) {
		close_stdin(l);
		return;
	}
	/* epoll reports a hang-up with any mask; POLLER_ERR asks for nothing else */
	loop_watch_change(l->loop, &l->in, POLLER_ERR);
}

static void flush_and_tell(struct local *l)
{
	flush(l);
	if (!l->queue.len && l->link.ev->on_room)
		l->link.ev->on_room(l->link.ctx);
}

static void local_on_in(struct loop_watch *w, uint32_t events)
{
	struct local *l = CONTAINER_OF(w, struct local, in);

	if (local_is_disowned(l, w, events))
		return;
	if (l->queue.len)
		flush_and_tell(l);
	else
		close_stdin(l);
}

static void local_on_flush(struct loop_task *t)
{
	struct local *l = CONTAINER_OF(t, struct local, flush);

	if (l->queue.len && l->in.events == POLLER_ERR)
		flush_and_tell(l);
}

static int local_write_now(struct local *l, const char *bytes, size_t len)
{
	ssize_t n = write_some(l, &(struct fd_piece){ bytes, len }, 1);

	if (n < 0 && n != -EAGAIN && n != -EINTR) {
		close_stdin(l);
		return l->link.disowned ? -ESTALE : -EPIPE;
	}
	if (n < 0)
		n = 0;
	if ((size_t)n == len)
		return 0;
	pipe_widen(l->in.fd, &l->wide_in);
	queue_add(&l->queue, bytes + n, len - (size_t)n);
	loop_watch_change(l->loop, &l->in, POLLER_OUT);
	return 0;
}

static int local_write(struct link *link, const char *bytes, size_t len)
{
	struct local *l = CONTAINER_OF(link, struct local, link);
	bool later;

	if (l->in.fd < 0 || l->last)
		return l->link.disowned ? -ESTALE : -EPIPE;
	if (len > l->write_limit || l->queue.len > l->write_limit - len)
		return -ENOBUFS;
	later = l->queue.len && l->in.events != POLLER_ERR; /* the pipe is full */
	later = later || (len < SMALL && loop_later(l->loop, &l->flush, local_on_flush));
	if (!later && !l->queue.len)
		return local_write_now(l, bytes, len);
	queue_add(&l->queue, bytes, len);
	if (!later) /* callbacks have filled the queue */
		flush(l);
	return 0;
}

static size_t local_unwritten(const struct link *link)
{
	return ((const struct local *)(const void *)link)->queue.len;
}

/* --- reading --- */

typedef void (*bytes_fn)(void *ctx, const char *bytes, size_t len);

/* Read until at least `max` bytes were read or the pipe is empty. Returns the number of bytes;
 * negative: end of file, or an error. The handler may stop the link, but not free it. */
static ssize_t local_read_some(struct local *l, struct loop_watch *w, bytes_fn deliver, size_t max)
{
	size_t size, got = 0;
	char *chunk = loop_scratch(l->loop, &size);
	ssize_t n = (ssize_t)size;

	for (; got < max && n == (ssize_t)size && w->fd >= 0; got += (size_t)n) {
		n = fd_read(w->fd, chunk, size);
		if (n < 0)
			return n == -EAGAIN || n == -EINTR ? (ssize_t)got : -1;
		if (n == 0)
			return -1;
		if (n >= PIPE_NARROW && w == &l->out)
			pipe_widen(w->fd, &l->wide_out);
		deliver(l->link.ctx, chunk, (size_t)n);
	}
	return (ssize_t)got;
}

/* Returns false if there was nothing to read. */
static bool local_read_stdout(struct local *l)
{
	ssize_t n = local_read_some(l, &l->out, l->link.ev->on_bytes, TURN);

	if (n < 0) {
		drop_watch(l, &l->out);
		l->link.ev->on_eof(l->link.ctx);
	}
	return n != 0;
}

static void local_on_out(struct loop_watch *w, uint32_t events)
{
	struct local *l = CONTAINER_OF(w, struct local, out);

	if (!local_is_disowned(l, w, events))
		local_read_stdout(l);
}

/* An event of epoll proves that the descriptor is still ours. A guess has no event, so the
 * descriptors are checked, unless the last check is still valid. */
static bool local_on_guess(struct loop_watch *w)
{
	struct local *l = CONTAINER_OF(w, struct local, out);
	int64_t now_us = loop_has_process(l->loop) ? l->asked_us : loop_now_us();

	if (now_us >= l->asked_us + TRUST_US) {
		l->asked_us = now_us;
		if (!local_has_pipes(l)) {
			local_disown(l);
			return true;
		}
	}
	return local_read_stdout(l);
}

static void on_err(struct loop_watch *w, uint32_t events)
{
	struct local *l = CONTAINER_OF(w, struct local, err);

	if (local_is_disowned(l, w, events))
		return;
	if (local_read_some(l, w, l->link.ev->on_stderr, TURN) >= 0)
		return;
	drop_watch(l, w);
	if (l->link.ev->on_stderr_eof)
		l->link.ev->on_stderr_eof(l->link.ctx);
}

/* A paused pipe is not watched, because epoll would report its hang-up again and again. */
static void pause_one(struct local *l, struct loop_watch *w, int *kept)
{
	if (w->fd < 0)
		return;
	*kept = w->fd;
	loop_watch_stop(l->loop, w);
}

static void resume_one(struct local *l, struct loop_watch *w, int *kept,
		       void (*on_ready)(struct loop_watch *w, uint32_t events))
{
	if (*kept < 0)
		return;
	if (loop_watch(l->loop, w, *kept, POLLER_IN, on_ready) == 0)
		*kept = -1;
	else /* no kernel memory: a pipe that is never read must not block the server */
		fd_drop(kept);
}

static void local_pause(struct link *link, bool paused)
{
	struct local *l = CONTAINER_OF(link, struct local, link);

	if (l->over)
		return;
	if (paused) {
		pause_one(l, &l->out, &l->paused_out);
		pause_one(l, &l->err, &l->paused_err);
	} else {
		resume_one(l, &l->out, &l->paused_out, local_on_out);
		l->out.on_guess = local_on_guess;
		resume_one(l, &l->err, &l->paused_err, on_err);
	}
}

/* --- the end --- */

static void local_finish(struct local *l)
{
	local_pause(&l->link, false);
	l->over = true;
	if (l->err.fd >= 0)
		local_read_some(l, &l->err, l->link.ev->on_stderr, DRAIN);
	if (l->out.fd >= 0)
		local_read_some(l, &l->out, l->link.ev->on_bytes, DRAIN);
	close_stdin(l);
	drop_watch(l, &l->out);
	drop_watch(l, &l->err);
	drop_watch(l, &l->control);
	loop_watch_stop(l->loop, &l->keeper);
	loop_timer_stop(l->loop, &l->late);
	own_drop(&l->process_id, &l->process);
	l->end.report = l->report ? l->report : "";
	local_go(l, LOCAL_ENDED, l->report ? link_why_name(l->end.why) : "no report");
	l->link.ev->on_ended(l->link.ctx, &l->end);
}

static void local_on_look(struct loop_timer *t)
{
	struct local *l = CONTAINER_OF(t, struct local, late);

	if (spawn_is_gone(l->janitor_pid ? l->janitor_pid : l->keeper_pid) ||
	    loop_now_us() > l->until_us)
		local_finish(l);
	else
		loop_timer_set(l->loop, t, LOOK_MS, local_on_look);
}

static void on_janitor(struct loop_watch *w, uint32_t events)
{
	struct local *l = CONTAINER_OF(w, struct local, keeper);

	(void)events;
	spawn_reap(w->fd, l->janitor_pid);
	local_finish(l);
}

static void on_janitor_late(struct loop_timer *t)
{
	local_finish(CONTAINER_OF(t, struct local, late));
}

/* Both keepers were killed, so no keeper ends the rest of the tree. Every start of killick ends
 * such trees; `killick reap` does nothing else. It proves nothing, but it has finished before
 * on_ended is called. */
static bool call_janitor(struct local *l)
{
	struct spawned janitor;

	own_drop(&l->process_id, &l->process);
	if (launch_janitor(l->program, &janitor) < 0)
		return false;
	l->janitor_pid = janitor.pid;
	l->process = janitor.process;
	if (l->process < 0) {
		l->until_us = loop_now_us() + JANITOR_MS * 1000;
		loop_timer_set(l->loop, &l->late, LOOK_MS, local_on_look);
		return true;
	}
	l->process_id = own_of(l->process);
	if (loop_watch(l->loop, &l->keeper, l->process, POLLER_IN, on_janitor) < 0)
		return false;
	loop_timer_set(l->loop, &l->late, JANITOR_MS, on_janitor_late);
	return true;
}

/* The keepers are gone and have left no zombie. */
static void local_settle(struct local *l)
{
	loop_watch_stop(l->loop, &l->keeper);
	if (l->report || !l->end.pid || !call_janitor(l))
		local_finish(l);
}

static void local_on_keeper(struct loop_watch *w, uint32_t events)
{
	struct local *l = CONTAINER_OF(w, struct local, keeper);

	(void)events;
	spawn_reap(w->fd, l->keeper_pid);
	local_settle(l);
}

static void local_on_keeper_look(struct loop_timer *t)
{
	struct local *l = CONTAINER_OF(t, struct local, late);

	if (spawn_reap(-1, l->keeper_pid))
		local_settle(l);
	else
		loop_timer_set(l->loop, t, LOOK_MS, local_on_keeper_look);
}

/* The watch is not our child, unless the host is a subreaper or pid 1. Then we must reap it before
 * on_ended reports that nothing is left. */
static void hang_up(struct local *l)
{
	drop_watch(l, &l->control);
	l->hung_up = true;
	looks_leave(&l->looks);
	local_go(l, LOCAL_HUNG_UP, l->end.survivors ? "survivors" : "the keepers are gone");
	if (l->is_child && l->process < 0)
		local_on_keeper_look(&l->late);
	else if (!l->is_child || spawn_reap(l->process, l->keeper_pid) ||
		 loop_watch(l->loop, &l->keeper, l->process, POLLER_IN, local_on_keeper) < 0)
		local_settle(l);
}

static void read_report(struct local *l, struct json v)
{
	free(l->report);
	l->report = mem_text(v.at, v.len);
	link_end_read(&l->end, v);
}

static void local_on_exited(struct local *l, struct json number)
{
	int64_t status = 0;
	int code, sig;

	json_int(number, &status);
	if (!l->link.ev->on_exited)
		return;
	status_split((int)status, &code, &sig);
	l->link.ev->on_exited(l->link.ctx, code, sig);
}

/* Returns false if the link has ended; it may be freed then. */
static bool local_on_message(struct local *l, const char *text, size_t len)
{
	char level[16] = "", who[64] = "";
	int64_t pid = 0, status;
	struct json v;

	if (json_check(text, len, 0, &v, NULL) < 0)
		return true;
	if (json_is(json_get(v, "event"), "started")) {
		json_int(json_get(v, "pid"), &pid);
		json_string_into(json_get(v, "level"), level, sizeof(level));
		json_string_into(json_get(v, "tree"), l->link.tree, sizeof(l->link.tree));
		l->end.pid = (int)pid;
		if (l->stage == LOCAL_OPENING)
			local_go(l, LOCAL_RUNNING, level);
		l->link.ev->on_started(l->link.ctx, l->end.pid, level);
	} else if (json_is(json_get(v, "event"), "refused")) {
		l->end.refused = true;
		if (json_int(json_get(v, "status"), &status))
			l->end.status = (int)status;
		else
			json_string_into(json_get(v, "text"), l->end.text, sizeof(l->end.text));
	} else if (json_is(json_get(v, "event"), "exited")) {
		local_on_exited(l, json_get(v, "status"));
	} else if (json_is(json_get(v, "event"), "empty")) {
		looks_ask(&l->looks);
	} else if (json_is(json_get(v, "event"), "clear")) {
		json_string_into(json_get(v, "for"), who, sizeof(who));
		looks_answer(&l->looks, who);
	} else if (json_get(v, "killick").at) {
		read_report(l, v);
	}
	if (!l->end.survivors)
		return true;
	hang_up(l); /* a process that cannot be killed keeps its hold: no hang-up would come */
	return false;
}

/* Send a word to the keeper. Returns false if the channel is full. */
static bool local_say(struct local *l, const char *word)
{
	if (l->control.fd >= 0 && !loop_watch_is_ours(&l->control))
		local_disown(l);
	return l->control.fd < 0 || pipe_send(l->control.fd, word, strlen(word)) != -EAGAIN;
}

static void local_say_look(struct looks *looks, const char *word)
{
	local_say(CONTAINER_OF(looks, struct local, looks),
		  word); /* if the channel is full, the keeper looks after a timeout */
}

static void local_on_control(struct loop_watch *w, uint32_t events)
{
	struct local *l = CONTAINER_OF(w, struct local, control);
	size_t size;
	char *text = loop_scratch(l->loop, &size); /* longer than any message of the keeper */
	ssize_t n;

	if (local_is_disowned(l, w, events))
		return;
	if ((events & POLLER_OUT) && local_say(l, l->word)) {
		l->word[0] = '\0';
		loop_watch_change(l->loop, w, POLLER_IN);
	}
	while (w->fd >= 0) {
		n = pipe_receive(w->fd, text, size);
		if (n == -EAGAIN)
			return;
		if (n == 0) {
			hang_up(l);
			return;
		}
		if (!local_on_message(l, text, (size_t)n))
			return;
	}
}

/* If the channel is full, the word is dropped: the earlier words in it are enough. */
static void local_interrupt(struct link *link)
{
	local_say(CONTAINER_OF(link, struct local, link), "int");
}

/* Send a word that must arrive. A keeper that is stopped or busy may have a full channel; the
 * word then waits until the channel has space. */
static void insist(struct local *l, enum link_stop how, const char *word)
{
	if (l->control.fd < 0 || (l->word[0] && how < l->stop) ||
	    (!l->word[0] && local_say(l, word)))
		return;
	snprintf(l->word, sizeof(l->word), "%s", word);
	l->stop = how;
	loop_watch_change(l->loop, &l->control, POLLER_IN | POLLER_OUT);
}

static void local_stop(struct link *link, enum link_stop how, long grace_ms)
{
	static const char *const words[] = {
		[LINK_STOP_EOF] = "eof", [LINK_STOP_TERM] = "stop", [LINK_STOP_KILL] = "kill"
	};
	struct local *l = CONTAINER_OF(link, struct local, link);
	char word[24];
	int n;

	n = snprintf(word, sizeof(word), grace_ms < 0 || how == LINK_STOP_KILL ? "%s" : "%s %ld",
		     words[how], grace_ms);
	if (how != LINK_STOP_KILL && looks_promise(&l->looks))
		snprintf(word + n, sizeof(word) - (size_t)n, " ask");
	if (l->stage <= LOCAL_STOPPING)
		local_go(l, LOCAL_STOPPING, word);
	/* the word first, so that the keeper knows why the server exits */
	insist(l, how, word);
	if (how == LINK_STOP_EOF && l->queue.len) /* the server may finish the queued input */
		l->last = true;
	else if (how != LINK_STOP_KILL) /* a kill must not look like an exit at the end of input */
		close_stdin(l);
}

static bool local_activity(const struct link *link, unsigned long long *out)
{
	const struct local *l = (const struct local *)(const void *)link;

	return !l->hung_up && activity_read(l->keeper_pid, l->end.pid, out);
}

static bool local_pids(const struct link *link, int *keeper, int *server)
{
	const struct local *l = (const struct local *)(const void *)link;

	*keeper = l->keeper_pid;
	*server = l->end.pid;
	return !l->hung_up;
}

static void local_free(struct link *link)
{
	struct local *l = CONTAINER_OF(link, struct local, link);

	assert(l->hung_up && l->control.fd < 0 && l->out.fd < 0);
	assert(!l->looks.loop); /* other links would find freed memory in the ring */
	queue_done(&l->queue);
	free(l->report);
	free(l->program);
	free(l);
}

/* --- the beginning --- */

static void watch_none(struct local *l)
{
	loop_watch_stop(l->loop, &l->control);
	loop_watch_stop(l->loop, &l->out);
	loop_watch_stop(l->loop, &l->err);
	loop_watch_stop(l->loop, &l->in);
}

static int watch_all(struct local *l, const struct ends *ends)
{
	int r = loop_watch(l->loop, &l->control, ends->ours[3], POLLER_IN, local_on_control);

	if (r == 0)
		r = loop_watch(l->loop, &l->out, ends->ours[1], POLLER_IN, local_on_out);
	l->out.on_guess = local_on_guess;
	if (r == 0 && ends->ours[2] >= 0)
		r = loop_watch(l->loop, &l->err, ends->ours[2], POLLER_IN, on_err);
	if (r == 0 && ends->ours[0] >= 0)
		r = loop_watch(l->loop, &l->in, ends->ours[0], POLLER_ERR, local_on_in);
	if (r < 0)
		watch_none(l);
	return r;
}

int link_open(struct loop *loop, const struct recipe *recipe, const struct link_events *ev,
	      void *ctx, struct link **out, struct err *e)
{
	static const struct link_ops ops = { local_write,    local_unwritten, local_stop,
					     local_free,     local_interrupt, local_pause,
					     local_activity, local_pids };
	AUTO(ends_drop) struct ends ends = ENDS_INIT;
	AUTO(mem_drop) struct local *l = mem_grow(NULL, 1, sizeof(*l));
	struct spawned keeper;
	int r;

	*l = (struct local){ .link = { .ops = &ops, .ev = ev, .ctx = ctx },
			     .loop = loop,
			     .in.fd = -1,
			     .out.fd = -1,
			     .err.fd = -1,
			     .control.fd = -1,
			     .keeper.fd = -1,
			     .paused_out = -1,
			     .paused_err = -1,
			     .process = -1,
			     .write_limit = recipe->write_limit,
			     .end = { .exit_code = -1, .why = LINK_WHY_KEEPER } };
	r = ends_make(&ends, recipe->stdio);
	if (r == 0)
		r = watch_all(l, &ends);
	if (r < 0)
		return err_set(e, r, "cannot make the pipes of the server: %s%s", strerror(-r),
			       err_next(r));
	r = launch_keeper(recipe, ends.theirs, &keeper, e);
	if (r < 0) {
		watch_none(l);
		return r;
	}
	for (int i = 0; i < SPAWN_FDS; i++)
		ends.ours[i] = -1; /* the watches own the descriptors now */
	l->keeper_pid = keeper.pid;
	/* By now it is decided whether the watch is our child. If it is not, the descriptor is not
	 * needed. */
	l->is_child = !spawn_reap(keeper.process, keeper.pid);
	if (!l->is_child)
		fd_drop(&keeper.process);
	l->process = keeper.process;
	if (l->process >= 0)
		l->process_id = own_of(l->process);
	l->program = mem_dup(recipe->keeper);
	looks_join(&l->looks, loop, local_say_look);
	snprintf(l->link.id, sizeof(l->link.id), "%d", l->keeper_pid);
	TRACE(TRACE_LINK, "keeper=%s tree=: new -> opening (%s)", l->link.id, recipe->name);
	*out = &l->link;
	l = NULL;
	return 0;
}
