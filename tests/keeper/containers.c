/* containers.c - `killick run -- docker run ...`: the container ends with the tree, however the
 * tree ends. The engine is engine.c. The judge asks the daemon of the engine by its socket, and
 * looks at the processes of the containers; the judge uses no code of killick. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "lost.h"

static const char *const engines[] = { "docker", "podman", "nerdctl" };
enum { ENGINES = 3, LONG_MS = 30000 };

static char dir[90];      /* of the engine */
static char cidfile[200]; /* a file for --cidfile of the user */
static pid_t daemon_pid;

/* --- the engine --- */

static void engine_open(void)
{
	const char *program = t_program("FAKE_ENGINE", "build/tests/keeper/fake-engine");
	char bin[160], path[200], full[4200], line[8] = "";
	int fds[2];

	lost_dir();
	snprintf(dir, sizeof(dir), "%s/engine", t_audit.dir);
	snprintf(bin, sizeof(bin), "%s/bin", t_audit.dir);
	snprintf(cidfile, sizeof(cidfile), "%s/users-cid", dir);
	OK(mkdir(dir, 0700) == 0 && mkdir(bin, 0700) == 0);
	for (int i = 0; i < ENGINES; i++) {
		snprintf(path, sizeof(path), "%s/%s", bin, engines[i]);
		OK(symlink(program, path) == 0);
	}
	snprintf(full, sizeof(full), "%s:%s", bin, getenv("PATH"));
	setenv("PATH", full, 1);
	setenv("ENGINE_DIR", dir, 1);
	OK(pipe2(fds, O_CLOEXEC) == 0);
	daemon_pid = t_spawn((char *const[]){ (char *)program, "serve", dir, NULL },
			     (int[]){ -1, fds[1], -1 });
	close(fds[1]);
	OK(t_wait_fd(fds[0], POLLIN, HELD_MS) && read(fds[0], line, 6) == 6);
	close(fds[0]);
}

static void engine_close(void)
{
	kill(daemon_pid, SIGKILL);
	OK(t_wait_child(daemon_pid, HELD_MS) != -1);
	held_reap_all();
}

static int engine_socket(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", dir);
	OK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	return fd;
}

