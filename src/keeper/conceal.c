/* conceal.c - see conceal.h */
#include "conceal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { PARTS_MAX = 12, TOKEN_LEAST = 20, KEY_LEAST = 16 };

struct part { /* of a name such as --api-key or apiKey: "api", "key" */
	const char *at;
	size_t len;
};

/* Is the part one of the words, which are separated by spaces? */
static bool conceal_is_one_of(struct part p, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (n == p.len && strncasecmp(words, p.at, n) == 0)
			return true;
	}
	return false;
}

/* Does the part end with one of the words, with more in front? */
static bool conceal_ends_with(struct part p, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (p.len > n && strncasecmp(words, p.at + p.len - n, n) == 0)
			return true;
	}
	return false;
}

/* Split a name at -, _ and ., and before a capital that follows a small letter. */
static size_t conceal_split(const char *name, size_t len, struct part out[PARTS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < PARTS_MAX;) {
		size_t end = i;

		while (end < len && !strchr("-_.", name[end]) &&
		       !(end > i && isupper((unsigned char)name[end]) &&
			 islower((unsigned char)name[end - 1])))
			end++;
		if (end > i)
			out[n++] = (struct part){ name + i, end - i };
		i = end + (end < len && strchr("-_.", name[end]));
	}
	return n;
}

/* Is part i of a name a word for a secret? */
static bool conceal_is_word(const struct part *parts, size_t i)
{
	if (conceal_is_one_of(parts[i], "key"))
		return i == 0 ||
		       !conceal_is_one_of(parts[i - 1],
					  "sort primary foreign partition group cache public hot "
					  "short map object idempotency row range routing index");
	if (conceal_is_one_of(parts[i],
			      "token secret secrets password passwd passphrase passcode pass pwd "
			      "pw auth authorization credential credentials creds bearer cookie "
			      "jwt pat psk otp sas sig"))
		return true;
	return conceal_ends_with(parts[i], "token secret password passwd passphrase apikey authkey "
					   "accesskey secretkey privatekey pwd credentials") ||
	       (conceal_ends_with(parts[i], "pass") &&
		!conceal_is_one_of(parts[i], "bypass compass trespass overpass underpass askpass"));
}

/* Is this the name of an option, a variable or a member whose value is secret? A name that only
 * speaks about a secret does not count: --token-file, TOKEN_ENV, --max-tokens, --no-auth. */
static bool conceal_is_name(const char *name, size_t len)
{
	struct part parts[PARTS_MAX];
	size_t n = conceal_split(name, len, parts);
	bool secret = false;

	for (size_t i = 0; i < n; i++)
		secret |= conceal_is_word(parts, i);
	if (!secret ||
	    conceal_is_one_of(parts[0], "no not disable enable skip without max min use allow "
					"require has is ask"))
		return false;
	if (conceal_is_one_of(parts[n - 1], "id"))
		return n > 1 && conceal_is_one_of(parts[n - 2], "secret");
	return !conceal_is_one_of(
		parts[n - 1], "file path env dir name type mode method provider stdin length len "
			      "size ttl timeout expiry limit count budget url uri endpoint helper "
			      "command format algorithm bits version usage");
}

