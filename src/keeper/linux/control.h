/* control.h - the socket between a program that owns a server (libkillick) and the hold.
 *
 * A connected SOCK_SEQPACKET socket, given with --control. The owner keeps the other end open for
 * as long as the server shall live: the hang-up counts as the owner's death.
 *
 * The owner sends words: "eof" starts the end as a hang-up of stdin does without --control, "stop"
 * as SIGTERM does, "kill" kills at once; "int" sends SIGINT to the server's group. "eof 500" and
 * "stop 500" set another grace, in milliseconds.
 *
 * The keeper sends JSON lines: {"event":"started","pid":N,"level":"...","tree":"..."} when the
 * server runs; {"event":"refused","text":"..."} with the reason when the server could not be
 * started, followed by {"event":"refused","status":N} if `killick run` has an exit status for that
 * reason; {"event":"exited","status":N} (the status of waitpid) when the server has exited and
 * other processes linger; and the report (report.h) when the tree is gone. The keeper's end hangs
 * up when both keepers are gone, and not before.
 *
 * An owner that ends several servers at once can save all but one of the scans of /proc (mark.h).
 * The owner sends "eof ask" or "stop 500 ask". When only the scan is left to do, the keeper sends
 * {"event":"empty"} and waits CONTROL_ANSWER_MS for a word. After "look" the keeper scans, and
 * sends
 * {"event":"clear","for":"WHO"} if the scan finds no process that any tree could have lost. "clear
 * WHO", where WHO is this keeper's own: another keeper started such a scan after the question, so
 * none is needed here. The keeper trusts the owner's word, because the proof is for the owner; the
 * server cannot send it, because it has neither end of the socket (keeper_seal).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "keeper/control_word.h"

#define CONTROL_ANSWER_MS 250 /* for the owner to answer a question */

/* Take over descriptor fd. Returns a descriptor of the keeper, or -1 after one line on stderr. */
int control_open(int fd);
/* Read the next word. *grace_ms is changed if the word has a grace, and *asks is set if the word
 * has "ask". */
enum control_word control_read(int fd, unsigned *grace_ms, bool *asks);
/* Ask the owner whether a scan of /proc is needed. True: a keeper with the same `who` has scanned.
 * False: scan; also when the owner is gone or does not answer. */
bool control_ask(int fd, const char *who);
/* Tell the owner that the scan of the keeper `who` found no process of any tree. */
void control_clear(int fd, const char *who);
/* These do nothing when fd is -1. */
void control_started(int fd, pid_t server, const char *level, const char *tree);
void control_exited(int fd, int status);
/* Send to the socket of control_open, if there is one. */
void control_refused(const char *text);
void control_refused_as(int status);
/* Hang up before the keeper ends; fd may be -1. */
void control_close(int fd);
