/* trust.c - see trust.h; and `killick trust` */
#include "trust.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli.h"
#include "clients/translate.h"
#include "config/config.h"
#include "keeper/conceal.h"
#include "os/console.h"
#include "os/dirs.h"
#include "os/file.h"
#include "os/metadata.h"
#include "trust_list.h"
#include "word.h"
#include "wrap.h"

#define VERB "trust"

const char trust_help[] =
	"usage: killick trust [--json] [FILE|DIR]...\n"
	"       killick trust --list [--json]\n"
	"       killick trust --forget [FILE|DIR]...\n"
	"\n"
	"Allow the config files of a project to start their servers: FILE, or all config\n"
	"files in DIR, or those of the project in the working directory. The commands\n"
	"are printed. A changed file has to be allowed again.\n"
	"\n"
	"The other verbs ask before they use a file of a project that they found by\n"
	"themselves, and refuse it if there is no terminal to ask on. They do not ask for\n"
	"'--config FILE', $KILLICK_CONFIG and files of your home directory.\n"
	"\n"
	"  --list          print the files that were allowed; 'changed': not as it is now\n"
	"  --forget        ask again for FILE, for all files below DIR, or below here\n"
	"  --show-secrets  print secrets in the commands, too\n"
	"  --json          print JSON\n"
	"\n"
	"Exit status: 0 done; 64 usage; 65 a file was refused; 75 not written.\n";

void trust_text(const struct configfile *c, struct buf *out)
{
	char dir[PATH_MAX];

	if (translate_is_needed(c))
		translate(c, dirs_current(dir, sizeof(dir)) ? dir : "", out);
	else
		buf_add(out, c->file.text.data, c->file.text.len);
}

void trust_digest(const struct configfile *c, char out[SHA256_HEX_SIZE])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, c->file.text.data, c->file.text.len);
	sha256_hex(&s, out);
}

bool trust_is_safe(const char *verb, const struct configfile *c)
{
	struct metadata m = { .symlink = false };
	const char *why = NULL;
	char shown[1024];

	metadata_of(c->path, &m);
	if (m.symlink)
		why = "is a symbolic link";
	else if (c->file.was.others_own)
		why = "belongs to another user";
	else if (c->file.was.others_write)
		why = "can be written by every user";
	if (why && verb) {
		wrap_show_path(c->path, shown, sizeof(shown));
		cli_say(verb,
			"%s is the config of a project and %s; it is not used; to use it, "
			"name it: --config FILE",
			shown, why);
	}
	return !why;
}

/* --- the commands of a config --- */

/* Is the secret of the word a plain one? The rules of conceal.h are guesses, and a command such as
 * `TOKEN=x; rm ...` must not be hidden from the user who allows it. */
