/* report.c - see report.h */
#include "report.h"

#include "clock.h"
#include "control.h"
#include "line_handle.h"

#define REPORT_MS     1000 /* how long to wait for the reader of the report */
#define SURVIVORS_MAX 16   /* named in a report */

/* At least one entry: a survivor that cannot be named is null. */
static void report_survivors(struct line *l, const struct keeper *k)
{
	DWORD pids[SURVIVORS_MAX];
	unsigned n = job_pids(&k->job, pids, SURVIVORS_MAX);

	for (unsigned i = 0; i < n; i++)
		line_add(l, "%s{\"pid\":%lu,\"state\":null,\"comm\":null}", i ? "," : "", pids[i]);
	if (n == 0)
		line_add(l, "null");
}

static void report_json(struct line *l, const struct keeper *k, unsigned survivors, long long now)
{
	const struct report_facts facts = { .tree = k->id,
					    .recipe = &k->opt.recipe,
					    .pid = (int)k->server_pid,
					    .owner = (int)k->owner_pid,
					    .level = LEVEL_JOB,
					    .why = k->why,
					    .need = k->need };
	static const char *const proof[] = { "job" };

	line_init(l);
	report_head(l, &facts);
	if (k->exited)
		line_add(l, "{\"code\":%lu}", k->exit_code);
	else
		line_add(l, "null");
	report_times(l, now - k->stop_us, now - k->begun_us);
	line_add(l, ",\"killed\":%u", k->killed);
	report_list(l, "proof", proof, survivors ? 0 : 1);
	line_add(l, ",\"survivors\":[");
	if (survivors)
		report_survivors(l, k);
	line_add(l, "]");
	report_notes(l, &k->notes);
	line_add(l, "}\n");
}

void report_end(const struct keeper *k, unsigned survivors)
{
	static struct line l; /* line_offer may use it until killick ends */
	long long now = clock_us();

	keeper_log(
		k,
		"event=end why=%s step=%s level=job code=%lld stop_us=%lld killed=%u survivors=%u",
		report_why(k->why), report_need(k->need), k->exited ? (long long)k->exit_code : -1,
		now - k->stop_us, k->killed, survivors);
	if (!k->report && !control_is_open())
		return;
	report_json(&l, k, survivors, now);
	if (l.cut)
		report_shorten(&l, k->id, survivors > 0);
	control_report(l.text);
	if (k->report)
		line_offer(&l, k->report, REPORT_MS);
}
