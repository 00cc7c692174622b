/* engine.c - the command lines of container engines are read as the engines read them. */
#include "cli/linux/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "base/auto.h"
#include "base/strings.h"
#include "cli/linux/engine_call.h"
#include "cli/linux/engine_program.h"
#include "cli/linux/engine_spec.h"
#include "keeper/linux/clock.h"
#include "keeper/linux/container.h"

#define WORDS(...) ((char *const[]){ __VA_ARGS__, NULL })
#define PARSE(c_, ...)                                                                             \
	AUTO(engine_command_done) struct engine_command c_;                                        \
	engine_parse(WORDS(__VA_ARGS__), &c_)

TEST(engine_knows_three_programs)
{
	STREQ(container_engine("docker"), "docker");
	STREQ(container_engine("/usr/bin/podman"), "podman");
	STREQ(container_engine("./nerdctl"), "nerdctl");
	OK(!container_engine("docker-compose") && !container_engine("docker/"));
	OK(!container_engine("dockerd") && !container_engine("") && !container_engine("sh"));
}

TEST(engine_finds_run)
{
	PARSE(plain, "docker", "run", "-i", "image");
	EQ(plain.run, 1);
	EQ(plain.globals, 1);
	PARSE(longer, "podman", "--root", "run", "--log-level=run", "-c", "run", "run", "image");
	EQ(longer.run, 6);
	EQ(longer.globals, 6);
	PARSE(managed, "nerdctl", "-n", "k8s.io", "container", "run", "image");
	EQ(managed.run, 4);
	EQ(managed.globals, 3);
	PARSE(glued, "docker", "-Hunix:///x", "-Dl", "error", "run", "image");
	EQ(glued.run, 4);
}

TEST(engine_finds_no_run_where_there_is_none)
{
	PARSE(alone, "docker");
	EQ(alone.run, 0);
	PARSE(other, "docker", "exec", "-i", "x", "run");
	EQ(other.run, 0);
	PARSE(listed, "docker", "container", "ls", "run");
	EQ(listed.run, 0);
	PARSE(cut, "podman", "--root");
	EQ(cut.run, 0);
	PARSE(dashes, "docker", "--", "run", "image");
	EQ(dashes.run, 0);
	PARSE(strange, "docker", "--unheard", "of", "run", "image");
	EQ(strange.run, 0);
	STREQ(strange.unknown, "--unheard");
	PARSE(program, "sh", "run");
	OK(!program.engine);
}

TEST(engine_reads_the_options_of_run)
{
	PARSE(c, "docker", "run", "--rm", "--init", "--cidfile", "f", "-it", "image");
	OK(c.rm && c.init && !c.detach && !c.no_rm && !c.no_init);
	STREQ(c.cidfile, "f");
	PARSE(equals, "docker", "run", "--cidfile=f=g", "--rm=false", "--detach=false", "image");
	OK(equals.rm && !equals.init && !equals.detach);
	STREQ(equals.cidfile, "f=g");
	PARSE(kept, "docker", "run", "--restart", "always", "--pid=host", "image");
	OK(kept.no_rm && kept.no_init);
	PARSE(once, "docker", "run", "--restart=no", "image");
	OK(!once.no_rm);
}

TEST(engine_reads_detach_in_every_spelling)
{
	PARSE(a, "docker", "run", "-d", "image");
	PARSE(b, "docker", "run", "-itd", "image");
	PARSE(c, "docker", "run", "--detach", "image");
	PARSE(d, "docker", "run", "--detach=true", "image");
	PARSE(e, "docker", "run", "-dp", "80:80", "image");
	PARSE(f, "docker", "run", "--name", "x", "-e", "A=b", "-d", "image");
	OK(a.detach && b.detach && c.detach && d.detach && e.detach && f.detach);
	PARSE(g, "docker", "run", "-d=true", "image");
	PARSE(h, "docker", "run", "-it=true", "-d", "image");
	PARSE(i, "podman", "run", "--log-level", "debug", "-d", "image");
	PARSE(j, "docker", "run", "-d=false", "image");
	PARSE(k, "docker", "run", "-itd=0", "image");
	OK(g.detach && h.detach && i.detach && !j.detach && !k.detach);
	OK(!g.unknown && !h.unknown && !i.unknown && !j.unknown && !k.unknown);
}

TEST(engine_takes_no_word_of_the_container_for_an_option)
{
	PARSE(command, "docker", "run", "image", "-d", "--rm", "--cidfile", "x",
	      "--restart=always");
	OK(!command.detach && !command.rm && !command.cidfile && !command.no_rm);
	PARSE(dashes, "docker", "run", "--", "-d", "--rm");
	OK(!dashes.detach && !dashes.rm);
	PARSE(value, "docker", "run", "--name", "-d", "image");
	OK(!value.detach);
	PARSE(glued, "docker", "run", "-ed", "-v=--rm", "-u", "--init", "image", "-d");
	OK(!glued.detach && !glued.rm && !glued.init);
	PARSE(unknown, "docker", "run", "--new", "-d", "image");
	STREQ(unknown.unknown, "--new"); /* nobody knows whether -d is the value of --new */
	PARSE(cut, "docker", "run", "--name");
	EQ(cut.run, 1);
}

