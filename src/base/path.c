/* path.c - see path.h */
#include "base/path.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/hex.h"
#include "base/mem.h"

static const char path_plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				 "-._~/!$&'()*+,;=:@";

/* --- Windows --- */

static bool path_is_separator(char c)
{
	return c == '\\' || c == '/';
}

static bool path_is_drive(const char *text)
{
	return isascii((unsigned char)text[0]) && isalpha((unsigned char)text[0]) && text[1] == ':';
}

static bool path_is_localhost(const char *name, size_t len)
{
	return len == 9 && strncasecmp(name, "localhost", 9) == 0;
}

/* Can `name` be the server of a share, and of a file: URL? It begins with a letter or a digit, so
 * the "?" and "." of Windows' own name spaces are no servers. */
static bool path_is_server(const char *name, size_t len)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._$";

	return len && strspn(name, allowed) >= len && !strchr("-._$", name[0]) &&
	       !path_is_localhost(name, len);
}

/* \\server\share */
static bool path_is_share(const char *text)
{
	size_t len;

	if (strncmp(text, "\\\\", 2) != 0)
		return false;
	len = strcspn(text + 2, "\\/");
	text += 2;
	return path_is_server(text, len) && text[len] && text[len + 1] &&
	       !path_is_separator(text[len + 1]);
}

/* --- from a URL --- */

struct path_url {
	const char *host, *path; /* the path is percent-encoded and begins with a slash */
	size_t host_len;         /* 0: this machine */
};

static bool path_split_url(const char *text, struct path_url *out)
{
	if (strncmp(text, "file:", 5) != 0)
		return false;
	*out = (struct path_url){ .host = text + 5, .path = text + 5 };
	if (strncmp(text + 5, "//", 2) == 0) {
		out->host = text + 7;
		out->host_len = strcspn(out->host, "/");
		out->path = out->host + out->host_len;
	}
	if (path_is_localhost(out->host, out->host_len))
		out->host_len = 0;
	return *out->path == '/' && !strpbrk(out->path, "?#") &&
	       (!out->host_len || path_is_server(out->host, out->host_len));
}

/* Append `text` without its escapes. Returns false for an invalid escape or a NUL. */
static bool path_add_decoded(struct buf *b, const char *text)
{
	for (const char *p = text; *p; p++) {
		int high, low;
		char c = *p;

		if (c == '%') {
			high = hex_value(p[1]);
			low = high < 0 ? -1 : hex_value(p[2]);
			if (low < 0 || (high | low) == 0)
				return false;
			c = (char)(high << 4 | low);
			p += 2;
		}
		buf_add(b, &c, 1);
	}
	return true;
}

/* /C:/x and /C: become C:\x and C:\; with a server the path becomes \\server\share\x. The path in b
 * is still that of the URL. */
static void path_to_windows(struct buf *b, bool has_host)
{
	if (!has_host && path_is_drive(b->data + 1)) {
		buf_drop(b, 1);
		if (b->len == 2)
			buf_adds(b, "/");
	}
	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] == '/')
			b->data[i] = '\\';
}

int path_from_url(const char *url, enum path_kind kind, char **out)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct path_url u;

	assert(kind == PATH_POSIX || kind == PATH_WINDOWS);
	if (!path_split_url(url, &u) || (u.host_len && kind == PATH_POSIX))
		return -EINVAL;
	if (u.host_len) {
		buf_adds(&b, "//");
		buf_add(&b, u.host, u.host_len);
	}
	if (!path_add_decoded(&b, u.path))
		return -EINVAL;
	if (kind == PATH_WINDOWS)
		path_to_windows(&b, u.host_len);
	if (path_kind(b.data) != kind)
		return -EINVAL;
	*out = buf_take(&b);
	return 0;
}

bool path_is_windows(const char *text)
{
	AUTO(mem_drop) char *path = NULL;

	return path_kind(text) == PATH_WINDOWS || path_from_url(text, PATH_WINDOWS, &path) == 0;
}

