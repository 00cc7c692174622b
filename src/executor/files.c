/* files.c - see files.h */
#include "executor/files.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "executor/connection.h"
#include "base/workers.h"

struct files_share {
	unsigned busy;    /* requests that threads work on */
	atomic_uint uses; /* by the owner and by requests; a thread may drop the last reference */
};

struct file_job {
	struct work work;
	struct ring in_line; /* while it waits */
	struct fsop op;
	size_t size; /* of the bytes to be written, while they count in the line */
	struct files *files;
	struct files_share *share;
	struct files_line *line; /* NULL: the job was abandoned */
	struct answer *answer;
	struct loop_timer late;
	bool begun, done;
};

struct files {
	struct loop *loop;
	struct workers *workers;
	struct ring starving; /* lines that wait for a thread */
	unsigned busy;
};

static void files_job_run(struct work *w)
{
	fsop_run(&CONTAINER_OF(w, struct file_job, work)->op);
}

/* --- limits on the use of threads --- */

struct files_share *files_share_new(void)
{
	struct files_share *s = mem_grow(NULL, 1, sizeof(*s));

	*s = (struct files_share){ .uses = 1 };
	return s;
}

void files_share_leave(struct files_share *s)
{
	if (atomic_fetch_sub(&s->uses, 1) == 1)
		free(s);
}

static void files_job_free(struct file_job *job)
{
	files_share_leave(job->share);
	fsop_done(&job->op);
	free(job);
}

static void job_drop(struct work *w)
{
	files_job_free(CONTAINER_OF(w, struct file_job, work));
}

/* No thread works on the job any more. */
static void job_return(struct file_job *job)
{
	job->files->busy--;
	job->share->busy--;
}

static bool may_begin(const struct file_job *job)
{
	return job->share->busy < FILES_PER_OWNER && job->files->busy < FILES_THREADS;
}

/* --- the line of a connection: its requests, one after the other --- */

static void next_in_line(struct files_line *l);

static void answer_job(struct file_job *job)
{
	const struct reply *r = &job->answer->reply;

	if (job->op.code)
		reply_error(r, job->op.code, "%s", job->op.text);
	else
		reply_json(r, job->op.bytes.data, job->op.bytes.len);
	answer_free(job->answer);
	job->answer = NULL;
}

/* Answer the finished job, if the connection has room, and begin the next job. */
static void files_finish(struct files_line *l)
{
	struct file_job *job = l->active;
	struct connection *c = connection_of(&job->answer->reply);

	if (!job->op.code && c && !connection_has_room(c))
		return;
	l->active = NULL;
	l->held -= job->size;
	answer_job(job);
	files_job_free(job);
	next_in_line(l);
}

/* The job is not wanted any more. If a thread works on the job, it is freed when the thread is
 * done. */
static void abandon(struct file_job *job)
{
	struct files *f = job->files;
	bool with_thread = job->begun && !job->done && !workers_cancel(f->workers, &job->work);

	loop_timer_stop(f->loop, &job->late);
	ring_remove(&job->line->starving);
	answer_free(job->answer);
	job->answer = NULL;
	job->line->active = NULL;
	job->line->held -= job->size;
	job->line = NULL;
	if (with_thread)
		return;
	if (job->begun && !job->done)
		job_return(job);
	files_job_free(job);
}

/* No thread was free in time, or the thread hangs. */
static void files_on_late(struct loop_timer *t)
{
	struct file_job *job = CONTAINER_OF(t, struct file_job, late);
	const struct reply *r = &job->answer->reply;
	struct files_line *l = job->line;

	if (job->begun)
		reply_error(r, RPC_INTERNAL, "the file system does not answer");
	else if (job->share->busy >= FILES_PER_OWNER)
		reply_error(r, RPC_INTERNAL,
			    "%u requests for files of this session hang: a file system does not "
			    "answer; try again when it does",
			    job->share->busy);
	else
		reply_error(r, RPC_INTERNAL,
			    "%u requests for files hang on this executor: a file system does not "
			    "answer; try again when it does",
			    job->files->busy);
	abandon(job);
	next_in_line(l);
}

