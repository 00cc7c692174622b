/* conceal.c - secrets in command lines are hidden, and other arguments are shown. */
#include "keeper/conceal.h"

#include <stdio.h>
#include <string.h>

#include "../t.h"

struct form {
	const char *words[5];
	const char *shown;
};

static const char *shown(const char *const *words)
{
	static struct line l;

	line_init(&l);
	conceal_command(&l, (char *const *)words);
	return l.text;
}

/* S, or a word that contains S, is the secret. */
TEST(secrets_in_arguments_are_hidden)
{
	static const struct form forms[] = {
		{ { "--token", "S" }, "--token ***" },
		{ { "--token=S" }, "--token=***" },
		{ { "-token", "S" }, "-token ***" },
		{ { "--api-key", "S" }, "--api-key ***" },
		{ { "--apiKey=S" }, "--apiKey=***" },
		{ { "--api_key", "S" }, "--api_key ***" },
		{ { "--password", "-S-ecret" }, "--password ***" },
		{ { "--password=S" }, "--password=***" },
		{ { "--db-passwd", "S" }, "--db-passwd ***" },
		{ { "--pass", "S" }, "--pass ***" },
		{ { "--passphrase", "S" }, "--passphrase ***" },
		{ { "--pwd", "S" }, "--pwd ***" },
		{ { "--pw", "S" }, "--pw ***" },
		{ { "--pw=S" }, "--pw=***" },
		{ { "-pw", "S" }, "-pw ***" },
		{ { "-pPW5" }, "-p***" },
		{ { "mysql", "-psecret" }, "mysql -p***" },
		{ { "/usr/bin/mysqldump", "-uroot", "-p12345" },
		  "/usr/bin/mysqldump -uroot -p***" },
		{ { "--user", "a:S" }, "--user a:***" },
		{ { "--user=a:S" }, "--user=a:***" },
		{ { "-u", "me:S" }, "-u me:***" },
		{ { "-ume:S" }, "-ume:***" },
		{ { "--proxy-user", "a:S" }, "--proxy-user a:***" },
		{ { "--pat", "S" }, "--pat ***" },
		{ { "--secret", "S" }, "--secret ***" },
		{ { "--client-secret=S" }, "--client-secret=***" },
		{ { "--auth", "S" }, "--auth ***" },
		{ { "--auth-token", "S" }, "--auth-token ***" },
		{ { "--bearer", "S" }, "--bearer ***" },
		{ { "--cookie", "a=S" }, "--cookie ***" },
		{ { "--credentials", "S" }, "--credentials ***" },
		{ { "--key", "S" }, "--key ***" },
		{ { "--private-key=S" }, "--private-key=***" },
		{ { "KEY=S" }, "KEY=***" },
		{ { "API_KEY=S" }, "API_KEY=***" },
		{ { "OPENAI_API_KEY=S" }, "OPENAI_API_KEY=***" },
		{ { "-e", "GITHUB_TOKEN=S" }, "-e GITHUB_TOKEN=***" },
		{ { "--env=DB_PASSWORD=S" }, "--env=DB_PASSWORD=***" },
		{ { "MYSQL_PWD=S" }, "MYSQL_PWD=***" },
		{ { "DBPASS=S" }, "DBPASS=***" },
		{ { "--header", "Authorization: Bearer S" }, "--header Authorization:***" },
		{ { "--header=Cookie: a=S" }, "--header=Cookie:***" },
		{ { "-H", "X-Api-Key:S" }, "-H X-Api-Key:***" },
		{ { "-H", "Authorization: Basic c2VjcmV0" }, "-H Authorization:***" },
		{ { "https://h/x?a=1&token=S" }, "https://h/x?a=1&token=***" },
		{ { "https://h/x?key=S" }, "https://h/x?key=***" },
		{ { "https://h/x?sv=1&sig=S" }, "https://h/x?sv=1&sig=***" },
		{ { "Server=h;Password=S;" }, "Server=h;Password=***" },
		{ { "host=h user=u password=S" }, "host=h user=u password=***" },
		{ { "{\"apiKey\":\"S\"}" }, "{\"apiKey\":***" },
		{ { "{\"a\": 1, \"token\" : \"S\"}" }, "{\"a\": 1, \"token\" :***" },
		{ { "postgresql://me:S@h/db" }, "postgresql://me:***@h/db" },
		{ { "--db=mongodb+srv://u:S@h/x" }, "--db=mongodb+srv://u:***@h/x" },
		{ { "redis://:S@h:6379/0" }, "redis://:***@h:6379/0" },
		{ { "postgres://u:a/S@h/db" }, "postgres://u:***@h/db" },
		{ { "https://S@h/x" }, "https://***@h/x" },
		{ { "https://u:S@h/?key=T" }, "https://u:***" },
		{ { "user:S@tcp(h:3306)/db" }, "user:***@tcp(h:3306)/db" },
		{ { "me:S@h:5432/db" }, "me:***@h:5432/db" },
		{ { "-passin", "pass:S" }, "-passin pass:***" },
		{ { "ghp_0123456789abcdefghij" }, "***" },
		{ { "sk-0123456789abcdefghij" }, "***" },
		{ { "--x=github_pat_0123456789" }, "--x=***" },
		{ { "eyJhbGciOiJIUzI1NiJ9.e30.x" }, "***" },
		{ { "?token=${T}&password=S" }, "?token=${T}&password=***" },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		STREQ(shown(forms[i].words), forms[i].shown);
}

TEST(other_arguments_are_shown)
{
	static const char *const forms[][6] = {
		{ "npx", "-y", "@scope/pkg@1.2.3" },
		{ "node", "server.js", "--port=8080", "-p8080" },
		{ "docker", "run", "-p", "80:80" },
		{ "docker", "run", "-p127.0.0.1:80:80" },
		{ "docker", "run", "-u", "1000:1000" },
		{ "docker", "run", "--user=1000:1000" },
		{ "docker", "run", "ghcr.io/x/auth:1.2@sha256:0123" },
		{ "find", ".", "-print", "-path", "x" },
		{ "gcc", "-pipe", "-pthread", "-p./x" },
		{ "--token-file", "/run/token" },
		{ "--token-env", "NAME" },
		{ "--password-stdin", "x" },
		{ "--max-tokens", "4096" },
		{ "--tokenizer=x", "--author", "Me" },
		{ "--no-auth", "server.js" },
		{ "--auth-mode", "oauth" },
		{ "--key", "server.pem" },
		{ "--ssl-key", "/etc/ssl/x" },
		{ "--sort-key=name", "--primary-key", "id" },
		{ "--keyboard", "us", "--monkey=1" },
		{ "--bypass", "x", "--passive" },
		{ "--label", "key=value" },
		{ "--token", "${TOKEN}" },
		{ "--header", "Authorization: Bearer ${TOKEN}" },
		{ "--token=$TOKEN", "PASSWORD=${env:P}" },
		{ "postgres://u:${PW}@h/db" },
		{ "--token", "--verbose" },
		{ "https://h:80/x?a=1", "A=b:c" },
		{ "https://h:8080/@scope/pkg" },
		{ "ssh://git@h/x", "sk-short" },
		{ "git@github.com:org/repo.git" },
		{ "ssh:me@host:22/x", "npm:pkg@1.2.3" },
		{ "C:\\keys\\x", "a:b" },
		{ "-m", "json.tool", "--indent=2" },
		{ "--url", "http://localhost:3000/mcp" },
		{ "PATH=/usr/bin:/bin", "HOME=/root" },
		{ "--config", "token.json" },
		{ "--username", "me", "-U", "me" },
		{ "--session", "abc", "--id=7" },
		{ "{\"a\":\"b\",\"n\":1}" },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char want[200] = "";

		for (size_t k = 0; forms[i][k]; k++)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s",
				 k ? " " : "", forms[i][k]);
		STREQ(shown(forms[i]), want);
	}
}

TEST(a_text_of_one_piece_is_split_at_spaces)
{
	static struct line l;

	line_init(&l);
	conceal_text(&l, "npx -y x --token S postgres://u:S@h --flag");
	STREQ(l.text, "npx -y x --token *** postgres://u:***@h --flag");
	line_init(&l);
	conceal_text(&l, "");
	STREQ(l.text, "");
}

TEST(a_value_is_judged_by_its_key)
{
	EQ(conceal_value("API_KEY", "x").len, 1);
	EQ(conceal_value("apiKey", "${X}").len, 0);
	EQ(conceal_value("URL", "https://u:pw@h").at, 10);
	EQ(conceal_value("HOME", "/root").len, 0);
}