/* Is the text ${NAME}, $NAME or %NAME%, perhaps behind a word such as "Bearer"? */
static bool conceal_is_reference(const char *text, size_t len)
{
	size_t i = 0, end = len;

	for (size_t k = 0; k < len; k++)
		if (text[k] == ' ')
			i = k + 1;
	if (i && !conceal_is_one_of((struct part){ text, i - 1 }, "Bearer Basic token") && i > 1)
		return false;
	if (end - i < 2 || (text[i] != '$' && text[i] != '%'))
		return false;
	if (text[i] == '%' && text[--end] != '%')
		return false;
	i++;
	if (text[i] == '{' && text[end - 1] == '}')
		i++, end--;
	for (; i < end; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_.:", text[i]))
			return false;
	return true;
}

/* Is the text the path of a file with a key, a certificate or cookies? */
static bool conceal_is_path(const char *text)
{
	static const char *const ends[] = { ".pem", ".key", ".crt", ".json", ".pub", ".txt" };
	size_t len = strlen(text);

	if (strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0 ||
	    strncmp(text, "~/", 2) == 0)
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (len > strlen(ends[i]) && strcmp(text + len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

/* Is the text a token of a service that marks its tokens? */
static bool conceal_is_token(const char *text)
{
	static const char *const marks[] = {
		"ghp_",  "gho_",    "ghs_",    "ghu_",   "ghr_",     "github_pat_", "glpat-",
		"sk-",   "sk_",     "rk_",     "xoxb-",  "xoxp-",    "xoxa-",       "xapp-",
		"AKIA",  "ASIA",    "eyJ",     "AIza",   "ya29.",    "npm_",        "pypi-",
		"hf_",   "SG.",     "dop_v1_", "shpat_", "lin_api_", "secret_",     "figd_",
		"tvly-", "vercel_", "Bearer ", "Basic ",
	};

	for (size_t i = 0; strlen(text) >= TOKEN_LEAST && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strncmp(text, marks[i], strlen(marks[i])) == 0)
			return true;
	return false;
}

/* The text from `at` on, unless it is a reference. */
static struct conceal_part conceal_from(const char *word, size_t at)
{
	const char *value = word + at + strspn(word + at, " \"'");

	if (conceal_is_reference(value, strcspn(value, "\"'&;,")))
		return (struct conceal_part){ 0, 0 };
	return (struct conceal_part){ at, strlen(word + at) };
}

/* `key` alone is the name of many things: a secret in capitals, in a query, and if long. */
static bool conceal_is_key(const char *word, const char *name, size_t len, const char *value)
{
	if (!conceal_is_one_of((struct part){ name, len }, "key"))
		return true;
	return isupper((unsigned char)*name) || (name > word && strchr("?&-", name[-1])) ||
	       strlen(value) >= KEY_LEAST;
}

/* The text after the first '=' or ':' that has the name of a secret in front. */
static struct conceal_part conceal_named(const char *word)
{
	struct conceal_part found = { 0, 0 };

	for (const char *p = word; *(p += strcspn(p, "=:")); p++) {
		const char *end = p, *name;

		if (strncmp(p, "://", 3) == 0)
			continue;
		while (end > word && strchr(" \"'", end[-1]))
			end--;
		for (name = end;
		     name > word && (isalnum((unsigned char)name[-1]) || strchr("-_.", name[-1]));)
			name--;
		while (name < end && *name == '-' && name == word)
			name++; /* the dashes of an option */
		if (*p == ':' && name > word && name[-1] == '/')
			continue; /* the name and the tag of an image */
		if (conceal_is_name(name, (size_t)(end - name)) && p[1] &&
		    conceal_is_key(word, name, (size_t)(end - name), p + 1) &&
		    !conceal_is_path(p + 1))
			found = conceal_from(word, (size_t)(p + 1 - word));
		if (conceal_is_token(p + 1 + strspn(p + 1, " \"'")))
			found = (struct conceal_part){ (size_t)(p + 1 - word), strlen(p + 1) };
		if (found.len)
			return found;
	}
	return (struct conceal_part){ 0, 0 };
}

/* The text behind the first ':' of user:password; none for two numbers, as in uid:gid. */
static struct conceal_part conceal_login(const char *word, size_t at)
{
	const char *colon = strchr(word + at, ':');

	if (!colon || !colon[1] || colon == word + at || strncmp(colon, "://", 3) == 0 ||
	    word[at + strspn(word + at, "0123456789:")] == '\0')
		return (struct conceal_part){ 0, 0 };
	return conceal_from(word, (size_t)(colon + 1 - word));
}

/* The password in scheme://user:password@host, or the user of an http URL without a password. */
static struct conceal_part conceal_url(const char *word)
{
	const char *host = strstr(word, "://"), *at = NULL, *colon;

	if (!host)
		return (struct conceal_part){ 0, 0 };
	host += 3;
	for (const char *p = host; *p && !strchr("/?#", *p); p++)
		if (*p == '@')
			at = p;
	if (!at) { /* a password may have a '/' in it */
		at = strchr(host, '@');
		colon = strchr(host, ':');
		if (!at || !colon || colon > at || colon > host + strcspn(host, "/?#"))
			return (struct conceal_part){ 0, 0 };
		if (strspn(colon + 1, "0123456789") == strcspn(colon + 1, "/?#"))
			return (struct conceal_part){ 0, 0 }; /* a port */
	}
	colon = memchr(host, ':', (size_t)(at - host));
	if (!colon && strncmp(word, "http", 4) != 0)
		return (struct conceal_part){ 0, 0 };
	host = colon ? colon + 1 : host;
	if (conceal_is_reference(host, (size_t)(at - host)))
		return (struct conceal_part){ 0, 0 };
	return (struct conceal_part){ (size_t)(host - word), (size_t)(at - host) };
}

/* The password in user:password@tcp(host)/db and user:password@host:port/db. */
static struct conceal_part conceal_dsn(const char *word)
{
	size_t user = strcspn(word, ":@/ =?&"), at;
	const char *host, *end;

	if (!user || word[user] != ':' || strncmp(word + user, "://", 3) == 0)
		return (struct conceal_part){ 0, 0 };
	at = user + strcspn(word + user, "@");
	if (!word[at] || at == user + 1)
		return (struct conceal_part){ 0, 0 };
	host = word + at + 1;
	end = host +
	      strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
	if (end == host || strncmp(host, "sha256:", 7) == 0 ||
	    conceal_is_one_of((struct part){ word, user }, "ssh npm unix git file"))
		return (struct conceal_part){ 0, 0 };
	if (*end != '(' && *end != '/' && !(*end == ':' && isdigit((unsigned char)end[1])))
		return (struct conceal_part){ 0, 0 };
	return (struct conceal_part){ user + 1, at - user - 1 };
}

/* The password in -pPW, as clients of databases have it. -p8080, -p80:80, -print and -p./x are
 * something else. */
static struct conceal_part conceal_short(const struct conceal *c, const char *word)
{
	const char *rest = word + 2;

	if (strncmp(word, "-p", 2) != 0 || !*rest || *rest == '=')
		return (struct conceal_part){ 0, 0 };
	if (!c->database &&
	    (!rest[strspn(rest, "abcdefghijklmnopqrstuvwxyz-")] || strchr(rest, '/') ||
	     strchr(rest, '=') || !rest[strspn(rest, "0123456789.:,-")]))
		return (struct conceal_part){ 0, 0 };
	return conceal_from(word, 2);
}

static bool conceal_is_option(const char *word)
{
	return word[0] == '-' && (word[1] == '-' || strlen(word) <= 2);
}

/* The secret in a word that is the value of the option `before`. */
static struct conceal_part conceal_option_value(const char *before, const char *word)
{
	size_t dashes = strspn(before, "-");

	if (before[0] != '-' || strchr(before, '=') || conceal_is_option(word))
		return (struct conceal_part){ 0, 0 };
	if (conceal_is_one_of((struct part){ before, strlen(before) },
			      "-u -U --user --proxy-user --login"))
		return conceal_login(word, 0);
	if (!conceal_is_name(before + dashes, strlen(before + dashes)) || conceal_is_path(word) ||
	    (conceal_ends_with((struct part){ before, strlen(before) }, "-key") && *word == '/'))
		return (struct conceal_part){ 0, 0 };
	return conceal_from(word, 0);
}

/* `-ua:PW` and `--user=a:PW` */
static struct conceal_part conceal_attached_login(const char *word)
{
	static const char *const options[] = { "--user=", "--proxy-user=", "-u", "-U" };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t n = strlen(options[i]);

		if (strncmp(word, options[i], n) == 0 && word[n] != '=')
			return conceal_login(word, n);
	}
	return (struct conceal_part){ 0, 0 };
}

static struct conceal_part conceal_find(const struct conceal *c, const char *word)
{
	struct conceal_part url, named, p = { 0, 0 };

	if (c->before)
		p = conceal_option_value(c->before, word);
	if (!p.len && conceal_is_token(word))
		p.len = strlen(word);
	if (!p.len)
		p = conceal_attached_login(word);
	if (!p.len)
		p = conceal_short(c, word);
	if (p.len)
		return p;
	url = conceal_url(word);
	named = conceal_named(word);
	if (url.len && named.len) { /* both: all from the first one on */
		p.at = url.at < named.at ? url.at : named.at;
		p.len = strlen(word) - p.at;
		return p;
	}
	return url.len ? url : named.len ? named : conceal_dsn(word);
}

struct conceal_part conceal_word(struct conceal *c, const char *word)
{
	struct conceal_part p = conceal_find(c, word);
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

	c->database |= conceal_is_one_of((struct part){ name, strlen(name) },
					 "mysql mysqldump mysqladmin mysqlimport mysqlsh mariadb "
					 "mariadb-dump mariadb-admin mycli sshpass");
	c->before = word;
	return p;
}

struct conceal_part conceal_value(const char *key, const char *value)
{
	if (conceal_is_name(key, strlen(key)))
		return conceal_from(value, 0);
	return conceal_find(&(struct conceal){ .before = NULL }, value);
}

void conceal_command(struct line *l, char *const *argv)
{
	struct conceal c = { .before = NULL };

	for (size_t i = 0; argv[i]; i++) {
		struct conceal_part p = conceal_word(&c, argv[i]);

		line_add(l, "%s%.*s%s%s", i ? " " : "", (int)p.at, argv[i], p.len ? CONCEALED : "",
			 argv[i] + p.at + p.len);
	}
}

void conceal_text(struct line *l, const char *text)
{
	struct conceal c = { .before = NULL };
	char words[2][1024]; /* this word and the word before it */
	unsigned which = 0;

	for (const char *space = ""; *text; space = " ", which = !which) {
		size_t n = strcspn(text, " "),
		       kept = n < sizeof(words[0]) ? n : sizeof(words[0]) - 1;
		struct conceal_part p;

		memcpy(words[which], text, kept);
		words[which][kept] = '\0';
		p = conceal_word(&c, words[which]);
		line_add(l, "%s%.*s%s%s", space, (int)p.at, words[which], p.len ? CONCEALED : "",
			 words[which] + p.at + p.len);
		text += n + (text[n] == ' ');
	}
}
