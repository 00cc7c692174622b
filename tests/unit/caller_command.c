/* caller_command.c - secrets in the commands of servers are hidden */
#include "base/emit.h"
#include "hub/hub_internal.h"
#include "t.h"

static const char *shown(const char *one, const char *two)
{
	static char text[512];
	char *argv[] = { (char *)one, (char *)two, NULL };
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);

	emit_open(&j, NULL, '{');
	caller_emit_command(&j, argv);
	emit_close(&j);
	EQ(emit_end(&j), 0);
	snprintf(text, sizeof(text), "%s", b.data);
	buf_done(&b);
	return text;
}

#define COMMAND(text) "{\"command\":\"" text "\"}"

TEST(secrets_in_arguments_are_hidden)
{
	static const struct {
		const char *one, *two, *shown;
	} cases[] = {
		{ "--token", "S", COMMAND("--token ***") },
		{ "--token=S", NULL, COMMAND("--token=***") },
		{ "--password", "-S-ecret", COMMAND("--password ***") },
		{ "--pat", "S", COMMAND("--pat ***") },
		{ "API_KEY=S", NULL, COMMAND("API_KEY=***") },
		{ "--header", "Authorization: Bearer S", COMMAND("--header Authorization:***") },
		{ "--header=Cookie: a=S", NULL, COMMAND("--header=Cookie:***") },
		{ "-H", "X-Api-Key:S", COMMAND("-H X-Api-Key:***") },
		{ "https://h/x?a=1&token=S", NULL, COMMAND("https://h/x?a=1&token=***") },
		{ "Server=h;Password=S;", NULL, COMMAND("Server=h;Password=***") },
		{ "{\"apiKey\":\"S\"}", NULL, COMMAND("{\\\"apiKey\\\":***") },
		{ "postgres://u:S@h/db", NULL, COMMAND("postgres://u:***@h/db") },
		{ "https://S@h/x", NULL, COMMAND("https://***@h/x") },
		{ "https://u:S@h/?key=T", NULL, COMMAND("https://u:***") },
		{ "ghp_0123456789abcdefghij", NULL, COMMAND("***") },
		{ "sk-0123456789abcdefghij", NULL, COMMAND("***") },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		STREQ(shown(cases[i].one, cases[i].two), cases[i].shown);
}

TEST(other_arguments_are_shown)
{
	STREQ(shown("npx", "-y"), COMMAND("npx -y"));
	STREQ(shown("--token-file", "--verbose"), COMMAND("--token-file --verbose"));
	STREQ(shown("https://h:80/x?a=1", "A=b:c"), COMMAND("https://h:80/x?a=1 A=b:c"));
	STREQ(shown("ssh://git@h/x", "sk-short"), COMMAND("ssh://git@h/x sk-short"));
}
