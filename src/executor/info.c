/* info.c - see info.h */
#include "executor/info.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/path.h"

static const char *variable(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=' && (*envp)[len + 1])
			return *envp + len + 1;
	return NULL;
}

static void add_uri(struct emit *j, const char *key, const char *path)
{
	AUTO(buf_done) struct buf uri = BUF_INIT(BUF_ANY_SIZE);

	if (!path || path_kind(path) != PATH_NATIVE) {
		emit_null(j, key);
		return;
	}
	path_add_url(&uri, path);
	emit_text(j, key, uri.data, uri.len);
}

static void add_shell(struct emit *j, const char *path)
{
	const char *slash = strrchr(path, '/');

	emit_open(j, "shell", '{');
	emit_str(j, "name", slash ? slash + 1 : path);
	emit_str(j, "path", path);
	emit_close(j);
}

char *info_make(char *const *envp)
{
	struct buf out = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&out);
	const char *shell = variable(envp, "SHELL"), *home = variable(envp, "HOME");
	const char *temp = variable(envp, "TMPDIR");
	struct passwd room, *user = NULL;
	char texts[4096], cwd[PATH_MAX];

	if (getpwuid_r(getuid(), &room, texts, sizeof(texts), &user) != 0)
		user = NULL;
	if (!shell || *shell != '/')
		shell = user && user->pw_shell[0] == '/' ? user->pw_shell : NULL;
	if (!shell || access(shell, X_OK) < 0 || strstr(shell, "nologin") ||
	    strcmp(shell, "/bin/false") == 0 || strcmp(shell, "/usr/bin/false") == 0)
		shell = "/bin/sh";
	if (!home)
		home = user ? user->pw_dir : NULL;
	emit_open(&j, NULL, '{');
	add_shell(&j, shell);
	emit_str(&j, "executorVersion", KILLICK_VERSION);
	add_uri(&j, "cwd", getcwd(cwd, sizeof(cwd)));
	add_uri(&j, "userHomeDir", home);
	emit_str(&j, "platformOs", "linux");
	emit_open(&j, "prependPathDirs", '[');
	emit_close(&j);
	emit_open(&j, "temporaryDirectories", '[');
	emit_close(&j);
	add_uri(&j, "tempDir", temp && *temp == '/' ? temp : "/tmp");
	emit_open(&j, "capabilities", '{');
	emit_close(&j);
	emit_close(&j);
	emit_end(&j);
	return buf_take(&out);
}
