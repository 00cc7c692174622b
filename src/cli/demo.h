/* demo.h - the part of `killick demo` that each operating system has in its own way.
 *
 * demo.c plays the scenes and counts; demo_view.h draws. The functions below start, kill and find
 * processes: linux/demo.c and windows/demo.c. The functions that count share no code with killick.
 *
 * Life: demo_open -> for each scene demo_start, demo_look ..., demo_kill, demo_count, demo_look ...
 * -> demo_close. Threads: the first one.  Blocking: demo_start, demo_close.
 */
#pragma once

#include "base/err.h"
#include "cli/demo_view.h"

#define DEMO_HELLO                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"                     \
	"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"                                  \
	"\"clientInfo\":{\"name\":\"killick-demo\",\"version\":\"1\"}}}\n"
#define DEMO_INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

/* what the help of every system begins and ends with; `how` says how clients are killed */
#define DEMO_HELP(how, net)                                                                        \
	"usage: killick demo\n"                                                                    \
	"\n"                                                                                       \
	"Start five hostile MCP servers, each under a plain client and under\n"                    \
	"`killick run`. Kill both clients with " how ". Show side by side which\n"                 \
	"processes are left. Takes about eight seconds; needs no network, npm or root.\n"          \
	"The plain clients run inside " net ", which ends the processes\n"                         \
	"that they leave. The last line counts the survivors on killick's side.\n"                 \
	"\n"                                                                                       \
	"Exit status: 0 no process survived; 75 a process survived; 69 the demo could\n"           \
	"not run, for example because killick was not found; 64 usage.\n"

extern struct scene demo_scenes[]; /* demo.c fills in the results */
extern const size_t demo_scene_count;
extern const char demo_kill_name[]; /* "SIGKILL" */
extern const char demo_net[];       /* what ends the processes of the plain clients */

/* Find the programs, and make ready to start clients. From now on a request of the user to end does
 * not end the program. On failure demo_close must be called all the same. */
int demo_open(struct err *e);

/* Start the server of a scene under both clients, and wait until both servers have answered
 * initialize. -EINTR: the user asks to end. On failure some processes may run. */
int demo_start(size_t number, const struct scene *s, struct err *e);

/* Find the processes of both sides of this scene. */
void demo_look(size_t number, struct side sides[SIDES]);

/* Is this process the server? The first process of the zoo that is not a launcher is the server. */
bool demo_is_server(const char *args);

/* Kill both clients. False: the plain side is gone. */
bool demo_kill(void);

/* How many processes are left on killick's side of this scene, including those of killick? */
size_t demo_count(size_t number, struct side sides[SIDES]);

/* Has the user asked to end the demo, or has nobody an interest in its output? */
bool demo_should_stop(void);

/* End all processes that the demo has started. Returns how many are left. */
size_t demo_close(void);

/* After a request of the user to end: end this program by it, or return the exit status. 0: there
 * was no such request. */
int demo_end_as_asked(void);