/* podman and nerdctl read their global options behind `run`, too. */
TEST(engine_reads_global_options_behind_run)
{
	PARSE(podman, "podman", "--log-level", "error", "run", "--root", "/x", "-i",
	      "--runtime=crun", "-c", "5", "image", "--runroot", "/y");
	EQ(strings_count(podman.call), 4);
	STREQ(podman.call[0], "podman");
	STREQ(podman.call[1], "--log-level=error");
	STREQ(podman.call[2], "--root=/x");
	STREQ(podman.call[3], "--runtime=crun");
	PARSE(nerdctl, "nerdctl", "run", "-n", "k8s.io", "-a", "stdout", "--runtime", "x", "image");
	EQ(strings_count(nerdctl.call), 2);
	STREQ(nerdctl.call[1], "--namespace=k8s.io");
	PARSE(docker, "docker", "run", "--context", "x", "image"); /* docker refuses this */
	STREQ(docker.unknown, "--context");
}

TEST(engine_writes_global_options_in_one_spelling)
{
	PARSE(docker, "docker", "-DHunix:///x", "-c", "far", "-l=error", "run", "image");
	EQ(strings_count(docker.call), 5);
	STREQ(docker.call[1], "--debug");
	STREQ(docker.call[2], "--host=unix:///x");
	STREQ(docker.call[3], "--context=far");
	STREQ(docker.call[4], "--log-level=error");
	PARSE(podman, "podman", "-c", "far", "run", "image");
	STREQ(podman.call[1], "--connection=far");
	PARSE(help, "podman", "run", "--help");
	EQ(help.run, 0);
}

TEST(engine_finds_a_label_that_could_be_taken_for_that_of_killick)
{
	PARSE(a, "docker", "run", "--label", "killick.run=x", "image");
	PARSE(b, "docker", "run", "-l", "killick.run", "image");
	PARSE(c, "docker", "run", "-ilkillick.run=x", "image");
	PARSE(d, "docker", "run", "--label=killick.running=x", "-l=a=b", "image");
	OK(a.label && b.label && c.label && !d.label);
}

TEST(engine_records_only_options_that_name_no_program)
{
	OK(engine_is_recordable(WORDS("podman", "--root", "/x", "--runroot=/y", "--remote"),
				false));
	OK(engine_is_recordable(WORDS("docker", "--host=tcp://h:1", "--context", "far"), false));
	OK(engine_is_recordable(WORDS("podman", "--runtime", "runc"), true));
	OK(!engine_is_recordable(WORDS("podman", "--runtime", "/x/runc"), false));
	OK(!engine_is_recordable(WORDS("podman", "--conmon", "x"), false));
	OK(!engine_is_recordable(WORDS("docker", "--config=/x"), false));
	OK(!engine_is_recordable(WORDS("docker", "--unheard=x"), false));
	OK(!engine_is_recordable(WORDS("docker", "rm"), false));
	OK(!engine_is_recordable(WORDS("docker", "--root"), false));
}

TEST(engine_of_a_record_has_long_options_and_default_places)
{
	OK(engine_is_recordable(WORDS("docker", "--context=far", "--debug"), true));
	OK(engine_is_recordable(WORDS("docker", "--host=unix:///var/run/docker.sock"), true));
	OK(engine_is_recordable(WORDS("podman", "--root", "/var/lib/containers/storage"), true));
	OK(!engine_is_recordable(WORDS("docker", "-c", "far"), true));
	OK(!engine_is_recordable(WORDS("docker", "-D"), true));
	OK(!engine_is_recordable(WORDS("docker", "--host=ssh://x"), true));
	OK(!engine_is_recordable(WORDS("docker", "--host=unix:///tmp/x"), true));
	OK(!engine_is_recordable(WORDS("podman", "--root=/x"), true));
	OK(!engine_is_recordable(WORDS("podman", "--runroot", "/x"), true));
}

TEST(engine_variables_of_a_record_are_those_of_the_janitor_or_defaults)
{
	setenv("DOCKER_HOST", "tcp://own:1", 1);
	unsetenv("XDG_DATA_HOME");
	OK(engine_place_is_accepted("DOCKER_HOST=tcp://own:1"));
	OK(engine_place_is_accepted("DOCKER_HOST=unix:///run/docker.sock"));
	OK(engine_place_is_accepted("DOCKER_CONTEXT=far"));
	OK(!engine_place_is_accepted("DOCKER_HOST=tcp://other:1"));
	OK(!engine_place_is_accepted("DOCKER_HOST=ssh://x"));
	OK(!engine_place_is_accepted("DOCKER_CONTEXT=../far"));
	OK(!engine_place_is_accepted("XDG_DATA_HOME=/x"));
	OK(!engine_place_is_accepted("CONTAINERS_CONF=/x"));
	OK(!engine_place_is_accepted("PATH=/x"));
}

