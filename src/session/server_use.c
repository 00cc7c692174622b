/* server_use.c - how leases and calls use a server: see server.h. */
#include <assert.h>
#include <errno.h>

#include "session/runtime.h"
#include "session/server.h"

int server_use(struct server *sv, struct killick_error *e)
{
	int r = server_refuses(sv, e);

	assert(sv->active > 0);
	if (r == 0 && sv->lost && sv->state == KILLICK_READY)
		r = error_set(e, KILLICK_ERR_LOST, "%s", sv->error.text);
	if (r == 0)
		server_step(sv, EV_USE);
	return r;
}

bool server_has_client(const struct server *sv)
{
	return sv->client && !sv->failed_client && sv->state != KILLICK_STOPPING;
}

bool server_has_list(const struct server *sv)
{
	return sv->state == KILLICK_READY ||
	       (sv->state == KILLICK_RESTING && toolcache_get(&sv->tools).at);
}

void server_check(struct server *sv)
{
	int r = server_has_client(sv) ? link_write(sv->link, "", 0) : 0;

	if (r != -EPIPE && r != -ESTALE)
		return;
	sv->deaf = true;
	server_step(sv, EV_EOF);
}

void server_unleased(struct server *sv)
{
	assert(sv->active == 0);
	if (sv->holders == 0)
		server_step(sv, EV_LEFT);
	else if (sv->state == KILLICK_READY) /* in other states there is nothing to drain */
		server_step(sv, EV_LEAVING);
}

void server_place(struct server *sv)
{
	server_step(sv, EV_PLACE);
}
