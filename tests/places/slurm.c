/* slurm.c - servers inside of Slurm jobs, behind srun: called, abandoned, cancelled.
 *
 * A cluster of one node with munge, all of it with sockets, keys and state of its own and run by
 * whoever runs the test. It follows processes by their process group alone (proctrack/pgid), so
 * what left its group is not Slurm's to end: if nothing is left, that was us.
 */
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"

enum { SLURM_TEST_MS = 90000 };

struct slurm {
	struct minder munged, controller, node;
};

static void write_key(void)
{
	unsigned char key[128];
	int fd = open("munge.key", O_WRONLY | O_CREAT | O_CLOEXEC, 0400);

	OK(getrandom(key, sizeof(key), 0) == (ssize_t)sizeof(key));
	OK(fd >= 0 && write(fd, key, sizeof(key)) == (ssize_t)sizeof(key));
	close(fd);
}

static void write_conf(void)
{
	const struct passwd *who = getpwuid(getuid());
	char host[128], text[2048];
	int port = place_port(), other;

	if (!who)
		SKIP("uid %u has no name, and Slurm insists on one", getuid());
	OK(gethostname(host, sizeof(host)) == 0);
	while ((other = place_port()) == port)
		;
	snprintf(text, sizeof(text),
		 "ClusterName=places\nSlurmctldHost=%s(127.0.0.1)\nSlurmUser=%s\nSlurmdUser=%s\n"
		 "AuthType=auth/munge\nAuthInfo=socket=%s\nCredType=cred/munge\n"
		 "SlurmctldPort=%d\nSlurmdPort=%d\nStateSaveLocation=%s\nSlurmdSpoolDir=%s\n"
		 "SlurmctldPidFile=%s\nSlurmdPidFile=%s\nPlugStackConfig=%s\n"
		 "ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nMpiDefault=none\n"
		 "SchedulerType=sched/builtin\nSelectType=select/linear\nReturnToService=2\n"
		 "SlurmdTimeout=0\nSlurmdParameters=config_overrides\nKillWait=2\nMailProg=/bin/"
		 "true\n"
		 "NodeName=here NodeHostname=%s NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n"
		 "PartitionName=all Nodes=here Default=YES MaxTime=INFINITE State=UP\n",
		 host, who->pw_name, who->pw_name, place_file("munge.socket"), port, other,
		 place_file("state"), place_file("spool"), place_file("ctld.pid"),
		 place_file("slurmd.pid"), place_file("plugstack.conf"), host);
	write_file("plugstack.conf", "");
	write_file("slurm.conf", text);
	setenv("SLURM_CONF", place_file("slurm.conf"), 1);
}

/* Wait until a command succeeds and says this. */
static void await(const char *command, const char *want)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	double until = t_now_ms() + 3 * GONE_MS;

	for (;;) {
		struct child c = start(argv, -1);

		if (finish(&c) == 0 && strstr(out, want))
			return;
		if (t_now_ms() > until)
			FAIL("'%s' does not say '%s': %s%s", command, want, out, err);
		t_wait_fd(-1, 0, 50);
	}
}

static void start_munged(struct minder *m)
{
	static char key[200], sock[200], pid[200], seed[200];
	const char *argv[] = { place_program("munged", "munge"),
			       "--foreground",
			       "--force",
			       key,
			       sock,
			       pid,
			       seed,
			       "--num-threads=2",
			       NULL };

	snprintf(key, sizeof(key), "--key-file=%s", place_file("munge.key"));
	snprintf(sock, sizeof(sock), "--socket=%s", place_file("munge.socket"));
	snprintf(pid, sizeof(pid), "--pid-file=%s", place_file("munge.pid"));
	snprintf(seed, sizeof(seed), "--seed-file=%s", place_file("munge.seed"));
	minder_start(m, &(struct minder_spec){ .argv = argv, .log = place_file("munged.log") });
	place_await_text("munged.log", "Created 2 work threads");
}

static void slurm_open(struct slurm *s)
{
	const char *ctld[] = { place_program("slurmctld", "slurm-wlm"),
			       "-D",
			       "-i",
			       "-c",
			       "-f",
			       place_file("slurm.conf"),
			       NULL };
	const char *slurmd[] = { place_program("slurmd", "slurm-wlm"),
				 "-D",
				 "-N",
				 "here",
				 "-f",
				 place_file("slurm.conf"),
				 NULL };

	place_program("srun", "slurm-wlm");
	/* munge wants everybody to be able to reach its socket */
	OK(chmod(place_dir(), 0755) == 0);
	OK(mkdir("state", 0700) == 0 && mkdir("spool", 0755) == 0);
	write_key();
	write_conf();
	start_munged(&s->munged);
	minder_start(&s->controller,
		     &(struct minder_spec){ .argv = ctld, .log = place_file("ctld.log") });
	minder_start(&s->node,
		     &(struct minder_spec){ .argv = slurmd, .log = place_file("slurmd.log") });
	await("sinfo -h -o %T", "idle");
}

