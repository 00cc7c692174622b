/* control.c - `killick run --control`: the socket by which a program owns a server. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "cell.h"
#include "held.h"

struct owner {
	pid_t watch;
	int control, in, out;
	char line[20000]; /* the last message */
};

/* killick run --control FD ... `words`; the zoo's FIFO and tag are in our environment. */
static void own(struct owner *o, const char *const *words)
{
	const char *argv[32] = {
		t_program("KILLICK", "build/killick"), "run", "--control", NULL, "--grace", "300ms"
	};
	int pair[2], in[2], out[2], n = 6;
	char fd[16];

	EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	EQ(pipe2(in, O_CLOEXEC), 0);
	EQ(pipe2(out, O_CLOEXEC), 0);
	fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	snprintf(fd, sizeof(fd), "%d", pair[1]);
	argv[3] = fd;
	while (*words)
		argv[n++] = *words++;
	argv[n] = NULL;
	o->watch = t_spawn((char *const *)argv, (int[]){ in[0], out[1], -1 });
	close(pair[1]);
	close(in[0]);
	close(out[1]);
	o->control = pair[0];
	o->in = in[1];
	o->out = out[0];
}
#define OWN_AS(o_, ...) own(o_, (const char *const[]){ __VA_ARGS__, NULL })
#define OWN(o_, ...)    OWN_AS(o_, "--", __VA_ARGS__)

