/* files.c - see files.h */
#include "executor/files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "executor/connection.h"
#include "executor/params.h"
#include "executor/wire.h"

#define THREADS_MAX 16
#define LINGER_S    2 /* how long a thread waits for more to do */

struct metadata {
	bool directory, file, symlink;
	long long size, created_ms, modified_ms;
};

struct file_job {
	struct ring in_line; /* while it waits */
	struct file_job *next;
	enum files_op op;
	char *path;
	struct files_line *line; /* NULL: nobody waits for it any more */
	struct answer *answer;
	struct loop_timer late;
	bool done;
	/* what came of it */
	int code; /* 0, or of the wire */
	char text[160];
	struct metadata metadata;
	struct buf bytes;
};

/* What threads and the loop share; it lives until both are done with it, since a thread that hangs
 * may come back at any time. */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct file_job *first, **last; /* to be looked at */
	struct file_job *done;
	int event_fd; /* -1: the executor is gone */
	unsigned threads, idle;
};

struct files {
	struct loop *loop;
	struct pool *pool;
	struct loop_watch watch;
};

/* --- looking --- */

static void fail(struct file_job *job, int error)
{
	static const struct {
		int error, code;
	} codes[] = { { ENOENT, WIRE_NOT_FOUND },
		      { ENOTDIR, WIRE_NOT_FOUND },
		      { EACCES, WIRE_INVALID_REQUEST },
		      { EPERM, WIRE_INVALID_REQUEST },
		      { EINVAL, WIRE_INVALID_REQUEST } };
	char reason[100];

	job->code = WIRE_INTERNAL;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].error == error)
			job->code = codes[i].code;
	snprintf(job->text, sizeof(job->text), "%s (os error %d)",
		 strerror_r(error, reason, sizeof(reason)), error);
}