/* Send one request to the daemon; its answer. */
static const char *engine_ask(const char *request)
{
	static char text[4096];
	int fd = engine_socket();
	ssize_t n;

	OK(send(fd, request, strlen(request), 0) > 0);
	OK(t_wait_fd(fd, POLLIN, HELD_MS));
	n = recv(fd, text, sizeof(text) - 1, 0);
	OK(n >= 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

static int engine_count(void)
{
	int lines = 0;

	for (const char *p = engine_ask("ps all"); *p; p++)
		lines += *p == '\n';
	return lines - 1;
}

static void engine_read(const char *file, char *text, int size)
{
	char path[200];
	int fd, len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < size - 1 &&
	       (n = read(fd, text + len, (size_t)(size - 1 - len))) > 0)
		len += (int)n;
	text[len] = '\0';
	if (fd >= 0)
		close(fd);
}

static bool engine_has(const char *file, const char *want)
{
	char text[8192];

	engine_read(file, text, sizeof(text));
	if (!strstr(text, want))
		t_note("no '%s' in %s: %s", want, file, text);
	return strstr(text, want) != NULL;
}

/* No container, no process of one, no cidfile of killick. */
static void judge_gone(void)
{
	char text[1024];
	char *at = text;

	EQ(engine_count(), 0);
	engine_read("pids", text, sizeof(text));
	for (long pid; (pid = strtol(at, &at, 10)) > 0;)
		OK(!held_lives((pid_t)pid));
	EQ(lost_records(), 0);
	snprintf(text, sizeof(text), "ls -A %s | grep -q '^.cid-'", getenv("KILLICK_RUNTIME_DIR"));
	EQ(WEXITSTATUS(
		   t_wait_child(t_spawn((char *const[]){ "sh", "-c", text, NULL }, NULL), HELD_MS)),
	   1);
}

static void engine_await_gone(void)
{
	double end = t_now_ms() + LONG_MS;

	while (engine_count() > 0 && t_now_ms() < end)
		poll(NULL, 0, 10);
	EQ(engine_count(), 0);
}

/* Wait until the report is there: the keeper that writes it may not be our child. */
static void await_report(struct held *h)
{
	double end = t_now_ms() + LONG_MS;
	struct stat st;

	while ((stat(h->report, &st) < 0 || st.st_size == 0) && t_now_ms() < end)
		poll(NULL, 0, 5);
}

static void judge_reported_gone(struct held *h, const char *engine)
{
	char want[80];

	snprintf(want, sizeof(want), "\"container\":{\"engine\":\"%s\",\"id\":\"", engine);
	OK(held_reported(h, want));
	OK(held_reported(h, "\",\"gone\":true,\"proof\":\"engine\"}"));
	OK(held_reported(h, "\"survivors\":[]"));
}

static bool is_noted(const struct held *h, const char *text)
{
	char all[16384] = "";
	int fd = open(h->report, O_RDONLY | O_CLOEXEC);

	OK(fd >= 0 && read(fd, all, sizeof(all) - 1) > 0);
	close(fd);
	return strstr(all, text) != NULL;
}

/* --- endings --- */

TEST(a_container_that_ends_by_itself_is_gone, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	for (int i = 0; i < ENGINES; i++) {
		HELD(&h, "--", engines[i], "run", "-i", "polite");
		held_expect(&h, "up");
		OK(write(h.in, "here\n", 5) == 5);
		held_expect(&h, "here");
		held_eof(&h);
		EQ(held_status(&h), 0);
		judge_reported_gone(&h, engines[i]);
		OK(held_reported(&h, "\"why\":\"stdin\",\"step\":\"eof\",\"exit\":{\"code\":0}"));
		held_done(&h);
		judge_gone();
		OK(unlink(h.report) == 0);
	}
	engine_close();
}

TEST(the_exit_status_is_that_of_the_container, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--", "docker", "run", "-i", "quick");
	held_expect(&h, "up");
	EQ(WEXITSTATUS(held_status(&h)), 3);
	judge_reported_gone(&h, "docker");
	held_done(&h);
	judge_gone();
	engine_close();
}

TEST(a_container_that_ignores_everything_is_stopped_and_removed, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	for (int i = 0; i < ENGINES; i++) {
		HELD(&h, "--grace", "200ms", "--", engines[i], "run", "-i", "stubborn");
		held_expect(&h, "up");
		held_eof(&h);
		held_status(&h);
		judge_reported_gone(&h, engines[i]);
		held_done(&h);
		judge_gone();
		OK(engine_has("ends", "stubborn signal 9"));
		OK(engine_has("calls", " stop -t 1 "));
		OK(unlink(h.report) == 0);
	}
	engine_close();
}

TEST(the_container_ends_when_the_owner_is_killed, .timeout_ms = 60000)
{
	char script[300];
	struct held h;

	engine_open();
	for (int i = 0; i < ENGINES; i++) {
		snprintf(script, sizeof(script),
			 "\"$K\" run --report \"$R\" -- %s run -i %s; :", engines[i],
			 i ? "stubborn" : "deaf");
		held_start_script(&h, "sh", script);
		held_expect(&h, "up");
		OK(kill(h.watch, SIGKILL) == 0);
		held_status(&h);
		await_report(&h);
		judge_reported_gone(&h, engines[i]);
		OK(held_reported(&h, "\"why\":\"owner\""));
		held_done(&h);
		while (waitpid(-1, NULL, 0) > 0 && lost_records())
			; /* the keepers */
		judge_gone();
		OK(unlink(h.report) == 0);
	}
	OK(engine_has("ends", "deaf exit 0")); /* SIGTERM reached it */
	engine_close();
}

static void one_keeper_is_killed(bool is_watch)
{
	struct held h;
	pid_t hold;

	engine_open();
	for (int i = 0; i < ENGINES; i++) {
		HELD(&h, "--", engines[i], "run", "-i", "stubborn");
		held_expect(&h, "up");
		hold = held_hold(&h);
		OK(kill(is_watch ? h.watch : hold, SIGKILL) == 0);
		held_status(&h);
		await_report(&h);
		OK(held_wait_gone(hold));
		judge_reported_gone(&h, engines[i]);
		OK(held_reported(&h, is_watch ? "\"why\":\"watch\"" : "\"why\":\"hold\""));
		held_done(&h);
		judge_gone();
		OK(unlink(h.report) == 0);
	}
	engine_close();
}

TEST(the_container_ends_when_the_watch_is_killed, .timeout_ms = 60000)
{
	one_keeper_is_killed(true);
}

TEST(the_container_ends_when_the_hold_is_killed, .timeout_ms = 60000)
{
	one_keeper_is_killed(false);
}

TEST(the_container_ends_when_its_hold_is_killed_while_it_is_removed, .timeout_ms = 60000)
{
	struct held h;
	pid_t hold;

	engine_open();
	HELD(&h, "--grace", "1s", "--", "docker", "run", "-i", "stubborn");
	held_expect(&h, "up");
	hold = held_hold(&h);
	OK(kill(h.watch, SIGTERM) == 0);
	while (!strstr(lost_record(), "stopping="))
		poll(NULL, 0, 5);
	for (double end = t_now_ms() + LONG_MS; t_now_ms() < end; poll(NULL, 0, 5)) {
		char calls[4096];

		engine_read("calls", calls, sizeof(calls));
		if (strstr(calls, " stop "))
			break;
	}
	OK(kill(hold, SIGKILL) == 0); /* the engine waits for the container's grace */
	held_status(&h);
	judge_reported_gone(&h, "docker");
	held_done(&h);
	judge_gone();
	engine_close();
}

TEST(reap_removes_the_container_of_two_killed_keepers, .timeout_ms = 60000)
{
	char text[1024];
	struct held h;

	engine_open();
	for (int i = 0; i < ENGINES; i++) {
		HELD(&h, "--", engines[i], "--log-level", "error", "run", "-i", "stubborn");
		held_expect(&h, "up");
		lost_keepers(&h);
		EQ(engine_count(), 1);
		EQ(KILLICK_SAYS(text, "reap"), 0);
		OK(strstr(text, "1 container removed"));
		judge_gone();
	}
	engine_close();
}

TEST(the_next_run_removes_the_container_of_two_killed_keepers, .timeout_ms = 60000)
{
	struct held h, next;

	engine_open();
	HELD(&h, "--", "podman", "run", "-i", "stubborn");
	held_expect(&h, "up");
	lost_keepers(&h);
	HELD(&next, "--", "cat");
	engine_await_gone();
	OK(write(next.in, "here\n", 5) == 5);
	held_expect(&next, "here");
	held_eof(&next);
	EQ(held_status(&next), 0);
	EQ(held_report_lines(&next), 1);
	OK(held_reported(&next, "\"killed\":0"));
	held_done(&next);
	EQ(KILLICK("reap"), 0);
	judge_gone();
	engine_close();
}

/* The janitor of a run waits for an engine; the run must not wait for the janitor. */
TEST(a_run_ends_at_once_while_its_janitor_waits_for_an_engine, .timeout_ms = 60000)
{
	struct held h, next;
	double began;

	engine_open();
	HELD(&h, "--", "podman", "run", "-i", "stubborn");
	held_expect(&h, "up");
	lost_keepers(&h);
	setenv("ENGINE_HANG", "ps", 1);
	HELD(&next, "--", "cat");
	for (double end = t_now_ms() + LONG_MS; t_now_ms() < end; poll(NULL, 0, 5)) {
		char calls[4096];

		engine_read("calls", calls, sizeof(calls));
		if (strstr(calls, " ps "))
			break;
	}
	began = t_now_ms();
	held_eof(&next);
	EQ(held_status(&next), 0);
	OK(t_now_ms() - began < 3000);
	EQ(held_report_lines(&next), 1);
	OK(held_reported(&next, "\"why\":\"stdin\""));
	OK(held_reported(&next, "\"killed\":0"));
	held_done(&next);
	EQ(engine_count(), 1);
	unsetenv("ENGINE_HANG");
	EQ(KILLICK("reap"), 0);
	judge_gone();
	engine_close();
}

TEST(a_killed_engine_command_leaves_no_container, .timeout_ms = 60000)
{
	struct held h;
	char path[64];

	engine_open();
	for (int i = 0; i < ENGINES; i++) {
		HELD(&h, "--grace", "200ms", "--", engines[i], "run", "-i", "stubborn");
		held_expect(&h, "up");
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", held_hold(&h),
			 held_hold(&h));
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		char text[32] = "";
		OK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
		close(fd);
		OK(kill(atoi(text), SIGKILL) == 0);
		held_status(&h);
		judge_reported_gone(&h, engines[i]);
		OK(held_reported(&h, "\"why\":\"exit\""));
		held_done(&h);
		judge_gone();
		OK(unlink(h.report) == 0);
	}
	engine_close();
}

