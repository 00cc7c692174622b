/* executor_files.c - the methods fs/..., by real threads on real files. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/executor_talk.h"

static const char *file_answer(struct channel *c)
{
	while (!*far_heard(c)) {
		OK(far_await_thread());
	}
	return c->line;
}

TEST(files)
{
	char path[] = "/tmp/killick-executor-XXXXXX", text[256];
	int fd = mkstemp(path);
	struct channel *c;

	OK(fd >= 0 && write(fd, "hello\n", 6) == 6);
	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	far_say(c, "{\"id\":1,\"method\":\"fs/getMetadata\",\"params\":{\"path\":\"file://%s\"}}",
		path);
	snprintf(text, sizeof(text),
		 "{\"id\":1,\"result\":{\"isDirectory\":false,\"isFile\":true,\"isSymlink\":false,"
		 "\"size\":6,\"createdAtMs\":");
	OK(strncmp(file_answer(c), text, strlen(text)) == 0);
	far_say(c, "{\"id\":2,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file://%s\"}}",
		path);
	STREQ(file_answer(c), "{\"id\":2,\"result\":{\"dataBase64\":\"aGVsbG8K\"}}");
	far_say(c, "{\"id\":3,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file://%s/x\"}}",
		path);
	OK(strstr(file_answer(c), "\"code\":-32004"));
	unlink(path);
	far_say(c, "{\"id\":3,\"method\":\"fs/getMetadata\",\"params\":{\"path\":\"file://%s\"}}",
		path);
	STREQ(file_answer(c), "{\"error\":{\"code\":-32004,\"message\":\"No such file or directory "
			      "(os error 2)\"},\"id\":3}");
	far_say(c, "{\"id\":4,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file:///etc\"}}");
	STREQ(file_answer(c), "{\"error\":{\"code\":-32600,\"message\":\"path `/etc` is not a "
			      "file\"},\"id\":4}");
	far_say(c, "{\"id\":5,\"method\":\"fs/readFile\",\"params\":{\"path\":\"/etc\"}}");
	OK(strstr(file_answer(c), "\"code\":-32602"));
	far_say(c, "{\"id\":6,\"method\":\"fs/readFile\",\"params\":{}}");
	OK(strstr(file_answer(c), "missing field `path`"));
	far_say(c, "{\"id\":7,\"method\":\"fs/copy\",\"params\":{}}");
	OK(strstr(file_answer(c), "\"code\":-32601"));
	far_say(c, "{\"id\":8,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file:///etc\","
		   "\"sandbox\":{}}}");
	OK(strstr(file_answer(c), "no sandbox"));
	close(fd);
	far_close();
}

TEST(files_of_every_size)
{
	static const struct {
		size_t size;
		const char *answer;
	} sizes[] = { { 0, "\"dataBase64\":\"\"" },
		      { 1, "\"dataBase64\":\"AA==\"" },
		      { 100000, "\"dataBase64\":\"AAAA" },
		      { 8 << 20, "\"dataBase64\":\"AAAA" },
		      { (8 << 20) + 1, "is larger than 8 MiB" } };
	char path[] = "/tmp/killick-executor-XXXXXX";
	int fd = mkstemp(path);
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		EQ(ftruncate(fd, (off_t)sizes[i].size), 0);
		far_say(c,
			"{\"id\":2,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file://%s\"}}",
			path);
		OK(strstr(file_answer(c), sizes[i].answer));
		if (i < 4)
			EQ(strlen(c->line), strlen("{\"id\":2,\"result\":{\"dataBase64\":\"\"}}") +
						    (sizes[i].size + 2) / 3 * 4);
	}
	far_say(c, "{\"id\":2,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file:///proc/self/"
		   "status\"}}");
	OK(strlen(file_answer(c)) > 500);
	unlink(path);
	close(fd);
	far_close();
}

TEST(file_answers_wait_for_room)
{
	char path[] = "/tmp/killick-executor-XXXXXX";
	int fd = mkstemp(path), answers = 0;
	struct channel *c;

	EQ(ftruncate(fd, 1 << 20), 0);
	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	c->slow = true;
	for (int i = 0; i < 20; i++)
		far_say(c,
			"{\"id\":2,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file://%s\"}}",
			path);
	while (answers < 20) {
		OK(c->unsent < (3u << 20));
		if (*far_heard(c))
			answers++;
		else if (c->unsent)
			far_drain(c);
		else if (!far_await_thread())
			FAIL("no answer");
	}
	for (int i = 0; i < 5; i++) /* nobody will be there for these */
		far_say(c,
			"{\"id\":2,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file://%s\"}}",
			path);
	far_hang_up(c, 0); /* a thread may have one, and may come back when all is over */
	unlink(path);
	close(fd);
	far_close();
}

