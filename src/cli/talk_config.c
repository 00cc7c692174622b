/* talk_config.c - see talk_config.h */
#include "talk_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "clients/configfile.h"
#include "clients/translate.h"
#include "os/dirs.h"
#include "os/file.h"
#include "trust.h"
#include "wrap.h"

/* Returns the working directory, which decides whether servers of a local scope count. */
static const char *talk_config_dir(char out[PATH_MAX])
{
	return dirs_current(out, PATH_MAX) ? out : "";
}

/* Translate an open file, if the library cannot read it. False: the file is not understood. */
static bool talk_config_take(struct talk *t, const struct configfile *c)
{
	struct buf text = BUF_INIT(BUF_ANY_SIZE);
	char dir[PATH_MAX];

	if (!translate_is_needed(c))
		return true;
	if (*c->fault) {
		talk_say(t, "%s", c->fault);
		talk_fail(t, EXIT_CONFIG);
		return false;
	}
	translate(c, talk_config_dir(dir), &text);
	t->config_text = buf_take(&text);
	return true;
}

/* Use a file that was found in a project, if the user allows it. The text that the user has seen is
 * the text that is used, so the library does not read the file again. */
static bool talk_config_project(struct talk *t, const struct configfile *c)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	if (*c->fault) {
		talk_say(t, "%s", c->fault);
		talk_fail(t, EXIT_CONFIG);
		return false;
	}
	trust_text(c, &text);
	if (t->names_only ? !trust_is_safe(NULL, c) : !trust_allows(t->verb, c, &text, true)) {
		talk_fail(t, EXIT_CONFIG);
		return false;
	}
	t->config_text = buf_take(&text);
	return true;
}

/* Use the file of a project in the working directory. */
static bool talk_config_here(struct talk *t, const char *path)
{
	struct client_file f = { .client = clients_of_path(path),
				 .path = (char *)path,
				 .project = true };
	AUTO(configfile_done) struct configfile c;

	configfile_open(&c, &f);
	if (!talk_config_project(t, &c))
		return false;
	t->source = path;
	return true;
}

static bool talk_config_given(struct talk *t, const char *path)
{
	struct client_file f = { .client = clients_of_path(path), .path = (char *)path };
	struct configfile c;
	bool good = true;

	t->source = path;
	if (file_may_read(path) < 0)
		return true; /* the library reports the error */
	configfile_open(&c, &f);
	good = talk_config_take(t, &c);
	configfile_done(&c);
	return good;
}

/* Use this file, if it has a server. A file that is not understood is named, because the user may
 * mean this file. */
static void talk_config_try(struct talk *t, const struct client_file *f, bool *faulty)
{
	char dir[PATH_MAX], shown[512];
	struct configfile c;

	talk_config_dir(dir);
	configfile_open(&c, f);
	if (*c.fault) {
		*faulty = true;
		talk_say(t, "%s; the file is not used", c.fault);
	} else if (translate_count(&c, dir) > 0 &&
		   (f->project && !f->in_home ? talk_config_project(t, &c)
					      : talk_config_take(t, &c))) {
		t->source = t->config_path = mem_dup(f->path);
		wrap_show_path(f->path, shown, sizeof(shown));
		talk_say(t, "no .mcp.json here: the config is %s, of %s", shown, f->client->title);
	}
	configfile_done(&c);
}

/* Use the first file with a server: files of the project before files of the user. *faulty is set
 * if a file was not understood. */
static bool talk_config_search(struct talk *t, bool *faulty)
{
	AUTO(clients_done) struct client_files found = { .count = 0 };

	clients_find(NULL, &found);
	for (size_t i = 0; i < found.count && !t->source && !t->exit_status; i++)
		if (found.list[i].project)
			talk_config_try(t, &found.list[i], faulty);
	for (size_t i = 0; i < found.count && !t->source && !t->exit_status; i++)
		if (!found.list[i].project)
			talk_config_try(t, &found.list[i], faulty);
	return t->source != NULL;
}

bool talk_config_find(struct talk *t)
{
	bool faulty = false, project;
	const char *path = cli_find_config(t->config, &project);

	if (path) {
		if (!(project ? talk_config_here(t, path) : talk_config_given(t, path)))
			return false;
		if (t->verbose)
			talk_say(t, "the config is %s", t->source);
		return true;
	}
	if (talk_config_search(t, &faulty))
		return true;
	if (t->exit_status)
		return false; /* the user does not allow the file of the project */
	if (faulty) {
		talk_fail(t, EXIT_CONFIG);
		return false;
	}
	cli_usage(t->verb,
		  "no config: .mcp.json, mcp.json and .vscode/mcp.json not found here, nor "
		  "the config of another MCP client; give '--config FILE' or a command "
		  "after '--'");
	talk_fail(t, EXIT_USAGE);
	return false;
}

bool talk_has_config(struct talk *t)
{
	if (t->exit_status)
		return false; /* the config was refused before */
	return t->words.command || t->source || talk_config_find(t);
}

const char *talk_config_say(const struct talk *t, const char *text, char *out, size_t size)
{
	if (!t->config_text || strncmp(text, "config:", 7) != 0)
		return text;
	snprintf(out, size, "%.150s:%s", t->source, text + 7);
	return out;
}

void talk_config_name(struct talk *t)
{
	char text[sizeof(t->error.text)];

	if (talk_config_say(t, t->error.text, text, sizeof(text)) == text)
		memcpy(t->error.text, text, sizeof(text));
}

bool talk_config_read(const struct talk *t, struct config *out)
{
	struct config_source source = { .file = t->source, .environ_ = cli_environment() };

	if (t->config_text)
		return config_parse(t->config_text, strlen(t->config_text), &source, out, NULL) ==
		       0;
	return config_read(t->source, cli_environment(), out, NULL) == 0;
}

void talk_config_done(struct talk *t)
{
	mem_drop(&t->config_text);
	mem_drop(&t->config_path);
}