TEST(containers_end_at_every_level, .timeout_ms = 60000)
{
	static const char *const levels[] = { "namespace", "cgroup", "keeper", "group" };
	struct held h;

	engine_open();
	for (int i = 0; i < 4; i++) {
		char first[8] = "";

		HELD(&h, "--grace", "200ms", "--contain", levels[i], "--", "docker", "run", "-i",
		     "stubborn");
		if (!held_line(&h, first, sizeof(first))) { /* the level is not possible here */
			EQ(WEXITSTATUS(held_status(&h)), 69);
			held_done(&h);
			continue;
		}
		OK(kill(h.watch, SIGTERM) == 0);
		held_status(&h);
		judge_reported_gone(&h, "docker");
		held_done(&h);
		judge_gone();
		OK(unlink(h.report) == 0);
	}
	engine_close();
}

/* libkillick gives its keepers a socket, whose hang-up is the end of the host. */
TEST(the_container_ends_with_a_host_program, .timeout_ms = 60000)
{
	struct held h;
	char number[16];
	int pair[2];

	engine_open();
	OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	OK(fcntl(pair[0], F_SETFD, FD_CLOEXEC) == 0);
	snprintf(number, sizeof(number), "%d", pair[1]);
	HELD(&h, "--control", number, "--", "docker", "run", "-i", "stubborn");
	close(pair[1]);
	held_expect(&h, "up");
	close(pair[0]);
	held_status(&h);
	judge_reported_gone(&h, "docker");
	OK(held_reported(&h, "\"why\":\"owner\""));
	held_done(&h);
	judge_gone();
	engine_close();
}

