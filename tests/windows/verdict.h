/* verdict.h - are processes of a trial still alive? Two judges, which share no code with killick.
 *
 * The outside judge (Wine only) is tests/windows/judge, a Linux program that started this one:
 * verdict_outside asks it by lines on standard output and reads its answers on standard input. It
 * looks for the tag on the Unix command lines and in the Unix environments of all processes. Wine
 * passes one variable of Windows on to the environment of the Unix process, WINEDEBUG; so a trial
 * puts its tag there, too, as the name of a debug channel.
 *
 * The inside judge (Windows and Wine) lists the processes of Windows: a process belongs to the
 * trial when the tag is on its command line, when it is the process that the client started, or
 * when its parent belongs to the trial and is older. So it must look once while the tree is
 * complete. It keeps a handle of each process that it has seen.
 *
 * Life: verdict_open -> verdict_look once the tree is complete -> the ending -> verdict_count ->
 * verdict_scrub if something is left -> verdict_close. Threads: one per trial.
 */
#pragma once

#include <windows.h>
#include <stdbool.h>

#define VERDICT_MAX 1024 /* processes of one trial */

struct verdict {
	wchar_t tag[16];
	DWORD first; /* pid of a process of the trial that need not have the tag; 0: none */
	int count;
	struct verdict_member {
		DWORD pid;
		HANDLE process;
		unsigned long long birth;
		char name[64];
	} * members;
};

/* Is a judge outside? To be called before the first trial. */
void verdict_outside(void);

/* A new tag that no other trial has. */
void verdict_open(struct verdict *v);
/* Find the processes of the trial, for the inside judge. first: the process that the client
 * started. */
void verdict_look(struct verdict *v, DWORD first);
/* How many processes live, by the outside judge if there is one; text names some of them. */
int verdict_count(struct verdict *v, char *text, size_t size);
/* The same by the inside judge. */
int verdict_count_inside(struct verdict *v, char *text, size_t size);
/* Wait until none lives. The milliseconds it took, or -1 at the deadline. */
double verdict_await_empty(struct verdict *v, double ms, char *text, size_t size, int *out_left);
/* End all that live. */
void verdict_scrub(struct verdict *v);
void verdict_close(struct verdict *v);

/* Set WINEDEBUG for the processes that this one starts from now on. */
void verdict_mark(const wchar_t *tag);
