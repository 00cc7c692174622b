/* sandbox.c - see sandbox.h
 *
 * A policy is a list of paths with an access. The most specific entry of a path counts, and of two
 * entries for the same path the one that may write. Each entry becomes a mount; mounts are made in
 * the order of the length of their paths, so that a directory is mounted before the paths in it.
 * So a path is stored in its shortest form, and a path with ".." is refused.
 */
#include "executor/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "os/file.h"
#include "rpc/message.h"
#include "wire/wire.h"

#define ENTRIES_MAX 256u
#define ROOTS_MAX   64u

struct mount {
	char *path;
	bool writes;
	bool may_miss; /* an entry without a file is left out; else bubblewrap refuses to start */
};

struct policy {
	char *const *envp; /* borrowed while the policy is read; for TMPDIR */
	char **roots;      /* of the workspace; NULL: none */
	struct mount *mounts;
	size_t count, room;
	bool has_root; /* an entry for / */
	bool has_up;   /* an entry with ".." */
	bool network;
};

static int sandbox_refuse(struct err *e, const char *what)
{
	return err_set(e, RPC_INVALID_REQUEST,
		       "the sandbox of this executor cannot enforce %s: nothing was started", what);
}

void sandbox_policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		free(p->mounts[i].path);
	free(p->mounts);
	strings_free(p->roots);
	free(p);
}

/* Remove empty names and "." from an absolute path. False: the path has "..". */
static bool sandbox_shorten(char *path)
{
	char *to = path;

	for (const char *part = path + 1; *part;) {
		size_t len = strcspn(part, "/");

		if (len == 2 && memcmp(part, "..", 2) == 0)
			return false;
		if (len && !(len == 1 && *part == '.')) {
			*to++ = '/';
			memmove(to, part, len);
			to += len;
		}
		part += len + (part[len] == '/');
	}
	to[to == path] = '\0'; /* "/" */
	return true;
}

/* Take the path. */
static void policy_add(struct policy *p, char *path, bool writes, bool may_miss)
{
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->mounts = mem_grow(p->mounts, p->room, sizeof(*p->mounts));
	}
	p->has_up |= !sandbox_shorten(path);
	p->mounts[p->count++] = (struct mount){ path, writes, may_miss };
	p->has_root |= strcmp(path, "/") == 0;
}

/* Is this a relative path that stays below its root? */
static bool sandbox_is_below(const char *path)
{
	for (const char *part = path;; part++) {
		size_t len = strcspn(part, "/");

		if (strncmp(part, "..", len) == 0) /* also "" and "." */
			return false;
		part += len;
		if (!*part)
			return true;
	}
}

/* An entry of the workspace: below each of its roots. */
static int policy_add_roots(struct policy *p, struct json value, const struct mount *like,
			    struct err *e)
{
	struct json subpath = json_get(value, "subpath");
	AUTO(mem_drop) char *below = NULL;

	if (json_type(subpath) == JSON_STRING &&
	    (!json_string(subpath, &below) || !sandbox_is_below(below)))
		return err_set(e, RPC_BAD_PARAMS, "sandbox: a subpath leaves the workspace");
	for (char **root = p->roots; root && *root; root++) {
		size_t len = strlen(*root), more = below ? strlen(below) + 1 : 0;
		char *path = mem_grow(NULL, len + more + 1, 1);

		memcpy(path, *root, len + 1);
		if (below) {
			path[len] = '/';
			memcpy(path + len + 1, below, more);
		}
		policy_add(p, path, like->writes, like->may_miss);
	}
	return 0;
}

static const char *sandbox_tmpdir(char *const *envp)
{
	for (char *const *v = envp; v && *v; v++)
		if (strncmp(*v, "TMPDIR=/", 8) == 0)
			return *v + 7;
	return NULL;
}

static int policy_add_special(struct policy *p, struct json value, const struct mount *like,
			      struct err *e)
{
	struct json kind = json_get(value, "kind");
	const char *tmpdir = sandbox_tmpdir(p->envp);

	if (json_is(kind, "project_roots") || json_is(kind, "current_working_directory"))
		return policy_add_roots(p, value, like, e);
	if (json_is(kind, "root"))
		policy_add(p, mem_dup("/"), like->writes, false);
	else if (json_is(kind, "slash_tmp"))
		policy_add(p, mem_dup("/tmp"), like->writes, true);
	else if (!json_is(kind, "tmpdir"))
		return sandbox_refuse(e, "an entry of this kind");
	else if (tmpdir)
		policy_add(p, mem_dup(tmpdir), like->writes, true);
	return 0;
}

