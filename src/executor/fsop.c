/* fsop.c - see fsop.h */
#include "executor/fsop.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "executor/executor.h"
#include "executor/params.h"
#include "executor/sandbox.h"
#include "os/content.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/metadata.h"
#include "os/reason.h"
#include "rpc/message.h"
#include "wire/wire.h"

#define FSOP_PATH_MAX 4096       /* bytes, with the NUL */
#define WALK_BYTES    (4u << 20) /* of the result */

static void fsop_fail(struct fsop *op, int error)
{
	static const struct {
		int error, code;
	} codes[] = { { ENOENT, RPC_NOT_FOUND },
		      { ENOTDIR, RPC_NOT_FOUND },
		      { EACCES, RPC_INVALID_REQUEST },
		      { EPERM, RPC_INVALID_REQUEST },
		      { EINVAL, RPC_INVALID_REQUEST } };
	char room[REASON_SIZE];

	op->code = RPC_INTERNAL;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].error == error)
			op->code = codes[i].code;
	snprintf(op->text, sizeof(op->text), "%s (os error %d)", reason_text(error, room), error);
}

static void fsop_refuse(struct fsop *op, const char *what)
{
	op->code = RPC_INVALID_REQUEST;
	snprintf(op->text, sizeof(op->text), "path `%.100s` %s", op->path, what);
}

/* --- reading --- */

static void fsop_look(struct fsop *op)
{
	struct metadata m;
	int r = metadata_of(op->path, &m);
	struct emit j = EMIT_INIT(&op->bytes);

	if (r < 0) {
		fsop_fail(op, -r);
		return;
	}
	emit_open(&j, NULL, '{');
	emit_bool(&j, "isDirectory", m.directory);
	emit_bool(&j, "isFile", m.file);
	emit_bool(&j, "isSymlink", m.symlink);
	emit_int(&j, "size", m.size);
	emit_int(&j, "createdAtMs", m.created_ms);
	emit_int(&j, "modifiedAtMs", m.modified_ms);
	emit_close(&j);
	emit_end(&j);
}

static void fsop_read_content(struct fsop *op, struct content *c)
{
	size_t size = (size_t)c->size;
	ssize_t n;

	/* a file in /proc has the size 0, and other files may grow */
	do {
		if (buf_reserve(&op->bytes, size ? size + 1 : 4096) < 0 &&
		    buf_reserve(&op->bytes, 1) < 0) {
			char one;

			n = content_read(c, &one, 1);
			if (n > 0)
				fsop_refuse(op, "is larger than 8 MiB");
			break;
		}
		size = 0;
		n = content_read(c, op->bytes.data + op->bytes.len,
				 op->bytes.cap - op->bytes.len - 1);
		if (n > 0)
			op->bytes.len += (size_t)n;
	} while (n > 0);
	if (n < 0)
		fsop_fail(op, (int)-n);
}

static void fsop_read_file(struct fsop *op)
{
	AUTO(content_close) struct content c = CONTENT_INIT;
	struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&text);
	int r = content_open(op->path, &c);

	if (r == -EBADF)
		fsop_refuse(op, "is not a file");
	else if (r < 0)
		fsop_fail(op, -r);
	else if (c.size > (long long)FSOP_SIZE_MAX)
		fsop_refuse(op, "is larger than 8 MiB");
	else
		fsop_read_content(op, &c);
	if (op->code)
		return;
	emit_open(&j, NULL, '{');
	wire_chunk(&j, "dataBase64", op->bytes.data, op->bytes.len);
	emit_close(&j);
	emit_end(&j);
	buf_done(&op->bytes);
	op->bytes = text;
}

static void fsop_add_url(struct emit *j, const char *key, const char *path)
{
	AUTO(buf_done) struct buf url = BUF_INIT(BUF_ANY_SIZE);

	if (path_add_url(&url, path) == 0)
		emit_text(j, key, url.data, url.len);
}

