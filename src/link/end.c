/* end.c - see end.h */
#include "link/end.h"

#include <assert.h>
#include <stdio.h>

#include "os/status.h"

static const char *const why_names[] = {
	[LINK_WHY_EXIT] = "exit",         [LINK_WHY_STDIN] = "stdin",
	[LINK_WHY_SIGNAL] = "signal",     [LINK_WHY_OWNER] = "owner",
	[LINK_WHY_WATCH] = "watch",       [LINK_WHY_HOLD] = "hold",
	[LINK_WHY_FAILED] = "failed",     [LINK_WHY_KEEPER] = "keeper",
	[LINK_WHY_EXECUTOR] = "executor",
};
static const char *const step_names[] = {
	[LINK_STEP_NONE] = "none",
	[LINK_STEP_EOF] = "eof",
	[LINK_STEP_TERM] = "term",
	[LINK_STEP_KILL] = "kill",
};
static const char *const proof_names[] = {
	/* in the order of the bits of enum link_proof */
	"waitid", "cgroup", "mark", "group", "sweep", "never", "lease", "job",
};
#define STOP_MAX_MS (365.0 * 24 * 3600 * 1000) /* no tree needs a year to end */
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

const char *link_why_name(enum link_why why)
{
	assert((unsigned)why < COUNT(why_names));
	return why_names[why];
}

const char *link_step_name(enum link_step step)
{
	assert((unsigned)step < COUNT(step_names));
	return step_names[step];
}

const char *link_proof_text(unsigned proof, char out[LINK_PROOF_TEXT])
{
	size_t used = 0;

	assert(proof >> COUNT(proof_names) == 0);
	for (size_t i = 0; i < COUNT(proof_names); i++)
		if (proof >> i & 1)
			used += (size_t)snprintf(out + used, LINK_PROOF_TEXT - used, "%s%s",
						 used ? "," : "", proof_names[i]);
	if (!used)
		snprintf(out, LINK_PROOF_TEXT, "none");
	return out;
}

/* Returns the index of the word `v` in the list; -1: `v` is none of these words. */
static int end_place_of(struct json v, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (json_is(v, names[i]))
			return (int)i;
	return -1;
}

static unsigned read_proof(struct json list)
{
	struct json_iter it = json_iter(list);
	unsigned proof = 0;

	while (json_each(&it)) {
		int bit = end_place_of(it.value, proof_names, COUNT(proof_names));

		if (bit >= 0)
			proof |= 1u << bit;
	}
	return proof;
}

/* Windows has codes of 32 bits. The code 0xffffffff would be our -1, so it becomes what exit(-1) is
 * on Linux. */
static int end_code(int64_t number)
{
	return number == UINT32_MAX ? 255 : (int)number;
}

void link_end_read(struct link_end *end, struct json report)
{
	int why = end_place_of(json_get(report, "why"), why_names, COUNT(why_names));
	int step = end_place_of(json_get(report, "step"), step_names, COUNT(step_names));
	double stop_ms;
	int64_t number;
	char word[16];

	assert(end->survivors >= 0);
	if (why >= 0)
		end->why = (enum link_why)why;
	if (step >= 0)
		end->step = (enum link_step)step;
	if (json_double(json_get(report, "stop_ms"), &stop_ms) && stop_ms >= 0 &&
	    stop_ms <= STOP_MAX_MS)
		end->stop_ms = stop_ms;
	if (json_int(json_find(report, "exit.code"), &number))
		end->exit_code = end_code(number);
	if (json_string_into(json_find(report, "exit.signal"), word, sizeof(word))) {
		end->exit_signal = status_signal_number(word);
		end->exit_code = -1;
	}
	end->survivors = (int)json_count(json_get(report, "survivors"));
	end->proof = read_proof(json_get(report, "proof"));
}
