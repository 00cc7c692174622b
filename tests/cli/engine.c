/* engine.c - the command lines of container engines are read as the engines read them. */
#include "cli/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/strings.h"
#include "cli/engine_spec.h"
#include "keeper/container.h"

#define WORDS(...) ((char *const[]){ __VA_ARGS__, NULL })
#define PARSE(c_, ...)                                                                             \
	struct engine_command c_;                                                                  \
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
	OK(!unknown.detach); /* nobody knows whether -d is the value of --new */
	PARSE(cut, "docker", "run", "--name");
	EQ(cut.run, 1);
}

TEST(engine_records_only_options_that_name_no_program)
{
	OK(engine_is_recordable(WORDS("podman", "--root", "/x", "--runroot=/y", "-r"), 5));
	OK(engine_is_recordable(WORDS("docker", "-Htcp://h:1", "-c", "far"), 4));
	OK(engine_is_recordable(WORDS("podman", "--runtime", "runc"), 3));
	OK(!engine_is_recordable(WORDS("podman", "--runtime", "/x/runc"), 3));
	OK(!engine_is_recordable(WORDS("podman", "--root", "x"), 3));
	OK(!engine_is_recordable(WORDS("podman", "--conmon", "x"), 3));
	OK(!engine_is_recordable(WORDS("docker", "--config=/x"), 2));
	OK(!engine_is_recordable(WORDS("docker", "--unheard=x"), 2));
	OK(!engine_is_recordable(WORDS("docker", "rm"), 2));
	OK(!engine_is_recordable(WORDS("docker", "--root"), 2));
}

TEST(engine_spec_comes_back_as_it_was_written)
{
	char *const words[] = { "/opt/a b/podman", "--root", "/x%y\n", "--log-level=", "", NULL };
	struct engine_spec s;
	char *text;

	setenv("DOCKER_HOST", "unix:///my socket", 1);
	text = engine_spec_write("0123456789abcdef", words, 5);
	OK(!strchr(text, '\n'));
	EQ(engine_spec_read(text, false, &s), 0);
	STREQ(s.label, "0123456789abcdef");
	OK(strings_have(s.env, "DOCKER_HOST=unix:///my socket"));
	EQ(strings_count(s.words), 5);
	for (int i = 0; i < 5; i++)
		STREQ(s.words[i], words[i]);
	engine_spec_done(&s);
	free(text);
}

TEST(engine_spec_is_private_when_a_janitor_must_not_use_it)
{
	char *const config[] = { "docker", "--config", "/x", NULL }, *const plain[] = { "docker",
											NULL };
	char word[1024], *const longer[] = { "docker", "-H", word, NULL };
	struct engine_spec s;
	char *text;

	unsetenv("DOCKER_CONFIG");
	text = engine_spec_write("0123456789abcdef", config, 3);
	EQ(text[0], CONTAINER_PRIVATE);
	EQ(engine_spec_read(text, true, &s), -EPERM);
	EQ(engine_spec_read(text, false, &s), 0);
	engine_spec_done(&s);
	free(text);
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	text = engine_spec_write("0123456789abcdef", longer, 3);
	EQ(text[0], CONTAINER_PRIVATE); /* longer than a record keeps */
	free(text);
	text = engine_spec_write("0123456789abcdef", plain, 1);
	OK(text[0] != CONTAINER_PRIVATE);
	free(text);
	setenv("DOCKER_CONFIG", "/x", 1);
	text = engine_spec_write("0123456789abcdef", plain, 1);
	EQ(text[0], CONTAINER_PRIVATE);
	free(text);
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

/* The path of a program that others may have written is not used. */
TEST(engine_spec_of_a_record_uses_the_engine_of_the_path)
{
	struct engine_spec s;

	EQ(engine_spec_read("0123456789abcdef /tmp/nobody/docker -c x", true, &s), 0);
	STREQ(s.words[0], "docker");
	engine_spec_done(&s);
	EQ(engine_spec_read("0123456789abcdef /tmp/nobody/docker -c x", false, &s), 0);
	STREQ(s.words[0], "/tmp/nobody/docker");
	engine_spec_done(&s);
}