static void slurm_close(struct slurm *s)
{
	await("squeue -h && echo none", "none");
	EQ(minder_end(&s->node), 0);
	EQ(minder_end(&s->controller), 0);
	EQ(minder_end(&s->munged), 0);
}

/* Every job carries the name of the test's tag. srun hands its environment on to the job. */
static const char *environment(void)
{
	static char text[1024];
	const char *const *env = place_env(true);

	snprintf(text, sizeof(text),
		 "{\"program\": [\"srun\", \"-n1\", \"--quiet\", \"--job-name=%.8s\", \"%s\", "
		 "\"exec-server\", \"--listen\", \"stdio\"], \"env\": {\"SLURM_CONF\": \"%s\", "
		 "\"KILLICK_RUNTIME_DIR\": \"%s\", \"ZOO_AUDIT\": \"%s\", \"ZOO_FIFO\": \"%s\"}}",
		 t_audit.tag, killick(), getenv("SLURM_CONF"), strchr(env[2], '=') + 1, t_audit.tag,
		 strchr(env[4], '=') + 1);
	return text;
}

static void await_no_job(void)
{
	await("squeue -h; echo \"($(squeue -h | wc -l))\"", "(0)");
}

TEST(the_place_itself, .timeout_ms = SLURM_TEST_MS)
{
	char *argv[] = { "srun", "-n1", "--quiet", "sh", "-c", "read x; echo \"$x $ZOO_AUDIT\"",
			 NULL };
	struct slurm s = { 0 };
	struct child c;
	int in;

	place_begin();
	slurm_open(&s);
	write_file("input", "into the job\n");
	in = open("input", O_RDONLY | O_CLOEXEC);
	c = start(argv, in);
	close(in);
	place_ends(&c, 0);
	PRINTS("into the job ");
	PRINTS(t_audit.tag);
	place_nothing_left(GONE_MS);
	slurm_close(&s);
}

TEST(a_server_is_called, .timeout_ms = SLURM_TEST_MS)
{
	struct slurm s = { 0 };

	place_begin();
	slurm_open(&s);
	place_config(environment(), false, "mcp good");
	PLACE_RUN(0, "call", "echo", "text=in a job");
	STREQ(out, "in a job\n");
	place_nothing_left(GONE_MS);
	await_no_job();
	place_config(environment(), true, "mcp stays");
	PLACE_RUN(0, "call", "echo", "text=and again");
	place_nothing_left(GONE_MS);
	await_no_job();
	slurm_close(&s);
}

TEST(the_session_is_killed, .timeout_ms = SLURM_TEST_MS)
{
	struct slurm s = { 0 };
	struct child c;

	place_begin();
	slurm_open(&s);
	place_config(environment(), true, "mcp stays");
	c = place_hang("block");
	place_kill(&c);
	place_nothing_left(4 * GONE_MS);
	await_no_job();
	slurm_close(&s);
}

TEST(the_job_is_cancelled, .timeout_ms = SLURM_TEST_MS)
{
	struct slurm s = { 0 };
	struct child c;
	char name[32], *argv[] = { "scancel", name, NULL };

	place_begin();
	slurm_open(&s);
	place_config(environment(), true, "mcp stays");
	c = place_hang("block");
	snprintf(name, sizeof(name), "--name=%.8s", t_audit.tag);
	OK(t_wait_child(t_spawn(argv, NULL), GONE_MS) == 0);
	place_ends(&c, 69);
	SAYS("'s'"); /* the executor heard SIGTERM, and ended it in good order */
	place_nothing_left(4 * GONE_MS);
	await_no_job();
	slurm_close(&s);
}

/* SIGKILL of the whole step at once: Slurm's own, without the time to leave. */
TEST(the_step_is_killed, .timeout_ms = SLURM_TEST_MS)
{
	struct slurm s = { 0 };
	struct child c;
	char name[32], *argv[] = { "scancel", "--signal=KILL", name, NULL };

	place_begin();
	slurm_open(&s);
	place_config(environment(), true, "mcp stays");
	c = place_hang("block");
	snprintf(name, sizeof(name), "--name=%.8s", t_audit.tag);
	OK(t_wait_child(t_spawn(argv, NULL), GONE_MS) == 0);
	place_ends(&c, 69);
	place_nothing_left(4 * GONE_MS);
	await_no_job();
	slurm_close(&s);
}
