/* trust.c - the config of a project is used after one question, and `killick trust`. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell.h"

static const char *const readers[] = { "tools", "resources", "prompts", "call",
				       "read",  "ping",      "status",  "inspect" };
static const char refused[] = "look at the file, then run 'killick trust', or name the file: "
			      "--config FILE";

/* A repository below the home directory, and the working directory in it. */
static void begin_repo(void)
{
	begin();
	unsetenv("XDG_STATE_HOME");
	make_dirs("repo/.git/x");
	OK(chdir("repo") == 0);
}

/* Start a verb on a terminal, wait for the question, type an answer, and wait for the end. */
static int answer(const char *verb, const char *text)
{
	struct child c = on_terminal(verb, NULL);
	int status;

	listen_for(&c, "[y/N]");
	OK(write(c.out, text, strlen(text)) == (ssize_t)strlen(text));
	status = finish(&c);
	nothing_left();
	return status;
}

TEST(no_verb_starts_the_servers_of_a_repository_unasked, .timeout_ms = TEST_MS)
{
	static const char *const files[] = { ".mcp.json", "mcp.json", ".vscode/mcp.json",
					     ".cursor/mcp.json", ".codex/config.toml" };

	begin_repo();
	make_dirs(".vscode/x");
	make_dirs(".cursor/x");
	make_dirs(".codex/x");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (strstr(files[i], ".toml"))
			write_file(files[i], "[mcp_servers.a]\ncommand = '/bin/sh'\n"
					     "args = ['-c', 'echo x >>../pids']\n");
		else
			CONFIG(files[i], "a", "good");
		for (size_t k = 0; k < sizeof(readers) / sizeof(readers[0]); k++) {
			RUN(65, readers[k],
			    strcmp(readers[k], "call") == 0   ? "echo"
			    : strcmp(readers[k], "read") == 0 ? "file:x"
							      : "--json");
			SAYS(refused);
		}
		if (i < 3) {
			RUN(65, "connect");
			SAYS(refused);
		}
		OK(unlink(files[i]) == 0);
		if (access("../pids", F_OK) == 0)
			FAIL("a server of %s was started", files[i]);
	}
	/* a repository's file above the working directory */
	CONFIG(".cursor/mcp.json", "a", "good");
	make_dirs("below/x");
	OK(chdir("below") == 0);
	RUN(65, "tools");
	SAYS(refused);
	OK(access("../../pids", F_OK) != 0);
	OK(chdir(t_audit.dir) == 0);
}

TEST(one_question_shows_the_commands_and_is_remembered, .timeout_ms = TEST_MS)
{
	char text[2048];
	struct stat st;

	begin_repo();
	snprintf(text, sizeof(text),
		 "{\"mcpServers\": {\"a\": {\"command\": \"%s\", \"args\": [\"mcp\", \"good\", "
		 "\"--token\", \"S3CRET\", \"\\u001b[31m\", \"${HOME}/f\"], \"env\": "
		 "{\"LD_PRELOAD\": \"\", \"API_KEY\": \"S3CRET\"}, \"envVars\": [\"ZOO_AUDIT\", "
		 "\"ZOO_FIFO\", \"ZOO_PIDS\", \"ZOO_LIFE_MS\"]}}}",
		 zoo());
	write_file(".mcp.json", text);
	columns = 400;
	EQ(answer("tools", "y\r"), 0);
	PRINTS(".mcp.json is the config of a project. It starts these commands:");
	PRINTS("mcp good --token '***' '\\x1b[31m' '${HOME}/f'");
	PRINTS("LD_PRELOAD= ");
	PRINTS("API_KEY=***");
	PRINTS("echo");
	OK(!strstr(out, "S3CRET") && !strstr(out, "\033[31m"));
	RUN(0, "tools");
	STREQ(err, "");
	OK(stat("../.local/state/killick/trusted", &st) == 0);
	EQ(st.st_mode & 0777, 0600);
	OK(chdir(t_audit.dir) == 0);
}

/* The question shows what is written, so the answer is about what any environment would start. */
TEST(the_question_shows_what_is_hidden_here, .timeout_ms = TEST_MS)
{
	begin_repo();
	unsetenv("NOT_SET_HERE");
	setenv("SET_HERE", "x", 1);
	write_file(".mcp.json",
		   "{\"mcpServers\": {"
		   "\"unset\": {\"command\": \"evil1\", \"args\": [\"${NOT_SET_HERE}\"]},"
		   "\"other\": {\"command\": \"${SET_HERE:-evil2}\"},"
		   "\"absent\": {\"command\": \"./evil3 x\"},"
		   "\"shell\": {\"command\": \"sh\", \"args\": [\"-c\", "
		   "\"TOKEN=x; evil4\"]},"
		   "\"perl\": {\"command\": \"perl\", \"args\": [\"-pesystem('evil5')\"]},"
		   "\"ask\": {\"command\": \"git\", \"env\": {\"GIT_ASKPASS\": \"evil6\"}},"
		   "\"place\": {\"command\": \"git\", \"environment\": \"far\"}},"
		   "\"environments\": {\"far\": {\"ssh\": \"x\", "
		   "\"env\": {\"LD_PRELOAD\": \"evil7\"}}}}");
	columns = 400;
	EQ(answer("tools", "n\r"), 65);
	for (int i = 1; i <= 7; i++) {
		char word[] = "evil0";

		word[4] = (char)('0' + i);
		PRINTS(word);
	}
	OK(chdir(t_audit.dir) == 0);
}

