/* sizes.c - structs of hosts that were compiled with an older or a newer killick.h.
 *
 * An older host's struct ends early. The bytes behind it are the host's own, so they are on a page
 * that cannot be read. A newer host's struct has members behind those that the library knows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab.h"

#define MORE 24 /* bytes of members that the library does not know */

/* A copy of the first len bytes of a struct, right before a page that cannot be read. */
static void *at_page_end(const void *from, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(map != MAP_FAILED);
	EQ(mprotect(map + page, page, PROT_NONE), 0);
	return memcpy(map + page - len, from, len);
}

/* The same struct of a host that knows `len` bytes of it. */
static void *sized(const void *from, size_t known, size_t len)
{
	char *copy = calloc(1, known + MORE), *at;

	OK(copy);
	memcpy(copy, from, known);
	memcpy(copy, &len, sizeof(len));
	at = at_page_end(copy, len);
	free(copy);
	return at;
}

TEST(the_header_and_the_library_are_of_one_version)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d.%d", KILLICK_VERSION_MAJOR, KILLICK_VERSION_MINOR,
		 KILLICK_VERSION_PATCH);
	STREQ(text, KILLICK_VERSION_STRING);
	STREQ(text, killick_version());
	EQ(KILLICK_VERSION_NUMBER,
	   KILLICK_VERSION_MAJOR * 1000000 + KILLICK_VERSION_MINOR * 1000 + KILLICK_VERSION_PATCH);
}

TEST(shorter_structs_of_an_older_host_work)
{
	struct killick_options o = KILLICK_OPTIONS(.keeper = t_program("KILLICK", "build/killick"));
	struct killick_request ping = KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo");
	struct killick_session_options so = KILLICK_SESSION_OPTIONS();
	char *config = lab_config(SERVERS({ "zoo" }));
	struct killick_session *s = NULL;
	struct killick_error e = { 0 };
	struct killick *k = NULL;

	EQ(killick_open(sized(&o, sizeof(o), offsetof(struct killick_options, dispatch)), &k, &e),
	   0);
	so.config = config;
	EQ(killick_session_open(
		   k, sized(&so, sizeof(so), offsetof(struct killick_session_options, only)), &s,
		   &e),
	   0);
	EQ(killick_do(
		   s,
		   sized(&ping, sizeof(ping), offsetof(struct killick_request, progress_extends)),
		   NULL),
	   0);
	free(config);
	lab_end(s);
	lab_close(k);
}

TEST(longer_structs_of_a_newer_host_work_while_the_new_members_are_zero)
{
	struct killick_options o = KILLICK_OPTIONS(.keeper = t_program("KILLICK", "build/killick"));
	struct killick_request ping = KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo");
	struct killick_handlers h = KILLICK_HANDLERS();
	struct killick_session_options so = KILLICK_SESSION_OPTIONS();
	char *config = lab_config(SERVERS({ "zoo" }));
	struct killick_session *s = NULL;
	struct killick_error e = { 0 };
	struct killick *k = NULL;

	EQ(killick_open(sized(&o, sizeof(o), sizeof(o) + MORE), &k, &e), 0);
	so.config = config;
	so.handlers = sized(&h, sizeof(h), sizeof(h) + MORE);
	EQ(killick_session_open(k, sized(&so, sizeof(so), sizeof(so) + MORE), &s, &e), 0);
	EQ(killick_do(s, sized(&ping, sizeof(ping), sizeof(ping) + MORE), NULL), 0);
	free(config);
	lab_end(s);
	lab_close(k);
}

TEST(a_member_that_the_library_does_not_know_is_refused_unless_it_is_zero)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_options o = KILLICK_OPTIONS();
	struct killick_session_options so =
		KILLICK_SESSION_OPTIONS(.config = "{\"mcpServers\":{}}");
	struct killick_handlers h = KILLICK_HANDLERS();
	struct killick_request ping = KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo");
	struct killick_session *none = NULL;
	struct killick *other = NULL;
	struct killick_result *r = NULL;
	struct killick_error e = { 0 };
	char *longer;

	longer = sized(&o, sizeof(o), sizeof(o) + MORE);
	longer[sizeof(o) + MORE - 1] = 1;
	EQ(killick_open((void *)longer, &other, &e), KILLICK_ERR_USAGE);
	OK(!other && strstr(e.text, "killick_options") && strstr(e.text, killick_version()));

	longer = sized(&so, sizeof(so), sizeof(so) + MORE);
	longer[sizeof(so)] = 1;
	EQ(killick_session_open(k, (void *)longer, &none, &e), KILLICK_ERR_USAGE);
	OK(!none && strstr(e.text, "killick_session_options"));

	longer = sized(&h, sizeof(h), sizeof(h) + MORE);
	longer[sizeof(h) + 3] = 1;
	so.handlers = (void *)longer;
	EQ(killick_session_open(k, &so, &none, &e), KILLICK_ERR_USAGE);
	OK(!none && strstr(e.text, "killick_handlers"));

	longer = sized(&ping, sizeof(ping), sizeof(ping) + MORE);
	longer[sizeof(ping) + 8] = 1;
	EQ(killick_do(s, (void *)longer, &r), KILLICK_ERR_USAGE);
	OK(strstr(killick_result_error(r), "killick_request"));
	killick_result_free(r);
	lab_end(s);
	lab_close(k);
}

TEST(a_size_that_was_not_set_is_refused_with_a_sentence)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" })), *none = NULL;
	struct killick_session_options so = { .config = "{\"mcpServers\":{}}" };
	struct killick_options o = { .keeper = NULL };
	struct killick_request ping = { .op = KILLICK_PING, .server = "zoo" };
	struct killick_call *c = NULL;
	struct killick_error e = { 0 };
	struct killick *other = NULL;

	EQ(killick_open(&o, &other, &e), KILLICK_ERR_USAGE);
	OK(strstr(e.text, "KILLICK_OPTIONS("));
	EQ(killick_session_open(k, &so, &none, &e), KILLICK_ERR_USAGE);
	OK(strstr(e.text, "KILLICK_SESSION_OPTIONS("));
	so.size = SIZE_MAX; /* never read that far */
	EQ(killick_session_open(k, &so, &none, &e), KILLICK_ERR_USAGE);
	EQ(killick_do(s, &ping, NULL), KILLICK_ERR_USAGE);
	EQ(killick_start(s, &ping, &c, NULL), KILLICK_ERR_USAGE);
	OK(!other && !none && !c);
	lab_end(s);
	lab_close(k);
}