static void files_job_done(struct work *w);

static void job_begin(struct file_job *job)
{
	job->begun = true;
	job->share->busy++;
	job->files->busy++;
	job->work = (struct work){ .run = files_job_run, .done = files_job_done, .drop = job_drop };
	loop_timer_set(job->files->loop, &job->late, FILES_TIMEOUT_MS, files_on_late);
	workers_add(job->files->workers, &job->work);
}

static void next_in_line(struct files_line *l)
{
	struct ring *first = ring_first(&l->waiting);
	struct file_job *job;

	if (!first || l->active)
		return;
	job = CONTAINER_OF(first, struct file_job, in_line);
	ring_remove(&job->in_line);
	l->active = job;
	if (may_begin(job)) {
		job_begin(job);
		return;
	}
	ring_add(&l->files->starving, &l->starving);
	loop_timer_set(l->files->loop, &job->late, FILES_WAIT_MS, files_on_late);
}

/* A thread is free: begin the jobs that wait for one. */
static void files_feed(struct files *f)
{
	RING_EACH(at, &f->starving) {
		struct files_line *l = CONTAINER_OF(at, struct files_line, starving);

		if (may_begin(l->active)) {
			ring_remove(&l->starving);
			job_begin(l->active);
		}
	}
}

static void files_job_done(struct work *w)
{
	struct file_job *job = CONTAINER_OF(w, struct file_job, work);
	struct files *f = job->files;

	job_return(job);
	if (job->line) {
		loop_timer_stop(f->loop, &job->late);
		job->done = true;
		files_finish(job->line);
	} else {
		files_job_free(job);
	}
	files_feed(f);
}

void files_line_init(struct files_line *l, struct files *f)
{
	*l = (struct files_line){ .files = f };
	ring_init(&l->waiting);
}

void files_line_done(struct files_line *l)
{
	struct ring *first;

	while ((first = ring_first(&l->waiting)) != NULL) {
		struct file_job *job = CONTAINER_OF(first, struct file_job, in_line);

		ring_remove(first);
		answer_free(job->answer);
		files_job_free(job);
	}
	if (l->active)
		abandon(l->active);
}

void files_room(struct files_line *l)
{
	if (l->active && l->active->done)
		files_finish(l);
}

void files_add(struct files_line *l, struct files_share *share, const struct reply *r,
	       struct fsop *op)
{
	struct file_job *job;
	struct answer *a;

	if (l->held + op->bytes.len > FILES_HELD_MAX) {
		reply_error(r, RPC_INVALID_REQUEST, "more than %u bytes wait to be written",
			    FILES_HELD_MAX);
		return;
	}
	a = answer_new(r, NULL, NULL);
	if (!a)
		return;
	job = mem_grow(NULL, 1, sizeof(*job));
	*job = (struct file_job){
		.op = *op,
		.size = op->bytes.len,
		.files = l->files,
		.share = share,
		.line = l,
		.answer = a,
	};
	*op = (struct fsop){ .bytes = BUF_INIT(0) };
	l->held += job->size;
	atomic_fetch_add(&share->uses, 1);
	ring_add(&l->waiting, &job->in_line);
	next_in_line(l);
}

/* --- create and free --- */

int files_new(struct loop *loop, struct files **out, struct err *e)
{
	struct files *f = mem_grow(NULL, 1, sizeof(*f));
	int r;

	*f = (struct files){ .loop = loop };
	ring_init(&f->starving);
	r = workers_new(loop, FILES_THREADS, &f->workers, e);
	if (r < 0) {
		free(f);
		return r;
	}
	*out = f;
	return 0;
}

void files_free(struct files *f)
{
	assert(ring_is_empty(&f->starving));
	workers_free(f->workers);
	free(f);
}
