/* table.c - every hostile server x way x ending, against the checked-in table.
 *
 * table KILLICK.EXE [--expect FILE] [--outside] [--jobs N] [--mode M] [--way W] [--ending E]
 * [--print]
 *
 * Runs on Windows (tests\windows\run.cmd) and in Wine (tests/windows/judge, which gives --outside).
 * The table must be true: a cell that is worse than it says fails, and a cell that is better fails
 * too. But on Windows a plain client may leave more or less than in Wine: there the rows `bare` are
 * printed and not tested.
 * --print writes the table that was measured.
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cell.h"
#include "child.h"
#include "owner.h"
#include "tap.h"

#define MAX_MODES 32

struct row { /* one mode in one way */
	wchar_t mode[24];
	enum cell_way way;
	char expect[END_COUNT + 1];
	struct cell cells[END_COUNT];
	volatile LONG left; /* cells still to come */
};

static struct row rows[MAX_MODES * WAY_COUNT];
static int row_count;
static volatile LONG next_cell, disagreements;
static const wchar_t *killick, *expect_file = L"table.expect", *only_mode, *only_way, *only_ending;
static bool print, wine;
static int jobs = 4;

static bool table_wants(const wchar_t *only, const char *name)
{
	wchar_t text[32];

	swprintf(text, 32, L"%hs", name);
	return !only || !wcscmp(only, text);
}

static void table_add_row(const char *mode, enum cell_way way, const char *word)
{
	struct row *r = &rows[row_count];

	if (strlen(word) != END_COUNT || !table_wants(only_mode, mode) ||
	    !table_wants(only_way, cell_way_names[way]) || row_count == MAX_MODES * WAY_COUNT)
		return;
	swprintf(r->mode, 24, L"%hs", mode);
	r->way = way;
	for (int e = 0; e < END_COUNT; e++) {
		r->expect[e] = table_wants(only_ending, cell_ending_names[e]) ? word[e] : '-';
		if (r->expect[e] == 'w')
			r->expect[e] = wine ? 'E' : '.';
		r->cells[e] = (struct cell){ .mode = r->mode,
					     .way = way,
					     .ending = (enum cell_ending)e,
					     .escapes = r->expect[e] == 'E',
					     .verdict = '-' };
		r->left += r->expect[e] != '-';
	}
	row_count += r->left > 0;
}

/* A line: mode, then one word of END_COUNT letters per way. `#` starts a comment. */
static bool table_read(void)
{
	FILE *f = _wfopen(expect_file, L"r");
	char line[256], mode[24], word[WAY_COUNT][16];

	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || sscanf(line, "%23s %15s %15s %15s", mode, word[0], word[1],
					     word[2]) != 1 + WAY_COUNT)
			continue;
		for (int w = 0; w < WAY_COUNT; w++)
			table_add_row(mode, (enum cell_way)w, word[w]);
	}
	if (f)
		fclose(f);
	return row_count > 0;
}

static void table_judge_row(struct row *r)
{
	char counts[64] = "", times[100] = "";
	bool ok = true;

	for (int e = 0; e < END_COUNT; e++) {
		struct cell *c = &r->cells[e];
		size_t n = strlen(counts), t = strlen(times);

		if (r->expect[e] == '-') {
			snprintf(counts + n, sizeof(counts) - n, "  -");
			continue;
		}
		snprintf(counts + n, sizeof(counts) - n, c->verdict == '!' ? "  !" : " %2d",
			 c->left);
		if (c->verdict == '.')
			snprintf(times + t, sizeof(times) - t, " %.0f", c->ms);
		if (c->verdict == r->expect[e] ||
		    (r->way == WAY_BARE && !wine && c->verdict != '!'))
			continue;
		tap_note("%ls %s %s: expected '%c', got '%c' %s", r->mode, cell_way_names[r->way],
			 cell_ending_names[e], r->expect[e], c->verdict, c->text);
		ok = false;
	}
	tap_result(ok, NULL, "%-10ls %-7s survivors:%s  ms:%s", r->mode, cell_way_names[r->way],
		   counts, times);
}

static DWORD WINAPI table_run_cells(void *unused)
{
	LONG i;

	(void)unused;
	while ((i = InterlockedIncrement(&next_cell) - 1) < row_count * END_COUNT) {
		struct row *r = &rows[i / END_COUNT];
		int e = (int)i % END_COUNT;

		if (r->expect[e] == '-')
			continue;
		cell_run(&r->cells[e]);
		InterlockedAdd(&disagreements, r->cells[e].judges_disagree);
		if (InterlockedDecrement(&r->left) == 0)
			table_judge_row(r);
	}
	return 0;
}

static void table_print(void)
{
	for (int i = 0; i < row_count; i++) {
		if (i == 0 || wcscmp(rows[i].mode, rows[i - 1].mode))
			printf("%s%-11ls", i ? "\n" : "", rows[i].mode);
		printf(" ");
		for (int e = 0; e < END_COUNT; e++)
			printf("%c", rows[i].cells[e].verdict);
	}
	printf("\n");
}

static bool table_parse(int argc, wchar_t **argv)
{
	for (int i = 1; i < argc; i++) {
		wchar_t *value = i + 1 < argc ? argv[i + 1] : L"";
		const wchar_t **text = !wcscmp(argv[i], L"--expect")   ? &expect_file
				       : !wcscmp(argv[i], L"--mode")   ? &only_mode
				       : !wcscmp(argv[i], L"--way")    ? &only_way
				       : !wcscmp(argv[i], L"--ending") ? &only_ending
								       : NULL;

		if (text)
			*text = value, i++;
		else if (!wcscmp(argv[i], L"--jobs"))
			jobs = _wtoi(value), i++;
		else if (!wcscmp(argv[i], L"--outside"))
			verdict_outside();
		else if (!wcscmp(argv[i], L"--print"))
			print = true;
		else if (argv[i][0] == L'-' || killick)
			return false;
		else
			killick = argv[i];
	}
	return killick && jobs > 0 && jobs <= MAXIMUM_WAIT_OBJECTS;
}

static void table_run(void)
{
	HANDLE threads[MAXIMUM_WAIT_OBJECTS];
	double start = child_now_ms();

	printf("# endings: %s %s %s %s %s\n", cell_ending_names[0], cell_ending_names[1],
	       cell_ending_names[2], cell_ending_names[3], cell_ending_names[4]);
	fflush(stdout);
	for (int i = 0; i < jobs; i++)
		threads[i] = CreateThread(NULL, 0, table_run_cells, NULL, 0, NULL);
	WaitForMultipleObjects((DWORD)jobs, threads, TRUE, INFINITE);
	tap_result(!disagreements, NULL, "both judges see the same in every cell");
	if (print)
		table_print();
	tap_note("%d rows in %.1f s", row_count, (child_now_ms() - start) / 1e3);
}

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

int wmain(int argc, wchar_t **argv)
{
	if (argc == 2 && !wcscmp(argv[1], L"owner"))
		return owner_main();
	if (!table_parse(argc, argv)) {
		fprintf(stderr, "table: usage: table KILLICK.EXE [options]; see table.c\n");
		return 64;
	}
	wine = GetProcAddress(GetModuleHandleW(L"ntdll"), "wine_get_version");
	if (!table_read()) {
		fprintf(stderr, "table: no such cell in '%ls'\n", expect_file);
		return 64;
	}
	if (!cell_prepare(killick))
		return 69;
	table_run();
	cell_finish();
	return tap_finish();
}