/* Its clock does not stand still. */
TEST(a_file_system_that_hangs)
{
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	far_say(c, "{\"id\":2,\"method\":\"fs/readFile\",\"params\":{\"path\":\"file:///proc/"
		   "self/mem\"}}");
	fake_pass(10000); /* as if */
	if (!strstr(far_heard(c), "the file system does not answer"))
		FAIL("%s", c->line);
	far_say(c, "{\"id\":3,\"method\":\"fs/getMetadata\",\"params\":{\"path\":\"file:///\"}}");
	OK(strstr(file_answer(c), "\"isDirectory\":true"));
	far_close();
}

/* --- requests that change files --- */

static char file_dir[] = "/tmp/killick-executor-XXXXXX";
static struct channel *file_client;

static void file_open(void)
{
	OK(mkdtemp(file_dir));
	far_open(NULL);
	file_client = far_client("1.2.3.4:5", NULL);
}

static void file_close(void)
{
	char command[100];
	pid_t pid;

	far_close();
	snprintf(command, sizeof(command), "exec rm -rf %s", file_dir);
	pid = t_spawn((char *[]){ "/bin/sh", "-c", command, NULL }, (int[]){ -1, -1, -1 });
	EQ(t_wait_child(pid, 8000), 0);
}

static const char *file_path(const char *name)
{
	static char path[4][200];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s%s", file_dir, name);
	return path[next];
}

/* The method on a path below the directory, with more members. */
static const char *file_do(const char *method, const char *name, const char *more)
{
	far_say(file_client,
		"{\"id\":2,\"method\":\"fs/%s\",\"params\":{\"path\":\"file://%s\"%s}}", method,
		file_path(name), more);
	return file_answer(file_client);
}

#define DONE       "{\"id\":2,\"result\":{}}"
#define WHAT(text) ",\"dataBase64\":\"" text "\""
#define PLAIN      ",\"recursive\":false,\"force\":false"

static void file_fails(const char *method, const char *name, const char *more, const char *why)
{
	const char *line = file_do(method, name, more);

	if (!strstr(line, why))
		FAIL("%s %s: no '%s' in %s", method, name, why, line);
}

static void file_holds(const char *name, const char *text)
{
	char content[64] = "";
	FILE *f = fopen(file_path(name), "r");

	OK(f);
	(void)!fread(content, 1, sizeof(content) - 1, f);
	fclose(f);
	STREQ(content, text);
}

TEST(a_file_is_written_replaced_and_removed)
{
	struct stat st;

	file_open();
	umask(022);
	STREQ(file_do("writeFile", "/a", WHAT("aGVsbG8K")), DONE);
	file_holds("/a", "hello\n");
	EQ(stat(file_path("/a"), &st), 0);
	EQ(st.st_mode & 0777, 0644);
	EQ(chmod(file_path("/a"), 0755), 0);
	STREQ(file_do("writeFile", "/a", WHAT("aGk=")), DONE);
	file_holds("/a", "hi");
	EQ(stat(file_path("/a"), &st), 0);
	EQ(st.st_mode & 0777, 0755); /* it is the same file */
	STREQ(file_do("writeFile", "/a", WHAT("")), DONE);
	file_holds("/a", "");
	STREQ(file_do("remove", "/a", PLAIN), DONE);
	file_fails("remove", "/a", PLAIN, "\"code\":-32004");
	STREQ(file_do("remove", "/a", ""), DONE); /* force is the default */
	file_fails("writeFile", "/no/a", WHAT(""), "\"code\":-32004");
	file_fails("writeFile", "/a", "", "missing field `dataBase64`");
	file_fails("writeFile", "/a", WHAT("x"), "dataBase64 is not base64");
	file_fails("writeFile", "", WHAT(""), "is not a file");
	file_close();
}

