/* stderr_file.c - see stderr_file.h */
#include "session/stderr_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/workers.h"
#include "os/fd.h"
#include "os/file.h"
#include "session/relay.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

struct stderr_write { /* by a thread, which may outlive the rest */
	struct work work;
	struct stderr_file *file; /* used by the loop alone */
	char *path;
	struct buf bytes;
	int error;
};

struct stderr_file {
	struct workers *workers;
	long owner;                      /* as in struct work */
	struct server *sv;               /* NULL: stderr_file_close was called */
	struct killick_session *session; /* waits for the last write; NULL: none */
	char *path;
	struct stderr_write *write; /* under way; NULL: none */
	struct buf waiting;
	bool opened; /* once */
	bool failed; /* write no more */
};

static void stderr_write_free(struct stderr_write *w)
{
	buf_done(&w->bytes);
	free(w->path);
	free(w);
}

static void stderr_write_run(struct work *work)
{
	struct stderr_write *w = CONTAINER_OF(work, struct stderr_write, work);
	int fd = file_open(w->path, FILE_APPEND);
	ssize_t n = 1;

	w->error = fd < 0 ? fd : 0;
	/* the file may be a pipe that no process reads: what cannot be written is dropped */
	for (size_t done = 0; fd >= 0 && done < w->bytes.len && n > 0;
	     done += n > 0 ? (size_t)n : 0)
		n = fd_write(fd, w->bytes.data + done, w->bytes.len - done);
	if (fd >= 0)
		fd_close(fd);
}

static void stderr_write_drop(struct work *work)
{
	stderr_write_free(CONTAINER_OF(work, struct stderr_write, work));
}

static void stderr_file_free(struct stderr_file *f)
{
	assert(!f->write && !f->sv);
	if (f->session) {
		f->session->writes--;
		session_poke(f->session);
	}
	buf_done(&f->waiting);
	free(f->path);
	free(f);
}

static void stderr_file_step(struct stderr_file *f);

static void stderr_file_fail(struct stderr_file *f, const char *why)
{
	char text[700];

	f->failed = true;
	buf_done(&f->waiting);
	if (!f->sv)
		return;
	snprintf(text, sizeof(text), "cannot append to '%.300s', the stderr of server '%s': %s",
		 f->path, f->sv->recipe.name, why);
	relay_warning(f->sv, text);
}

static void stderr_file_fail_late(struct stderr_file *f)
{
	char text[300];

	snprintf(text, sizeof(text), WORKERS_LATE_TEXT, f->path, WORKERS_TRY_MS / 1000);
	f->write = NULL;
	stderr_file_fail(f, text);
}

static void stderr_write_late(struct work *work)
{
	struct stderr_file *f = CONTAINER_OF(work, struct stderr_write, work)->file;

	stderr_file_fail_late(f);
	stderr_file_step(f);
}

static void stderr_write_done(struct work *work)
{
	struct stderr_write *w = CONTAINER_OF(work, struct stderr_write, work);
	struct stderr_file *f = w->file;

	f->write = NULL;
	if (w->error && !f->opened)
		stderr_file_fail(f, strerror(-w->error));
	f->opened = true;
	stderr_write_free(w);
	stderr_file_step(f);
}

/* Write what waits, or end. */
static void stderr_file_step(struct stderr_file *f)
{
	struct stderr_write *w;
	bool closed = !f->sv;

	if (f->write)
		return;
	if (f->failed || (f->opened && !f->waiting.len)) {
		if (closed)
			stderr_file_free(f);
		return;
	}
	w = f->write = mem_grow(NULL, 1, sizeof(*w));
	*w = (struct stderr_write){ .file = f, .path = mem_dup(f->path), .bytes = f->waiting };
	f->waiting = (struct buf)BUF_INIT(STDERR_FILE_MAX);
	w->work = (struct work){ .run = stderr_write_run,
				 .done = stderr_write_done,
				 .drop = stderr_write_drop,
				 .late = stderr_write_late,
				 .about = w->path,
				 .owner = f->owner };
	if (workers_try(f->workers, &w->work)) { /* it hangs since an earlier start */
		stderr_write_free(w);
		stderr_file_fail_late(f);
		if (closed)
			stderr_file_free(f);
	}
}

struct stderr_file *stderr_file_open(struct server *sv)
{
	struct workers *workers = sv->stderr_file ? runtime_workers(sv->k) : NULL;
	struct stderr_file *f;

	if (!workers)
		return NULL;
	f = mem_grow(NULL, 1, sizeof(*f));
	*f = (struct stderr_file){ .workers = workers,
				   .owner = sv->file_owner,
				   .sv = sv,
				   .path = mem_dup(sv->stderr_file),
				   .waiting = BUF_INIT(STDERR_FILE_MAX) };
	stderr_file_step(f); /* so that a file that cannot be opened is known at the start */
	return f;
}

void stderr_file_add(struct stderr_file *f, const char *bytes, size_t len)
{
	if (!f || f->failed || !len)
		return;
	(void)buf_add(&f->waiting, bytes, len);
	stderr_file_step(f);
}

void stderr_file_close(struct stderr_file *f, struct killick_session *s)
{
	if (!f)
		return;
	f->sv = NULL;
	f->session = s;
	if (s)
		s->writes++;
	stderr_file_step(f); /* frees it if nothing is left to write */
}
