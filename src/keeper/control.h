/* control.h - the socket between a program that owns a server (libkillick) and the hold.
 *
 * A connected SOCK_SEQPACKET socket, given with --control. The owner keeps the other end open for
 * as long as the server shall live: its hang-up is the owner's death. To us come words: "eof"
 * begins the end as a hang-up of stdin does elsewhere (here stdin is the server's alone),
 * "stop" as SIGTERM does, "kill" at once; "int" is SIGINT to the server's group. "eof 500" and
 * "stop 500" bring another grace with them, in milliseconds. From us go JSON lines:
 * {"event":"started","pid":N,"level":"...","tree":"..."} when the server runs,
 * {"event":"refused","text":"..."} why it does not, followed by {"event":"refused","status":N} with
 * the exit status of `killick run` for it if that has one, {"event":"exited","status":N} (as
 * waitpid has it) when what it left behind lingers, and the report (report.h) when the tree is
 * gone. Our end hangs up when both keepers are gone, and not before.
 *
 * An owner that ends several servers at once can spare their keepers all but one look through /proc
 * (mark.h). It says "eof ask" or "stop 500 ask". When the tree is empty but for that look, we say
 * {"event":"empty"} and wait CONTROL_ANSWER_MS for a word. "look": look. If the look finds nothing
 * that any tree could have lost, we say {"event":"clear","for":"WHO"}. "clear WHO", where WHO is
 * our own: another keeper began such a look after our question, so we need none. The owner's word
 * is believed, as it is the owner that the proof is for; the server has no way to say it, because
 * both ends of the socket are in processes that the server is not (keeper_seal).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define CONTROL_ANSWER_MS 250 /* for the owner to answer a question */

enum control_word {
	CONTROL_NOTHING,
	CONTROL_EOF,
	CONTROL_STOP,
	CONTROL_KILL,
	CONTROL_INT,
	CONTROL_GONE
};

/* Take over descriptor fd. Returns a descriptor of the keeper, or -1 after one line on stderr. */
int control_open(int fd);
/* The next word that waits. *grace_ms is changed if it brings one, and *asks is set if the owner
 * wants to be asked. */
enum control_word control_read(int fd, unsigned *grace_ms, bool *asks);
/* Ask the owner whether a look through /proc is needed. True: a keeper that calls itself `who` has
 * looked for us. False: look; also when the owner is gone or does not answer. */
bool control_ask(int fd, const char *who);
/* The look of the keeper that calls itself `who` found nothing for any tree. */
void control_clear(int fd, const char *who);
/* These do nothing when fd is -1. */
void control_started(int fd, pid_t server, const char *level, const char *tree);
void control_exited(int fd, int status);
/* Send to the socket of control_open, if there is one. */
void control_refused(const char *text);
void control_refused_as(int status);
/* Hang up before the keeper ends; fd may be -1. */
void control_close(int fd);
