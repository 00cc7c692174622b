/* catalogue.c - what is kept of servers: in memory, in files, and what drops it. */
#include "session/catalogue.h"
#include "session/look.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../t.h"
#include "base/mem.h"

#define LIST(text) ((struct json){ text, sizeof(text) - 1 })

static const struct client_facts facts = { .era = ERA_MODERN,
					   .protocol = "2026-07-28",
					   .info = "{\"name\":\"x\"}",
					   .capabilities = "{\"tools\":{}}",
					   .instructions = "say \"please\"" };

TEST(an_entry_is_kept_until_its_files_change)
{
	struct catalogue c;
	const struct catalogue_entry *e;

	catalogue_init(&c, NULL);
	OK(!catalogue_get(&c, "k", "1"));
	OK(!catalogue_put_list(&c, "k", CATALOGUE_TOOLS, LIST("{}"))); /* there is no entry */
	catalogue_put(&c, "k", "1", &facts);
	OK(!catalogue_put_list(&c, "k", CATALOGUE_TOOLS, LIST("{\"tools\":[]}")));
	OK(!catalogue_put_list(&c, "k", CATALOGUE_TOOLS, LIST("{\"tools\":[]}")));
	OK(catalogue_put_list(&c, "k", CATALOGUE_TOOLS, LIST("{\"tools\":[1]}")));
	catalogue_put_asked(&c, "k");
	catalogue_put(&c, "k", "1", &facts); /* started again: lists and `asked` stay */
	e = catalogue_get(&c, "k", "1");
	OK(e && e->era == ERA_MODERN && e->asked);
	STREQ(e->info, facts.info);
	STREQ(e->lists[CATALOGUE_TOOLS].at, "{\"tools\":[1]}");
	OK(!e->lists[CATALOGUE_PROMPTS].at);
	catalogue_drop_list(&c, "k", CATALOGUE_TOOLS);
	OK(!catalogue_get(&c, "k", "1")->lists[CATALOGUE_TOOLS].at);
	OK(!catalogue_get(&c, "k", "2"));
	EQ(c.count, 0);
	EQ(c.bytes, 0);
	catalogue_done(&c);
}

TEST(the_least_recently_used_entry_goes_first)
{
	struct catalogue c;
	char key[32];

	catalogue_init(&c, NULL);
	for (unsigned i = 0; i < CATALOGUE_MAX + 1; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		catalogue_put(&c, key, "", &facts);
		OK(catalogue_get(&c, "k0", "")); /* used each time */
	}
	EQ(c.count, CATALOGUE_MAX);
	OK(!catalogue_get(&c, "k1", ""));
	OK(catalogue_get(&c, "k2", ""));
	catalogue_done(&c);
}

TEST(memory_is_bounded_by_bytes)
{
	size_t len = CATALOGUE_LIST_MAX;
	char *big = mem_grow(NULL, len + 1, 1), key[32];
	struct catalogue c;

	memset(big, ' ', len + 1);
	catalogue_init(&c, NULL);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		catalogue_put(&c, key, "", &facts);
		catalogue_put_list(&c, key, CATALOGUE_TOOLS, (struct json){ big, len });
		OK(c.bytes <= CATALOGUE_BYTES);
	}
	OK(!catalogue_get(&c, "k0", "") && catalogue_get(&c, "k9", ""));
	catalogue_put_list(&c, "k9", CATALOGUE_PROMPTS, (struct json){ big, len + 1 });
	OK(!catalogue_get(&c, "k9", "")->lists[CATALOGUE_PROMPTS].at); /* too long to be kept */
	catalogue_done(&c);
	free(big);
}

TEST(the_next_program_reads_the_files)
{
	struct catalogue c;
	struct loop *loop = NULL;
	struct err err = ERR_INIT;
	const struct catalogue_entry *e;
	char path[512];
	int fd;

	EQ(loop_open(&loop, NULL, NULL, &err), 0);
	loop_lock(loop);
	catalogue_init(&c, t_audit.dir);
	catalogue_use_files(&c, loop, NULL);
	catalogue_put(&c, "k", "s", &facts);
	catalogue_put_list(&c, "k", CATALOGUE_PROMPTS, LIST("{\"prompts\":[{\"name\":\"p\"}]}"));
	catalogue_put_asked(&c, "k");
	catalogue_done(&c); /* writes */

	catalogue_init(&c, t_audit.dir);
	OK(!catalogue_get(&c, "k", "s")); /* a host does not read files */
	catalogue_use_files(&c, loop, NULL);
	e = catalogue_get(&c, "k", "s");
	OK(e && e->era == ERA_MODERN && e->asked);
	STREQ(e->protocol, facts.protocol);
	STREQ(e->capabilities, facts.capabilities);
	STREQ(e->instructions, facts.instructions);
	STREQ(e->lists[CATALOGUE_PROMPTS].at, "{\"prompts\":[{\"name\":\"p\"}]}");
	OK(!e->lists[CATALOGUE_TOOLS].at);
	catalogue_done(&c);

	catalogue_init(&c, t_audit.dir);
	catalogue_use_files(&c, loop, NULL);
	OK(!catalogue_get(&c, "k", "other")); /* the program has changed */
	snprintf(path, sizeof(path), "%s/catalogue/k", t_audit.dir);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	OK(fd >= 0 && write(fd, "{\"form\":1,", 10) == 10);
	close(fd);
	OK(!catalogue_get(&c, "k", "s"));
	catalogue_done(&c);
	loop_unlock(loop);
	loop_close(loop);
}

