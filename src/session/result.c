/* result.c - see result.h */
#include "session/result.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/pack.h"

static void pack_result(struct pack *p, const struct result_spec *spec, struct killick_result *out)
{
	out->server = pack_text(p, spec->server);
	out->error = pack_text(p, spec->error);
	out->json.at = pack_bytes(p, spec->json.at ? spec->json.at : "", spec->json.len);
	out->json.len = spec->json.len;
}

struct killick_result *result_new(const struct result_spec *spec)
{
	struct pack p = { .base = NULL };
	struct killick_result *r, unused;

	assert(spec->code <= 0 && (spec->code == 0 || spec->error));
	pack_result(&p, spec, &unused);
	r = mem_try(sizeof(*r) + p.used);
	if (!r) {
		char text[160];

		snprintf(text, sizeof(text),
			 "server '%.63s': there is no memory for an answer of %zu bytes",
			 spec->server ? spec->server : "", spec->json.len);
		return result_new(&(struct result_spec){
			.code = KILLICK_ERR_SYSTEM, .server = spec->server, .error = text });
	}
	*r = (struct killick_result){ .code = spec->code };
	p = (struct pack){ .base = (char *)(r + 1) };
	pack_result(&p, spec, r);
	return r;
}