static long long to_ms(const struct statx_timestamp *t)
{
	return (long long)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

static void look(struct file_job *job)
{
	struct metadata *m = &job->metadata;
	struct statx st;
	struct stat link;

	if (statx(AT_FDCWD, job->path, 0, STATX_BASIC_STATS | STATX_BTIME, &st) < 0) {
		fail(job, errno);
		return;
	}
	m->directory = S_ISDIR(st.stx_mode);
	m->file = S_ISREG(st.stx_mode);
	m->symlink = lstat(job->path, &link) == 0 && S_ISLNK(link.st_mode);
	m->size = (long long)st.stx_size;
	m->modified_ms = to_ms(&st.stx_mtime);
	if (st.stx_mask & STATX_BTIME)
		m->created_ms = to_ms(&st.stx_btime);
}

static void refuse(struct file_job *job, const char *what)
{
	job->code = WIRE_INVALID_REQUEST;
	snprintf(job->text, sizeof(job->text), "path `%.100s` %s", job->path, what);
}

static void read_all(struct file_job *job, int fd, size_t size)
{
	ssize_t n;

	/* files in /proc have no size, and others may grow */
	do {
		if (buf_reserve(&job->bytes, size ? size + 1 : 4096) < 0 &&
		    buf_reserve(&job->bytes, 1) < 0) {
			char one;

			n = read(fd, &one, 1);
			if (n > 0)
				refuse(job, "is larger than 8 MiB");
			break;
		}
		size = 0;
		n = read(fd, job->bytes.data + job->bytes.len, job->bytes.cap - job->bytes.len - 1);
		if (n > 0)
			job->bytes.len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		fail(job, errno);
}

static void read_file(struct file_job *job)
{
	AUTO(fd_drop) int fd = -1;
	struct stat st;
	int r = stat(job->path, &st);

	/* not opened before it was looked at: there are devices that do something then */
	if (r == 0 && S_ISREG(st.st_mode)) {
		fd = open(job->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		r = fd < 0 ? -1 : fstat(fd, &st);
	}
	if (r < 0)
		fail(job, errno);
	else if (!S_ISREG(st.st_mode))
		refuse(job, "is not a file");
	else if (st.st_size > (off_t)FILES_SIZE_MAX)
		refuse(job, "is larger than 8 MiB");
	else
		read_all(job, fd, (size_t)st.st_size);
}

/* --- threads --- */

static void pool_free(struct pool *p)
{
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	free(p);
}

static void job_free(struct file_job *job)
{
	buf_done(&job->bytes);
	free(job->path);
	free(job);
}

/* With the pool's lock: the next job, or NULL when there is none for a while. */
static struct file_job *next_job(struct pool *p)
{
	struct timespec until;
	struct file_job *job;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LINGER_S;
	p->idle++;
	while (!p->first && p->event_fd >= 0 && r == 0)
		r = pthread_cond_timedwait(&p->work, &p->lock, &until);
	p->idle--;
	job = p->first;
	if (job) {
		p->first = job->next;
		if (!p->first)
			p->last = &p->first;
	}
	return job;
}

static void hand_back(struct pool *p, struct file_job *job)
{
	uint64_t one = 1;

	if (p->event_fd < 0) {
		job_free(job);
		return;
	}
	job->next = p->done;
	p->done = job;
	if (write(p->event_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN || errno == EINTR);
}

static void *work(void *arg)
{
	struct pool *p = arg;
	struct file_job *job;
	bool last;

	pthread_mutex_lock(&p->lock);
	while ((job = next_job(p)) != NULL) {
		pthread_mutex_unlock(&p->lock);
		if (job->op == FILES_METADATA)
			look(job);
		else
			read_file(job);
		pthread_mutex_lock(&p->lock);
		hand_back(p, job);
	}
	p->threads--;
	last = p->event_fd < 0 && p->threads == 0;
	pthread_mutex_unlock(&p->lock);
	if (last)
		pool_free(p);
	return NULL;
}

static int start_thread(struct pool *p)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 128 << 10);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, work, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

static void pool_add(struct pool *p, struct file_job *job)
{
	pthread_mutex_lock(&p->lock);
	job->next = NULL;
	*p->last = job;
	p->last = &job->next;
	if (p->idle)
		pthread_cond_signal(&p->work);
	else if (p->threads < THREADS_MAX && start_thread(p) == 0)
		p->threads++;
	pthread_mutex_unlock(&p->lock);
}

/* --- the line of a connection --- */

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
			wire_chunk(&j, "dataBase64", job->bytes.data, job->bytes.len);
		reply_end(r, &j);
	}
	answer_free(job->answer);
	job->answer = NULL;
}

/* Answer the job that is done, if there is room, and begin the next. */
static void finish(struct files_line *l)
{
	struct file_job *job = l->active;
	struct connection *c = job->answer->reply.connection;

	if (job->bytes.len && c && !connection_has_room(c))
		return;
	l->active = NULL;
	answer_job(job);
	job_free(job);
	next_in_line(l);
}

/* A thread has it: it is freed when it comes back. */
static void abandon(struct file_job *job)
{
	loop_timer_stop(job->line->files->loop, &job->late);
	answer_free(job->answer);
	job->answer = NULL;
	job->line->active = NULL;
	job->line = NULL;
}

static void on_late(struct loop_timer *t)
{
	struct file_job *job = RING_OF(t, struct file_job, late);
	struct files_line *l = job->line;

	reply_error(&job->answer->reply, WIRE_INTERNAL, "the file system does not answer");
	abandon(job);
	next_in_line(l);
}

static void next_in_line(struct files_line *l)
{
	struct ring *first = ring_first(&l->waiting);
	struct file_job *job;

	if (!first || l->active)
		return;
	job = RING_OF(first, struct file_job, in_line);
	ring_remove(&job->in_line);
	l->active = job;
	loop_timer_set(l->files->loop, &job->late, FILES_TIMEOUT_MS, on_late);
	pool_add(l->files->pool, job);
}

static void on_done(struct loop_watch *w, uint32_t events)
{
	struct files *f = RING_OF(w, struct files, watch);
	struct file_job *job, *next;
	uint64_t count;

	(void)events;
	if (read(w->fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&f->pool->lock);
	job = f->pool->done;
	f->pool->done = NULL;
	pthread_mutex_unlock(&f->pool->lock);
	for (; job; job = next) {
		next = job->next;
		if (!job->line) {
			job_free(job);
			continue;
		}
		loop_timer_stop(f->loop, &job->late);
		job->done = true;
		finish(job->line);
	}
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
		struct file_job *job = RING_OF(first, struct file_job, in_line);

		ring_remove(first);
		answer_free(job->answer);
		job_free(job);
	}
	if (l->active && l->active->done) {
		answer_free(l->active->answer);
		job_free(l->active);
		l->active = NULL;
	} else if (l->active) {
		abandon(l->active);
	}
}

void files_room(struct files_line *l)
{
	if (l->active && l->active->done)
		finish(l);
}

void files_request(struct files_line *l, enum files_op op, const struct reply *r,
		   struct json params)
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
		reply_error(r, WIRE_BAD_PARAMS, "path: not a file: URI of an absolute path");
		return;
	}
	if (list[1].value.at) {
		reply_error(r, WIRE_INVALID_REQUEST, "this executor has no sandbox");
		return;
	}
	if (strlen(path) >= PATH_MAX) {
		reply_error(r, WIRE_INVALID_REQUEST, "the path is too long");
		return;
	}
	a = answer_new(r, NULL, NULL);
	if (!a)
		return;
	job = mem_grow(NULL, 1, sizeof(*job));
	*job = (struct file_job){
		.op = op, .line = l, .answer = a, .path = path, .bytes = BUF_INIT(FILES_SIZE_MAX)
	};
	path = NULL;
	ring_add(&l->waiting, &job->in_line);
	next_in_line(l);
}

/* --- all of it --- */

int files_new(struct loop *loop, struct files **out, struct err *e)
{
	struct files *f = mem_grow(NULL, 1, sizeof(*f));
	struct pool *p = mem_grow(NULL, 1, sizeof(*p));
	pthread_condattr_t attr;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), r;

	*p = (struct pool){ .event_fd = fd };
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->work, &attr);
	pthread_condattr_destroy(&attr);
	*f = (struct files){ .loop = loop, .pool = p };
	r = fd < 0 ? -errno : loop_watch(loop, &f->watch, fd, EPOLLIN, on_done);
	if (r < 0) {
		fd_drop(&fd);
		pool_free(p);
		free(f);
		return err_set(e, r, "no descriptor for the file threads");
	}
	*out = f;
	return 0;
}

void files_free(struct files *f)
{
	struct pool *p = f->pool;
	struct file_job *list[2];
	bool last;

	loop_watch_stop(f->loop, &f->watch);
	pthread_mutex_lock(&p->lock);
	close(p->event_fd);
	p->event_fd = -1;
	list[0] = p->first;
	list[1] = p->done;
	p->first = p->done = NULL;
	p->last = &p->first;
	last = p->threads == 0;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < 2; i++) {
		for (struct file_job *job = list[i], *next; job; job = next) {
			next = job->next;
			job_free(job);
		}
	}
	if (last)
		pool_free(p);
	free(f);
}