static int policy_add_entry(struct policy *p, struct json entry, struct err *e)
{
	struct json path = json_get(entry, "path"), access = json_get(entry, "access");
	struct mount like = { .writes = json_is(access, "write") };
	char *file;

	if (!like.writes && !json_is(access, "read"))
		return sandbox_refuse(e, "that a path is not readable");
	like.may_miss = like.writes || json_is(json_get(entry, "missing_path_behavior"), "skip");
	if (json_is(json_get(path, "type"), "special"))
		return policy_add_special(p, json_get(path, "value"), &like, e);
	if (!json_is(json_get(path, "type"), "path"))
		return sandbox_refuse(e, "a pattern");
	if (wire_file_path(json_get(path, "path"), &file) < 0)
		return err_set(e, RPC_BAD_PARAMS,
			       "sandbox: a path is not a file: URI of an absolute path");
	policy_add(p, file, like.writes, like.may_miss);
	return 0;
}

static int policy_read_roots(struct policy *p, struct json sandbox, struct err *e)
{
	struct json roots = json_get(sandbox, "workspaceRoots"), cwd = json_get(sandbox, "cwd");
	struct json_iter it = json_iter(roots);
	char *path;

	if (json_count(roots) > ROOTS_MAX)
		return err_set(e, RPC_BAD_PARAMS, "sandbox: more than %u roots", ROOTS_MAX);
	while (json_each(&it)) {
		if (wire_file_path(it.value, &path) < 0)
			return err_set(e, RPC_BAD_PARAMS,
				       "sandbox: workspaceRoots: not a file: URI");
		strings_add(&p->roots, path);
	}
	if (!p->roots && wire_file_path(cwd, &path) == 0)
		strings_add(&p->roots, path);
	return 0;
}

static int policy_read(struct policy *p, struct json sandbox, struct json permissions,
		       struct err *e)
{
	struct json files = json_get(permissions, "file_system");
	struct json network = json_get(permissions, "network");
	struct json entries = json_get(files, "entries");
	struct json_iter it = json_iter(entries);
	int r = policy_read_roots(p, sandbox, e);

	p->network = json_is(network, "enabled");
	if (!p->network && !json_is(network, "restricted"))
		return sandbox_refuse(e, "this rule for the network");
	if (json_is(json_get(files, "type"), "unrestricted")) {
		policy_add(p, mem_dup("/"), true, false);
		return r;
	}
	if (!json_is(json_get(files, "type"), "restricted") || json_type(entries) != JSON_ARRAY)
		return sandbox_refuse(e, "these rules for files");
	while (r == 0 && json_each(&it)) {
		r = policy_add_entry(p, it.value, e);
		if (r == 0 && p->count > ENTRIES_MAX) /* an entry may be one path for each root */
			r = err_set(e, RPC_BAD_PARAMS, "sandbox: more than %u paths", ENTRIES_MAX);
	}
	if (r == 0 && p->has_up)
		r = sandbox_refuse(e, "a path with '..'");
	if (r == 0 && !p->has_root)
		r = sandbox_refuse(e, "that / is not readable");
	return r;
}

static int sandbox_by_depth(const void *a, const void *b)
{
	const struct mount *x = a, *y = b;
	size_t i = strlen(x->path), k = strlen(y->path);

	if (i != k)
		return i < k ? -1 : 1;
	return x->writes - y->writes; /* the last one counts */
}

int sandbox_policy_read(struct json sandbox, char *const *envp, struct policy **out, struct err *e)
{
	struct json permissions = json_get(sandbox, "permissions");
	struct policy *p;
	int r;

	*out = NULL;
	if (json_is(json_get(permissions, "type"), "disabled"))
		return 0;
	if (!json_is(json_get(permissions, "type"), "managed"))
		return sandbox_refuse(e, "permissions of this type");
	p = mem_grow(NULL, 1, sizeof(*p));
	*p = (struct policy){ .envp = envp };
	r = policy_read(p, sandbox, permissions, e);
	if (r < 0) {
		sandbox_policy_free(p);
		return r;
	}
	p->envp = NULL;
	if (p->count) /* qsort takes no NULL */
		qsort(p->mounts, p->count, sizeof(*p->mounts), sandbox_by_depth);
	*out = p;
	return 0;
}