/* --- engines that do not work --- */

/* Wait for the end of killick for longer than held_status does. */
static void await_end(struct held *h)
{
	OK(t_wait_child(h->watch, LONG_MS) != -1);
}

TEST(an_engine_that_hangs_is_given_up_in_time, .timeout_ms = 90000)
{
	struct held h;
	double began;

	engine_open();
	setenv("ENGINE_HANG", "rm", 1);
	HELD(&h, "--grace", "0", "--", "docker", "run", "-i", "stubborn");
	held_expect(&h, "up");
	began = t_now_ms();
	OK(kill(h.watch, SIGTERM) == 0);
	await_end(&h);
	OK(t_now_ms() - began < 16000); /* 10 s for the engine, 5 s for killing */
	OK(held_reported(&h, "\"gone\":false,\"proof\":null}"));
	OK(held_reported(&h, "\"notes\":["));
	OK(held_reported(&h, "container: the engine did not answer in time"));
	OK(!is_noted(&h, "hold: did not answer")); /* the watch knows how long it takes */
	OK(held_reported(&h, "\"survivors\":[]"));
	held_done(&h);
	unsetenv("ENGINE_HANG");
	EQ(lost_records(), 1); /* for the janitor */
	EQ(KILLICK("reap"), 0);
	judge_gone();
	engine_close();
}

TEST(an_engine_that_is_missing_at_the_end_is_reported, .timeout_ms = 60000)
{
	char path[200], aside[200];
	struct held h;

	engine_open();
	HELD(&h, "--grace", "200ms", "--", "nerdctl", "run", "-i", "stubborn");
	held_expect(&h, "up");
	snprintf(path, sizeof(path), "%s/bin/nerdctl", t_audit.dir);
	snprintf(aside, sizeof(aside), "%s/bin/aside", t_audit.dir);
	OK(rename(path, aside) == 0);
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	OK(held_reported(&h, "\"gone\":false,\"proof\":null}"));
	OK(held_reported(&h, "container: the engine cannot be asked"));
	held_done(&h);
	EQ(lost_records(), 1);
	EQ(engine_count(), 1);
	EQ(KILLICK("reap"), 75); /* still missing */
	EQ(lost_records(), 1);
	OK(rename(aside, path) == 0);
	EQ(KILLICK("reap"), 0);
	judge_gone();
	engine_close();
}

TEST(an_engine_that_fails_is_no_proof, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	setenv("ENGINE_FAIL", "ps", 1);
	HELD(&h, "--", "docker", "run", "-i", "polite");
	held_expect(&h, "up");
	held_eof(&h);
	EQ(held_status(&h), 0);
	OK(held_reported(&h, "\"gone\":false,\"proof\":null}"));
	held_done(&h);
	unsetenv("ENGINE_FAIL");
	EQ(KILLICK("reap"), 0);
	judge_gone();
	engine_close();
}

TEST(a_cidfile_without_an_id_does_not_matter, .timeout_ms = 60000)
{
	static const char *const kinds[] = { "empty", "garbage" };
	struct held h;

	engine_open();
	for (int i = 0; i < 2; i++) {
		setenv("ENGINE_CID", kinds[i], 1);
		HELD(&h, "--grace", "200ms", "--", "docker", "run", "-i", "stubborn");
		held_expect(&h, "up");
		OK(kill(h.watch, SIGTERM) == 0);
		held_status(&h);
		OK(held_reported(&h, "\"container\":{\"engine\":\"docker\",\"id\":null,"
				     "\"gone\":true,\"proof\":\"engine\"}"));
		held_done(&h);
		judge_gone();
		OK(unlink(h.report) == 0);
	}
	engine_close();
}