static void fsop_find_real_path(struct fsop *op)
{
	char real[FSOP_PATH_MAX];
	struct emit j = EMIT_INIT(&op->bytes);
	int r = file_real_path(op->path, real, sizeof(real));

	if (r < 0) {
		fsop_fail(op, -r);
		return;
	}
	emit_open(&j, NULL, '{');
	fsop_add_url(&j, "path", real);
	emit_close(&j);
	emit_end(&j);
}

/* --- walking through directories, the nearest ones first --- */

struct walk {
	struct fsop *op;
	struct emit entries, errors;
	uint64_t entry_count;
	bool truncated; /* something was left out */
	bool full;      /* nothing more may be added */
	struct walk_directory {
		char *path;
		uint64_t depth;
		unsigned long long device, inode;
	} * directories; /* those that were found; the first `done` were looked into */
	size_t count, done;
};

/* Is there room in the result for one more path? */
static bool walk_has_room(struct walk *w, const char *path)
{
	size_t used = w->entries.out->len + w->errors.out->len;

	w->full |= used + 3 * strlen(path) + 256 > WALK_BYTES;
	return !w->full;
}

static void walk_add_error(struct walk *w, const char *path, int error)
{
	char room[REASON_SIZE];

	if (!walk_has_room(w, path))
		return;
	emit_open(&w->errors, NULL, '{');
	fsop_add_url(&w->errors, "path", path);
	emit_str(&w->errors, "message", reason_text(error, room));
	emit_close(&w->errors);
}

/* Look into the directory later, unless that is planned already. Takes the path. */
static void walk_add_directory(struct walk *w, char *path, uint64_t depth, const struct metadata *m)
{
	bool known = false;

	for (size_t i = 0; i < w->count && !known; i++)
		known = w->directories[i].inode == m->inode &&
			w->directories[i].device == m->device;
	if (known || w->count == w->op->walk.directories) {
		w->truncated |= !known;
		free(path);
		return;
	}
	if ((w->count & (w->count - 1)) == 0) /* the room doubles */
		w->directories = mem_grow(w->directories, w->count ? 2 * w->count : 1,
					  sizeof(*w->directories));
	w->directories[w->count++] = (struct walk_directory){ path, depth, m->device, m->inode };
}

static void walk_add_entry(struct walk *w, uint64_t depth, const char *name, char *path)
{
	struct metadata m;
	int r = metadata_of(path, &m);

	if (r == 0 && (m.directory || m.file) &&
	    (!m.symlink || (m.directory && w->op->walk.links)) && walk_has_room(w, path)) {
		emit_open(&w->entries, NULL, '{');
		fsop_add_url(&w->entries, "path", path);
		emit_str(&w->entries, "kind", m.directory ? "directory" : "file");
		emit_close(&w->entries);
		if (m.directory && depth < w->op->walk.depth &&
		    !(w->op->walk.prune && *name == '.')) {
			walk_add_directory(w, path, depth + 1, &m);
			return;
		}
	} else if (r < 0 && r != -ENOENT && r != -ELOOP) { /* those are broken links */
		walk_add_error(w, path, -r);
	}
	free(path);
}

static int walk_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void walk_look_into(struct walk *w, const char *directory, uint64_t depth)
{
	char **names = file_names(directory);
	size_t count = strings_count(names), size = strlen(directory);
	int r = names ? 0 : file_may_read(directory);

	if (r < 0)
		walk_add_error(w, directory, -r);
	if (names)
		qsort(names, count, sizeof(*names), walk_by_name);
	for (size_t i = 0; names && i < count && !w->full; i++) {
		size_t room = size + strlen(names[i]) + 2;
		char *path = mem_grow(NULL, room, 1);

		snprintf(path, room, "%s%c%s", size > 1 ? directory : "", PATH_SEPARATOR, names[i]);
		w->full |= w->entry_count++ == w->op->walk.entries;
		if (w->full)
			free(path);
		else
			walk_add_entry(w, depth, names[i], path);
	}
	strings_free(names);
}

