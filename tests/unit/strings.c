/* strings.c - lists of strings: copied, extended and searched, also when there is none. */
#include "base/strings.h"

#include "../t.h"
#include "base/mem.h"

TEST(strings_copies_are_independent)
{
	char one[] = "a", *list[] = { one, "", NULL };
	char **copy = strings_copy(list);

	one[0] = 'z';
	EQ(strings_count(copy), 2);
	STREQ(copy[0], "a");
	STREQ(copy[1], "");
	strings_free(copy);
}

TEST(strings_that_are_not_there_are_an_empty_list)
{
	EQ(strings_count(NULL), 0);
	OK(!strings_copy(NULL));
	OK(!strings_have(NULL, "a"));
	strings_free(NULL);
}

TEST(strings_grow_from_nothing)
{
	char **list = NULL;

	strings_add(&list, mem_dup("a"));
	strings_add(&list, mem_dup("b"));
	EQ(strings_count(list), 2);
	OK(strings_have(list, "a") && strings_have(list, "b") && !strings_have(list, "ab"));
	OK(!list[2]);
	strings_free(list);
}
