/* demo_part.h - the parts of `killick demo` that run in separate processes.
 *
 *   demo                          counts and draws; a subreaper, so that it gets all orphans
 *   |- killick run -- stage       holds the plain clients: ends with all stray processes
 *   |   `- client - server ...    the left column
 *   `- client - killick run - server ...    the right column
 *
 * stage and client are `killick-more demo-part stage|client`. A client is a minimal MCP client: it
 * starts a server with two pipes, sends initialize and reads the answer. Clients and stage exit
 * when their stdin ends, so none outlives the demo, however the demo ends. All processes are found
 * by DEMO_TAG in their environment.
 */
#pragma once

#include <sys/types.h>

#define DEMO_TAG                                                                                   \
	"KILLICK_DEMO" /* =RUN.stage, RUN.plain.N or RUN.killick.N, N being the number of the      \
			  scene */

int demo_part(int argc, char **argv);

/* Start argv with in_fd and out_fd as stdin and stdout, DEMO_TAG=tag first in its environment, and
 * default signals. Descriptors above 2 must be CLOEXEC. Returns the pid or -errno. */
pid_t demo_spawn(char *const *argv, const char *tag, int in_fd, int out_fd);