static void fsop_walk(struct fsop *op)
{
	AUTO(buf_done) struct buf entries = BUF_INIT(BUF_ANY_SIZE), errors = BUF_INIT(BUF_ANY_SIZE);
	struct walk w = { .op = op, .entries = EMIT_INIT(&entries), .errors = EMIT_INIT(&errors) };
	struct emit j = EMIT_INIT(&op->bytes);
	struct metadata m;
	int r = metadata_of(op->path, &m);

	if (r < 0) {
		fsop_fail(op, -r);
		return;
	}
	emit_open(&w.entries, NULL, '[');
	emit_open(&w.errors, NULL, '[');
	if (m.directory && (!m.symlink || op->walk.links))
		walk_add_directory(&w, mem_dup(op->path), 0, &m);
	for (; w.done < w.count; w.done++) {
		struct walk_directory at = w.directories[w.done]; /* the list may move */

		if (!w.full)
			walk_look_into(&w, at.path, at.depth);
		free(at.path);
	}
	free(w.directories);
	emit_close(&w.entries);
	emit_close(&w.errors);
	emit_open(&j, NULL, '{');
	emit_raw(&j, "entries", entries.data, entries.len);
	emit_raw(&j, "errors", errors.data, errors.len);
	emit_bool(&j, "truncated", w.truncated || w.full);
	emit_close(&j);
	emit_end(&j);
}

/* --- changing --- */

/* Open the directory for a change of a path, which has no symbolic links. *out_name: the last name
 * of the path. False: op failed. */
static bool fsop_find_place(struct fsop *op, const char *real, struct folder *dir,
			    const char **out_name)
{
	enum folder_how how = op->policy || op->no_links ? FOLDER_NO_LINKS : FOLDER_FOLLOW;
	AUTO(mem_drop) char *parent = NULL;
	int r;

	if (op->policy && !sandbox_may_write(op->policy, real)) {
		fsop_refuse(op, "is not writable in the sandbox of this request");
		return false;
	}
	parent = mem_dup(real);
	if (!path_go_up(parent)) {
		fsop_refuse(op, "is not a file");
		return false;
	}
	*out_name = path_name(real, PATH_NATIVE);
	r = folder_open(parent, how, dir);
	if (r < 0)
		fsop_fail(op, -r);
	return r == 0;
}

/* The path of the operation without symbolic links. Its last names may be missing. keep_last: its
 * last name may be a link, which is not followed. False: op failed. */
static bool fsop_resolve(struct fsop *op, bool keep_last, char real[FSOP_PATH_MAX])
{
	AUTO(mem_drop) char *followed = mem_dup(op->path);
	const char *name = path_name(op->path, PATH_NATIVE);
	size_t len, room;
	int r;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		keep_last = false; /* a directory */
	if (keep_last)
		path_go_up(followed);
	r = file_real_path_of_new(followed, real, FSOP_PATH_MAX);
	if (r == 0 && keep_last) {
		len = strlen(real);
		room = FSOP_PATH_MAX - len;
		if (snprintf(real + len, room, "%.*s%s", real[len - 1] != PATH_SEPARATOR,
			     (char[]){ PATH_SEPARATOR }, name) >= (int)room)
			r = -ENAMETOOLONG;
	}
	if (r < 0)
		fsop_fail(op, -r);
	else if (op->no_links && strcmp(real, op->path) != 0)
		fsop_refuse(op, "has a symbolic link");
	return !op->code;
}

