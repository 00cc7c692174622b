/* order.h - orders of the hub to a server: rest now, stop, restart.
 *
 * A rest waits for nothing: the server must have no request in flight. A stop and a restart end
 * open requests with KILLICK_ERR_EXITED. After a rest and after a stop the next use of the server
 * starts it again; the leases stay.
 *
 *	server_rest, server_stop, server_restart -> on_done, exactly once
 *
 * on_done may come from inside of these functions. An order is embedded in an object of the caller.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/ring.h"
#include "killick/killick.h"

struct ending;
struct server;

enum order_kind { ORDER_REST, ORDER_STOP, ORDER_RESTART };

struct server_order {
	/* The tree is proved gone; for a restart: and the server is ready again. ending: of the
	 * process that the order has ended, borrowed; NULL: there was none. e->code is 0, or e says
	 * why the order failed: KILLICK_ERR_BUSY, or why the server did not start again. */
	void (*on_done)(struct server_order *o, const struct ending *ending,
			const struct killick_error *e);

	/* private */
	struct ring in_server;
	enum order_kind kind;
	bool ended; /* the process has ended */
};

void server_rest(struct server *sv, struct server_order *o);
void server_stop(struct server *sv, struct server_order *o);
void server_restart(struct server *sv, struct server_order *o);
/* on_done is not called any more. The order itself stays in force. */
void server_order_forget(struct server_order *o);

/* For server.c: the server has ended; is ready; has failed or is freed. */
void orders_on_end(struct server *sv);
void orders_on_ready(struct server *sv);
void orders_on_failure(struct server *sv);
