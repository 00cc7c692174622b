/* odd.c - protocol errors of a server: counts them and gives warnings.
 *
 * If an invalid line contains the id of an open request, this request ends at once instead of at
 * its deadline.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "mcp/client_internal.h"

#define ODD_FIRST    3 /* warnings of each kind before they become rare */
#define EXCERPT_SIZE 81

static bool is_power_of_ten(uint64_t n)
{
	while (n >= 10 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

void odd_warn(struct client *c, enum odd kind, const char *fmt, ...)
{
	char text[320];
	uint64_t count;
	va_list ap;
	int n;

	assert(kind < ODDITIES);
	count = ++c->odd[kind];
	if (c->rpc.stopped || (count > ODD_FIRST && !is_power_of_ten(count)))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 40, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	if (count > ODD_FIRST)
		snprintf(text + strlen(text), 40, " (%llu times by now)",
			 (unsigned long long)count);
	c->ev->on_warning(c->ctx, text);
}

/* The beginning of a text, made printable. */
static const char *excerpt(struct json text, char out[EXCERPT_SIZE])
{
	size_t n = text.len < EXCERPT_SIZE - 1 ? text.len : EXCERPT_SIZE - 1;

	for (size_t i = 0; i < n; i++)
		out[i] = text.at[i] >= ' ' && text.at[i] < 0x7f ? text.at[i] : '?';
	out[n] = '\0';
	return out;
}

static void odd_broken(struct client *c, const struct rpc_odd *odd)
{
	char shown[EXCERPT_SIZE], why[160];
	struct rpc_request *rq = NULL;
	uint64_t id;

	excerpt(odd->text, shown);
	if (odd->error == -EBADMSG && shown[0] != '{')
		odd_warn(c, ODD_NOT_JSON,
			 "the server wrote a line on stdout that is not JSON: logs must go to "
			 "stderr: %s",
			 shown);
	else
		odd_warn(c, odd->error == -EBADMSG ? ODD_NOT_JSON : ODD_NOT_RPC,
			 "the server wrote a line on stdout that is no message (%s): %s",
			 odd->reason, shown);
	if (lines_guess(odd->text, &id))
		rq = rpc_find(&c->rpc, id);
	snprintf(why, sizeof(why), "its answer cannot be read: %s", odd->reason);
	if (rq)
		rpc_lose(&c->rpc, rq, why);
}

/* The server could not read a request and answered without an id. If only one request is on the
 * wire, the answer belongs to that request. */
static void odd_nameless(struct client *c, const struct message *m)
{
	struct rpc_request *rq = rpc_find_only(&c->rpc);
	char shown[EXCERPT_SIZE];

	if (rq)
		rpc_deliver(&c->rpc, rq, m);
	else
		odd_warn(c, ODD_UNKNOWN_ID, "the server answered with an error to no request: %s",
			 excerpt(m->error, shown));
}

void odd_on_rpc(void *ctx, const struct rpc_odd *odd)
{
	struct client *c = ctx;
	char shown[EXCERPT_SIZE];

	switch (odd->kind) {
	case RPC_BROKEN:
		odd_broken(c, odd);
		break;
	case RPC_TOO_LONG:
		if (odd->error == -ENOMEM)
			odd_warn(c, ODD_TOO_LONG,
				 "there is no memory for a line that the server wrote, which was "
				 "dropped");
		else
			odd_warn(
				c, ODD_TOO_LONG,
				"the server wrote a line of more than %zu bytes, which was dropped",
				c->spec->message_limit);
		break;
	case RPC_BATCH:
		odd_warn(c, ODD_BATCH,
			 "the server wrote a batch, which its protocol version does not have");
		break;
	case RPC_NAMELESS:
		odd_nameless(c, odd->m);
		break;
	case RPC_UNASKED:
		odd_warn(c, ODD_UNKNOWN_ID,
			 "the server answered a request that was never made: id %s",
			 excerpt(odd->m->id, shown));
		break;
	case RPC_TWICE:
		odd_warn(c, ODD_TWICE, "the server answered request %llu again",
			 (unsigned long long)odd->m->number);
		break;
	case RPC_UNSENT:
		odd_warn(c, ODD_UNSENT, "a request of the server could not be answered: %s",
			 odd->error == -ENOBUFS ? "it does not read"
			 : odd->error == -EPIPE ? "its stdin is closed"
						: "the answer is too long");
		break;
	}
}
