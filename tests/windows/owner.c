/* owner.c - see owner.h */
#include "owner.h"

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "child.h"
#include "verdict.h"

#define OWNER_MAX 200 /* servers */

static struct child servers[OWNER_MAX];
static int server_count;
static SRWLOCK owner_lines = SRWLOCK_INIT;

static void owner_say(const char *word, unsigned long number)
{
	AcquireSRWLockExclusive(&owner_lines);
	printf("%s %lu\n", word, number);
	fflush(stdout);
	ReleaseSRWLockExclusive(&owner_lines);
}

static DWORD WINAPI owner_hear(void *arg)
{
	struct child *c = arg;
	char line[256];
	DWORD code;

	while (child_hear(c, line, sizeof(line), INFINITE))
		if (!strcmp(line, "ready"))
			owner_say("ready", 0);
	WaitForSingleObject(c->process, INFINITE);
	GetExitCodeProcess(c->process, &code);
	owner_say("gone", code);
	return 0;
}

static void owner_start(const char *text)
{
	static wchar_t line[32768];
	struct child *c = &servers[server_count];
	DWORD error;

	if (server_count == OWNER_MAX ||
	    !MultiByteToWideChar(CP_UTF8, 0, text, -1, line, sizeof(line) / sizeof(*line))) {
		owner_say("failed", 0);
		return;
	}
	error = child_start(c, &(struct child_spec){ .line = line });
	if (error) {
		owner_say("failed", error);
		return;
	}
	server_count++;
	owner_say("child", c->pid);
	CloseHandle(CreateThread(NULL, 0, owner_hear, c, 0, NULL));
}

static void owner_obey(char *line)
{
	wchar_t tag[16];

	line[strcspn(line, "\r\n")] = '\0';
	if (!strncmp(line, "tag ", 4)) {
		swprintf(tag, 16, L"%hs", line + 4);
		verdict_mark(tag);
	} else if (!strncmp(line, "start ", 6)) {
		owner_start(line + 6);
	} else if (!strcmp(line, "close")) {
		for (int i = 0; i < server_count; i++)
			child_close_in(&servers[i]);
	} else if (!strcmp(line, "exit")) {
		for (int i = 0; i < server_count; i++)
			child_tell(&servers[i], "exit\n");
	}
}

int owner_main(void)
{
	static char line[32768];

	/* the servers inherit their own pipes and not those to the test */
	SetHandleInformation(GetStdHandle(STD_INPUT_HANDLE), HANDLE_FLAG_INHERIT, 0);
	SetHandleInformation(GetStdHandle(STD_OUTPUT_HANDLE), HANDLE_FLAG_INHERIT, 0);
	while (fgets(line, sizeof(line), stdin))
		owner_obey(line);
	ExitProcess(0);
}
