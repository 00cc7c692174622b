/* sandbox.c - processes in a sandbox: what the real bubblewrap lets them do, and that they end like
 * all others; and the methods fs/... under the same policies. The policies are written as codex
 * writes them.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"
#include "t.h"

static char work[200]; /* the workspace */
static struct host host;
static struct guest guest;

#define ENTRY(kind, more, access)                                                                  \
	"{\"path\":{\"type\":\"special\",\"value\":{\"kind\":\"" kind "\"" more                    \
	"}},\"access\":\"" access "\""
#define READ_ALL ENTRY("root", "", "read") "}"
#define WORKSPACE                                                                                  \
	READ_ALL "," ENTRY("project_roots", "", "write") "}," ENTRY(                               \
		"project_roots", ",\"subpath\":\".git\"",                                          \
		"read") ",\"missing_path_behavior\":\"skip\"}"                                     \
			"," ENTRY("project_roots", ",\"subpath\":\".codex\"",                      \
				  "read") ",\"missing_path_"                                       \
					  "behavior\":\"skip\"}"

static void sandbox_open(void)
{
	char path[300];
	static const char probe[] = "cd / && exec bwrap --unshare-user --unshare-pid --unshare-net "
				    "--ro-bind / / --dev /dev --proc /proc true";
	pid_t pid =
		t_spawn((char *[]){ "/bin/sh", "-c", (char *)probe, NULL }, (int[]){ -1, -1, -1 });

	if (t_wait_child(pid, GUEST_MS) != 0)
		SKIP("bwrap does not work here");
	HOST(&host, NULL, "--sandbox", "bwrap");
	guest_open(&guest, &host);
	snprintf(work, sizeof(work), "%s/work", t_audit.dir);
	EQ(mkdir(work, 0777), 0);
	snprintf(path, sizeof(path), "%s/.git", work);
	EQ(mkdir(path, 0777), 0);
}

static void sandbox_close(void)
{
	guest_close(&guest);
	host_stop(&host);
}

/* The members of process/start for a policy. */
static const char *policy(const char *entries, const char *network)
{
	static char text[4000];

	snprintf(text, sizeof(text),
		 SHELL ",\"sandbox\":{\"permissions\":{\"type\":\"managed\",\"file_system\":{"
		       "\"type\":\"restricted\",\"entries\":[%s]},\"network\":\"%s\"},\"cwd\":"
		       "\"file://%s\",\"workspaceRoots\":[\"file://%s\"],\"windowsSandboxLevel\":"
		       "\"disabled\",\"useLegacyLandlock\":false}",
		 entries, network, work, work);
	return text;
}

/* Run a script that writes to the file, and says how that went. */
static void write_is(const char *entries, const char *file, bool allowed)
{
	static int count;
	char id[16], script[600];

	snprintf(id, sizeof(id), "w%d", count++);
	snprintf(script, sizeof(script), "if echo x >%s; then echo wrote; else echo denied; fi",
		 file);
	guest_start(&guest, id, policy(entries, "restricted"), script);
	guest_await_output(&guest, id, allowed ? "wrote" : "denied");
	free(guest_await(&guest, "process/closed", id));
	EQ(access(file, F_OK) == 0, allowed);
}

#define IN_WORK(name) t_text("%s/%s", work, name)

static const char *t_text(const char *fmt, const char *a, const char *b)
{
	static char text[400];

	snprintf(text, sizeof(text), fmt, a, b);
	return text;
}

TEST(a_read_only_process_cannot_write)
{
	sandbox_open();
	write_is(READ_ALL, IN_WORK("a"), false);
	write_is(READ_ALL, t_text("%s/%s", t_audit.dir, "b"), false);
	sandbox_close();
}

TEST(a_process_with_a_workspace_can_write_there_but_not_outside_nor_in_git)
{
	sandbox_open();
	write_is(WORKSPACE, IN_WORK("a"), true);
	write_is(WORKSPACE, IN_WORK(".git/config"), false);
	write_is(WORKSPACE, t_text("%s/%s", t_audit.dir, "b"), false);
	sandbox_close();
}

/* The loader of bubblewrap runs outside of the sandbox. Here its variables would make a file; a
 * library in the workspace (LD_PRELOAD, LD_LIBRARY_PATH) would run there. */