TEST(without_a_yes_nothing_is_started_or_remembered, .timeout_ms = TEST_MS)
{
	static const char *const answers[] = { "n\r", "\r", "\004", "\003", "maybe\r" };

	begin_repo();
	CONFIG(".mcp.json", "a", "good");
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		EQ(answer("tools", answers[i]), 65);
		PRINTS("the config of the project is not used");
	}
	RUN(65, "tools");
	OK(access("../pids", F_OK) != 0);
	OK(chdir(t_audit.dir) == 0);
}

TEST(a_changed_file_asks_again, .timeout_ms = TEST_MS)
{
	begin_repo();
	CONFIG(".mcp.json", "a", "good");
	EQ(answer("tools", "y\r"), 0);
	CONFIG(".mcp.json", "a", "good", "b", "good");
	RUN(65, "tools");
	SAYS(refused);
	RUN(0, "trust", "--list");
	PRINTS("changed  ~/repo/.mcp.json");
	EQ(answer("tools", "y\r"), 0);
	PRINTS("  b: ");
	CONFIG(".mcp.json", "a", "good"); /* this version was allowed, too */
	RUN(0, "tools");
	OK(chdir(t_audit.dir) == 0);
}

TEST(the_bytes_that_were_shown_are_the_bytes_that_are_used, .timeout_ms = TEST_MS)
{
	struct child c;

	begin_repo();
	CONFIG(".mcp.json", "a", "good");
	c = on_terminal("status", "--json", NULL);
	listen_for(&c, "[y/N]");
	CONFIG(".mcp.json", "b", "good"); /* while the user reads */
	OK(write(c.out, "y\r", 2) == 2);
	EQ(finish(&c), 0);
	nothing_left();
	PRINTS("\"server\":\"a\"");
	RUN(65, "status");
	SAYS(refused);
	OK(chdir(t_audit.dir) == 0);
}

TEST(a_named_file_and_files_of_the_home_directory_need_no_question, .timeout_ms = TEST_MS)
{
	begin_repo();
	CONFIG(".mcp.json", "a", "good");
	RUN(0, "tools", "--config", ".mcp.json");
	setenv("KILLICK_CONFIG", ".mcp.json", 1);
	RUN(0, "tools");
	unsetenv("KILLICK_CONFIG");
	OK(unlink(".mcp.json") == 0);
	make_dirs("../.cursor/x");
	CONFIG("../.cursor/mcp.json", "a", "good");
	RUN(0, "tools");
	SAYS("the config is ~/.cursor/mcp.json");
	OK(unlink("../.cursor/mcp.json") == 0 && chdir("..") == 0);
	CONFIG(".mcp.json", "a", "good");
	RUN(0, "tools");
	/* nor does a file that starts nothing */
	OK(chdir("repo") == 0);
	write_file(".mcp.json", "{\"mcpServers\": {\"a\": {\"url\": \"https://h/x\"}}}");
	OK(run("tools", NULL) != 65);
	OK(!strstr(err, refused));
	OK(chdir(t_audit.dir) == 0);
}

TEST(links_and_files_that_others_can_write_are_refused, .timeout_ms = TEST_MS)
{
	begin_repo();
	CONFIG("real.json", "a", "good");
	OK(symlink("real.json", ".mcp.json") == 0);
	RUN(65, "tools");
	SAYS(".mcp.json is the config of a project and is a symbolic link");
	RUN(65, "trust");
	SAYS("is a symbolic link");
	OK(unlink(".mcp.json") == 0);
	CONFIG(".mcp.json", "a", "good");
	RUN(0, "trust");
	OK(chmod(".mcp.json", 0666) == 0);
	RUN(65, "tools");
	SAYS("can be written by every user");
	RUN(65, "trust", ".mcp.json");
	OK(chmod(".mcp.json", 0644) == 0);
	RUN(0, "tools");
	if (geteuid() == 0) {
		OK(chown(".mcp.json", 12345, (gid_t)-1) == 0);
		RUN(65, "tools");
		SAYS("belongs to another user; it is not used; to use it, name it: --config FILE");
	}
	OK(chdir(t_audit.dir) == 0);
}

