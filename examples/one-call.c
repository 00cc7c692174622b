/* one-call.c - call one tool of one server and leave nothing behind.
 *
 *	./one-call echo '{"message": "hi"}' npx -y @modelcontextprotocol/server-everything
 */
#include <stdio.h>

#include <killick/killick.h>

int main(int argc, char **argv)
{
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.command = argv + 3);
	struct killick *k = NULL;
	struct killick_session *s = NULL;
	struct killick_result *r = NULL;
	struct killick_error e;
	int failed = 1;

	if (argc < 4) {
		fprintf(stderr, "usage: %s TOOL ARGUMENTS COMMAND...\n", argv[0]);
		return 64;
	}
	if (killick_open(NULL, &k, &e) || killick_session_open(k, &options, &s, &e)) {
		fprintf(stderr, "%s\n", e.text);
	} else if (killick_call_tool(s, "server", argv[1], argv[2], &r)) {
		fprintf(stderr, "%s\n", r ? killick_result_error(r) : "bad arguments");
	} else {
		puts(killick_result_text(r));
		failed = killick_result_is_error(r);
	}
	killick_result_free(r);
	killick_session_free(s);
	killick_free(k); /* returns when the server and all it started is gone */
	return failed;
}
