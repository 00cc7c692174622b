/* manual.c - runs the examples of killick-hub(7): each line that begins with ">" is sent to a hub,
 * and the next line that begins with "<" is compared with the answer.
 *
 * In an answer N stands for a number, TEXT for a string, LIST for an array, ... for anything up to
 * the end of the object. The hub finds `zoo` in its PATH.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mate.h"

/* The end of the JSON value at `at`. */
static const char *skip_value(const char *at)
{
	int depth = 0;

	do {
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\';
			at++;
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			depth--;
			at++;
		} else if (depth) {
			at++;
		} else {
			at += strcspn(at, ",}]");
		}
	} while (depth > 0 && *at);
	return at;
}

/* Does the answer match the pattern? Returns the place in the answer where it does not. */
static const char *match(const char *pattern, const char *answer)
{
	while (*pattern) {
		if (strncmp(pattern, "...", 3) == 0 || strncmp(pattern, ",...", 4) == 0) {
			pattern += *pattern == ',' ? 4 : 3; /* to the end of this object */
			while (*answer && *answer != '}')
				answer = strchr(",:", *answer) ? answer + 1 : skip_value(answer);
			continue;
		}
		if (strncmp(pattern, "TEXT", 4) == 0 && *answer == '"') {
			pattern += 4;
			answer = skip_value(answer);
		} else if (strncmp(pattern, "LIST", 4) == 0 && *answer == '[') {
			pattern += 4;
			answer = skip_value(answer);
		} else if (*pattern == 'N' && (isdigit((unsigned char)*answer) || *answer == '-')) {
			pattern++;
			answer += strspn(answer, "-+.0123456789eE");
		} else if (*pattern == *answer) {
			pattern++;
			answer++;
		} else {
			return answer;
		}
	}
	return *answer ? answer : NULL;
}

/* roff writes a backslash as \e and a dash of code as \-. */
static void unroff(char *line)
{
	char *to = line;

	for (const char *from = line; *from && *from != '\n'; from++) {
		if (from[0] == '\\' && from[1] == 'e') {
			*to++ = '\\';
			from++;
		} else if (from[0] == '\\' && from[1] == '-') {
			*to++ = '-';
			from++;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* Send the request of an example. That of session.attach goes to a connection of its own, with the
 * descriptor of a client that has closed its side. */
static void say(struct control *c, const char *request, bool attach)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} u = { .head = { .cmsg_len = CMSG_LEN(2 * sizeof(int)),
			  .cmsg_level = SOL_SOCKET,
			  .cmsg_type = SCM_RIGHTS } };
	struct iovec v[] = { { (void *)request, strlen(request) }, { "\n", 1 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	int pair[2], fds[2];

	if (attach) {
		OK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
		fds[0] = fds[1] = pair[0];
		memcpy(CMSG_DATA(&u.head), fds, sizeof(fds));
		m.msg_control = &u;
		m.msg_controllen = sizeof(u);
	}
	EQ(sendmsg(c->fd, &m, MSG_NOSIGNAL), strlen(request) + 1);
	if (attach) {
		close(pair[0]);
		close(pair[1]);
	}
}

/* The next line that is an answer with this id (expected: "id" in the pattern), or an event. */
static void expect(struct control *c, const char *pattern)
{
	const char *id = strstr(pattern, "\"id\":");
	struct span line = id ? control_wait(c, atol(id + 5)) : control_note(c);
	char *answer = strndup(line.at, line.len);
	const char *differs = match(pattern, answer);

	if (differs)
		FAIL("the manual says %s\nthe hub says %s\nwhich differs at %.60s", pattern, answer,
		     differs);
	free(answer);
}

TEST(the_examples_of_the_manual_are_true, .timeout_ms = 60000)
{
	const char *page = t_program("MANUAL", "docs/killick-hub.7");
	char *line = NULL, path[160], link[200];
	struct control c, other = { .fd = -1 }, *now = &c;
	size_t room = 0, asked = 0, answered = 0;
	FILE *f = fopen(page, "re");

	OK(f);
	snprintf(path, sizeof(path), "%s/bin", t_audit.dir);
	OK(!mkdir(path, 0700));
	snprintf(link, sizeof(link), "%s/zoo", path);
	OK(!symlink(t_program("ZOO", "build/tests/zoo/killick-zoo"), link));
	setenv("PATH", path, 1);
	mate_hub_start();
	control_open(&c);
	while (getline(&line, &room, f) > 0) {
		unroff(line);
		if (strncmp(line, "> ", 2) == 0) {
			bool attach = strstr(line, "\"session.attach\"") != NULL;

			if (attach)
				control_open(&other);
			now = attach ? &other : &c;
			t_note("%.110s", line);
			say(now, line + 2, attach);
			asked++;
		} else if (strncmp(line, "< ", 2) == 0) {
			expect(now, line + 2);
			answered++;
		}
	}
	EQ(asked, 34);
	EQ(answered, 39);
	free(line);
	fclose(f);
	control_close(&c);
	control_close(&other);
	mate_reap(); /* the last example ends the hub */
}