TEST(trust_lists_forgets_and_prints_json, .timeout_ms = TEST_MS)
{
	begin_repo();
	make_dirs(".zed/x");
	write_file(".zed/settings.json",
		   "{\"context_servers\": {\"z\": {\"command\": \"no-such\", \"args\": "
		   "[\"--pw\", \"S3CRET\"]}}}");
	CONFIG("mcp.json", "a", "good");
	RUN(0, "trust", "--list");
	STREQ(out, "No file of a project was allowed yet.\n");
	RUN(0, "trust");
	PRINTS("mcp.json may start these commands from now on:\n  a: ");
	PRINTS(".zed/settings.json may start these commands from now on:\n  z: no-such --pw '***'");
	RUN(0, "trust", "--show-secrets", ".zed/settings.json");
	PRINTS("--pw S3CRET");
	RUN(0, "trust", "--list");
	PRINTS("trusted  ~/repo/mcp.json\n");
	PRINTS("trusted  ~/repo/.zed/settings.json\n");
	RUN(0, "trust", "--forget", "mcp.json");
	RUN(0, "trust", "--list", "--json");
	PRINTS("/repo/.zed/settings.json\",\"digest\":\"");
	PRINTS("\"state\":\"trusted\"");
	OK(!strstr(out, "/repo/mcp.json"));
	RUN(65, "tools");
	RUN(0, "trust", "--json", "mcp.json");
	PRINTS("\"servers\":[{\"name\":\"a\",\"command\":\"");
	OK(chdir("..") == 0);
	RUN(0, "trust", "--forget", "repo");
	RUN(0, "trust", "--list", "--json");
	OK(!strstr(out, "path"));
	RUN(0, "trust", "repo");
	OK(unlink("repo/mcp.json") == 0);
	RUN(0, "trust", "--list");
	PRINTS("gone     ~/repo/mcp.json");
	RUN(0, "trust", "--forget", "repo/mcp.json");
	RUN(64, "trust", "--list", "x");
	OK(mkdir("empty", 0755) == 0);
	RUN(64, "trust", "empty");
	RUN(65, "trust", "no-such-file.json");
}

TEST(connect_uses_the_config_of_a_project_after_trust, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(), (char *)"connect", NULL };
	char *stop[] = { (char *)killick(), (char *)"hub", (char *)"stop", NULL };
	struct child c;
	int in;

	begin_repo();
	CONFIG(".mcp.json", "a", "good");
	RUN(0, "trust");
	c = start_with_pipe(argv, &in);
	dprintf(in, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
		    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":"
		    "{\"name\":\"t\",\"version\":\"1\"}}}\n");
	listen_for(&c, "\"result\"");
	close(in);
	EQ(finish(&c), 0);
	c = start(stop, -1); /* the hub ends a moment after its answer */
	EQ(finish(&c), 0);
	nothing_left();
	OK(chdir(t_audit.dir) == 0);
}

TEST(the_hub_refuses_a_config_with_another_digest, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(), (char *)"hub",     (char *)"--listen",
			 (char *)"stdio",   (char *)"--quiet", NULL };
	struct child c;
	int in;

	begin_repo();
	CONFIG(".mcp.json", "a", "good");
	c = start_with_pipe(argv, &in);
	dprintf(in,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.create\",\"params\":"
		"{\"config\":\"%s/repo/.mcp.json\",\"configDigest\":\"00\"}}\n",
		t_audit.dir);
	listen_for(&c, "was changed since it was allowed");
	close(in);
	finish(&c);
	nothing_left();
	OK(access("../pids", F_OK) != 0);
	OK(chdir(t_audit.dir) == 0);
}

TEST(an_environment_of_a_project_starts_no_program_unasked, .timeout_ms = TEST_MS)
{
	begin_repo();
	write_file(".mcp.json", "{\"mcpServers\": {}, \"environments\": {\"far\": {\"program\": "
				"[\"/bin/sh\", \"-c\", \"echo x >../pids\"]}}}");
	RUN(65, "ps", "--on", "far");
	SAYS(refused);
	RUN(65, "run", "--on", "far", "--cwd", "/", "--", "true");
	SAYS(refused);
	OK(access("../pids", F_OK) != 0);
	RUN(0, "trust");
	PRINTS("  environment far: /bin/sh -c 'echo x >../pids'");
	OK(run("ps", "--on", "far", NULL) != 65);
	OK(access("../pids", F_OK) == 0);
	OK(chdir(t_audit.dir) == 0);
}

TEST(completion_asks_nothing_and_starts_nothing, .timeout_ms = TEST_MS)
{
	begin_repo();
	CONFIG(".mcp.json", "a", "good");
	RUN(0, "complete", "servers");
	STREQ(out, "a\n");
	OK(unlink(".mcp.json") == 0 && symlink("../x.json", ".mcp.json") == 0);
	CONFIG("../x.json", "b", "good");
	RUN(0, "complete", "servers");
	STREQ(out, "");
	OK(access("../pids", F_OK) != 0);
	OK(chdir(t_audit.dir) == 0);
}