TEST(a_container_whose_client_had_no_time_for_the_cidfile_is_removed, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	setenv("ENGINE_CID", "none", 1);
	HELD(&h, "--grace", "200ms", "--", "docker", "run", "-i", "stubborn");
	for (double end = t_now_ms() + LONG_MS; engine_count() == 0 && t_now_ms() < end;)
		poll(NULL, 0, 5);
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	OK(held_reported(&h, "\"id\":null,\"gone\":true"));
	held_done(&h);
	judge_gone();
	engine_close();
}

/* --- command lines --- */

TEST(options_are_added_where_they_are_missing, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--", "docker", "-H", "run", "--log-level=error", "container", "run", "-i", "-e",
	     "run", "--network", "none", "polite", "server", "--rm=false", "-d", "--cidfile", "x");
	held_expect(&h, "up");
	OK(engine_has("created", "rm=1 init=1 label=killick.run="));
	OK(engine_has("created", "/.cid-"));
	OK(engine_has("created", "image: polite server --rm=false -d --cidfile x\n"));
	OK(engine_has("calls", "docker -H run --log-level=error container run --rm --init "));
	held_eof(&h);
	EQ(held_status(&h), 0);
	judge_reported_gone(&h, "docker");
	OK(engine_has("calls", "\ndocker --host=run --log-level=error ps -a -q "));
	held_done(&h);
	judge_gone();
	engine_close();
}

TEST(options_of_the_user_are_kept, .timeout_ms = 60000)
{
	struct held h;
	struct stat st;

	engine_open();
	HELD(&h, "--", "docker", "run", "--rm=false", "--init=false", "--cidfile", cidfile, "-i",
	     "polite");
	held_expect(&h, "up");
	OK(engine_has("created", "rm=0 init=0 label=killick.run="));
	OK(engine_has("created", "users-cid image: polite"));
	held_eof(&h);
	EQ(held_status(&h), 0);
	/* --rm=false: killick removes it all the same; killick does not open the user's cidfile */
	OK(held_reported(&h, "\"container\":{\"engine\":\"docker\",\"id\":null,\"gone\":true"));
	held_done(&h);
	OK(stat(cidfile, &st) == 0 && st.st_size == 64); /* the user's own file stays */
	judge_gone();
	engine_close();
}

/* The engine refuses a cidfile that exists, and the id in it is that of another container. */
TEST(the_container_of_an_old_cidfile_is_not_touched, .timeout_ms = 60000)
{
	char id[65], request[80];
	struct held h;

	engine_open();
	snprintf(id, sizeof(id), "%s", engine_ask("create 0 stubborn other=label"));
	int fd = open(cidfile, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	OK(fd >= 0 && write(fd, id, 64) == 64);
	close(fd);
	HELD(&h, "--", "docker", "run", "--cidfile", cidfile, "-i", "polite");
	EQ(WEXITSTATUS(held_status(&h)), 125);
	OK(held_reported(&h, "\"id\":null,\"gone\":true"));
	held_done(&h);
	EQ(engine_count(), 1);
	snprintf(request, sizeof(request), "rm %s", id);
	engine_ask(request);
	judge_gone();
	engine_close();
}

TEST(no_container_leaves_the_command_alone, .timeout_ms = 60000)
{
	struct held h;
	char id[80], request[100];

	engine_open();
	HELD(&h, "--grace", "200ms", "--no-container", "--", "docker", "run", "-i", "stubborn");
	held_expect(&h, "up");
	OK(engine_has("created", "rm=0 init=0 label=- cidfile=- image: stubborn\n"));
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	OK(held_reported(&h, "\"survivors\":[],\"notes\":"));
	EQ(engine_count(), 1); /* as without killick */
	snprintf(id, sizeof(id), "%s", engine_ask("ps all") + 1);
	snprintf(request, sizeof(request), "rm %.64s", id);
	engine_ask(request);
	held_done(&h);
	judge_gone();
	engine_close();
}

/* A container with -d is meant to outlive its command. */
TEST(a_detached_container_is_left_alone, .timeout_ms = 60000)
{
	static const char *const ways[] = { "-d", "-id", "--detach", "--detach=true" };
	char request[100];
	struct held h;

	engine_open();
	for (int i = 0; i < 4; i++) {
		if (i == 1)
			continue; /* the fake engine does not read letters in one word */
		HELD(&h, "--", "docker", "run", ways[i], "stubborn");
		EQ(held_status(&h), 0);
		held_done(&h);
		EQ(engine_count(), 1);
		snprintf(request, sizeof(request), "rm %.64s", engine_ask("ps all") + 1);
		engine_ask(request);
	}
	OK(engine_has("created", "rm=0 init=0 label=- "));
	judge_gone();
	engine_close();
}

TEST(a_path_is_recognised_and_a_shell_is_not, .timeout_ms = 60000)
{
	char path[200], request[100];
	struct held h;

	engine_open();
	snprintf(path, sizeof(path), "%s/bin/podman", t_audit.dir);
	HELD(&h, "--", path, "run", "-i", "polite");
	held_expect(&h, "up");
	held_eof(&h);
	EQ(held_status(&h), 0);
	judge_reported_gone(&h, "podman");
	held_done(&h);
	judge_gone();
	HELD(&h, "--", "sh", "-c", "podman run -i stubborn");
	held_expect(&h, "up");
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	held_done(&h);
	EQ(engine_count(), 1);
	snprintf(request, sizeof(request), "rm %.64s", engine_ask("ps all") + 1);
	engine_ask(request);
	judge_gone();
	engine_close();
}

TEST(other_commands_of_an_engine_run_unchanged, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--", "docker", "ps", "-a");
	EQ(held_status(&h), 0);
	OK(engine_has("calls", "docker ps -a\n"));
	OK(held_reported(&h, "\"survivors\":[],\"notes\":"));
	held_done(&h);
	judge_gone();
	engine_close();
}

static void engine_remove_one(void)
{
	char request[100];

	EQ(engine_count(), 1);
	snprintf(request, sizeof(request), "rm %.64s", engine_ask("ps all") + 1);
	engine_ask(request);
}

/* The words run unchanged; killick says `why` in one line, and claims nothing in the report. */
static void judge_not_held(struct held *h, const char *why)
{
	char text[1024];

	held_expect(h, "up");
	OK(kill(h->watch, SIGTERM) == 0);
	held_status(h);
	held_errors(h, text, sizeof(text));
	if (!strstr(text, why))
		FAIL("no '%s' in: %s", why, text);
	OK(!is_noted(h, "\"container\""));
	held_done(h);
	engine_remove_one();
	judge_gone();
	OK(unlink(h->report) == 0);
}

/* Behind an option that killick does not know, killick cannot tell options from values: -d here. */
TEST(a_command_with_an_option_of_a_later_release_is_not_held, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--grace", "200ms", "--", "docker", "run", "--new-in-next-release", "x", "-i",
	     "stubborn", "-d");
	judge_not_held(&h, "is not held, because the option '--new-in-next-release' is not known");
	OK(engine_has("created", "rm=0 init=0 label=- "));
	engine_close();
}