TEST(directories_are_made_and_removed)
{
	struct stat st;

	file_open();
	umask(022);
	file_fails("createDirectory", "/a/b", ",\"recursive\":false", "\"code\":-32004");
	STREQ(file_do("createDirectory", "/a/b/c", ",\"recursive\":true"), DONE);
	EQ(stat(file_path("/a/b/c"), &st), 0);
	EQ(st.st_mode & 0777, 0755);
	STREQ(file_do("createDirectory", "/a/b/c", ""), DONE);
	file_fails("createDirectory", "/a/b", ",\"recursive\":false", "File exists");
	STREQ(file_do("writeFile", "/f", WHAT("aGk=")), DONE);
	file_fails("createDirectory", "/f", "", "File exists");
	file_fails("createDirectory", "/f/g", "", "\"error\"");
	file_fails("createDirectory", "/no/../x", "", "\"code\":-32004");
	file_fails("remove", "/a", PLAIN, "Directory not empty");
	file_fails("remove", "/a", "", "is a directory that is not empty");
	STREQ(file_do("remove", "/a/b/c", PLAIN), DONE);
	OK(access(file_path("/a/b/c"), F_OK) < 0);
	file_close();
}

TEST(links_are_followed_but_not_removed_with_their_target)
{
	file_open();
	STREQ(file_do("writeFile", "/f", WHAT("aGk=")), DONE);
	EQ(mkdir(file_path("/d"), 0777), 0);
	EQ(symlink(file_path("/f"), file_path("/link")), 0);
	EQ(symlink("d", file_path("/dlink")), 0);
	STREQ(file_do("writeFile", "/link", WHAT("aGVsbG8K")), DONE);
	file_holds("/f", "hello\n");
	STREQ(file_do("writeFile", "/dlink/x", WHAT("aGk=")), DONE);
	file_holds("/d/x", "hi");
	file_fails("writeFile", "/link", ",\"followSymlinks\":false" WHAT(""),
		   "has a symbolic link");
	file_fails("writeFile", "/dlink/x", ",\"followSymlinks\":false" WHAT(""),
		   "has a symbolic link");
	file_fails("readFile", "/link", ",\"followSymlinks\":false", "has a symbolic link");
	STREQ(file_do("writeFile", "/d/x", ",\"followSymlinks\":false" WHAT("aGk=")), DONE);
	STREQ(file_do("remove", "/link", PLAIN), DONE);
	STREQ(file_do("remove", "/dlink", PLAIN), DONE);
	OK(access(file_path("/f"), F_OK) == 0 && access(file_path("/d/x"), F_OK) == 0);
	EQ(symlink(file_path("/no"), file_path("/broken")), 0);
	file_fails("writeFile", "/broken", WHAT("aGk="), "\"error\"");
	EQ(mkfifo(file_path("/fifo"), 0600), 0);
	file_fails("writeFile", "/fifo", WHAT("aGk="), "is not a file");
	file_close();
}

TEST(the_real_path_of_a_link)
{
	char expected[300];

	file_open();
	EQ(mkdir(file_path("/d x"), 0777), 0);
	EQ(symlink("d x", file_path("/link")), 0);
	snprintf(expected, sizeof(expected), "{\"id\":2,\"result\":{\"path\":\"file://%s\"}}",
		 file_path("/d%20x"));
	STREQ(file_do("canonicalize", "/./link/", ""), expected);
	file_fails("canonicalize", "/no", "", "\"code\":-32004");
	file_close();
}

#define WALK(depth, directories, entries, more)                                                    \
	",\"options\":{\"maxDepth\":" depth ",\"maxDirectories\":" directories                     \
	",\"maxEntries\":" entries ",\"followDirectorySymlinks\":" more "}"