TEST(variables_for_the_loader_have_effect_inside_of_the_sandbox_only)
{
	char start[5000], script[400];

	sandbox_open();
	snprintf(script, sizeof(script),
		 "ls %s/ | grep -c loader; test $LD_BIND_NOW = 1 && echo bound", t_audit.dir);
	snprintf(start, sizeof(start),
		 "{\"processId\":\"p\",\"argv\":[\"/bin/sh\",\"-c\",\"%s\"],\"cwd\":\"file:///\","
		 "\"env\":{\"PATH\":\"/usr/bin:/bin\",\"LD_BIND_NOW\":\"1\",\"LD_DEBUG\":"
		 "\"files\",\"LD_DEBUG_OUTPUT\":\"%s/loader\"},%s}",
		 script, t_audit.dir, policy(READ_ALL, "restricted"));
	free(guest_ask(&guest, "process/start", "%s", start));
	guest_await_output(&guest, "p", "0\nbound");
	free(guest_await(&guest, "process/closed", "p"));
	sandbox_close();
}

TEST(tmp_is_writable_only_if_the_policy_says_so)
{
	char file[100];

	sandbox_open();
	snprintf(file, sizeof(file), "/tmp/killick-sandbox-%d", (int)getpid());
	write_is(WORKSPACE, file, false);
	write_is(WORKSPACE "," ENTRY("slash_tmp", "", "write") "}", file, true);
	EQ(unlink(file), 0);
	/* the workspace is in /tmp, and .git in it stays read-only */
	write_is(WORKSPACE "," ENTRY("slash_tmp", "", "write") "}", IN_WORK(".git/x"), false);
	sandbox_close();
}

static void connects(int port, const char *network, const char *outcome)
{
	char script[300];

	snprintf(script, sizeof(script),
		 "bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d' && echo connected || echo denied", port);
	guest_start(&guest, network, policy(READ_ALL, network), script);
	guest_await_output(&guest, network, outcome);
	free(guest_await(&guest, "process/closed", network));
}

TEST(the_network_is_off_unless_the_policy_enables_it)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sandbox_open();
	OK(fd >= 0 && !bind(fd, (struct sockaddr *)&at, len) && !listen(fd, 8));
	EQ(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	connects(ntohs(at.sin_port), "restricted", "denied");
	connects(ntohs(at.sin_port), "enabled", "connected");
	close(fd);
	sandbox_close();
}

static const char daemons[] = "(setsid sleep 100 &) ; setsid sh -c 'trap \"\" TERM INT HUP; echo "
			      "ready; sleep 100; sleep 100'";

TEST(terminate_ends_everything_in_the_sandbox)
{
	sandbox_open();
	guest_start(&guest, "p", policy(WORKSPACE, "restricted"), daemons);
	guest_await_output(&guest, "p", "ready");
	free(guest_ask(&guest, "process/terminate", "{\"processId\":\"p\"}"));
	free(guest_await(&guest, "process/closed", "p"));
	guest_close(&guest);
	host_stop(&host);
	EQ(audit_count(&t_audit), 0);
}

TEST(nothing_in_the_sandbox_outlives_a_killed_executor)
{
	sandbox_open();
	guest_start(&guest, "p", policy(WORKSPACE, "restricted"), daemons);
	guest_await_output(&guest, "p", "ready");
	guest_close(&guest);
	host_kill(&host);
	for (double until = t_now_ms() + GUEST_MS; audit_count(&t_audit) > 0;) {
		OK(t_now_ms() < until);
		usleep(10000);
	}
}

static void refused_policy(const char *entries)
{
	guest_refused(
		&guest, -32600, "process/start",
		"{\"processId\":\"r\",\"argv\":[\"/bin/true\"],\"cwd\":\"file:///\",\"env\":{},%s}",
		policy(entries, "restricted"));
}

TEST(a_policy_that_cannot_be_enforced_is_refused)
{
	sandbox_open();
	refused_policy(READ_ALL "," ENTRY("slash_tmp", "", "deny") "}");
	refused_policy(READ_ALL "," ENTRY("minimal", "", "read") "}");
	refused_policy(READ_ALL ",{\"path\":{\"type\":\"glob_pattern\",\"pattern\":\"**/x\"},"
				"\"access\":\"read\"}");
	refused_policy(ENTRY("project_roots", "", "write") "}");
	refused_policy("");
	sandbox_close();
}