/* --- files --- */

bool sandbox_may_write(const struct policy *p, const char *path)
{
	char real[4096];
	size_t best = 0;
	bool writes = false;

	if (path_is_below(path, "/dev") || path_is_below(path, "/proc"))
		return false; /* a process has new ones, see sandbox_mount */
	for (size_t i = 0; i < p->count; i++) {
		size_t len;

		if (file_real_path_of_new(p->mounts[i].path, real, sizeof(real)) < 0 ||
		    !path_is_below(path, real))
			continue;
		len = strlen(real);
		if (len > best)
			writes = p->mounts[i].writes;
		else if (len == best)
			writes |= p->mounts[i].writes;
		best = len > best ? len : best;
	}
	return writes;
}

/* --- processes --- */

/* The options for the mounts. /dev and /proc are new ones: those of this machine would show its
 * devices and its processes. */
static void sandbox_mount(const struct policy *p, char ***out)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct mount *m = &p->mounts[i];

		strings_add(out, mem_dup(m->writes     ? m->may_miss ? "--bind-try" : "--bind"
					 : m->may_miss ? "--ro-bind-try"
						       : "--ro-bind"));
		strings_add(out, mem_dup(m->path));
		strings_add(out, mem_dup(m->path));
		if (strcmp(m->path, "/") == 0 && (i + 1 == p->count || p->mounts[i + 1].path[1])) {
			strings_add(out, mem_dup("--dev"));
			strings_add(out, mem_dup("/dev"));
			strings_add(out, mem_dup("--proc"));
			strings_add(out, mem_dup("/proc"));
		}
	}
}

int sandbox_read(struct json sandbox, const struct recipe *r, char ***out, struct err *e)
{
	static const char *const always[] = { "--die-with-parent", "--unshare-user",
					      "--unshare-pid",     "--unshare-ipc",
					      "--cap-drop",        "ALL" };
	struct policy *p;
	char **words = NULL;
	int result = sandbox_policy_read(sandbox, r->envp, &p, e);

	*out = NULL;
	if (!p)
		return result;
	if (r->arg0) {
		sandbox_policy_free(p);
		return sandbox_refuse(e, "arg0");
	}
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		strings_add(&words, mem_dup(always[i]));
	if (r->stdio != STDIO_TERMINAL) /* with a terminal the session is its own already */
		strings_add(&words, mem_dup("--new-session"));
	if (!p->network)
		strings_add(&words, mem_dup("--unshare-net"));
	sandbox_mount(p, &words);
	sandbox_policy_free(p);
	strings_add(&words, mem_dup("--chdir"));
	strings_add(&words, mem_dup(r->cwd));
	strings_add(&words, mem_dup("--"));
	*out = words;
	return 0;
}

/* Move the variables of the dynamic loader (LD_PRELOAD, ...) from the recipe to options. bubblewrap
 * itself runs outside of the sandbox, and must not load a library that a process inside has
 * written.
 */
static char **sandbox_take_loader(char **envp)
{
	char **options = NULL;
	size_t kept = 0;

	for (char **v = envp; v && *v; v++) {
		size_t n = strcspn(*v, "=");

		if (strncmp(*v, "LD_", 3) != 0 && strncmp(*v, "GLIBC_TUNABLES=", 15) != 0) {
			envp[kept++] = *v;
			continue;
		}
		strings_add(&options, mem_dup("--setenv"));
		strings_add(&options, mem_text(*v, n));
		strings_add(&options, mem_dup((*v)[n] ? *v + n + 1 : ""));
		free(*v);
	}
	if (envp)
		envp[kept] = NULL;
	return options;
}

void sandbox_wrap(struct recipe *r, const char *bwrap, char **options)
{
	char **loader = sandbox_take_loader(r->envp);
	size_t first = 1 + strings_count(loader), before = strings_count(options);
	size_t command = strings_count(r->argv);
	char **argv = mem_grow(NULL, first + before + command + 1, sizeof(*argv));

	argv[0] = mem_dup(bwrap);
	if (loader)
		memcpy(argv + 1, loader, (first - 1) * sizeof(*argv));
	memcpy(argv + first, options, before * sizeof(*argv));
	memcpy(argv + first + before, r->argv, (command + 1) * sizeof(*argv));
	free(loader);
	free(options);
	free(r->argv);
	r->argv = argv;
}