static void fsop_write_file(struct fsop *op)
{
	AUTO(folder_close) struct folder dir = FOLDER_INIT;
	AUTO(fd_drop) int fd = -1;
	char real[FSOP_PATH_MAX];
	const char *name;
	size_t at = 0;
	ssize_t n = 0;

	if (!fsop_resolve(op, false, real) || !fsop_find_place(op, real, &dir, &name))
		return;
	fd = folder_write(&dir, name);
	if (fd == -EBADF)
		fsop_refuse(op, "is not a file");
	else if (fd < 0)
		fsop_fail(op, -fd);
	while (fd >= 0 && at < op->bytes.len && (n >= 0 || n == -EINTR)) {
		n = fd_write(fd, op->bytes.data + at, op->bytes.len - at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		fsop_fail(op, (int)-n);
}

static void fsop_make_one(struct fsop *op, const char *real)
{
	AUTO(folder_close) struct folder dir = FOLDER_INIT;
	struct metadata m;
	const char *name;
	int r;

	if (!fsop_find_place(op, real, &dir, &name))
		return;
	r = folder_make_directory(&dir, name);
	if (r == -EEXIST && op->recursive && metadata_of(real, &m) == 0 && m.directory)
		r = 0;
	if (r < 0)
		fsop_fail(op, -r);
}

static void fsop_make_directory(struct fsop *op)
{
	AUTO(mem_drop) char *made = NULL; /* the part of the path that exists */
	char real[FSOP_PATH_MAX];
	struct metadata m;
	size_t len;

	if (!fsop_resolve(op, false, real))
		return;
	if (!op->recursive) {
		fsop_make_one(op, real);
		return;
	}
	made = mem_dup(real);
	while (metadata_of(made, &m) == -ENOENT && path_go_up(made))
		;
	for (len = strlen(made); !op->code && real[len];) {
		len += real[len] == PATH_SEPARATOR;
		len += strcspn(real + len, PATH_NATIVE == PATH_WINDOWS ? "\\/" : "/");
		free(made);
		made = mem_text(real, len);
		fsop_make_one(op, made);
	}
	if (!op->code && metadata_of(real, &m) == 0 && !m.directory)
		fsop_fail(op, EEXIST);
}

static void fsop_remove(struct fsop *op)
{
	AUTO(folder_close) struct folder dir = FOLDER_INIT;
	char real[FSOP_PATH_MAX];
	const char *name;
	int r;

	if (!fsop_resolve(op, true, real) || !fsop_find_place(op, real, &dir, &name)) {
		if (op->code == RPC_NOT_FOUND && op->force)
			op->code = 0;
		return;
	}
	r = folder_remove(&dir, name);
	if (r == -EISDIR || r == -EPERM || r == -EACCES) { /* one of these for a directory */
		int was = folder_remove_directory(&dir, name);

		r = was == -ENOTDIR ? r : was;
	}
	if ((r == -ENOTEMPTY || r == -EEXIST) && op->recursive)
		fsop_refuse(op, "is a directory that is not empty; remove its files first");
	else if (r < 0 && !(r == -ENOENT && op->force))
		fsop_fail(op, -r);
}

const struct fsop_method fsop_methods[] = {
	{ "fs/getMetadata", fsop_look, false },
	{ "fs/readFile", fsop_read_file, false },
	{ "fs/canonicalize", fsop_find_real_path, false },
	{ "fs/walk", fsop_walk, false },
	{ "fs/writeFile", fsop_write_file, true },
	{ "fs/createDirectory", fsop_make_directory, true },
	{ "fs/remove", fsop_remove, true },
	{ NULL, NULL, false },
};

void fsop_run(struct fsop *op)
{
	char real[FSOP_PATH_MAX];
	int r;

	if (op->no_links && !op->method->writes) {
		r = file_real_path(op->path, real, sizeof(real));
		if (r < 0)
			fsop_fail(op, -r);
		else if (strcmp(real, op->path) != 0)
			fsop_refuse(op, "has a symbolic link");
	}
	if (!op->code)
		op->method->run(op);
	if (op->method->writes) {
		buf_done(&op->bytes);
		buf_adds(&op->bytes, "{}");
	}
}

/* --- the params --- */

static int fsop_read_walk(struct fsop *op, const struct param *options, struct err *e)
{
	struct param list[] = { { .name = "maxDepth" },
				{ .name = "maxDirectories" },
				{ .name = "maxEntries" },
				{ .name = "followDirectorySymlinks" },
				{ .name = "pruneHiddenDirectories" } };

	if (param_is(options, JSON_OBJECT, e) < 0 || params_read(options->value, list, 5, e) < 0 ||
	    param_is(&list[0], JSON_NUMBER, e) < 0 || param_is(&list[1], JSON_NUMBER, e) < 0 ||
	    param_is(&list[2], JSON_NUMBER, e) < 0 ||
	    param_number_if(&list[0], &op->walk.depth, e) < 0 ||
	    param_number_if(&list[1], &op->walk.directories, e) < 0 ||
	    param_number_if(&list[2], &op->walk.entries, e) < 0 ||
	    param_bool(&list[3], &op->walk.links, e) < 0 ||
	    param_bool_if(&list[4], &op->walk.prune, e) < 0)
		return e->code;
	if (!op->walk.directories || !op->walk.entries)
		return err_set(e, RPC_INVALID_REQUEST,
			       "filesystem walk limits must be greater than zero");
	if (op->walk.depth > 64 || op->walk.directories > 10000 || op->walk.entries > 50000)
		return err_set(e, RPC_INVALID_REQUEST,
			       "filesystem walk limits exceed maximums: depth=64, "
			       "directories=10000, entries=50000");
	return 0;
}

enum { PATH, SANDBOX, FOLLOW, RECURSIVE, FORCE, DATA, OPTIONS, MEMBERS };

static int fsop_read_members(struct fsop *op, struct param *list, const struct executor_options *o,
			     struct err *e)
{
	bool follow = true;
	int r = 0;

	if (param_is(&list[PATH], JSON_STRING, e) < 0)
		return e->code;
	if (wire_file_path(list[PATH].value, &op->path) < 0)
		return err_set(e, RPC_BAD_PARAMS, "path: not a file: URI of an absolute path");
	if (strlen(op->path) >= FSOP_PATH_MAX)
		return err_set(e, RPC_INVALID_REQUEST, "the path is too long");
	if (param_bool_if(&list[FOLLOW], &follow, e) < 0 ||
	    param_bool_if(&list[RECURSIVE], &op->recursive, e) < 0 ||
	    param_bool_if(&list[FORCE], &op->force, e) < 0)
		return e->code;
	op->no_links = !follow;
	if (op->method->run == fsop_write_file && param_base64(&list[DATA], &op->bytes, e) < 0)
		return e->code;
	if (op->method->run == fsop_walk && fsop_read_walk(op, &list[OPTIONS], e) < 0)
		return e->code;
	if (list[SANDBOX].value.at)
		r = sandbox_policy_read(list[SANDBOX].value, o->envp, &op->policy, e);
	if ((r < 0 || op->policy) && !o->sandbox)
		r = err_set(
			e, RPC_INVALID_REQUEST,
			"this executor has no sandbox: start the executor with --sandbox bwrap");
	return r;
}

int fsop_read(struct fsop *op, const char *method, struct json params,
	      const struct executor_options *o, struct err *e)
{
	struct param list[MEMBERS] = {
		[PATH] = { .name = "path" },
		[SANDBOX] = { .name = "sandbox" },
		[FOLLOW] = { .name = "followSymlinks" },
		[RECURSIVE] = { .name = "recursive" },
		[FORCE] = { .name = "force" },
		[DATA] = { .name = "dataBase64" },
		[OPTIONS] = { .name = "options" },
	};
	int r;

	*op = (struct fsop){ .method = fsop_methods,
			     .recursive = true,
			     .force = true,
			     .bytes = BUF_INIT(FSOP_SIZE_MAX) };
	while (op->method->name && strcmp(method, op->method->name) != 0)
		op->method++;
	assert(op->method->name);
	r = params_read(params, list, MEMBERS, e);
	return r < 0 ? r : fsop_read_members(op, list, o, e);
}

void fsop_done(struct fsop *op)
{
	sandbox_policy_free(op->policy);
	buf_done(&op->bytes);
	mem_drop(&op->path);
	op->policy = NULL;
}