/* The last label of one name wins, so the container would not have the label of killick. */
TEST(a_label_of_the_user_is_not_taken_for_that_of_killick, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--grace", "200ms", "--", "docker", "run", "-i", "--label", "killick.run=x",
	     "stubborn");
	judge_not_held(&h, "is not held, because the command sets the label 'killick.run'");
	engine_close();
}

/* podman reads --root behind `run`, too: the same store must be asked at the end. */
TEST(global_options_behind_run_are_used_at_the_end, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--", "podman", "run", "--root", "/elsewhere", "-i", "polite");
	held_expect(&h, "up");
	held_eof(&h);
	EQ(held_status(&h), 0);
	judge_reported_gone(&h, "podman");
	OK(engine_has("calls", "\npodman --root=/elsewhere ps -a -q "));
	held_done(&h);
	judge_gone();
	engine_close();
}

/* --- records --- */

#define FOREIGN_CID ".cid-0123456789abcdef"

/* A janitor calls nothing but an engine, and no engine with an option that names a program. */
TEST(a_forged_record_runs_no_program_of_its_own, .timeout_ms = 60000)
{
	static const char *const specs[] = {
		"0123456789abcdef %s/evil",
		"0123456789abcdef sh -c %s/evil",
		"0123456789abcdef %s/trap/docker",
		"0123456789abcdef docker --config %s",
		"0123456789abcdef podman --runtime %s/evil",
		"0123456789abcdef podman --conmon=%s/evil",
		"0123456789abcdef CONTAINERS_CONF=%s/evil podman",
		"0123456789abcdef PATH=%s/trap docker",
		"0123456789abcdef LD_PRELOAD=%s/evil docker",
		"!0123456789abcdef docker --root %s",
		"docker --root %s",
		"0123456789abcdef docker rm -f %s",
		"0123456789abcdef %s/shell/docker -c touch%%20ran",
		"0123456789abcdef program=/bin/sh %s/shell/docker -c touch%%20ran",
		"0123456789abcdef program=%s/shell/docker docker -c touch%%20ran",
		"0123456789abcdef program=%s/trap/docker docker",
	};
	char path[200], spec[300], id[20];
	struct stat st;
	int fd;

	engine_open();
	snprintf(path, sizeof(path), "%s/trap", t_audit.dir);
	OK(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/" FOREIGN_CID, t_audit.dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	OK(fd >= 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", t_audit.dir, i ? "evil" : "trap/docker");
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
		OK(fd >= 0 && dprintf(fd, "#!/bin/sh\ntouch %s/ran\n", t_audit.dir) > 0);
		close(fd);
	}
	if (geteuid() == 0) /* a program of another user is not a program of root */
		OK(chown(path, 65534, 65534) == 0 && chmod(path, 0755) == 0);
	snprintf(path, sizeof(path), "%s/trap/docker", t_audit.dir);
	OK(chmod(path, 0722) == 0);
	snprintf(path, sizeof(path), "%s/shell", t_audit.dir);
	OK(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/shell/docker", t_audit.dir);
	OK(symlink("/bin/sh", path) == 0 && chdir(t_audit.dir) == 0);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		snprintf(id, sizeof(id), "%016zx", i);
		snprintf(spec, sizeof(spec), specs[i], t_audit.dir);
		lost_forge(id,
			   "killick-record 1\ntree=%s\nwatch=999999 1\nhold=999998 1\n"
			   "engine=%s\ncidfile=%s/%s\n",
			   id, spec, t_audit.dir, i % 2 ? "evil" : FOREIGN_CID);
	}
	lost_forge("00000000000000ff",
		   "killick-record 1\ntree=00000000000000ff\nwatch=999999 1\nhold=999998 1\n"
		   "cidfile=%s/%s\n",
		   t_audit.dir, FOREIGN_CID); /* without an engine the record is removed at once */
	KILLICK("reap");
	snprintf(path, sizeof(path), "%s/" FOREIGN_CID, t_audit.dir);
	OK(stat(path, &st) == 0); /* only files in the directory of the records are removed */
	snprintf(path, sizeof(path), "%s/ran", t_audit.dir);
	OK(stat(path, &st) < 0 && errno == ENOENT);
	snprintf(path, sizeof(path), "%s/evil", t_audit.dir);
	OK(stat(path, &st) == 0); /* only a cidfile of killick is removed */
	engine_close();
}

