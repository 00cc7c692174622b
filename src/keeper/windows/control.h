/* control.h - the channel between a program that owns a server (libkillick) and the keeper.
 *
 * A named pipe in message mode (src/os/windows/pipe.c makes both ends), given with --control as the
 * number of the inherited handle. The words of the owner and the JSON lines of the keeper are those
 * of Linux, which linux/control.h describes, with these differences: "int" is Ctrl-Break, because
 * Windows cannot send Ctrl-C to one group, and Ctrl-C for a server with a terminal; "ask" is
 * ignored, because a job needs no scan for lost processes; the status of "exited" is the exit code.
 * The hang-up of the owner counts as the owner's death. The keeper's end hangs up when the keeper
 * ends.
 *
 * Life: control_open -> control_listen -> control_read each time control_news is signalled.
 * Threads: one.  Blocking: only as long as CONTROL_OFFER_MS, when the owner does not read.
 */
#pragma once

#include <stdbool.h>

#include "keeper/control_word.h"
#include "win.h"

#define CONTROL_OFFER_MS 1000 /* how long a message waits for an owner that does not read */

/* Take over the handle. `number` is the value of --control. False: it is no such pipe. */
bool control_open(unsigned long long number);
bool control_is_open(void);

/* Begin to wait for words. Before this, words of the owner wait in the pipe. */
void control_listen(void);
/* Signalled when control_read has something to say; NULL without a channel. */
HANDLE control_news(void);
/* The next word. *grace_ms is changed if the word has a grace. After CONTROL_GONE control_news is
 * never signalled again. */
enum control_word control_read(unsigned *grace_ms);

/* Messages to the owner. They do nothing without a channel. */
void control_started(unsigned long pid, const char *level, const char *tree);
void control_exited(unsigned long code);
void control_refused(const char *text);
void control_refused_as(int status);
void control_report(const char *text); /* one line of report.h */