TEST(engine_spec_comes_back_as_it_was_written)
{
	char *const words[] = { "/opt/a b/podman", "--root", "/x%y\n", "--log-level=", "", NULL };
	struct engine_spec s;
	char *text;

	setenv("DOCKER_HOST", "unix:///my socket", 1);
	text = engine_spec_write("0123456789abcdef", words);
	OK(!strchr(text, '\n'));
	EQ(engine_spec_read(text, false, &s), 0);
	STREQ(s.label, "0123456789abcdef");
	OK(!s.program);
	OK(strings_have(s.env, "DOCKER_HOST=unix:///my socket"));
	EQ(strings_count(s.words), 5);
	for (int i = 0; i < 5; i++)
		STREQ(s.words[i], words[i]);
	engine_spec_done(&s);
	free(text);
}

/* A directory for PATH in which the name of an engine is a symbolic link. */
static void engine_link(char *dir, const char *name, const char *file)
{
	char path[200];

	OK(mkdtemp(dir));
	setenv("PATH", dir, 1);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	OK(symlink(file, path) == 0);
}

static void engine_unlink(const char *dir, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	OK(unlink(path) == 0 && rmdir(dir) == 0);
}

TEST(engine_spec_is_private_when_a_janitor_must_not_use_it)
{
	char dir[] = "/tmp/killick-engine-XXXXXX", word[1024];
	char *const config[] = { "docker", "--config=/x", NULL }, *const plain[] = { "docker",
										     NULL };
	char *const longer[] = { "docker", word, NULL }, *const none[] = { "podman", NULL };
	struct engine_spec s;
	char *text;

	engine_link(dir, "docker", "/bin/sh");
	text = engine_spec_write("0123456789abcdef", config);
	EQ(text[0], CONTAINER_PRIVATE);
	EQ(engine_spec_read(text, true, &s), -EPERM);
	EQ(engine_spec_read(text, false, &s), 0);
	engine_spec_done(&s);
	free(text);
	memset(word, 'x', sizeof(word) - 1);
	memcpy(word, "--host=", 7);
	word[sizeof(word) - 1] = '\0';
	text = engine_spec_write("0123456789abcdef", longer);
	EQ(text[0], CONTAINER_PRIVATE); /* longer than a record keeps */
	free(text);
	text = engine_spec_write("0123456789abcdef", none);
	EQ(text[0], CONTAINER_PRIVATE); /* no such program */
	free(text);
	text = engine_spec_write("0123456789abcdef", plain);
	OK(text[0] != CONTAINER_PRIVATE);
	free(text);
	engine_unlink(dir, "docker");
}

/* A path in a record is not used. The engine of PATH is, if it is the same file as at the start. */
TEST(engine_spec_of_a_record_uses_only_the_engine_of_the_start)
{
	char dir[] = "/tmp/killick-engine-XXXXXX", text[400], other[400], *file;
	struct engine_spec s;

	engine_link(dir, "docker", "/bin/sh");
	file = realpath("/bin/sh", NULL);
	snprintf(text, sizeof(text), "0123456789abcdef program=%s docker --context=x", file);
	snprintf(other, sizeof(other), "0123456789abcdef program=%s/docker %s/docker", dir, dir);
	EQ(engine_spec_read(text, true, &s), 0);
	STREQ(s.program, file);
	STREQ(s.words[0], "docker");
	engine_spec_done(&s);
	EQ(engine_spec_read(other, true, &s), -EPERM);
	EQ(engine_spec_read("0123456789abcdef docker", true, &s), -EPERM);
	EQ(engine_spec_read("0123456789abcdef program=/bin/true docker", true, &s), -EPERM);
	EQ(engine_spec_read("0123456789abcdef /tmp/nobody/docker -c x", false, &s), 0);
	STREQ(s.words[0], "/tmp/nobody/docker");
	engine_spec_done(&s);
	engine_unlink(dir, "docker");
	free(file);
}

TEST(engine_spec_refuses_other_texts)
{
	static const char *const texts[] = {
		"",
		"docker",
		"0123456789abcde docker",
		"0123456789abcdef",
		"0123456789abcdef ",
		"0123456789abcdef sh",
		"0123456789abcdef %zz",
		"0123456789abcdef docker %",
		"0123456789abcdef docker %00",
		"0123456789abcdefdocker",
		"!",
		"!!0123456789abcdef docker",
		"0123456789ABCDEF docker",
		"0123456789abcdef PATH=/x docker",
	};
	struct engine_spec s;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		EQ(engine_spec_read(texts[i], false, &s), -EINVAL);
}

TEST(engine_program_may_be_writable_for_the_group_of_its_user)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/docker", t_audit.dir);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
	EQ(chmod(path, 0775), 0);
	OK(engine_program_is_trusted(path)); /* umask 002 */
	EQ(chmod(path, 0777), 0);
	OK(!engine_program_is_trusted(path));
	OK(!engine_program_is_trusted(t_audit.dir));
}

TEST(engine_call_leaves_no_zombie_of_a_command_that_was_killed)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	EQ(ENGINE_CALL(WORDS((char *)"sleep"), clock_us() + 50000, &text, "1000"), -ETIMEDOUT);
	EQ(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	EQ(errno, ECHILD);
}
