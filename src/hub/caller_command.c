/* caller_command.c - the command of a server for people, without the secrets in it.
 *
 * Tokens and passwords in arguments are common. This file hides: the argument behind an option that
 * has a word for a secret in its name; the text after '=' or ':' behind such a word, as in
 * variables, headers, queries and JSON; the user and the password in a URL; and words that begin
 * like the tokens of well-known services. To hide too much does no harm.
 */
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/buf.h"
#include "hub/hub_internal.h"
#include "os/bytes.h"

#define HIDDEN "***"

static bool command_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Does the text, up to len bytes, contain the word, in upper or lower case? */
static bool command_has(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		if (strncasecmp(text + i, word, n) == 0)
			return true;
	return false;
}

/* Has the text, up to len bytes, a word for a secret? */
static bool command_is_secret(const char *text, size_t len)
{
	static const char *const words[] = { "token", "secret",     "pass",   "pwd",   "key",
					     "auth",  "credential", "bearer", "cookie" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (command_has(text, len, words[i]))
			return true;
	return len == 5 && strncmp(text, "--pat", 5) == 0;
}

/* Is the word a token of a service that marks its tokens? */
static bool command_is_token(const char *word)
{
	static const char *const marks[] = { "ghp_", "gho_",  "ghs_",  "github_pat_", "glpat-",
					     "sk-",  "xoxb-", "xoxp-", "AKIA",        "eyJ" };

	for (size_t i = 0; strlen(word) >= 20 && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (command_begins(word, marks[i]))
			return true;
	return false;
}

/* Does the option `before` make the word a secret? */
static bool command_is_value(const char *word, const char *before)
{
	bool option = word[0] == '-' && (word[1] == '-' || strlen(word) <= 2);

	return before && before[0] == '-' && !strchr(before, '=') && !option &&
	       command_is_secret(before, strlen(before));
}

/* Returns the text after the first '=' or ':' that has a word for a secret in front; NULL: none. */
static const char *command_named(const char *word)
{
	for (const char *p = word; *(p += strcspn(p, "=:")); p++)
		if (!command_begins(p, "://") && command_is_secret(word, (size_t)(p - word)))
			return p + 1;
	return NULL;
}

/* The place of the password in scheme://user:password@host, or of the user of an http URL without
 * a password; NULL: none. */
static const char *command_password(const char *word, size_t *out_len)
{
	const char *host = strstr(word, "://"), *end, *colon, *at;

	if (!host)
		return NULL;
	host += 3;
	end = host + strcspn(host, "/?#");
	at = bytes_last(host, '@', (size_t)(end - host));
	colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
	if (!at || (!colon && !command_begins(word, "http")))
		return NULL;
	host = colon ? colon + 1 : host;
	*out_len = (size_t)(at - host);
	return host;
}

static void command_add(struct buf *b, const char *word, const char *before)
{
	const char *password, *named;
	size_t len;

	if (b->len)
		buf_adds(b, " ");
	password = command_password(word, &len);
	named = command_named(word);
	if (command_is_value(word, before) || command_is_token(word))
		buf_adds(b, HIDDEN);
	else if (password && named && password < named)
		buf_addf(b, "%.*s" HIDDEN, (int)(password - word), word);
	else if (named)
		buf_addf(b, "%.*s" HIDDEN, (int)(named - word), word);
	else if (password)
		buf_addf(b, "%.*s" HIDDEN "%s", (int)(password - word), word, password + len);
	else
		buf_adds(b, word);
}

void caller_emit_command(struct emit *j, char *const *argv)
{
	AUTO(buf_done) struct buf b = BUF_INIT(4096);

	for (size_t i = 0; argv && argv[i]; i++)
		command_add(&b, argv[i], i ? argv[i - 1] : NULL);
	emit_text(j, "command", b.data, b.len);
}
