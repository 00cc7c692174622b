/* top_link.h - the connection of `killick top` to the hub: requests for each refresh, without
 * waiting.
 *
 * The results of the last answers are kept as texts. A hub that ends or does not run is no error:
 * there are no results then, and each refresh tries to connect again.
 * Life: TOP_LINK_INIT -> top_link_refresh, top_link_read ... -> top_link_close.
 * Threads: the first one.  Blocking: never, except a write to a hub that does not read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hub_talk.h"
#include "top_keys.h"

enum top_answer { TOP_STATUS, TOP_SERVERS, TOP_SESSIONS, TOP_ANSWERS };

struct top_link {
	struct hub_talk talk;
	struct buf results[TOP_ANSWERS]; /* "": none */
	unsigned due;                    /* answers of the last refresh that have not come */
	int64_t asked_us;                /* when they were asked for */
	unsigned events;                 /* since the last refresh: states that changed */
	enum top_order order;            /* sent and not answered; one at a time */
	char order_name[100];
};
#define TOP_LINK_INIT                                                                              \
	{                                                                                          \
		.talk = HUB_TALK_INIT, .results = {                                                \
			BUF_INIT(BUF_ANY_SIZE),                                                    \
			BUF_INIT(BUF_ANY_SIZE),                                                    \
			BUF_INIT(BUF_ANY_SIZE)                                                     \
		}                                                                                  \
	}

/* Ask for all, unless answers are still due. detail: with tools, calls and stderr of servers. */
void top_link_refresh(struct top_link *l, bool detail);
/* Read the answers that have come. True: a refresh is complete, an order was answered, or the hub
 * is gone. The answer of an order is written to k->note. */
bool top_link_read(struct top_link *l, struct top_keys *k);
/* Wait until no answer is due, for at most timeout_ms. */
void top_link_await(struct top_link *l, struct top_keys *k, int timeout_ms);
/* Send the order for the server with this id. False: it was not sent, and k->note says why. */
bool top_link_order(struct top_link *l, enum top_order order, struct top_keys *k);
/* The results as checked JSON, valid until the next read. */
struct top_answers top_link_answers(const struct top_link *l);
int top_link_fd(const struct top_link *l); /* -1: there is no hub */
void top_link_close(struct top_link *l);