/* The names that a walk finds, in order, each behind a space; directories with a slash. */
static const char *walked(const char *more)
{
	static char names[1000];
	struct json v;
	struct json_iter it;

	*names = '\0';
	file_do("walk", "", more);
	EQ(json_check(file_client->line, strlen(file_client->line), 0, &v, NULL), 0);
	it = json_iter(json_find(v, "result.entries"));
	while (json_each(&it)) {
		char path[300];
		size_t len = strlen(names);

		OK(json_string_into(json_get(it.value, "path"), path, sizeof(path)));
		snprintf(names + len, sizeof(names) - len, " %s%s",
			 path + strlen("file://") + strlen(file_dir) + 1,
			 json_is(json_get(it.value, "kind"), "directory") ? "/" : "");
	}
	return names;
}

static bool is_truncated(void)
{
	return strstr(file_client->line, "\"truncated\":true}}") != NULL;
}

TEST(a_walk_finds_files_and_directories)
{
	file_open();
	file_do("createDirectory", "/b/c", "");
	file_do("createDirectory", "/.h", "");
	file_do("writeFile", "/b/c/f", WHAT(""));
	file_do("writeFile", "/.h/g", WHAT(""));
	file_do("writeFile", "/a", WHAT(""));
	EQ(symlink("..", file_path("/b/loop")), 0);
	EQ(symlink("no", file_path("/broken")), 0);
	EQ(symlink("a", file_path("/link")), 0);
	STREQ(walked(WALK("6", "9", "99", "false")), " .h/ a b/ .h/g b/c/ b/c/f");
	OK(!is_truncated());
	STREQ(walked(WALK("6", "9", "99", "true")), " .h/ a b/ .h/g b/c/ b/loop/ b/c/f");
	STREQ(walked(WALK("6", "9", "99", "false,\"pruneHiddenDirectories\":true")),
	      " .h/ a b/ b/c/ b/c/f");
	STREQ(walked(WALK("0", "9", "99", "false")), " .h/ a b/");
	OK(!is_truncated());
	STREQ(walked(WALK("6", "9", "3", "false")), " .h/ a b/");
	OK(is_truncated());
	STREQ(walked(WALK("6", "2", "99", "false")), " .h/ a b/ .h/g");
	OK(is_truncated());
	file_fails("walk", "/a", WALK("6", "9", "99", "true"),
		   "{\"entries\":[],\"errors\":[],\"truncated\":false}");
	file_fails("walk", "/no", WALK("6", "9", "99", "true"), "\"code\":-32004");
	file_fails("walk", "", WALK("6", "0", "99", "true"), "must be greater than zero");
	file_fails("walk", "", WALK("65", "9", "99", "true"), "exceed maximums");
	file_fails("walk", "", "", "missing field `options`");
	file_close();
}

/* A request longer than 128 KiB is read by a thread, and bytes that wait are limited. */
TEST(large_files_are_written)
{
	static const size_t sizes[] = { 200000, 8 << 20, (8 << 20) + 3 };
	struct stat st;

	file_open();
	for (size_t i = 0; i < 3; i++) {
		size_t len = (sizes[i] + 2) / 3 * 4;
		char *text = malloc(len + 1), *message;
		int n;

		memset(text, 'A', len);
		text[len] = '\0';
		for (size_t pad = 0; pad < len / 4 * 3 - sizes[i]; pad++)
			text[len - 1 - pad] = '=';
		n = asprintf(
			&message,
			"{\"id\":2,\"method\":\"fs/writeFile\",\"params\":{\"path\":\"file://%s\""
			",\"dataBase64\":\"%s\"}}",
			file_path("/large"), text);
		OK(n > 0);
		far_say_bytes(file_client, message, (size_t)n);
		free(message);
		free(text);
		file_answer(file_client);
		if (i < 2) {
			STREQ(file_client->line, DONE);
			EQ(stat(file_path("/large"), &st), 0);
			EQ((size_t)st.st_size, sizes[i]);
		} else {
			OK(strstr(file_client->line, "dataBase64 is longer than 8388608 bytes"));
		}
	}
	file_close();
}
