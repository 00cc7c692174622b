/* bytes.c - small functions that C libraries do not share: bytes.h and reason.h. */
#include "os/bytes.h"

#include <errno.h>

#include "../t.h"
#include "os/reason.h"

TEST(the_last_of_several_bytes_is_found)
{
	static const char text[] = "a\nbc\nd";

	OK(bytes_last(text, '\n', 6) == text + 4);
	OK(bytes_last(text, '\n', 5) == text + 4);
	OK(bytes_last(text, '\n', 4) == text + 1);
	OK(bytes_last(text, 'a', 6) == text);
}

TEST(a_byte_that_is_not_there_is_not_found)
{
	static const char text[] = "abc";

	OK(!bytes_last(text, '\n', 3));
	OK(!bytes_last(text, 'c', 2)); /* behind the end */
	OK(!bytes_last(text, 'a', 0));
}

TEST(a_byte_above_127_is_found)
{
	static const char text[] = "x\xff\0y";

	OK(bytes_last(text, 0xff, 4) == text + 1);
	OK(bytes_last(text, '\0', 4) == text + 2);
}

TEST(every_errno_has_a_text)
{
	char room[REASON_SIZE];

	STREQ(reason_text(ENOENT, room), "No such file or directory");
	STREQ(reason_text(EACCES, room), "Permission denied");
	OK(*reason_text(99999, room));
}
