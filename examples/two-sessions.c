/* two-sessions.c - a host with two sessions: each has its servers, and the end of one does not
 * disturb the other.
 *
 *	./two-sessions mcp.json
 *
 * With "share": "identical" in the config a server is one process for both.
 */
#include <stdio.h>

#include <killick/killick.h>

static void show(const char *name, struct killick_session *s)
{
	struct killick_status *st;

	if (killick_session_status(s, &st, NULL))
		return;
	for (size_t i = 0; i < st->count; i++) {
		const struct killick_server_status *sv = st->servers[i];

		printf("%s: %s is %s, pid %d%s%s\n", name, sv->name, killick_state_name(sv->state),
		       sv->pid, *sv->error ? ": " : "", sv->error);
	}
	killick_status_free(st);
}

static void show_report(const char *name, struct killick_report *report)
{
	for (size_t i = 0; report && i < report->count; i++) {
		const struct killick_ending *e = report->endings[i];

		printf("%s: %s ended: step %s, %.0f ms, proof %s, %d left\n", name, e->server,
		       e->step, e->stop_ms, e->proof, e->survivors);
	}
	killick_report_free(report);
}

int main(int argc, char **argv)
{
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.config_file = argc > 1 ? argv[1] : "mcp.json");
	struct killick *k = NULL;
	struct killick_session *a = NULL, *b = NULL;
	struct killick_report *report = NULL;
	struct killick_error e;
	int failed = 0;

	if (killick_open(NULL, &k, &e) || killick_session_open(k, &options, &a, &e) ||
	    killick_session_open(k, &options, &b, &e)) {
		fprintf(stderr, "%s\n", e.text);
		killick_free(k);
		return 1;
	}
	show("first", a);
	show("second", b);

	killick_session_close(a, &report, NULL);
	show_report("first", report);
	killick_session_free(a);

	show("second", b); /* as it was */
	report = NULL;
	failed = killick_close(k, &report, NULL) != 0 || (report && !report->proved);
	show_report("second", report);
	killick_session_free(b);
	killick_free(k);
	return failed;
}
