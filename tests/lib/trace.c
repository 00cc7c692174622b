/* trace.c - KILLICK_TRACE: each change of a state is one line on stderr, with the id of the tree.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "outpost.h"

#define TEXT 4096

static char trace_file[128];

/* From now on stderr is a file. */
static void catch_stderr(const char *areas)
{
	int fd;

	if (areas)
		setenv("KILLICK_TRACE", areas, 1);
	else
		unsetenv("KILLICK_TRACE");
	snprintf(trace_file, sizeof(trace_file), "%s/trace", t_audit.dir);
	fd = open(trace_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	OK(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	close(fd);
}

/* Append "from -> to; " of every line of a file that holds all these words (NULL: any line). */
static void transitions(const char *file, const char *area, const char *word, char out[TEXT])
{
	FILE *f = fopen(file, "r");
	char line[1024], start[40];
	size_t used = 0;

	OK(f);
	out[0] = '\0';
	snprintf(start, sizeof(start), " %s ", area);
	while (fgets(line, sizeof(line), f)) {
		char *at = strstr(line, ": "), *end;

		if (strncmp(line, "trace ", 6) != 0 || !strstr(line, start) || !at ||
		    (word && !strstr(line, word)))
			continue;
		end = strstr(at, " (");
		at[end ? end - at : (long)strcspn(at, "\n")] = '\0';
		used += (size_t)snprintf(out + used, TEXT - used, "%s; ", at + 2);
		OK(used < TEXT);
	}
	fclose(f);
}

static void expect(const char *file, const char *area, const char *word, const char *wanted)
{
	char said[TEXT];

	transitions(file, area, word, said);
	STREQ(said, wanted);
}

/* How many bytes are in the file. */
static long said(void)
{
	int fd = open(trace_file, O_RDONLY | O_CLOEXEC);
	long size = lseek(fd, 0, SEEK_END);

	close(fd);
	return size;
}

/* Close the session. "tree=ID", by the keeper's report of its only server. */
static void end_and_name(struct killick_session *s, char out[40])
{
	struct killick_report *r = NULL;
	size_t len;
	const char *id;

	EQ(killick_session_close(s, &r, NULL), 0);
	EQ(r->count, 1);
	id = killick_json_find(r->endings[0]->json, strlen(r->endings[0]->json), "tree", &len);
	OK(id && len == 18);
	snprintf(out, 40, "tree=%.16s", id + 1);
	killick_report_free(r);
	killick_session_free(s);
}

static void keep_line(void *ctx, const char *line)
{
	OK(strncmp(line, "trace ", 6) == 0 && !strchr(line, '\n'));
	lab_add(ctx);
}

TEST(a_logger_gets_the_lines_in_place_of_stderr)
{
	struct lab_count lines = LAB_COUNT_INIT;
	struct killick *k;

	catch_stderr("session,server");
	killick_set_logger(keep_line, &lines);
	k = LAB();
	lab_end(lab_session(k, SERVERS({ "zoo" })));
	lab_close(k);
	OK(lab_value(&lines) >= 8);
	EQ(said(), 0);
	killick_set_logger(NULL, NULL);
	lab_close(LAB());
	OK(said() > 0);
}

TEST(trace_prints_every_state_of_a_session)
{
	struct killick_session *s;
	struct killick *k;
	char tree[40], seats[TEXT];

	catch_stderr("all");
	k = LAB();
	s = lab_session(k, SERVERS({ "zoo" }));
	lab_call(s, "zoo", "echo", "{\"text\":\"x\"}", 0, NULL, 0);
	end_and_name(s, tree);
	lab_close(k);
	expect(trace_file, "server", "2 zoo ",
	       "idle -> starting; starting -> handshaking; handshaking -> ready; "
	       "ready -> stopping; stopping -> gone; ");
	expect(trace_file, "server", tree,
	       "starting -> handshaking; handshaking -> ready; ready -> stopping; "
	       "stopping -> gone; ");
	expect(trace_file, "client", NULL,
	       "probing -> initializing; initializing -> ready; ready -> over; ");
	expect(trace_file, "call", tree, "starting -> sent; sent -> starting; starting -> over; ");
	expect(trace_file, "link", "keeper=",
	       "new -> opening; opening -> running; running -> stopping; stopping -> hung-up; "
	       "hung-up -> ended; ");
	expect(trace_file, "link", tree,
	       "opening -> running; running -> stopping; stopping -> hung-up; hung-up -> ended; ");
	expect(trace_file, "session", "session 1 ",
	       "opening -> open; open -> closing; held -> left; left -> over; "
	       "closing -> closed; ");
	expect(trace_file, "session", "runtime", "open -> closing; closing -> closed; ");
	transitions(trace_file, "loop", "guest", seats);
	OK(strncmp(seats, "free -> guest; guest -> free; ", 30) == 0);
}

TEST(trace_prints_the_areas_that_are_named)
{
	struct killick *k;

	catch_stderr("link,,server");
	k = LAB();
	lab_end(lab_session(k, SERVERS({ "zoo" })));
	lab_close(k);
	expect(trace_file, "session", NULL, "");
	expect(trace_file, "client", NULL, "");
	expect(trace_file, "server", "(left)", "ready -> stopping; ");
	expect(trace_file, "link", "(eof)", "running -> stopping; ");
}

TEST(trace_says_why_a_server_is_gone)
{
	struct killick_session *s;
	struct killick *k;
	char ends[TEXT];

	catch_stderr("server");
	k = LAB();
	s = lab_session(k, SERVERS({ "zoo", "dies" }));
	killick_session_close(s, NULL, NULL);
	killick_session_free(s);
	lab_close(k);
	transitions(trace_file, "server", "-> gone (ended: server 'zoo' exited with status 3",
		    ends);
	OK(strlen(ends) > 0);
}

TEST(trace_is_silent_without_the_variable)
{
	struct killick *k;

	catch_stderr(NULL);
	k = LAB();
	lab_end(lab_session(k, SERVERS({ "zoo" })));
	lab_close(k);
	EQ(said(), 0);
}

TEST(trace_names_an_unknown_area_once)
{
	static const char wanted[] = "killick: KILLICK_TRACE: unknown area 'sever'; the areas are ";
	char line[256] = "", next[256];
	FILE *f;

	catch_stderr("sever");
	lab_close(LAB());
	lab_close(LAB());
	f = fopen(trace_file, "r");
	OK(f && fgets(line, sizeof(line), f));
	OK(strncmp(line, wanted, strlen(wanted)) == 0);
	OK(!fgets(next, sizeof(next), f));
	fclose(f);
}

TEST(trace_has_the_same_tree_on_both_sides_of_an_executor, .timeout_ms = 60000)
{
	struct killick_session *s;
	struct outpost o;
	struct killick *k;
	char tree[40];

	catch_stderr("all");
	k = LAB();
	outpost_open(&o, NULL);
	s = outpost_session(k, &o, false, SERVERS({ "zoo", .more = PLACED }));
	end_and_name(s, tree);
	lab_close(k);
	outpost_close(&o);
	expect(trace_file, "environment", "far",
	       "idle -> connecting; connecting -> greeting; greeting -> attached; "
	       "attached -> closing; closing -> idle; ");
	expect(trace_file, "link", "process=k1 ",
	       "waiting -> starting; starting -> running; running -> done; ");
	expect(trace_file, "link", tree, "starting -> running; running -> done; ");
	expect(trace_file, "server", tree,
	       "starting -> handshaking; handshaking -> ready; ready -> stopping; "
	       "stopping -> gone; ");
	expect(o.log, "executor", tree,
	       "starting -> running; running -> exited; exited -> closed; closed -> ending; ");
	expect(o.log, "executor", " connection 1 ",
	       "fresh -> greeted; greeted -> ready; ready -> ended; ");
	expect(o.log, "executor", "owner 2 ",
	       "away -> attached; attached -> away; away -> ended; ");
	expect(o.log, "link", tree,
	       "opening -> running; running -> stopping; stopping -> hung-up; hung-up -> ended; ");
}