TEST(a_subpath_may_not_leave_the_workspace)
{
	static const char *const bad[] = { "..", "a/../../b", "/etc", ".", "" };

	sandbox_open();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char entries[500];

		snprintf(entries, sizeof(entries),
			 READ_ALL "," ENTRY("project_roots", ",\"subpath\":\"%s\"", "write") "}",
			 bad[i]);
		guest_refused(&guest, -32602, "process/start",
			      "{\"processId\":\"r\",\"argv\":[\"/bin/true\"],\"cwd\":\"file:///\","
			      "\"env\":{},%s}",
			      policy(entries, "restricted"));
	}
	sandbox_close();
}

/* A relative directory of PATH would be another one for each process: the workspace could bring its
 * own bwrap. */
TEST(bubblewrap_is_not_taken_from_a_relative_directory_of_path)
{
	char path[400], *before = getenv("PATH");

	EQ(chdir(t_audit.dir), 0);
	EQ(mkdir("tools", 0777), 0);
	EQ(symlink("/bin/true", "tools/bwrap"), 0);
	snprintf(path, sizeof(path), "tools:.:%s", before);
	EQ(setenv("PATH", path, 1), 0);
	sandbox_open();
	write_is(WORKSPACE, IN_WORK("a"), true);
	sandbox_close();
}

/* --- paths that are written in another way --- */

#define AT(path, access)                                                                           \
	"{\"path\":{\"type\":\"path\",\"path\":\"file://" path "\"},\"access\":\"" access "\"}"

/* READ_ALL and two entries for names in the workspace. */
static const char *two(const char *first, const char *access, const char *second,
		       const char *access_2)
{
	static char text[1000];

	snprintf(text, sizeof(text), READ_ALL "," AT("%s%s", "%s") "," AT("%s%s", "%s"), work,
		 first, access, work, second, access_2);
	return text;
}

TEST(a_longer_spelling_of_a_directory_does_not_hide_a_read_only_path_in_it)
{
	sandbox_open();
	write_is(two("////////", "write", "/.git", "read"), IN_WORK(".git/x"), false);
	write_is(two("/./././././", "write", "/.git", "read"), IN_WORK(".git/x"), false);
	write_is(two("/", "write", "/.git", "read"), IN_WORK("a"), true);
	refused_policy(two("/.git/../", "write", "/.git", "read"));
	sandbox_close();
}

TEST(nested_roots_have_the_access_of_the_deepest_entry)
{
	sandbox_open();
	EQ(mkdir(IN_WORK("d"), 0777), 0);
	EQ(mkdir(IN_WORK("d/e"), 0777), 0);
	write_is(two("", "write", "/d", "read"), IN_WORK("d/x"), false);
	write_is(two("/d", "read", "", "write"), IN_WORK("d/x"), false);
	write_is(two("/d", "read", "/d/e", "write"), IN_WORK("d/x"), false);
	write_is(two("/d", "read", "/d/e", "write"), IN_WORK("d/e/x"), true);
	write_is(two("/d/e", "write", "/d", "read"), IN_WORK("d/e/y"), true);
	write_is(two("/d/", "write", "/d", "read"), IN_WORK("d/z"), true); /* the same path */
	write_is(two("/d", "write", "/d/", "read"), IN_WORK("d/w"), true);
	sandbox_close();
}

/* --- the methods fs/... --- */

/* What the executor says to a request with a policy; to be given to free(). */
static char *fs(const char *method, const char *file, const char *more, const char *entries)
{
	/* without the members of process/start in front */
	const char *sandbox = strstr(policy(entries, "restricted"), "\"sandbox\"");

	return guest_answer(&guest, guest_send(&guest, method, "{\"path\":\"file://%s\"%s,%s}",
					       file, more, sandbox));
}

static void fs_is(const char *method, const char *file, const char *entries, bool allowed)
{
	char *line = fs(method, file, ",\"dataBase64\":\"aGk=\",\"recursive\":true", entries);

	if (!strstr(line, allowed ? "\"result\":{}" : "is not writable in the sandbox"))
		FAIL("%s %s: %s", method, file, line);
	free(line);
}

