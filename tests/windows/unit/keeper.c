/* keeper.c - the small parts of the keeper of Windows: texts, quoting, records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/windows/program.h"
#include "keeper/windows/quote.h"
#include "keeper/windows/record.h"
#include "keeper/windows/wide.h"
#include "t.h"

#define ROOM 4096

/* --- UTF-16 and UTF-8 --- */

static void there_and_back(const wchar_t *text, const char *bytes)
{
	char utf8[ROOM];
	wchar_t wide[ROOM];

	EQ(wide_to_utf8(text, utf8, ROOM), strlen(bytes) + 1);
	STREQ(utf8, bytes);
	EQ(wide_from_utf8(utf8, wide, ROOM), wcslen(text) + 1);
	OK(wcscmp(wide, text) == 0);
}

TEST(texts_come_back_unchanged)
{
	there_and_back(L"", "");
	there_and_back(L"plain", "plain");
	there_and_back(L"\u00fc\u65e5", "\xc3\xbc\xe6\x97\xa5");
	there_and_back(L"\xd83d\xde00!", "\xf0\x9f\x98\x80!");
}

TEST(half_a_surrogate_pair_comes_back_unchanged)
{
	there_and_back(L"a\xd800"
		       L"b",
		       "a\xed\xa0\x80"
		       "b");
	there_and_back(L"\xdc00\xd800", "\xed\xb0\x80\xed\xa0\x80");
}

TEST(bytes_that_are_not_utf8_become_a_replacement)
{
	static const char *const bad[] = { "\x80", "\xc3", "\xc0\xaf", "\xf5\x80\x80\x80",
					   "\xe6\x97" };
	wchar_t wide[ROOM];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EQ(wide_from_utf8(bad[i], wide, ROOM), strlen(bad[i]) + 1);
		for (size_t j = 0; j < strlen(bad[i]); j++)
			EQ(wide[j], 0xfffd);
	}
}

TEST(a_text_that_does_not_fit_is_not_written)
{
	char utf8[4] = "old";
	wchar_t wide[4] = L"old";

	EQ(wide_to_utf8(L"four", utf8, sizeof(utf8)), 5);
	STREQ(utf8, "old");
	EQ(wide_from_utf8("four", wide, 4), 5);
	OK(wcscmp(wide, L"old") == 0);
}

/* --- quoting --- */

static void quotes_native(const wchar_t *arg, const wchar_t *expected)
{
	wchar_t text[ROOM];
	struct quote q = quote_init(text, ROOM);

	quote_native(&q, arg);
	OK(!q.failed);
	if (wcscmp(text, expected) != 0)
		FAIL("<%ls> became <%ls>, not <%ls>", arg, text, expected);
}

TEST(arguments_of_programs_are_quoted_by_the_rules_of_the_c_runtime)
{
	quotes_native(L"plain", L" plain");
	quotes_native(L"", L" \"\"");
	quotes_native(L"a b", L" \"a b\"");
	quotes_native(L"a\"b", L" \"a\\\"b\"");
	quotes_native(L"C:\\x\\", L" C:\\x\\");
	quotes_native(L"C:\\x y\\", L" \"C:\\x y\\\\\"");
	quotes_native(L"\\\\\"", L" \"\\\\\\\\\\\"\"");
	quotes_native(L"%PATH% & x", L" \"%PATH% & x\"");
}

static void quotes_batch(const wchar_t *arg, const wchar_t *expected)
{
	wchar_t text[ROOM];
	struct quote q = quote_init(text, ROOM);

	OK(quote_batch(&q, arg) && !q.failed);
	if (wcscmp(text, expected) != 0)
		FAIL("<%ls> became <%ls>, not <%ls>", arg, text, expected);
}

TEST(arguments_of_batch_files_cannot_start_another_command)
{
	quotes_batch(L"plain-1.2", L" plain-1.2");
	quotes_batch(L"", L" \"\"");
	quotes_batch(L"a&calc", L" \"a&calc\"");
	quotes_batch(L"a\"&calc", L" \"a\"\"&calc\"");
	quotes_batch(L"a\\\"b", L" \"a\\\\\"\"b\"");
	quotes_batch(L"x\\", L" \"x\\\\\"");
	quotes_batch(L"a=b;c,d", L" \"a=b;c,d\"");
	quotes_batch(L"%PATH%", L" \"%%cd:~,%PATH%%cd:~,%\"");
}

