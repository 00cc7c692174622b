/* executor_files.c - fs/getMetadata and fs/readFile, by real threads on real files. */
#include <stdlib.h>
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
	far_say(c, "{\"id\":7,\"method\":\"fs/writeFile\",\"params\":{}}");
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