TEST(files_are_written_where_the_sandbox_allows_it)
{
	char out[300], *line;

	sandbox_open();
	EQ(mkdir(IN_WORK("d"), 0777), 0);
	EQ(symlink(t_audit.dir, IN_WORK("up")), 0);
	EQ(symlink(".git", IN_WORK("git")), 0);
	snprintf(out, sizeof(out), "%s/out", t_audit.dir);
	fs_is("fs/writeFile", IN_WORK("a"), WORKSPACE, true);
	fs_is("fs/writeFile", IN_WORK("a"), READ_ALL, false);
	fs_is("fs/writeFile", IN_WORK(".git/x"), WORKSPACE, false);
	fs_is("fs/writeFile", IN_WORK("git/x"), WORKSPACE, false);
	fs_is("fs/writeFile", IN_WORK("d/../.git/x"), WORKSPACE, false);
	fs_is("fs/writeFile", out, WORKSPACE, false);
	fs_is("fs/writeFile", IN_WORK("up/out"), WORKSPACE, false);
	fs_is("fs/writeFile", IN_WORK("../out"), WORKSPACE, false);
	fs_is("fs/createDirectory", IN_WORK("d/e/f"), WORKSPACE, true);
	fs_is("fs/createDirectory", IN_WORK(".codex"), WORKSPACE, false); /* also if missing */
	fs_is("fs/createDirectory", IN_WORK("up/out/x"), WORKSPACE, false);
	fs_is("fs/remove", IN_WORK(".git"), WORKSPACE, false);
	fs_is("fs/remove", IN_WORK("up/work"), READ_ALL, false);
	fs_is("fs/remove", IN_WORK("a"), WORKSPACE, true);
	fs_is("fs/remove", IN_WORK("up"), WORKSPACE, true); /* the link itself */
	OK(access(out, F_OK) < 0 && access(IN_WORK(".git/x"), F_OK) < 0);
	line = fs("fs/readFile", "/proc/self/status", "", READ_ALL);
	OK(strstr(line, "dataBase64"));
	free(line);
	line = fs("fs/writeFile", IN_WORK("a"), ",\"dataBase64\":\"\"", "");
	OK(strstr(line, "cannot enforce that / is not readable"));
	free(line);
	sandbox_close();
}

/* The workspace is reached through a link, and the policy names the link. */
TEST(files_of_a_workspace_behind_a_link_are_written)
{
	sandbox_open();
	snprintf(work, sizeof(work), "%s/link", t_audit.dir);
	EQ(symlink("work", work), 0);
	fs_is("fs/writeFile", IN_WORK("a"), WORKSPACE, true);
	fs_is("fs/writeFile", IN_WORK(".git/a"), WORKSPACE, false);
	sandbox_close();
}

/* A process exchanges a directory and a link to the outside, as fast as possible. */
TEST(a_process_cannot_lead_a_write_out_of_the_sandbox, .timeout_ms = 60000)
{
	char script[900], out[300];
	int wrote = 0, failed = 0;

	sandbox_open();
	snprintf(out, sizeof(out), "%s/out", t_audit.dir);
	EQ(mkdir(out, 0777), 0);
	snprintf(
		script, sizeof(script),
		"cd %s; mkdir d; ln -s %s l; echo ready; while :; do mv -T d x; mv -T l d; mv -T d "
		"l; mv -T x d; done",
		work, out);
	guest_start(&guest, "p", policy(WORKSPACE, "restricted"), script);
	guest_await_output(&guest, "p", "ready");
	for (int i = 0; i < 2000 || ((!wrote || !failed) && i < 20000); i++) {
		char *line = fs("fs/writeFile", IN_WORK("d/file"), ",\"dataBase64\":\"aGk=\"",
				WORKSPACE);

		*(strstr(line, "\"error\"") ? &failed : &wrote) += 1;
		free(line);
	}
	printf("# %d written, %d refused\n", wrote, failed);
	OK(wrote && failed);
	free(guest_ask(&guest, "process/terminate", "{\"processId\":\"p\"}"));
	free(guest_await(&guest, "process/closed", "p"));
	snprintf(script, sizeof(script), "%s/file", out);
	OK(access(script, F_OK) < 0);
	sandbox_close();
}