TEST(an_entry_gets_old_until_its_server_is_ready_again)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	struct catalogue c;
	struct loop *loop = NULL;
	struct err err = ERR_INIT;
	const struct catalogue_entry *e;
	char path[512];

	EQ(loop_open(&loop, NULL, NULL, &err), 0);
	loop_lock(loop);
	catalogue_init(&c, t_audit.dir);
	catalogue_use_files(&c, loop, NULL);
	catalogue_put(&c, "k", "s", &facts);
	OK(!catalogue_is_old(catalogue_get(&c, "k", "s")));
	catalogue_done(&c); /* writes */
	snprintf(path, sizeof(path), "%s/catalogue/k", t_audit.dir);
	EQ(utimensat(AT_FDCWD, path, long_ago, 0), 0);

	catalogue_init(&c, t_audit.dir);
	catalogue_use_files(&c, loop, NULL);
	e = catalogue_get(&c, "k", "s");
	OK(e);
	OK(catalogue_is_old(e));
	catalogue_put(&c, "k", "s", &facts); /* the same facts: the file gets the time */
	OK(!catalogue_is_old(e));
	catalogue_done(&c);

	catalogue_init(&c, t_audit.dir);
	catalogue_use_files(&c, loop, NULL);
	OK(!catalogue_is_old(catalogue_get(&c, "k", "s")));
	catalogue_done(&c);
	loop_unlock(loop);
	loop_close(loop);
}

TEST(a_stamp_changes_with_the_program_and_its_script)
{
	char script[512];
	struct look_result a, b;
	char *argv[] = { "sh", "-x", "nothing", script, NULL }, *envp[] = { "PATH=/bin", NULL };
	struct recipe r = { .argv = argv, .envp = envp };
	int fd;

	snprintf(script, sizeof(script), "%s/script", t_audit.dir);
	look_now(&r, &a);
	EQ(strlen(a.stamp), CATALOGUE_STAMP_SIZE - 1);
	fd = open(script, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	OK(fd >= 0);
	look_now(&r, &b);
	OK(strcmp(a.stamp, b.stamp) != 0);
	look_now(&r, &a);
	STREQ(a.stamp, b.stamp);
	EQ(write(fd, "x", 1), 1);
	close(fd);
	look_now(&r, &b);
	OK(strcmp(a.stamp, b.stamp) != 0);
	argv[0] = "ls";
	look_now(&r, &a);
	OK(strcmp(a.stamp, b.stamp) != 0);
	r.environment = "far";
	look_now(&r, &a);
	STREQ(a.stamp, "");
}

/* A new user, or XDG_CACHE_HOME names a directory that is missing. */
TEST(missing_parents_of_the_files_are_made_for_this_user_alone)
{
	static const char *const made[] = { "home", "home/.cache", "home/.cache/killick",
					    "home/.cache/killick/catalogue" };
	struct catalogue c;
	struct loop *loop = NULL;
	struct err err = ERR_INIT;
	struct stat st;
	char path[512];

	EQ(loop_open(&loop, NULL, NULL, &err), 0);
	loop_lock(loop);
	snprintf(path, sizeof(path), "%s/%s", t_audit.dir, made[2]);
	catalogue_init(&c, path);
	catalogue_use_files(&c, loop, NULL);
	catalogue_put(&c, "k", "s", &facts);
	catalogue_done(&c); /* writes */
	catalogue_init(&c, path);
	catalogue_use_files(&c, loop, NULL);
	OK(catalogue_get(&c, "k", "s"));
	catalogue_done(&c);
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		snprintf(path, sizeof(path), "%s/%s", t_audit.dir, made[i]);
		EQ(stat(path, &st), 0);
		EQ(st.st_mode & 07777, 0700);
	}
	loop_unlock(loop);
	loop_close(loop);
}

static bool catalogue_files_have(struct loop *loop, const char *key)
{
	struct catalogue c;
	bool has;

	catalogue_init(&c, t_audit.dir);
	catalogue_use_files(&c, loop, NULL);
	has = catalogue_get(&c, key, "s") != NULL;
	catalogue_done(&c);
	return has;
}

/* Another user could have put the text there: the text decides which tools a session sees. */
TEST(files_that_others_could_have_written_are_not_read)
{
	struct catalogue c;
	struct loop *loop = NULL;
	struct err err = ERR_INIT;
	char path[512], link[512];

	EQ(loop_open(&loop, NULL, NULL, &err), 0);
	loop_lock(loop);
	catalogue_init(&c, t_audit.dir);
	catalogue_use_files(&c, loop, NULL);
	catalogue_put(&c, "k", "s", &facts);
	catalogue_done(&c); /* writes */
	snprintf(path, sizeof(path), "%s/catalogue/k", t_audit.dir);
	OK(catalogue_files_have(loop, "k"));
	EQ(chmod(path, 0644), 0);
	OK(catalogue_files_have(loop, "k"));
	EQ(chmod(path, 0602), 0);
	OK(!catalogue_files_have(loop, "k"));
	EQ(chmod(path, 0620), 0);
	OK(!catalogue_files_have(loop, "k"));
	EQ(chmod(path, 0600), 0);
	if (geteuid() == 0) {
		EQ(chown(path, 65534, 65534), 0);
		OK(!catalogue_files_have(loop, "k"));
		EQ(chown(path, 0, 0), 0);
	}
	OK(catalogue_files_have(loop, "k"));
	snprintf(link, sizeof(link), "%s/target", t_audit.dir);
	EQ(rename(path, link), 0);
	EQ(symlink(link, path), 0);
	OK(!catalogue_files_have(loop, "k"));
	EQ(unlink(path), 0);
	EQ(mkfifo(path, 0600), 0); /* without a writer */
	OK(!catalogue_files_have(loop, "k"));
	loop_unlock(loop);
	loop_close(loop);
}
