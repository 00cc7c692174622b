/* path.c - absolute paths of POSIX systems and of Windows, and their file: URLs. */
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"
#include "base/mem.h"

/* The URL of a path, or "!"; until the next call. */
static const char *url_of(const char *path)
{
	static char out[512];
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	int r = path_add_url(&b, path);

	OK(r == 0 || (r == -EINVAL && b.len == 0 && path_kind(path) == PATH_RELATIVE));
	snprintf(out, sizeof(out), "%s", r == 0 ? b.data : "!");
	return out;
}

/* The path of a URL, or "!"; until the next call. */
static const char *path_of(const char *url, enum path_kind kind)
{
	static char out[512];
	char untouched[] = "untouched", *path = untouched;
	int r = path_from_url(url, kind, &path);

	OK(r == 0 || (r == -EINVAL && path == untouched));
	snprintf(out, sizeof(out), "%s", r == 0 ? path : "!");
	if (r == 0)
		free(path);
	return out;
}

TEST(the_kind_of_a_path_is_known_from_its_text)
{
	static const struct {
		const char *text;
		enum path_kind kind;
	} cases[] = {
		{ "/", PATH_POSIX },
		{ "/srv/a b", PATH_POSIX },
		{ "//server/share", PATH_POSIX },
		{ "/C:/x", PATH_POSIX },
		{ "C:\\", PATH_WINDOWS },
		{ "C:\\x", PATH_WINDOWS },
		{ "c:/x", PATH_WINDOWS },
		{ "C:\\a b\\50%#?", PATH_WINDOWS },
		{ "\\\\server\\share", PATH_WINDOWS },
		{ "\\\\10.0.0.1\\c$\\x", PATH_WINDOWS },
		{ "\\\\wsl$\\Debian\\home", PATH_WINDOWS },
		{ "\\\\server/share/x", PATH_WINDOWS },
		{ "file:///", PATH_URL },
		{ "file:/srv", PATH_URL },
		{ "file:///C:/x", PATH_URL },
		{ "file:///C:", PATH_URL },
		{ "file://localhost/srv", PATH_URL },
		{ "file://LOCALHOST/C:/x", PATH_URL },
		{ "file://server/share/x", PATH_URL },
		{ "", PATH_RELATIVE },
		{ "x", PATH_RELATIVE },
		{ "~/x", PATH_RELATIVE },
		{ "./x", PATH_RELATIVE },
		{ "C:", PATH_RELATIVE },
		{ "C:x", PATH_RELATIVE },
		{ "1:\\x", PATH_RELATIVE },
		{ "\xc3\x84:\\x", PATH_RELATIVE },
		{ "\\x", PATH_RELATIVE },
		{ "\\\\", PATH_RELATIVE },
		{ "\\\\server", PATH_RELATIVE },
		{ "\\\\server\\", PATH_RELATIVE },
		{ "\\\\server\\\\share", PATH_RELATIVE },
		{ "\\\\?\\C:\\x", PATH_RELATIVE },
		{ "\\\\.\\pipe\\x", PATH_RELATIVE },
		{ "\\\\localhost\\share", PATH_RELATIVE },
		{ "\\\\a b\\share", PATH_RELATIVE },
		{ "file:", PATH_RELATIVE },
		{ "file://", PATH_RELATIVE },
		{ "file:x", PATH_RELATIVE },
		{ "file:C:/x", PATH_RELATIVE },
		{ "file://server", PATH_RELATIVE },
		{ "file://server/", PATH_RELATIVE },
		{ "file://a%20b/share", PATH_RELATIVE },
		{ "file://me@server/share", PATH_RELATIVE },
		{ "file://server:80/share", PATH_RELATIVE },
		{ "file:///x?y", PATH_RELATIVE },
		{ "file:///x#y", PATH_RELATIVE },
		{ "file:///x%0", PATH_RELATIVE },
		{ "file:///x%gg", PATH_RELATIVE },
		{ "file:///x%00", PATH_RELATIVE },
		{ "http://server/x", PATH_RELATIVE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (path_kind(cases[i].text) != cases[i].kind)
			FAIL("'%s' is of another kind", cases[i].text);
		OK((*url_of(cases[i].text) == '!') == (cases[i].kind == PATH_RELATIVE));
	}
}

TEST(paths_become_urls_and_the_urls_become_the_same_paths)
{
	static const struct {
		const char *path, *url;
	} cases[] = {
		{ "/", "file:///" },
		{ "/srv/a b", "file:///srv/a%20b" },
		{ "/50%/#1/why?", "file:///50%25/%231/why%3F" },
		{ "/caf\xc3\xa9/\xff", "file:///caf%C3%A9/%FF" },
		{ "/a\\b", "file:///a%5Cb" },
		{ "C:\\", "file:///C:/" },
		{ "C:\\Users\\Ann Lee\\x", "file:///C:/Users/Ann%20Lee/x" },
		{ "D:\\50%\\#1\\why?", "file:///D:/50%25/%231/why%3F" },
		{ "D:\\\xc3\x84rger\\\xe6\x97\xa5", "file:///D:/%C3%84rger/%E6%97%A5" },
		{ "\\\\server\\share", "file://server/share" },
		{ "\\\\server\\my files\\50%#", "file://server/my%20files/50%25%23" },
		{ "\\\\wsl$\\Debian", "file://wsl$/Debian" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		STREQ(url_of(cases[i].path), cases[i].url);
		STREQ(path_of(cases[i].url, path_kind(cases[i].path)), cases[i].path);
	}
}

TEST(urls_in_other_forms_become_paths_or_are_refused)
{
	static const struct {
		enum path_kind kind;
		const char *url, *path; /* "!": refused */
	} cases[] = {
		{ PATH_POSIX, "file:///srv/a b", "/srv/a b" },
		{ PATH_POSIX, "file:/srv", "/srv" },
		{ PATH_POSIX, "file://localhost/srv", "/srv" },
		{ PATH_POSIX, "file:///50%25/%231/why%3f", "/50%/#1/why?" },
		{ PATH_POSIX, "file:///caf%C3%A9/%ff", "/caf\xc3\xa9/\xff" },
		{ PATH_POSIX, "file:///C:/x", "/C:/x" },
		{ PATH_POSIX, "file://server/share", "!" },
		{ PATH_POSIX, "/srv", "!" },
		{ PATH_WINDOWS, "file:///C:", "C:\\" },
		{ PATH_WINDOWS, "file:///c%3A/x", "c:\\x" },
		{ PATH_WINDOWS, "file:/C:/x", "C:\\x" },
		{ PATH_WINDOWS, "file://localhost/C:/x", "C:\\x" },
		{ PATH_WINDOWS, "file:///D:/%c3%84rger", "D:\\\xc3\x84rger" },
		{ PATH_WINDOWS, "file:///srv/x", "!" },
		{ PATH_WINDOWS, "file:///", "!" },
		{ PATH_WINDOWS, "file:///C:x", "!" },
		{ PATH_WINDOWS, "C:\\x", "!" },
		{ PATH_WINDOWS, "file://server/", "!" },
		{ PATH_WINDOWS, "file://server//x", "!" },
		{ PATH_WINDOWS, "file://localhost/share/x", "!" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		STREQ(path_of(cases[i].url, cases[i].kind), cases[i].path);
}

TEST(a_path_or_url_is_written_again_in_one_form)
{
	STREQ(url_of("c:/Users/x"), "file:///c:/Users/x");
	STREQ(url_of("file:/srv/a b"), "file:///srv/a%20b");
	STREQ(url_of("file://localhost/C:/a%20b"), "file:///C:/a%20b");
	STREQ(url_of("file:///C%3a/50%25%23%3f"), "file:///C:/50%25%23%3F");
	STREQ(url_of("file:///C:/a%5cb"), "file:///C:/a%5Cb");
	STREQ(url_of("file:///D:/\xc3\x84"), "file:///D:/%C3%84");
	STREQ(url_of("file://server/share/a b"), "file://server/share/a%20b");
	STREQ(url_of("file:///a%2"), "!");
}

TEST(every_byte_of_a_path_survives_the_way_to_a_url_and_back)
{
	static const char *const starts[] = { "/x", "C:\\x", "\\\\server\\x" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		for (int c = 1; c < 256; c++) {
			enum path_kind kind = path_kind(starts[i]);
			char path[32];

			if (kind == PATH_WINDOWS && c == '/')
				continue; /* becomes a backslash */
			snprintf(path, sizeof(path), "%s%c!", starts[i], c);
			STREQ(path_of(url_of(path), kind), path);
		}
}

static const char *above(const char *path)
{
	static char text[100];

	snprintf(text, sizeof(text), "%s", path);
	return path_go_up(text) ? text : "!";
}

TEST(paths_and_urls_of_windows_are_told_apart)
{
	static const char *const yes[] = { "C:\\x", "C:/x", "\\\\server\\share\\x", "file:///C:/x",
					   "file://server/share/x" };
	static const char *const no[] = { "/x", "/C:/x", "x", "file:///x", "file:/x", "" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		OK(path_is_windows(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		OK(!path_is_windows(no[i]));
}

TEST(the_directory_above_a_path)
{
	STREQ(above("/a/b"), "/a");
	STREQ(above("/a//b/"), "/a");
	STREQ(above("/a\\b"), "/");
	STREQ(above("/a"), "/");
	STREQ(above("/"), "!");
	STREQ(above("C:\\a\\b"), "C:\\a");
	STREQ(above("C:/a\\b"), "C:/a");
	STREQ(above("C:\\a"), "C:\\");
	STREQ(above("C:\\"), "!");
	STREQ(above("\\\\server\\share\\a"), "\\\\server\\share");
	STREQ(above("\\\\server\\share\\"), "!");
	STREQ(above("\\\\server\\share"), "!");
}

TEST(the_last_name_of_a_path)
{
	STREQ(path_name("/a/b", PATH_POSIX), "b");
	STREQ(path_name("/a/b\\c", PATH_POSIX), "b\\c");
	STREQ(path_name("C:\\a/b\\c", PATH_WINDOWS), "c");
	STREQ(path_name("c", PATH_WINDOWS), "c");
	STREQ(path_name("", PATH_POSIX), "");
}

TEST(paths_below_a_directory)
{
	OK(path_is_below("/a", "/a"));
	OK(path_is_below("/a/b", "/a"));
	OK(path_is_below("/a/b", "/a/"));
	OK(path_is_below("/a", "/"));
	OK(!path_is_below("/ab", "/a"));
	OK(!path_is_below("/a", "/a/b"));
	OK(!path_is_below("/A/b", "/a"));
	OK(!path_is_below("/a\\b", "/a"));
	OK(path_is_below("C:\\Users\\Me\\x", "c:/users/me"));
	OK(path_is_below("C:\\x", "C:\\"));
	OK(!path_is_below("D:\\x", "C:\\"));
	OK(!path_is_below("C:\\xy", "C:\\x"));
	OK(!path_is_below("/x", "C:\\x"));
}
