/* read.c - `killick read`: reads one resource. */
#include <string.h>

#include "base/auto.h"
#include "lists.h"
#include "os/console.h"
#include "os/file.h"
#include "show.h"

const char read_help[] =
	"usage: killick read URI " TALK_USAGE "\n"
	"\n"
	"Read a resource and print it. A file or pipe gets the resource byte for byte,\n"
	"with base64 decoded; a terminal gets text, and only the name of other content.\n"
	"\n" TALK_HELP("print the result as the server wrote it") TALK_EXITS;

static void print_contents(struct talk *t, struct json result)
{
	struct json_iter it = json_iter(json_get(result, "contents"));
	bool terminal = console_is_terminal(FILE_STDOUT);

	while (json_each(&it)) {
		AUTO(mem_drop) char *text = NULL;
		struct json blob = json_get(it.value, "blob");

		if (terminal) {
			show_resource(stdout, it.value);
		} else if (json_string(json_get(it.value, "text"), &text)) {
			show_text(stdout, text, strlen(text));
		} else if (!show_decoded(stdout, blob)) {
			talk_say(t, "the resource is neither text nor base64");
			talk_fail(t, EXIT_UNAVAILABLE);
		}
	}
}

/* Find the server that has the resource: the only server with resources, or the only server that
 * lists this resource. */
static bool find_server(struct talk *t, const char *uri, const char **out)
{
	AUTO(lists_done) struct lists l = LISTS_INIT;
	size_t count = 0;

	if (talk_only(t)) {
		*out = talk_only(t)->name;
		return true;
	}
	for (size_t i = 0; i < t->status->count; i++) {
		const struct killick_server_status *sv = t->status->servers[i];

		if (talk_is_ready(sv) && talk_offers(sv, "resources")) {
			*out = sv->name;
			count++;
		}
	}
	if (count == 0) {
		talk_missing_all(t);
		talk_say(t, "no server offers resources");
		talk_fail(t, EXIT_REFUSED);
	}
	if (count <= 1)
		return count == 1;
	return lists_get(t, KILLICK_RESOURCES, "resources", &l) &&
	       lists_owner(t, &l, "resources", "uri", uri, out);
}

int verb_read(int argc, char **argv)
{
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_READ);
	struct killick_result *r = NULL;
	struct talk t = TALK_INIT(argv);
	int status;

	if (!talk_options(&t, argc, argv, read_help, NULL, 1, &status))
		return status;
	if (t.words.count == 0)
		return cli_usage("read", "no URI given");
	rq.name = t.words.list[0];
	if (talk_open(&t) && find_server(&t, rq.name, &rq.server))
		r = talk_do(&t, &rq);
	if (r && t.json)
		show_json(stdout, talk_json(r));
	else if (r)
		print_contents(&t, talk_json(r));
	killick_result_free(r);
	return talk_close(&t);
}
