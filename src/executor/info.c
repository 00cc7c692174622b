/* info.c - see info.h */
#include "executor/info.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/path.h"
#include "os/machine.h"

static void add_uri(struct emit *j, const char *key, const char *path)
{
	AUTO(buf_done) struct buf uri = BUF_INIT(BUF_ANY_SIZE);

	if (path_kind(path) != PATH_NATIVE) {
		emit_null(j, key);
		return;
	}
	path_add_url(&uri, path);
	emit_text(j, key, uri.data, uri.len);
}

char *info_make(char *const *envp)
{
	AUTO(mem_drop) struct machine *m = mem_grow(NULL, 1, sizeof(*m));
	struct buf out = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&out);

	machine_look(envp, m);
	emit_open(&j, NULL, '{');
	emit_open(&j, "shell", '{');
	emit_str(&j, "name", m->shell_name);
	emit_str(&j, "path", m->shell);
	emit_close(&j);
	emit_str(&j, "executorVersion", KILLICK_VERSION);
	add_uri(&j, "cwd", m->cwd);
	add_uri(&j, "userHomeDir", m->home);
	emit_str(&j, "platformOs", m->os);
	emit_open(&j, "prependPathDirs", '[');
	emit_close(&j);
	emit_open(&j, "temporaryDirectories", '[');
	emit_close(&j);
	add_uri(&j, "tempDir", m->temp);
	emit_open(&j, "capabilities", '{');
	emit_close(&j);
	emit_close(&j);
	emit_end(&j);
	return buf_take(&out);
}
