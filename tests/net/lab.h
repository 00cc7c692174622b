/* lab.h - a loop, a listener and channels that remember what happened to them; sockets without any
 * of our code on the other side.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "net/channel.h"
#include "net/listen.h"

#include "t.h"

#define LAB_DEADLINE_S 30
#define LAB_PEERS      1100
#define LAB_LIMIT      (4u << 20) /* bytes that may be unsent */

struct peer { /* a channel and what came of it */
	struct channel *c;
	unsigned opens, messages, rooms, closes;
	size_t bytes;    /* of messages */
	uint64_t sum;    /* of their bytes and places */
	struct buf got;  /* all of them, with a newline behind each; up to 1 MiB */
	bool echo;       /* what comes is sent back */
	bool count_only; /* got stays empty */
	char close_at;   /* a message that begins with it closes the channel */
	struct err why;
};

extern struct lab {
	struct loop *loop;
	struct listener *listener;
	struct peer accepted[LAB_PEERS];
	unsigned accepts;
	bool echo, count_only; /* for those that are accepted */
	bool silent;           /* they are not let in */
	char close_at;
	unsigned notes;
	char note[400];
	char dir[64]; /* of this test, if it asked for one */
} lab;

void lab_open(void);
/* Closes what is open, waits for it, frees it all. */
void lab_close(void);
/* With the lock: wait for the loop to have done something. Fails the test at the deadline. */
void lab_wait(void);
#define UNTIL(cond_)                                                                               \
	do {                                                                                       \
		loop_lock(lab.loop);                                                               \
		while (!(cond_))                                                                   \
			lab_wait();                                                                \
		loop_unlock(lab.loop);                                                             \
	} while (0)
#define LOCKED(call_)                                                                              \
	({                                                                                         \
		loop_lock(lab.loop);                                                               \
		__auto_type result_ = call_;                                                       \
		loop_unlock(lab.loop);                                                             \
		result_;                                                                           \
	})

/* Listen with `spec`, whose url is this text; the url that it got. */
const char *lab_listen(const char *url, struct listen_spec spec);
/* For spec.token_sha256: of "sesame". */
extern const unsigned char lab_sesame[32];
/* Begin to connect; p remembers. */
int lab_connect(struct peer *p, const char *url, const char *token, struct err *e);
/* The same to what lab_listen said, and wait until both sides have it: the accepted one. */
struct peer *lab_join(struct peer *p, const char *url);
/* For makers that are called here: lab_close takes care of it. With the lock. */
void lab_remember(struct peer *p);
extern const struct channel_events lab_events;
const char *lab_dir(void);
size_t lab_unsent(const struct peer *p);
void lab_send(struct peer *p, const char *text);
/* Messages of these lengths, whose sum is what *p's sum will be. */
uint64_t lab_sum(uint64_t sum, const char *text, size_t len);

/* --- without our code --- */

/* A blocking socket, connected to where the listener is. */
int raw_connect(const char *url);
void raw_write(int fd, const void *bytes, size_t len);
/* Read until the text `end` was seen or the other side hung up; what came, NUL-terminated. */
size_t raw_read(int fd, char *out, size_t size, const char *end);
/* Read exactly so much; false: it hung up, or reset. */
bool raw_exactly(int fd, void *out, size_t len);
/* Upgrade; reads the answer. */
void raw_upgrade(int fd);
/* One masked frame; fin and op in the first byte. */
size_t raw_frame(unsigned char *out, unsigned first, const void *bytes, size_t len);
void raw_send(int fd, unsigned first, const void *bytes, size_t len);
/* One plain frame with a short length; its first byte. */
unsigned raw_receive(int fd, char *out, size_t size, size_t *len);
extern const char raw_request[];
