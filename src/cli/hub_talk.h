/* hub_talk.h - a conversation with the hub of this user: one request at a time, in lines of JSON.
 *
 * Life: hub_talk_open -> hub_talk_ask ... -> hub_talk_close. A zero value with fd -1 is closed.
 * Threads: the first one.  Blocking: all, until their deadlines.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "os/net.h"

struct hub_talk {
	int fd;
	struct buf in;   /* received bytes; */
	size_t line_len; /* the first ones are the line that was returned last */
	char path[NET_PATH_MAX];
	int parent, parent_fd; /* see hub_talk_follow_parent; 0 and -1: not followed */
};
#define HUB_TALK_INIT                                                                              \
	{                                                                                          \
		.fd = -1, .in = BUF_INIT(128u << 20), .parent_fd = -1                              \
	}

/* From now on hub_talk_send and hub_talk_line return -ESRCH when the parent process has ended. End
 * of file is not enough, because other processes may hold the pipes of the parent open. */
void hub_talk_follow_parent(struct hub_talk *t);

/* Connect to the hub. start: start a hub if none runs, and wait for its socket. 0; -ENOENT: no hub
 * runs; -errno with a sentence. */
int hub_talk_open(struct hub_talk *t, bool start, struct err *e);
/* Send a request, and descriptors with it. The text is one line without its newline. 0; -ETIMEDOUT:
 * the hub does not read; -EPIPE: the hub has closed the connection; -ESRCH; -errno with a sentence.
 */
int hub_talk_send(struct hub_talk *t, const char *text, size_t len, const struct net_fds *fds,
		  struct err *e);
/* The next line, which is valid until the next call. timeout_ms -1: none. 1; 0: the hub has closed
 * the connection; -ETIMEDOUT; -ESRCH; -errno with a sentence. */
int hub_talk_line(struct hub_talk *t, int64_t timeout_ms, struct json *out, struct err *e);
/* Send the request {"method","params"} and return its result, which is valid until the next call.
 * 0, or -errno with a sentence; for an error of the hub the sentence is that of the hub. params:
 * JSON. A hub that does not answer hub.status within 5 s counts as hung: -ETIMEDOUT. Other requests
 * may take 2 minutes, because the end of many servers takes time. */
int hub_talk_ask(struct hub_talk *t, const char *method, const char *params, struct json *out,
		 struct err *e);
/* A server may have stopped the hub: continue the process that listens. */
void hub_talk_wake(const struct hub_talk *t);
void hub_talk_close(struct hub_talk *t);
