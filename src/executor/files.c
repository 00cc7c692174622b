/* files.c - see files.h */
#include "executor/files.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/mem.h"
#include "executor/connection.h"
#include "executor/params.h"
#include "executor/workers.h"
#include "os/content.h"
#include "os/metadata.h"
#include "os/reason.h"
#include "wire/wire.h"

#define FILES_PATH_MAX 4096 /* bytes, with the NUL */

struct files_share {
	unsigned busy;    /* requests that threads work on */
	atomic_uint uses; /* by the owner and by requests; a thread may drop the last reference */
};

struct file_job {
	struct work work;
	struct ring in_line; /* while it waits */
	enum files_op op;
	char *path;
	struct files *files;
	struct files_share *share;
	struct files_line *line; /* NULL: the job was abandoned */
	struct answer *answer;
	struct loop_timer late;
	bool begun, done;
	/* the result */
	int code; /* 0, or a code of RPC_ */
	char text[160];
	struct metadata metadata;
	struct buf bytes; /* of the file; later the text that is sent */
};

struct files {
	struct loop *loop;
	struct workers *workers;
	struct ring starving; /* lines that wait for a thread */
	unsigned busy;
};

/* --- reading metadata and files --- */

static void files_fail(struct file_job *job, int error)
{
	static const struct {
		int error, code;
	} codes[] = { { ENOENT, RPC_NOT_FOUND },
		      { ENOTDIR, RPC_NOT_FOUND },
		      { EACCES, RPC_INVALID_REQUEST },
		      { EPERM, RPC_INVALID_REQUEST },
		      { EINVAL, RPC_INVALID_REQUEST } };
	char room[REASON_SIZE];

	job->code = RPC_INTERNAL;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].error == error)
			job->code = codes[i].code;
	snprintf(job->text, sizeof(job->text), "%s (os error %d)", reason_text(error, room), error);
}

static void files_look(struct file_job *job)
{
	int r = metadata_of(job->path, &job->metadata);

	if (r < 0)
		files_fail(job, -r);
}

static void files_refuse(struct file_job *job, const char *what)
{
	job->code = RPC_INVALID_REQUEST;
	snprintf(job->text, sizeof(job->text), "path `%.100s` %s", job->path, what);
}

static void files_read_all(struct file_job *job, struct content *c)
{
	size_t size = (size_t)c->size;
	ssize_t n;

	/* a file in /proc has the size 0, and other files may grow */
	do {
		if (buf_reserve(&job->bytes, size ? size + 1 : 4096) < 0 &&
		    buf_reserve(&job->bytes, 1) < 0) {
			char one;

			n = content_read(c, &one, 1);
			if (n > 0)
				files_refuse(job, "is larger than 8 MiB");
			break;
		}
		size = 0;
		n = content_read(c, job->bytes.data + job->bytes.len,
				 job->bytes.cap - job->bytes.len - 1);
		if (n > 0)
			job->bytes.len += (size_t)n;
	} while (n > 0);
	if (n < 0)
		files_fail(job, (int)-n);
}

static void files_read_file(struct file_job *job)
{
	AUTO(content_close) struct content c = CONTENT_INIT;
	int r = content_open(job->path, &c);

	if (r == -EBADF)
		files_refuse(job, "is not a file");
	else if (r < 0)
		files_fail(job, -r);
	else if (c.size > (long long)FILES_SIZE_MAX)
		files_refuse(job, "is larger than 8 MiB");
	else
		files_read_all(job, &c);
}

/* Convert the content into the JSON string that is sent. The thread does this, because it takes
 * time. */
static void encode(struct file_job *job)
{
	struct buf text = BUF_INIT(BUF_ANY_SIZE);
	size_t size = base64_size(job->bytes.len);

	buf_reserve(&text, size + 2);
	text.data[0] = '"';
	base64_encode(text.data + 1, job->bytes.data, job->bytes.len);
	text.data[size + 1] = '"';
	text.len = size + 2;
	buf_done(&job->bytes);
	job->bytes = text;
}

static void files_job_run(struct work *w)
{
	struct file_job *job = CONTAINER_OF(w, struct file_job, work);

	if (job->op == FILES_METADATA)
		files_look(job);
	else
		files_read_file(job);
	if (job->op == FILES_READ && !job->code)
		encode(job);
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
	buf_done(&job->bytes);
	free(job->path);
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

static void send_metadata(const struct metadata *m, struct emit *j)
{
	emit_bool(j, "isDirectory", m->directory);
	emit_bool(j, "isFile", m->file);
	emit_bool(j, "isSymlink", m->symlink);
	emit_int(j, "size", m->size);
	emit_int(j, "createdAtMs", m->created_ms);
	emit_int(j, "modifiedAtMs", m->modified_ms);
}

static void answer_job(struct file_job *job)
{
	const struct reply *r = &job->answer->reply;
	struct emit j;

	if (job->code) {
		reply_error(r, job->code, "%s", job->text);
	} else if (reply_begin(r, &j)) {
		if (job->op == FILES_METADATA)
			send_metadata(&job->metadata, &j);
		else
			emit_raw(&j, "dataBase64", job->bytes.data, job->bytes.len);
		reply_end(r, &j);
	}
	answer_free(job->answer);
	job->answer = NULL;
}

/* Answer the finished job, if the connection has room, and begin the next job. */
static void files_finish(struct files_line *l)
{
	struct file_job *job = l->active;
	struct connection *c = connection_of(&job->answer->reply);

	if (job->bytes.len && c && !connection_has_room(c))
		return;
	l->active = NULL;
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

void files_request(struct files_line *l, struct files_share *share, enum files_op op,
		   const struct reply *r, struct json params)
{
	struct param list[] = { { .name = "path" }, { .name = "sandbox" } };
	AUTO(mem_drop) char *path = NULL;
	struct err e = ERR_INIT;
	struct file_job *job;
	struct answer *a;

	if (params_read(params, list, 2, &e) < 0 || param_is(&list[0], JSON_STRING, &e) < 0) {
		reply_error(r, e.code, "%s", e.text);
		return;
	}
	if (wire_file_path(list[0].value, &path) < 0) {
		reply_error(r, RPC_BAD_PARAMS, "path: not a file: URI of an absolute path");
		return;
	}
	if (list[1].value.at) {
		reply_error(r, RPC_INVALID_REQUEST, "this executor has no sandbox");
		return;
	}
	if (strlen(path) >= FILES_PATH_MAX) {
		reply_error(r, RPC_INVALID_REQUEST, "the path is too long");
		return;
	}
	a = answer_new(r, NULL, NULL);
	if (!a)
		return;
	job = mem_grow(NULL, 1, sizeof(*job));
	*job = (struct file_job){
		.op = op,
		.path = path,
		.files = l->files,
		.share = share,
		.line = l,
		.answer = a,
		.bytes = BUF_INIT(FILES_SIZE_MAX),
	};
	path = NULL;
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