/* The next message; false when both keepers are gone. */
static bool listen_once(struct owner *o)
{
	ssize_t n;

	OK(t_wait_fd(o->control, POLLIN, HELD_MS));
	do { /* a word of ours that nobody read is told once, before what was said last */
		n = recv(o->control, o->line, sizeof(o->line) - 1, 0);
	} while (n < 0 && errno == ECONNRESET);
	OK(n >= 0);
	o->line[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void say(struct owner *o, const char *word)
{
	EQ(send(o->control, word, strlen(word), MSG_NOSIGNAL), (ssize_t)strlen(word));
}

static void expect(struct owner *o, const char *text)
{
	OK(listen_once(o));
	if (!strstr(o->line, text))
		FAIL("no %s in: %s", text, o->line);
}

/* Read from the server until it has said that it is initialized. */
static void let_live(struct owner *o, bool has_zoo)
{
	char text[512];

	expect(o, "\"event\":\"started\"");
	if (has_zoo) {
		OK(t_wait_fd(o->out, POLLIN, HELD_MS));
		OK(read(o->out, text, sizeof(text)) > 0);
	}
}

static void disown_all(struct owner *o)
{
	close(o->control);
	close(o->in);
	close(o->out);
}

static int ended(struct owner *o)
{
	int status = t_wait_child(o->watch, HELD_MS);

	OK(status != -1);
	return status;
}

TEST(started_and_reported)
{
	struct owner o;

	OWN(&o, "sh", "-c", "exit 5");
	expect(&o, "\"event\":\"started\",\"pid\":");
	expect(&o, "\"why\":\"exit\",\"step\":\"none\",\"exit\":{\"code\":5}");
	OK(!listen_once(&o));
	EQ(ended(&o), 5 << 8);
	disown_all(&o);
}

TEST(refused_with_a_sentence)
{
	struct owner o;
	bool refused = false;

	OWN(&o, "/no/such/thing");
	while (listen_once(&o))
		refused |= strstr(o.line, "\"refused\"") && strstr(o.line, "/no/such/thing");
	OK(refused);
	EQ(ended(&o), 127 << 8);
	disown_all(&o);
}

TEST(eof_gives_the_server_its_grace)
{
	struct owner o;

	OWN(&o, "cat");
	let_live(&o, false);
	say(&o, "eof");
	close(o.in);
	o.in = -1;
	expect(&o, "\"why\":\"stdin\",\"step\":\"eof\",\"exit\":{\"code\":0}");
	EQ(ended(&o), 0);
	disown_all(&o);
}

TEST(eof_then_term_then_kill)
{
	struct owner o;

	OWN(&o, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 60; done");
	let_live(&o, true);
	say(&o, "eof");
	expect(&o, "\"why\":\"stdin\",\"step\":\"kill\"");
	ended(&o);
	disown_all(&o);
}

TEST(stop_is_a_sigterm)
{
	struct owner o;

	OWN(&o, "sleep", "60");
	let_live(&o, false);
	say(&o, "stop");
	expect(&o, "\"why\":\"signal\",\"step\":\"term\",\"exit\":{\"signal\":\"TERM\"}");
	ended(&o);
	disown_all(&o);
}

TEST(unknown_words_are_ignored)
{
	struct owner o;

	OWN(&o, "cat");
	let_live(&o, false);
	say(&o, "dance");
	say(&o, "killing me softly");
	EQ(write(o.in, "x", 1), 1);
	OK(t_wait_fd(o.out, POLLIN, HELD_MS));
	say(&o, "kill");
	expect(&o, "\"step\":\"kill\"");
	ended(&o);
	disown_all(&o);
}

TEST(closing_stdin_alone_does_not_end_the_tree)
{
	struct owner o;

	OWN(&o, "sh", "-c", "cat >/dev/null; echo still here; exec sleep 60");
	let_live(&o, false);
	close(o.in);
	o.in = -1;
	OK(t_wait_fd(o.out, POLLIN, HELD_MS));
	EQ(t_wait_fd(o.control, POLLIN, 0), 0);
	say(&o, "stop");
	expect(&o, "\"why\":\"signal\"");
	ended(&o);
	disown_all(&o);
}

/* Hostile ones, and an owner that is suddenly not there: the harness finds what is left. */
static void vanish(const char *mode)
{
	struct owner o;

	OWN(&o, t_program("ZOO", "build/tests/zoo/killick-zoo"), mode);
	EQ(write(o.in, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n", 48), 48);
	let_live(&o, true);
	disown_all(&o);
	ended(&o);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
}

TEST(hang_up_ignore)
{
	vanish("ignore");
}

TEST(hang_up_daemon)
{
	vanish("daemon");
}

TEST(hang_up_chainsid)
{
	vanish("chainsid");
}

TEST(hang_up_deadlead)
{
	vanish("deadlead");
}

TEST(kill_takes_the_daemon_too)
{
	struct owner o;

	OWN(&o, t_program("ZOO", "build/tests/zoo/killick-zoo"), "daemon");
	EQ(write(o.in, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n", 48), 48);
	let_live(&o, true);
	say(&o, "kill");
	expect(&o, "\"step\":\"kill\"");
	OK(strstr(o.line, "\"survivors\":[]"));
	OK(!listen_once(&o));
	ended(&o);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	disown_all(&o);
}

TEST(the_runtime_directory_is_removed_from_the_environment)
{
	struct owner o;
	char text[64] = "";

	setenv("KILLICK_RUNTIME_DIR", t_audit.dir, 1);
	OWN(&o, "sh", "-c", "echo \"<$KILLICK_RUNTIME_DIR>\"");
	let_live(&o, false);
	OK(t_wait_fd(o.out, POLLIN, HELD_MS));
	OK(read(o.out, text, sizeof(text) - 1) > 0);
	STREQ(text, "<>\n");
	while (listen_once(&o))
		;
	ended(&o);
	disown_all(&o);
}

TEST(int_sends_sigint)
{
	struct owner o;

	/* not a shell in `read`: a signal that comes just before the read waits for its end */
	OWN(&o, "sh", "-c", "trap 'exit 7' INT; echo up; while :; do sleep 0.05; done");
	let_live(&o, true);
	say(&o, "int");
	expect(&o, "\"why\":\"exit\",\"step\":\"none\",\"exit\":{\"code\":7}");
	ended(&o);
	disown_all(&o);
}

TEST(a_word_may_set_the_grace)
{
	struct owner o;

	OWN(&o, "sh", "-c", "trap 'read x; exit 4' TERM; echo up; while :; do sleep 0.01; done");
	let_live(&o, true);
	say(&o, "stop 1h"); /* is no such word */
	say(&o, "stop 60000");
	EQ(t_wait_fd(o.control, POLLIN, 600), 0); /* more than the 300 ms of --grace */
	EQ(write(o.in, "\n", 1), 1);
	expect(&o, "\"why\":\"signal\",\"step\":\"term\",\"exit\":{\"code\":4}");
	ended(&o);
	disown_all(&o);
}

/* Whoever asks again with less patience is not bound by what was granted before. */
static void hasten(const char *first, const char *second, const char *why)
{
	struct owner o;

	OWN(&o, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 60; done");
	let_live(&o, true);
	say(&o, first);
	say(&o, second);
	expect(&o, why);
	ended(&o);
	disown_all(&o);
}

TEST(stop_sooner)
{
	hasten("stop 3600000", "stop 100", "\"why\":\"signal\",\"step\":\"kill\"");
}

TEST(eof_sooner)
{
	hasten("eof 3600000", "eof 100", "\"why\":\"stdin\",\"step\":\"kill\"");
}

TEST(arg0_sets_the_name_of_the_server)
{
	struct owner o;
	char text[64] = "";

	OWN_AS(&o, "--arg0", "frigate", "--", "sh", "-c",
	       "tr '\\0' ' ' </proc/$$/cmdline | cut -c1-10");
	let_live(&o, false);
	OK(t_wait_fd(o.out, POLLIN, HELD_MS));
	OK(read(o.out, text, sizeof(text) - 1) > 0);
	STREQ(text, "frigate -c\n");
	while (listen_once(&o))
		;
	ended(&o);
	disown_all(&o);
}

/* --- what a server leaves behind --- */

#define EXITED_3 "{\"event\":\"exited\",\"status\":768}"

TEST(leftovers_linger_until_they_leave)
{
	struct owner o;

	OWN_AS(&o, "--linger", "1h", "--", "sh", "-c",
	       "exec 5<&0; (read x; echo bye) <&5 & exit 3");
	let_live(&o, false);
	expect(&o, EXITED_3);
	EQ(t_wait_fd(o.control, POLLIN, 0), 0);
	EQ(write(o.in, "\n", 1), 1);
	expect(&o, "\"why\":\"exit\",\"step\":\"none\",\"exit\":{\"code\":3}");
	EQ(ended(&o), 3 << 8);
	disown_all(&o);
}

static void leave_behind(struct owner *o, const char *linger)
{
	char script[200];

	snprintf(script, sizeof(script), "exec 5<&0; exec setsid %s ignore <&5 & exit 3",
		 t_program("ZOO", "build/tests/zoo/killick-zoo"));
	OWN_AS(o, "--linger", linger, "--", "sh", "-c", script);
	let_live(o, false);
	expect(o, EXITED_3);
}

TEST(leftovers_linger_for_the_given_time)
{
	struct owner o;

	leave_behind(&o, "200ms");
	expect(&o, "\"why\":\"exit\"");
	OK(strstr(o.line, "\"survivors\":[]"));
	ended(&o);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	disown_all(&o);
}

static void end_leftovers(const char *word, const char *why)
{
	struct owner o;

	leave_behind(&o, "1h");
	if (*word) {
		say(&o, word);
		expect(&o, why);
	} else {
		disown_all(&o);
	}
	EQ(ended(&o), 3 << 8);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	if (*word)
		disown_all(&o);
}

TEST(leftovers_are_killed)
{
	end_leftovers("kill", "\"why\":\"signal\"");
}

TEST(leftovers_are_stopped)
{
	end_leftovers("stop 5000", "\"why\":\"signal\"");
}

TEST(leftovers_end_with_the_owner)
{
	end_leftovers("", "");
}

/* Killed, one or both of the keepers, while something lingers. The leader is gone, so there is no
 * PDEATHSIG to help. */
static void kill_lingering(const char *level, bool watch, bool hold)
{
	char *reap[] = { (char *)t_program("KILLICK", "build/killick"), "reap", NULL };
	struct owner o;
	char script[300], records[200];
	pid_t hold_pid;

	/* records of its own: the exit status of `reap` tells of every tree of this user, and other
	 * tests kill owners at the same time */
	snprintf(records, sizeof(records), "%s/records", t_audit.dir);
	setenv("KILLICK_RUNTIME_DIR", records, 1);
	snprintf(script, sizeof(script), "exec 5<&0; exec setsid %s ignore <&5 & exit 3",
		 t_program("ZOO", "build/tests/zoo/killick-zoo"));
	OWN_AS(&o, "--linger", "1h", "--contain", level, "--", "sh", "-c", script);
	OK(listen_once(&o));
	if (strstr(o.line, "\"refused\"")) {
		while (listen_once(&o))
			;
		ended(&o);
		disown_all(&o);
		SKIP("%s cannot be had here", level);
	}
	expect(&o, EXITED_3);
	hold_pid = held_hold(&(struct held){ .watch = o.watch });
	OK(hold_pid > 1);
	if (watch && hold) { /* neither may act for the other */
		kill(o.watch, SIGSTOP);
		kill(hold_pid, SIGKILL);
		kill(o.watch, SIGKILL);
	} else {
		kill(watch ? o.watch : hold_pid, SIGKILL);
	}
	while (listen_once(&o))
		if (strstr(o.line, "\"killick\"") &&
		    !strstr(o.line, watch ? "\"why\":\"watch\"" : "\"why\":\"hold\""))
			FAIL("another reason: %s", o.line);
	ended(&o);
	disown_all(&o);
	if (watch && hold) /* what an owner's link does at once */
		EQ(t_wait_child(t_spawn(reap, NULL), HELD_MS), 0);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	while (waitpid(-1, NULL, __WALL) > 0) /* what they left has come to us */
		;
}

TEST(lingering_and_the_watch_is_killed)
{
	kill_lingering("keeper", true, false);
}

TEST(lingering_and_the_hold_is_killed)
{
	kill_lingering("keeper", false, true);
}

TEST(lingering_and_both_are_killed)
{
	kill_lingering("keeper", true, true);
}

TEST(lingering_in_a_cgroup_and_the_watch_is_killed)
{
	kill_lingering("cgroup", true, false);
}

TEST(lingering_in_a_cgroup_and_the_hold_is_killed)
{
	kill_lingering("cgroup", false, true);
}

TEST(lingering_in_a_cgroup_and_both_are_killed)
{
	kill_lingering("cgroup", true, true);
}

TEST(lingering_in_a_namespace_and_the_watch_is_killed)
{
	kill_lingering("namespace", true, false);
}

TEST(lingering_in_a_namespace_and_the_hold_is_killed)
{
	kill_lingering("namespace", false, true);
}

TEST(lingering_in_a_namespace_and_both_are_killed)
{
	kill_lingering("namespace", true, true);
}

TEST(not_a_socket)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"),
			 "run",
			 "--control",
			 "77",
			 "--",
			 "true",
			 NULL };
	pid_t pid = t_spawn(argv, NULL);

	EQ(t_wait_child(pid, HELD_MS), 64 << 8);
}

/* --- a look that several keepers share --- */

/* As a keeper here calls itself. */
static const char *who(void)
{
	static char text[64];
	char link[32] = "";

	OK(readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0);
	snprintf(text, sizeof(text), "%u %s", (unsigned)geteuid(), link);
	return text;
}

static void say_clear(struct owner *o, const char *for_whom)
{
	char word[80];

	snprintf(word, sizeof(word), "clear %s", for_whom);
	say(o, word);
}

/* A server of which one process has left into another pid namespace, with its mark. */
static pid_t own_emigrant(struct owner *o)
{
	pid_t foreign = cell_foreign_pidns();

	if (!getenv("ZOO_PIDNS"))
		SKIP("no pid namespace is to be had");
	OWN_AS(o, "--contain", "keeper", "--", t_program("ZOO", "build/tests/zoo/killick-zoo"),
	       "setns");
	EQ(write(o->in, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n", 48), 48);
	let_live(o, true);
	return foreign;
}

static void end_emigrant(struct owner *o, pid_t foreign)
{
	EQ(ended(o), 0);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL));
	kill(foreign, SIGKILL);
	held_reap_all();
	disown_all(o);
}

/* The keeper looked itself: it found and ended the process in the other pid namespace. */
static void expect_look(struct owner *o, pid_t foreign)
{
	expect(o, "\"killed\":1,\"proof\":[\"waitid\",\"mark\"]");
	o->in = -1;
	end_emigrant(o, foreign);
}

TEST(an_owner_that_answers_clear_spares_the_look)
{
	struct owner o;

	OWN_AS(&o, "--contain", "keeper", "--", "cat");
	let_live(&o, false);
	say(&o, "eof 300 ask");
	close(o.in);
	expect(&o, "\"event\":\"empty\"");
	say_clear(&o, who());
	expect(&o, "\"proof\":[\"waitid\",\"mark\"]");
	OK(!listen_once(&o));
	EQ(ended(&o), 0);
	o.in = -1;
	disown_all(&o);
}

TEST(a_look_that_finds_nothing_is_said_to_be_clear)
{
	struct owner o;

	OWN_AS(&o, "--contain", "keeper", "--", "cat");
	let_live(&o, false);
	say(&o, "stop ask");
	expect(&o, "\"event\":\"empty\"");
	say(&o, "look");
	OK(listen_once(&o));
	/* other tests may have marked processes in other pid namespaces just now */
	if (strstr(o.line, "\"event\":\"clear\"")) {
		OK(strstr(o.line, who()));
		OK(listen_once(&o));
	}
	OK(strstr(o.line, "\"proof\":[\"waitid\",\"mark\"]"));
	OK(!listen_once(&o));
	EQ(ended(&o), SIGTERM);
	disown_all(&o);
}

TEST(an_owner_that_wants_no_question_gets_none)
{
	struct owner o;

	OWN_AS(&o, "--contain", "keeper", "--", "cat");
	let_live(&o, false);
	say(&o, "stop");
	expect(&o, "\"proof\":[\"waitid\",\"mark\"]");
	EQ(ended(&o), SIGTERM);
	disown_all(&o);
}

TEST(a_look_that_finds_a_marked_process_is_not_said_to_be_clear)
{
	struct owner o;
	pid_t foreign = own_emigrant(&o);

	say(&o, "eof 300 ask");
	close(o.in);
	expect(&o, "\"event\":\"empty\"");
	say(&o, "look");
	expect_look(&o, foreign);
}

TEST(a_look_of_a_keeper_that_sees_other_processes_does_not_count)
{
	struct owner o;
	pid_t foreign = own_emigrant(&o);

	say(&o, "eof 300 ask");
	close(o.in);
	expect(&o, "\"event\":\"empty\"");
	say_clear(&o, "4711 pid:[4711]");
	expect_look(&o, foreign);
}

TEST(an_answer_from_before_the_question_does_not_count)
{
	struct owner o;
	pid_t foreign = own_emigrant(&o);

	say(&o, "eof 300 ask");
	say_clear(&o, who());
	close(o.in);
	expect(&o, "\"event\":\"empty\"");
	expect_look(&o, foreign);
}

TEST(an_owner_that_dies_with_the_question_unanswered_costs_nothing)
{
	struct owner o;
	pid_t foreign = own_emigrant(&o);

	say(&o, "eof 300 ask");
	close(o.in);
	expect(&o, "\"event\":\"empty\"");
	close(o.control);
	o.in = o.control = -1;
	end_emigrant(&o, foreign);
}

/* --- --users: the processes for which the owner holds the server --- */

static volatile sig_atomic_t continued;

static void on_continued(int sig)
{
	(void)sig;
	continued++;
}

/* A process that waits; its pidfd is in the epoll. */
struct user {
	pid_t pid;
	int fd;
};

static struct user add_user(int epoll)
{
	static uint64_t last;
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = ++last };
	struct user u = { .pid = fork() };

	if (u.pid == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	u.fd = (int)syscall(SYS_pidfd_open, u.pid, 0);
	if (u.fd < 0 && errno == ENOSYS)
		SKIP("users of an owner are known by pidfds, which Linux has since 5.3");
	OK(u.fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, u.fd, &ev) == 0);
	return u;
}

static void kill_user(const struct user *u)
{
	kill(u->pid, SIGKILL);
	OK(t_wait_child(u->pid, HELD_MS) >= 0);
}

static void remove_user(int epoll, const struct user *u)
{
	OK(epoll_ctl(epoll, EPOLL_CTL_DEL, u->fd, NULL) == 0);
	close(u->fd);
}

/* Start `cat` with an epoll of one user. */
static struct user own_for_a_user(struct owner *o, const char *level, int *out_epoll)
{
	char fd[16];
	struct user u;

	*out_epoll = epoll_create1(0);
	u = add_user(*out_epoll);
	snprintf(fd, sizeof(fd), "%d", *out_epoll);
	OWN_AS(o, "--users", fd, "--contain", level, "--", "cat");
	fcntl(*out_epoll, F_SETFD, FD_CLOEXEC);
	return u;
}

/* Does the process have an epoll? */
static bool has_epoll(pid_t pid)
{
	char path[64], to[64] = "";
	bool found = false;
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	OK(dir);
	while ((d = readdir(dir)))
		found |= readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1) > 0 &&
			 strstr(to, "eventpoll");
	closedir(dir);
	return found;
}

static void ignore_a_user(const char *level, bool stop_watch)
{
	struct owner o;
	struct user u;
	int epoll;

	continued = 0;
	sigaction(SIGCONT,
		  &(struct sigaction){ .sa_handler = on_continued, .sa_flags = SA_RESTART }, NULL);
	u = own_for_a_user(&o, level, &epoll);
	OK(listen_once(&o));
	if (strstr(o.line, "refused"))
		SKIP("level %s is not possible here", level);
	OK(!has_epoll(atoi(strstr(o.line, "\"pid\":") + 6))); /* the server does not get it */
	kill_user(&u);
	if (stop_watch)
		kill(o.watch, SIGSTOP);
	OK(t_wait_fd(o.control, POLLIN, 2 * HELD_MS)); /* 7.5 s */
	expect(&o, "\"why\":\"owner\"");
	OK(strstr(o.line, "did not handle the end of a process"));
	OK(continued >= 1);
	EQ(ended(&o), SIGTERM);
	remove_user(epoll, &u);
	close(epoll);
	disown_all(&o);
}

TEST(an_owner_that_does_not_handle_the_end_of_a_user_counts_as_gone, .timeout_ms = 30000)
{
	ignore_a_user("auto", false);
}

TEST(the_same_at_level_keeper_with_the_watch_stopped, .timeout_ms = 30000)
{
	ignore_a_user("keeper", true);
}

TEST(the_same_at_level_namespace, .timeout_ms = 30000)
{
	ignore_a_user("namespace", false);
}

/* Always one user has ended, but never the same one for long. */
TEST(an_owner_that_handles_the_end_of_its_users_keeps_its_server, .timeout_ms = 30000)
{
	struct owner o;
	int epoll;
	struct user u = own_for_a_user(&o, "auto", &epoll);

	let_live(&o, false);
	kill_user(&u);
	for (double end = t_now_ms() + 9000; t_now_ms() < end;) {
		struct user next = add_user(epoll);

		kill_user(&next);
		t_wait_fd(-1, 0, 200);
		remove_user(epoll, &u);
		u = next;
	}
	say(&o, "eof");
	close(o.in);
	o.in = -1;
	expect(&o, "\"why\":\"stdin\"");
	EQ(ended(&o), 0);
	remove_user(epoll, &u);
	close(epoll);
	disown_all(&o);
}