static bool trust_is_plain(const char *word, struct conceal_part p)
{
	return strspn(word + p.at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.+/=:~") >= p.len;
}

/* Append a word in quotes, with its secret hidden, and with \xNN for each byte that a terminal
 * might not show as it is. */
static void trust_add_word(struct buf *b, const char *word, struct conceal_part p)
{
	AUTO(buf_done) struct buf shown = BUF_INIT(BUF_ANY_SIZE), quoted = BUF_INIT(BUF_ANY_SIZE);

	if (p.len && !cli_show_secrets && trust_is_plain(word, p))
		buf_addf(&shown, "%.*s" CONCEALED "%s", (int)p.at, word, word + p.at + p.len);
	else
		buf_adds(&shown, word);
	word_add(&quoted, shown.data);
	for (size_t i = 0, n; i < quoted.len; i += n) {
		n = utf8_len(quoted.data + i, quoted.len - i);
		if (n && text_is_printable(utf8_code(quoted.data + i, n))) {
			buf_add(b, quoted.data + i, n);
			continue;
		}
		n = n ? n : 1;
		for (size_t k = 0; k < n; k++)
			buf_addf(b, "\\x%02x", (unsigned char)quoted.data[i + k]);
	}
}

static void trust_add_words(struct buf *b, char *const *argv)
{
	struct conceal c = { .before = NULL };

	for (; *argv; argv++)
		trust_add_word(b, *argv, conceal_word(&c, *argv));
}

/* Append the variables that the config itself sets. Those that are passed on have the value
 * ${NAME} here (trust_parse), or that of this process. */
static void trust_add_variables(struct buf *b, char *const *envp)
{
	char **own = cli_environment();

	for (; envp && *envp; envp++) {
		size_t n = strcspn(*envp, "=");
		const char *value = (*envp)[n] ? *envp + n + 1 : "";
		AUTO(mem_drop) char *name = mem_text(*envp, n);
		struct conceal_part p;

		if (strncmp(value, "${", 2) == 0 && strncmp(value + 2, name, n) == 0 &&
		    strcmp(value + 2 + n, "}") == 0)
			continue;
		if (strings_have(own, *envp))
			continue;
		p = conceal_value(name, value);
		p.at += n + 1;
		trust_add_word(b, *envp, p);
	}
}

/* The commands of a config, twice: `real` has what would run here and now. `shown` has what is
 * written, so that a person sees also what another environment would start, and no secret of this
 * one. The variables that are passed on have the value ${NAME} in it.
 */
struct trust_commands {
	struct config real, shown;
};

static bool trust_parse(const struct buf *text, struct trust_commands *out)
{
	char **environ_ = cli_environment(), **names = NULL;
	struct config_source source = { .environ_ = environ_ };
	bool good;

	*out = (struct trust_commands){ .real.count = 0 };
	good = config_parse(text->data, text->len, &source, &out->real, NULL) == 0;
	for (; *environ_; environ_++) {
		AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
		int n = (int)strcspn(*environ_, "=");

		buf_addf(&b, "%.*s=${%.*s}", n, *environ_, n, *environ_);
		strings_add(&names, mem_dup(b.data));
	}
	source.environ_ = names;
	source.as_written = true;
	if (good)
		config_parse(text->data, text->len, &source, &out->shown, NULL);
	strings_free(names);
	return good;
}

static void trust_commands_done(struct trust_commands *c)
{
	config_done(&c->real);
	config_done(&c->shown);
}

/* Does the server start a program? */
static bool trust_starts(const struct config_server *s)
{
	return !s->disabled && !s->problem && s->recipe.argv && s->recipe.argv[0];
}

/* The form of server i for people: `shown`, unless it cannot be read without its variables. NULL:
 * the server starts no program. */
static const struct config_server *trust_server(const struct trust_commands *c, size_t i)
{
	const struct config_server *real;
	const struct config_server *shown;

	assert(c->real.servers && i < c->real.count);
	real = &c->real.servers[i];
	shown = c->shown.servers && i < c->shown.count ? &c->shown.servers[i] : real;
	if (trust_starts(shown) && strcmp(shown->name, real->name) == 0)
		return shown;
	return trust_starts(real) ? real : NULL;
}

static bool trust_has_commands(const struct trust_commands *c)
{
	for (size_t i = 0; i < c->real.count; i++)
		if (trust_server(c, i))
			return true;
	return c->real.place_count > 0;
}

/* Append "  NAME: WORDS" for each server and environment. */
static void trust_add_commands(const struct trust_commands *c, struct buf *out)
{
	for (size_t i = 0; i < c->real.count; i++) {
		const struct config_server *s = trust_server(c, i);

		if (!s)
			continue;
		buf_adds(out, " ");
		trust_add_word(out, s->name, (struct conceal_part){ 0, 0 });
		buf_adds(out, ":");
		if (s->recipe.environment)
			buf_adds(out, " in environment");
		if (s->recipe.environment)
			trust_add_word(out, s->recipe.environment, (struct conceal_part){ 0, 0 });
		trust_add_variables(out, s->recipe.envp);
		trust_add_words(out, s->recipe.argv);
		buf_adds(out, "\n");
	}
	for (size_t i = 0; i < c->real.place_count; i++) {
		const struct config_place *p = &c->real.places[i];

		if (i < c->shown.place_count && strcmp(c->shown.places[i].name, p->name) == 0 &&
		    (c->shown.places[i].program || c->shown.places[i].url))
			p = &c->shown.places[i];
		buf_adds(out, "  environment");
		trust_add_word(out, p->name, (struct conceal_part){ 0, 0 });
		buf_adds(out, ":");
		trust_add_variables(out, p->program_env);
		if (p->program)
			trust_add_words(out, p->program);
		else if (p->url)
			trust_add_word(out, p->url, conceal_value("", p->url));
		buf_adds(out, "\n");
	}
}

/* --- the question --- */

bool trust_allows(const char *verb, const struct configfile *c, const struct buf *text, bool ask)
{
	AUTO(trust_list_done) struct trust_list list = { .text = BUF_INIT(0) };
	AUTO(trust_commands_done) struct trust_commands commands = { .real.count = 0 };
	AUTO(buf_done) struct buf lines = BUF_INIT(BUF_ANY_SIZE);
	char digest[SHA256_HEX_SIZE], shown[1024], answer[64] = "";
	struct err e = ERR_INIT;

	if (!trust_is_safe(verb, c))
		return false;
	trust_digest(c, digest);
	trust_list_read(&list);
	if (trust_list_has(&list, c->file.path, digest))
		return true;
	if (!trust_parse(text, &commands) || !trust_has_commands(&commands))
		return true; /* nothing is started; the caller reports an error */
	wrap_show_path(c->path, shown, sizeof(shown));
	if (!ask || !console_is_terminal(FILE_STDIN) || !console_is_terminal(FILE_STDERR)) {
		cli_say(verb,
			"%s is the config of a project, and its commands were not allowed yet; "
			"look "
			"at the file, then run 'killick trust', or name the file: --config FILE",
			shown);
		return false;
	}
	trust_add_commands(&commands, &lines);
	fprintf(stderr, "%s is the config of a project. It starts these commands:\n%s", shown,
		lines.data);
	if (!console_ask(stderr, "Allow them, also from now on? [y/N] ", answer, sizeof(answer)) ||
	    (*answer != 'y' && *answer != 'Y')) {
		cli_say(verb, "the config of the project is not used");
		return false;
	}
	if (trust_list_add(c->file.path, digest, &e) < 0)
		cli_say(verb, "the answer is not remembered: %s", e.text);
	return true;
}

/* --- the verb --- */

struct trust {
	bool list, forget, json;
	struct emit j; /* with --json */
	int status;
	size_t count; /* of the files */
};

/* The absolute path of a word, also of a file that is gone. */
static void trust_path(const char *word, char out[PATH_MAX])
{
	char dir[PATH_MAX];

	if (file_real_path(word, out, PATH_MAX) == 0)
		return;
	if (path_kind(word) == PATH_RELATIVE && dirs_current(dir, sizeof(dir)))
		snprintf(out, PATH_MAX, "%.2000s%c%.2000s", dir, PATH_SEPARATOR, word);
	else
		snprintf(out, PATH_MAX, "%s", word);
}

static void trust_fail(struct trust *t, int status)
{
	t->status = t->status ? t->status : status;
}

static void trust_emit_file(struct trust *t, const struct configfile *c, const char *digest,
			    const struct trust_commands *commands)
{
	emit_open(&t->j, NULL, '{');
	emit_str(&t->j, "path", c->file.path);
	emit_str(&t->j, "digest", digest);
	emit_open(&t->j, "servers", '[');
	for (size_t i = 0; i < commands->real.count; i++) {
		const struct config_server *s = trust_server(commands, i);
		AUTO(buf_done) struct buf words = BUF_INIT(BUF_ANY_SIZE);

		if (!s)
			continue;
		trust_add_words(&words, s->recipe.argv);
		emit_open(&t->j, NULL, '{');
		emit_str(&t->j, "name", s->name);
		emit_text(&t->j, "command", words.data + 1, words.len - 1);
		emit_close(&t->j);
	}
	emit_close(&t->j);
	emit_close(&t->j);
}

/* Allow one file. A file without commands is skipped, unless the user named it. */
static void trust_one(struct trust *t, const struct client_file *f)
{
	AUTO(trust_commands_done) struct trust_commands commands = { .real.count = 0 };
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE), lines = BUF_INIT(BUF_ANY_SIZE);
	AUTO(configfile_done) struct configfile c;
	char digest[SHA256_HEX_SIZE], shown[1024];
	struct err e = ERR_INIT;

	configfile_open(&c, f);
	wrap_show_path(f->path, shown, sizeof(shown));
	if (*c.fault) {
		cli_say(VERB, "%s", c.fault);
		trust_fail(t, EXIT_CONFIG);
		return;
	}
	trust_text(&c, &text);
	if (!trust_parse(&text, &commands) || !trust_has_commands(&commands)) {
		if (f->named)
			cli_say(VERB, "%s starts no command", shown);
		t->count += f->named;
		return;
	}
	t->count++;
	if (!trust_is_safe(VERB, &c)) {
		trust_fail(t, EXIT_CONFIG);
		return;
	}
	trust_digest(&c, digest);
	if (trust_list_add(c.file.path, digest, &e) < 0) {
		cli_say(VERB, "%s: %s", shown, e.text);
		trust_fail(t, EXIT_TRY_AGAIN);
		return;
	}
	trust_add_commands(&commands, &lines);
	if (t->json)
		trust_emit_file(t, &c, digest, &commands);
	else
		printf("%s may start these commands from now on:\n%s", shown, lines.data);
}

