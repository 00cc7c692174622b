/* http.c - see http.h */
#include "http.h"

#include <errno.h>
#include <string.h>

static struct http_text text(const char *at, size_t len)
{
	return (struct http_text){ at, len };
}

static char http_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool http_is(struct http_text value, const char *word)
{
	if (!value.at || value.len != strlen(word))
		return false;
	for (size_t i = 0; i < value.len; i++) {
		if (http_lower(value.at[i]) != http_lower(word[i]))
			return false;
	}
	return true;
}

/* The text without spaces and tabs around it. */
static struct http_text trim(struct http_text t)
{
	while (t.len && (t.at[0] == ' ' || t.at[0] == '\t')) {
		t.at++;
		t.len--;
	}
	while (t.len && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* Remove the part before the separator, and the separator, from *rest; all of it when there is no
 * separator. */
static struct http_text http_take(struct http_text *rest, char separator)
{
	const char *end = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
	struct http_text taken = text(rest->at, end ? (size_t)(end - rest->at) : rest->len);
	size_t gone = taken.len + (end != NULL);

	*rest = text(rest->at + gone, rest->len - gone);
	return taken;
}

bool http_has_word(struct http_text value, const char *word)
{
	while (value.len) {
		if (http_is(trim(http_take(&value, ',')), word))
			return true;
	}
	return false;
}

/* Has the text only characters that a method or the name of a header may have? */
static bool http_is_token(struct http_text t)
{
	for (size_t i = 0; i < t.len; i++) {
		char c = http_lower(t.at[i]);

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    (!c || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return t.len > 0;
}

/* Are all bytes greater than low and not DEL? Tabs are allowed if `tabs` is set. */
static bool is_visible(struct http_text t, unsigned char low, bool tabs)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.at[i];

		if ((c <= low && !(tabs && c == '\t')) || c == 0x7f)
			return false;
	}
	return true;
}

/* Returns 1 for "HTTP/1.1", 0 for "HTTP/1.0", otherwise -EBADMSG. */
static int minor_version(struct http_text t)
{
	if (t.len != 8 || memcmp(t.at, "HTTP/1.", 7) != 0 || t.at[7] < '0' || t.at[7] > '1')
		return -EBADMSG;
	return t.at[7] - '0';
}

/* Parse "GET / HTTP/1.1". Returns the minor version or -EBADMSG. */
static int request_line(struct http_text line, struct http_head *out)
{
	out->method = http_take(&line, ' ');
	out->target = http_take(&line, ' ');
	if (!http_is_token(out->method) || !out->target.len || !is_visible(out->target, ' ', false))
		return -EBADMSG;
	return minor_version(line);
}

/* Parse "HTTP/1.1 101 Switching Protocols". Returns the minor version or -EBADMSG. */
static int response_line(struct http_text line, struct http_head *out)
{
	int minor = minor_version(http_take(&line, ' '));
	struct http_text digits = http_take(&line, ' ');

	if (minor < 0 || digits.len != 3 || !is_visible(line, ' ' - 1, true))
		return -EBADMSG;
	for (size_t i = 0; i < 3; i++) {
		if (digits.at[i] < '0' || digits.at[i] > '9')
			return -EBADMSG;
		out->status = out->status * 10 + (digits.at[i] - '0');
	}
	if (out->status < 100 || (out->status == 101 && minor == 0))
		return -EBADMSG;
	return minor;
}

/* Parse one line "Name: value". */
static int header_line(struct http_text line, struct http_head *out)
{
	const struct {
		const char *name;
		struct http_text *value;
	} known[] = {
		{ "Upgrade", &out->upgrade },
		{ "Connection", &out->connection },
		{ "Sec-WebSocket-Version", &out->version },
		{ "Sec-WebSocket-Key", &out->key },
		{ "Sec-WebSocket-Accept", &out->accept },
		{ "Origin", &out->origin },
		{ "Authorization", &out->authorization },
		{ "Sec-WebSocket-Protocol", &out->protocol },
		{ "Sec-WebSocket-Extensions", &out->extensions },
		{ "Content-Length", &out->length },
		{ "Host", &out->host },
	};
	bool has_colon = memchr(line.at, ':', line.len) != NULL;
	struct http_text name = http_take(&line, ':');

	/* A folded line starts with a space, which no name contains. */
	if (!has_colon || !http_is_token(name) || !is_visible(line, ' ' - 1, true))
		return -EBADMSG;
	if (!out->status && http_is(name, "Transfer-Encoding"))
		return -EBADMSG; /* the bytes after a request are frames, never a body */
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!http_is(name, known[i].name))
			continue;
		if (known[i].value->at)
			return -EBADMSG;
		*known[i].value = trim(line);
	}
	return 0;
}

/* Get the next line without its CR LF; *bytes and *len then begin behind the line. Returns 1, 0 if
 * the line is incomplete, or -EBADMSG. */
static int next_line(const char **bytes, size_t *len, struct http_text *out)
{
	const char *end = memchr(*bytes, '\n', *len);

	if (!end) { /* reject bad bytes early; the newline may never come */
		bool cr = *len && (*bytes)[*len - 1] == '\r';

		return is_visible(text(*bytes, *len - cr), ' ' - 1, true) ? 0 : -EBADMSG;
	}
	if (end == *bytes || end[-1] != '\r')
		return -EBADMSG;
	*out = text(*bytes, (size_t)(end - *bytes) - 1);
	*len -= (size_t)(end - *bytes) + 1;
	*bytes = end + 1;
	return 1;
}

static long parse(const char *bytes, size_t len, struct http_head *out, bool response)
{
	size_t given = len, left = len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX;
	struct http_head head = { 0 };
	const char *at = bytes;
	struct http_text line;
	int minor = -1, r;

	while ((r = next_line(&at, &left, &line)) > 0) {
		if (minor < 0) {
			minor = response ? response_line(line, &head) : request_line(line, &head);
			if (minor < 0)
				return minor;
		} else if (line.len) {
			r = header_line(line, &head);
			if (r < 0)
				return r;
		} else {
			if (minor == 0) /* HTTP/1.0 has no upgrade, RFC 9110, 7.8 */
				head.upgrade = text(NULL, 0);
			*out = head;
			return (long)(at - bytes);
		}
	}
	if (r == 0 && given >= HTTP_HEAD_MAX)
		return -E2BIG;
	return r;
}

long http_request(const char *bytes, size_t len, struct http_head *out)
{
	return parse(bytes, len, out, false);
}

long http_response(const char *bytes, size_t len, struct http_head *out)
{
	return parse(bytes, len, out, true);
}