/* Another file, another store or another daemon does not know the container: its answer is no
 * proof. The record stays, and nothing is asked. */
TEST(a_janitor_asks_only_the_engine_of_the_start, .timeout_ms = 60000)
{
	static const char *const hosts[] = { "unix:///tmp/x.sock", "ssh://x", "tcp://x:1" };
	char path[200], other[200];
	struct held h;

	engine_open();
	HELD(&h, "--", "docker", "run", "-i", "stubborn");
	held_expect(&h, "up");
	lost_keepers(&h);
	snprintf(path, sizeof(path), "%s/bin/docker", t_audit.dir);
	OK(unlink(path) == 0 && symlink("/bin/true", path) == 0);
	EQ(KILLICK("reap"), 75); /* its answer is empty, too */
	EQ(engine_count(), 1);
	snprintf(other, sizeof(other), "%s/bin/podman", t_audit.dir);
	OK(unlink(path) == 0 && symlink(other, path) == 0);
	EQ(KILLICK("reap"), 0);
	judge_gone();
	for (int i = 0; i < 3; i++) {
		setenv("DOCKER_HOST", hosts[i], 1);
		HELD(&h, "--", "docker", "run", "-i", "stubborn");
		held_expect(&h, "up");
		lost_keepers(&h);
		unsetenv("DOCKER_HOST");
		EQ(KILLICK("reap"), 75);
		EQ(engine_count(), 1);
		setenv("DOCKER_HOST", hosts[i], 1); /* the user's own environment says the same */
		EQ(KILLICK("reap"), 0);
		unsetenv("DOCKER_HOST");
		judge_gone();
	}
	engine_close();
}

/* A variable that only the janitor has must not choose the daemon. */
TEST(the_environment_of_a_janitor_chooses_no_daemon, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--", "docker", "run", "-i", "stubborn");
	held_expect(&h, "up");
	lost_keepers(&h);
	setenv("DOCKER_HOST", "empty", 1); /* the fake engine says that it has no container */
	EQ(KILLICK("reap"), 0);
	unsetenv("DOCKER_HOST");
	judge_gone();
	engine_close();
}