/* Allow the files of a project: those of one directory, or (NULL) those of the working directory
 * and of the directories above it. */
static void trust_project(struct trust *t, const char *dir)
{
	AUTO(clients_done) struct client_files found = { .count = 0 };
	AUTO(buf_done) struct buf plain = BUF_INIT(BUF_ANY_SIZE); /* no client has this file */

	buf_addf(&plain, "%s%cmcp.json", dir ? dir : ".", PATH_SEPARATOR);
	if (dir)
		clients_find_in(dir, &found);
	else
		clients_find(NULL, &found);
	if (file_exists(plain.data))
		trust_one(t, &(struct client_file){ .path = plain.data, .project = true });
	for (size_t i = 0; i < found.count; i++)
		if (found.list[i].project)
			trust_one(t, &found.list[i]);
	if (!t->count && !t->status)
		t->status = cli_usage(VERB, "no config file with commands in %s; name the FILE",
				      dir ? dir : "this project");
}

static void trust_word(struct trust *t, const char *word)
{
	struct client_file f = { .client = clients_of_path(word),
				 .path = (char *)word,
				 .project = true,
				 .named = true };
	struct metadata m;

	if (metadata_of(word, &m) == 0 && m.directory)
		trust_project(t, word);
	else
		trust_one(t, &f);
}