TEST(a_line_break_is_refused_for_batch_files)
{
	wchar_t text[ROOM];
	struct quote q = quote_init(text, ROOM);

	OK(!quote_batch(&q, L"a\nb"));
	OK(!quote_batch(&q, L"a\rb"));
}

TEST(a_command_line_that_does_not_fit_fails)
{
	wchar_t text[6];
	struct quote q = quote_init(text, 6);

	quote_native(&q, L"four");
	OK(!q.failed);
	quote_native(&q, L"x");
	OK(q.failed);
	EQ(wcslen(text), 5);
}

/* --- programs --- */

TEST(cmd_is_found_with_and_without_its_extension)
{
	static wchar_t found[PROGRAM_MAX], again[PROGRAM_MAX];

	EQ(program_find(L"cmd", found), PROGRAM_NATIVE);
	EQ(program_find(L"CMD.EXE", again), PROGRAM_NATIVE);
	OK(_wcsicmp(found, again) == 0);
	EQ(program_find(found, again), PROGRAM_NATIVE);
	EQ(program_find(L"no such program", found), PROGRAM_NONE);
}

/* --- records --- */

static const char id[] = "0123456789abcdef";

/* A directory for the records of this test. */
static void own_records(wchar_t dir[MAX_PATH])
{
	wchar_t temp[MAX_PATH];

	GetTempPathW(MAX_PATH, temp);
	swprintf(dir, MAX_PATH, L"%lskillick-records-%lu", temp, GetCurrentProcessId());
	SetEnvironmentVariableW(L"" RECORD_ENV, dir);
}

static int count(void *ctx, const struct record *rec)
{
	*(int *)ctx += 1;
	OK(rec->kept);
	STREQ(rec->tree, id);
	STREQ(rec->name, "one\xc3\xbc");
	EQ(rec->watch.pid, GetCurrentProcessId());
	EQ(rec->grace_ms, 2000);
	return 0;
}

TEST(a_record_is_read_while_its_keeper_has_it_and_vanishes_with_the_handle)
{
	struct record rec = { .grace_ms = 2000 };
	struct record_file f = { NULL };
	wchar_t dir[MAX_PATH];
	int seen = 0;

	own_records(dir);
	memcpy(rec.tree, id, sizeof(id));
	rec.watch = record_who(GetCurrentProcess(), GetCurrentProcessId());
	EQ(record_open(&f, &rec), 0);
	record_add(&f, "name", "one\xc3\xbc");
	EQ(record_each(count, &seen), 0);
	EQ(seen, 1);
	CloseHandle(f.handle);
	EQ(record_each(count, &seen), 0);
	EQ(seen, 1);
	OK(RemoveDirectoryW(dir)); /* it is empty */
}

static void write_record(const wchar_t *dir, int pid, unsigned long long start)
{
	wchar_t path[MAX_PATH + 40];
	FILE *f;

	CreateDirectoryW(dir, NULL);
	swprintf(path, sizeof(path) / sizeof(path[0]), L"%ls\\%hs", dir, id);
	f = _wfopen(path, L"wb");
	OK(f);
	fprintf(f, RECORD_FIRST_LINE "tree=%s\nwatch=%d %llu\n", id, pid, start);
	fclose(f);
}

TEST(a_record_whose_keeper_is_gone_is_removed)
{
	struct who self = record_who(GetCurrentProcess(), GetCurrentProcessId());
	wchar_t dir[MAX_PATH];
	int seen = 0;

	own_records(dir);
	write_record(dir, self.pid, self.start - 1); /* the same pid, an older process */
	EQ(record_each(count, &seen), 0);
	EQ(seen, 0);
	OK(RemoveDirectoryW(dir));
	write_record(dir, 0x7ffffffc, self.start); /* no such process */
	EQ(record_each(count, &seen), 0);
	EQ(seen, 0);
	OK(RemoveDirectoryW(dir));
}