/* A record whose engine never answers stays until the user gives it up. */
TEST(a_container_whose_engine_is_gone_can_be_forgotten, .timeout_ms = 60000)
{
	char path[200], id[17] = "", text[2048];
	struct held h;

	engine_open();
	HELD(&h, "--", "nerdctl", "run", "-i", "stubborn");
	held_expect(&h, "up");
	lost_keepers(&h);
	EQ(sscanf(strstr(lost_record(), "tree="), "tree=%16[0-9a-f]", id), 1);
	snprintf(path, sizeof(path), "%s/bin/nerdctl", t_audit.dir);
	OK(unlink(path) == 0);
	EQ(KILLICK_SAYS(text, "reap"), 75);
	OK(strstr(text, "its container is not removed: the engine cannot be asked"));
	OK(strstr(text, "nerdctl ps -a --filter label=killick.run="));
	OK(strstr(text, "killick reap --forget"));
	EQ(KILLICK("reap", "--forget", "0123456789abcdef"), 69);
	EQ(lost_records(), 1);
	EQ(KILLICK("reap", "--forget", id), 0);
	EQ(lost_records(), 0);
	engine_remove_one();
	judge_gone();
	engine_close();
}

/* DOCKER_HOST may have a password, and other users can read command lines. */
TEST(no_command_line_shows_the_variables_of_the_engine, .timeout_ms = 60000)
{
	char text[4096], script[200], host[60];
	struct held h;

	engine_open();
	/* the pattern does not match itself */
	snprintf(script, sizeof(script),
		 "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -q 'pass[w]ord-%d@'",
		 getpid());
	snprintf(host, sizeof(host), "tcp://user:password-%d@x:1", getpid());
	setenv("DOCKER_HOST", host, 1);
	setenv("ENGINE_HANG", "ps", 1);
	HELD(&h, "--grace", "0", "--", "docker", "run", "-i", "stubborn");
	held_expect(&h, "up");
	OK(kill(h.watch, SIGTERM) == 0);
	do /* `killick container-end` runs while the engine hangs */
		engine_read("calls", text, sizeof(text));
	while (!strstr(text, " ps ") && poll(NULL, 0, 5) == 0);
	EQ(WEXITSTATUS(t_wait_child(t_spawn((char *const[]){ "sh", "-c", script, NULL }, NULL),
				    HELD_MS)),
	   1);
	await_end(&h);
	held_done(&h);
	unsetenv("ENGINE_HANG");
	EQ(KILLICK("reap"), 0);
	unsetenv("DOCKER_HOST");
	judge_gone();
	engine_close();
}

/* Without a directory for records the label is enough. */
TEST(a_container_is_held_without_a_directory_for_records, .timeout_ms = 60000)
{
	char own[200];
	struct held h;

	engine_open();
	snprintf(own, sizeof(own), "%s", getenv("KILLICK_RUNTIME_DIR"));
	setenv("KILLICK_RUNTIME_DIR", "/proc/none", 1);
	HELD(&h, "--grace", "200ms", "--", "docker", "run", "-i", "stubborn");
	held_expect(&h, "up");
	OK(engine_has("created", "cidfile=- image: stubborn"));
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	OK(held_reported(&h, "\"container\":{\"engine\":\"docker\",\"id\":null,\"gone\":true"));
	held_done(&h);
	setenv("KILLICK_RUNTIME_DIR", own, 1);
	judge_gone();
	engine_close();
}

/* An option that may name a program is used by the keepers, and is not written into the record. */
TEST(an_option_that_names_a_program_is_not_recorded, .timeout_ms = 60000)
{
	struct held h;
	char request[100];

	engine_open();
	HELD(&h, "--grace", "200ms", "--", "docker", "--config", "/x", "run", "-i", "stubborn");
	held_expect(&h, "up");
	OK(!strstr(lost_record(), "engine="));
	OK(kill(h.watch, SIGTERM) == 0);
	held_status(&h);
	judge_reported_gone(&h, "docker");
	OK(held_reported(&h, "container: when both keepers are killed"));
	OK(engine_has("calls", "docker --config=/x ps -a"));
	held_done(&h);
	judge_gone();
	HELD(&h, "--", "docker", "--config", "/x", "run", "-i", "polite");
	held_expect(&h, "up");
	lost_keepers(&h);
	engine_ask("ps all"); /* the daemon has seen that its client is gone */
	EQ(KILLICK("reap"), 0);
	EQ(engine_count(), 1); /* not promised */
	snprintf(request, sizeof(request), "rm %.64s", engine_ask("ps all") + 1);
	engine_ask(request);
	judge_gone(); /* the cidfile, too */
	engine_close();
}

TEST(a_command_that_cannot_run_has_no_container, .timeout_ms = 60000)
{
	struct held h;

	engine_open();
	HELD(&h, "--", "/nonexistent/docker", "run", "-i", "polite");
	EQ(WEXITSTATUS(held_status(&h)), 127);
	held_done(&h);
	judge_gone();
	engine_close();
}
