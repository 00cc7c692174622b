/* sshd.c - see sshd.h */
#include "sshd.h"

#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"

#define PRIVSEP "/run/sshd"

static void make_key(const char *file)
{
	const char *keygen = place_program("ssh-keygen", "openssh-client");
	char *argv[] = {
		(char *)keygen, "-q", "-t", "ed25519", "-N", "", "-f", (char *)file, NULL
	};
	struct child c = start(argv, -1);

	place_ends(&c, 0);
}

static bool can_log_in(const struct passwd *who)
{
	return !strstr(who->pw_shell, "nologin") && !strstr(who->pw_shell, "false");
}

/* sshd runs everything through the user's shell, and there is none for nobody: a view of the
 * machine in which there is. Only an ordinary user needs it, and may do it in a user namespace. */
static void prepare_shell(void)
{
	const char *maps[][2] = { { "/proc/self/setgroups", "deny" },
				  { "/proc/self/uid_map", NULL },
				  { "/proc/self/gid_map", NULL } };
	unsigned ids[] = { 0, getuid(), getgid() };

	if (can_log_in(getpwuid(getuid())))
		return;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) {
		perror("unshare");
		_exit(126);
	}
	for (int i = 0; i < 3; i++) {
		FILE *f = fopen(maps[i][0], "we");

		if (f && maps[i][1])
			fputs(maps[i][1], f);
		else if (f)
			fprintf(f, "%u %u 1\n", ids[i], ids[i]);
		if (!f || fclose(f)) {
			perror(maps[i][0]);
			_exit(126);
		}
	}
	if (mount(place_file("passwd"), "/etc/passwd", NULL, MS_BIND, NULL) ||
	    mount(place_file("shadow"), "/etc/shadow", NULL, MS_BIND, NULL)) {
		perror("mount");
		_exit(126);
	}
}

/* Is this allowed here? In a process of its own. */
static bool shell_can_be_had(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 2);
		prepare_shell();
		_exit(0);
	}
	status = t_wait_child(pid, GONE_MS);
	return status == 0;
}

static void write_passwd(const struct passwd *who)
{
	char text[512];

	snprintf(text, sizeof(text), "root:x:0:0::/root:/bin/sh\n%s:x:%u:%u::%s:/bin/sh\n",
		 who->pw_name, who->pw_uid, who->pw_gid, place_dir());
	write_file("passwd", text);
	/* Without an entry it can read sshd takes nobody for locked (nss-systemd makes one up). */
	snprintf(text, sizeof(text), "root:*:1::::::\n%s:*:1::::::\n", who->pw_name);
	write_file("shadow", text);
}

static void write_configs(const struct sshd *s)
{
	const char *const *env = place_env(true);
	char text[2048], key[512] = "";
	FILE *f = fopen("host.pub", "re");

	OK(f && fgets(key, sizeof(key), f));
	fclose(f);
	snprintf(text, sizeof(text), "[127.0.0.1]:%d %s", s->port, key);
	write_file("known_hosts", text);
	snprintf(text, sizeof(text),
		 "Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\n"
		 "PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n"
		 "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUseDNS no\n"
		 "SetEnv %s %s %s\n",
		 s->port, place_file("host"), place_file("me.pub"), env[2], env[3], env[4]);
	write_file("sshd_config", text);
}

/* Until it listens, or ended because the port was taken after all. */
static bool begun(const struct sshd *s)
{
	double until = t_now_ms() + GONE_MS;

	while (!file_has("sshd.log", "Server listening on")) {
		if (!minder_lives(s->minder.daemon, NULL)) {
			if (file_has("sshd.log", "Address already in use"))
				return false;
			FAIL("sshd ended: see what it wrote: %s", place_file("sshd.log"));
		}
		OK(t_now_ms() < until);
		t_wait_fd(-1, 0, 2);
	}
	return true;
}

static void check_machine(void)
{
	const struct passwd *who = getpwuid(getuid());

	place_program("ssh", "openssh-client");
	place_program("sshd", "openssh-server");
	if (!who)
		SKIP("uid %u has no name, and ssh insists on one", getuid());
	write_passwd(who);
	if (getuid() == 0) /* as every start of it does; it stays, another one may be using it */
		mkdir(PRIVSEP, 0755);
	else if (!shell_can_be_had())
		SKIP("%s may not log in, and cannot have a shell in a user namespace here",
		     who->pw_name);
}

void sshd_open(struct sshd *s)
{
	const char *argv[] = { place_program("sshd", "openssh-server"),
			       "-D",
			       "-e",
			       "-f",
			       place_file("sshd_config"),
			       NULL };
	struct minder_spec spec = { .argv = argv, .log = place_file("sshd.log") };

	*s = (struct sshd){ 0 };
	check_machine();
	if (getuid() != 0)
		spec.prepare = prepare_shell;
	make_key("host");
	make_key("me");
	for (int turn = 0;; turn++) {
		OK(turn < 5);
		s->port = place_port();
		write_configs(s);
		unlink("sshd.log");
		minder_start(&s->minder, &spec);
		if (begun(s))
			break;
		minder_end(&s->minder);
	}
	snprintf(
		s->args, sizeof(s->args),
		"\"-F\", \"none\", \"-p\", \"%d\", \"-i\", \"%s\", \"-o\", \"IdentitiesOnly=yes\", "
		"\"-o\", \"IdentityAgent=none\", \"-o\", \"UserKnownHostsFile=%s\", "
		"\"-o\", \"GlobalKnownHostsFile=/dev/null\", \"-o\", \"StrictHostKeyChecking=yes\"",
		s->port, place_file("me"), place_file("known_hosts"));
}

void sshd_close(struct sshd *s)
{
	EQ(minder_end(&s->minder), 0);
}

static int signal_below(pid_t parent, int sig)
{
	pid_t pids[64];
	int n = minder_children(parent, pids, 64), count = 0;

	for (int i = 0; i < n; i++) {
		char name[16];

		if (!minder_lives(pids[i], name) || strncmp(name, "sshd", 4) != 0)
			continue;
		count += signal_below(pids[i], sig) + !kill(pids[i], sig);
	}
	return count;
}

int sshd_signal(struct sshd *s, int sig)
{
	/* those whose parent was killed have come to the minder, beside the daemon */
	return signal_below(s->minder.daemon, sig);
}
