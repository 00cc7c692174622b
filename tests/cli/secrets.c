/* secrets.c - secrets in arguments are in no output of a verb, and in every file that is written.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell.h"

/* The forms that a user has, each with the secret S3CRET. */
static const char *const arguments[] = { "postgresql://me:S3CRET@h/db",
					 "--token",
					 "S3CRET",
					 "KEY=S3CRET",
					 "--user",
					 "a:S3CRET",
					 "--pw",
					 "S3CRET",
					 "-pS3CRET" };
enum { ARGUMENTS = sizeof(arguments) / sizeof(arguments[0]) };

static void has_no_secret(void)
{
	if (strstr(out, "S3CRET") || strstr(err, "S3CRET"))
		FAIL("a secret: %s%s", out, err);
	PRINTS("***");
}

TEST(ps_and_reports_show_no_secret, .timeout_ms = TEST_MS)
{
	char *argv[9 + ARGUMENTS] = { (char *)killick(), (char *)"run", (char *)"--report",
				      (char *)"report",  (char *)"--",  (char *)zoo(),
				      (char *)"mcp",     (char *)"good" };
	static const char *const forms[] = { "--json", "--tree", NULL };
	struct child c, p;
	int in;

	begin();
	for (size_t i = 0; i < ARGUMENTS; i++)
		argv[8 + i] = (char *)arguments[i];
	c = start_with_pipe(argv, &in);
	while (started() == 0)
		poll(NULL, 0, 5); /* the deadline is that of the test */
	for (size_t i = 0; i < 3; i++) {
		p = start((char *[]){ (char *)killick(), (char *)"ps", (char *)forms[i], NULL },
			  -1);
		EQ(finish(&p), 0);
		has_no_secret();
	}
	p = start((char *[]){ (char *)killick(), (char *)"ps", (char *)"--json",
			      (char *)"--show-secrets", NULL },
		  -1);
	EQ(finish(&p), 0);
	PRINTS("postgresql://me:S3CRET@h/db --token S3CRET KEY=S3CRET --user a:S3CRET");
	close(in);
	finish(&c);
	nothing_left();
	OK(file_has("report", "postgresql://me:***@h/db --token *** KEY=*** --user a:*** --pw *** "
			      "-p***"));
	OK(!file_has("report", "S3CRET"));
}

static const char config[] =
	"{\"mcpServers\": {\"a\": {\"command\": \"npx\", \"args\": [\n"
	"\"postgresql://me:S3CRET@h/db\", \"--token\", \"S3CRET\",\n"
	"\"KEY=S3CRET\", \"--user\", \"a:S3CRET\", \"--pw\", \"S3CRET\", \"-pS3CRET\"]},\n"
	"\"b\": {\"command\": \"env x --token S3CRET --plain\"},\n"
	"\"c\": {\"command\": \"npx\", \"args\": [\"--token\", \"\\u0053S3CRET\"]}}}\n";

TEST(wrap_and_doctor_show_no_secret_and_write_them_all, .timeout_ms = TEST_MS)
{
	static char before[4096];
	FILE *f;

	begin();
	setenv("PATH", "/usr/bin:/bin", 1);
	make_dirs(".cursor/x");
	write_file(".cursor/mcp.json", config);
	RUN(0, "doctor");
	has_no_secret();
	RUN(0, "doctor", "--show-secrets");
	PRINTS("S3CRET");
	RUN(0, "wrap", "--dry-run");
	has_no_secret();
	PRINTS("postgresql://me:...@h/db");
	PRINTS("--plain");
	RUN(0, "wrap", "--dry-run", "--json");
	has_no_secret();
	RUN(0, "wrap", "--dry-run", "--show-secrets");
	PRINTS("postgresql://me:S3CRET@h/db");
	RUN(0, "wrap", "--yes");
	has_no_secret();
	OK(file_has(".cursor/mcp.json",
		    "\"postgresql://me:S3CRET@h/db\", \"--token\", \"S3CRET\","));
	OK(file_has(".cursor/mcp.json", "env x --token S3CRET --plain"));
	OK(!file_has(".cursor/mcp.json", "***"));
	RUN(0, "unwrap", "--yes");
	has_no_secret();
	f = fopen(".cursor/mcp.json", "re");
	OK(f);
	before[fread(before, 1, sizeof(before) - 1, f)] = '\0';
	OK(fclose(f) == 0);
	STREQ(before, config);
}