static void trust_list_one(struct trust *t, const struct trust_entry *x)
{
	AUTO(mem_drop) char *path = mem_text(x->path, x->path_len);
	struct client_file f = { .client = clients_of_path(path), .path = path };
	char digest[SHA256_HEX_SIZE] = "", shown[1024];
	const char *state = "gone";
	struct configfile c;

	if (file_exists(path)) {
		configfile_open(&c, &f);
		trust_digest(&c, digest);
		state = strcmp(digest, x->digest) == 0 ? "trusted" : "changed";
		configfile_done(&c);
	}
	if (t->json) {
		emit_open(&t->j, NULL, '{');
		emit_str(&t->j, "path", path);
		emit_str(&t->j, "digest", x->digest);
		emit_str(&t->j, "state", state);
		emit_close(&t->j);
		return;
	}
	wrap_show_path(path, shown, sizeof(shown));
	printf("%-7s  %s\n", state, shown);
}

static void trust_list_all(struct trust *t)
{
	AUTO(trust_list_done) struct trust_list l;
	struct trust_entry x;

	trust_list_read(&l);
	for (size_t at = 0; trust_list_next(&l, &at, &x); t->count++)
		trust_list_one(t, &x);
	if (!t->count && !t->json)
		puts("No file of a project was allowed yet.");
}

static void trust_forget(struct trust *t, const char *word)
{
	char path[PATH_MAX], shown[1024];
	struct err e = ERR_INIT;
	int n;

	trust_path(word, path);
	wrap_show_path(path, shown, sizeof(shown));
	n = trust_list_forget(path, &e);
	if (n < 0) {
		cli_say(VERB, "%s", e.text);
		trust_fail(t, EXIT_TRY_AGAIN);
	} else if (n == 0) {
		printf("%s was not allowed before.\n", shown);
	} else {
		printf("%s: killick asks again.\n", shown);
	}
}

int verb_trust(int argc, char **argv)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct trust t = { .j = EMIT_LINES(&text) };
	const struct option options[] = {
		{ "list", .flag = &t.list },
		{ "forget", .flag = &t.forget },
		{ "show-secrets", .flag = &cli_show_secrets },
		{ "json", .flag = &t.json },
		{ .name = NULL },
	};
	struct cli_words words;
	int status;

	if (!cli_words(argc, argv, trust_help, options, &words, &status))
		return status;
	if (words.command)
		return cli_usage(VERB, "unexpected argument '--'");
	if (t.list && (t.forget || words.count))
		return cli_usage(VERB, "'--list' takes no FILE and no '--forget'");
	if (t.forget && t.json)
		return cli_usage(VERB, "'--forget' prints no JSON");
	if (t.json)
		emit_open(&t.j, NULL, '[');
	if (t.list)
		trust_list_all(&t);
	else if (!words.count)
		t.forget ? trust_forget(&t, ".") : trust_project(&t, NULL);
	for (int i = 0; i < words.count; i++)
		t.forget ? trust_forget(&t, words.list[i]) : trust_word(&t, words.list[i]);
	if (t.json) {
		emit_close(&t.j);
		emit_print(&t.j, stdout);
	}
	return cli_finish(VERB, t.status);
}