enum path_kind path_kind(const char *text)
{
	AUTO(mem_drop) char *path = NULL;

	if (*text == '/')
		return PATH_POSIX;
	if ((path_is_drive(text) && path_is_separator(text[2])) || path_is_share(text))
		return PATH_WINDOWS;
	if (path_from_url(text, PATH_POSIX, &path) == 0 ||
	    path_from_url(text, PATH_WINDOWS, &path) == 0)
		return PATH_URL;
	return PATH_RELATIVE;
}

/* --- to a URL --- */

static int path_add_encoded(struct buf *b, const char *text, bool windows)
{
	static const char hex[] = "0123456789ABCDEF";
	int r = 0;

	for (const char *p = text; *p && r == 0; p++) {
		unsigned char c = (unsigned char)*p;
		char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };

		if (windows && c == '\\')
			r = buf_add(b, "/", 1);
		else if (strchr(path_plain, c))
			r = buf_add(b, p, 1);
		else
			r = buf_add(b, escaped, sizeof(escaped));
	}
	return r;
}

int path_add_url(struct buf *b, const char *path)
{
	AUTO(mem_drop) char *decoded = NULL;
	enum path_kind kind = path_kind(path);
	const char *start = "file://";
	int r;

	if (kind == PATH_RELATIVE)
		return -EINVAL;
	if (kind == PATH_URL) { /* without a server, the path of the URL is a POSIX path, too */
		r = path_from_url(path, PATH_POSIX, &decoded);
		if (r < 0)
			r = path_from_url(path, PATH_WINDOWS, &decoded);
		assert(r == 0);
		path = decoded;
		kind = path_kind(path);
	}
	if (kind == PATH_WINDOWS) /* the share has the two slashes already */
		start = path_is_drive(path) ? "file:///" : "file:";
	r = buf_adds(b, start);
	return r < 0 ? r : path_add_encoded(b, path, kind == PATH_WINDOWS);
}

/* --- parts --- */

static bool path_separates(char c, enum path_kind kind)
{
	return kind == PATH_WINDOWS ? path_is_separator(c) : c == '/';
}

const char *path_name(const char *path, enum path_kind kind)
{
	const char *name = path;

	for (const char *p = path; *p; p++)
		if (path_separates(*p, kind))
			name = p + 1;
	return name;
}

/* The length of the root of a path, its last separator included. */
static size_t path_root(const char *path)
{
	size_t server;

	if (*path == '/')
		return 1;
	if (path_is_drive(path))
		return 3;
	server = 2 + strcspn(path + 2, "\\/");
	return server + 1 + strcspn(path + server + 1, "\\/");
}

bool path_go_up(char *path)
{
	enum path_kind kind = path_kind(path);
	size_t root = path_root(path), len = strlen(path);

	assert(kind == PATH_POSIX || kind == PATH_WINDOWS);
	while (len > root && path_separates(path[len - 1], kind))
		len--;
	if (len <= root)
		return false;
	while (len > root && !path_separates(path[len - 1], kind))
		len--;
	while (len > root && path_separates(path[len - 1], kind))
		len--;
	path[len] = '\0';
	return true;
}

/* Are the characters equal in a path of this kind? */
static bool path_same(char a, char b, enum path_kind kind)
{
	if (a == b || (path_separates(a, kind) && path_separates(b, kind)))
		return true;
	return kind == PATH_WINDOWS && tolower((unsigned char)a) == tolower((unsigned char)b);
}

bool path_is_below(const char *path, const char *dir)
{
	enum path_kind kind = path_kind(path);
	size_t len = strlen(dir);

	while (len > 0 && path_separates(dir[len - 1], kind))
		len--;
	if (kind != path_kind(dir))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!path_same(path[i], dir[i], kind))
			return false;
	return !path[len] || path_separates(path[len], kind);
}
