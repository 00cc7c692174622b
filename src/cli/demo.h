/* demo.h - the parts of `killick demo` that run in processes of their own.
 *
 *   demo                          counts, draws; a subreaper, so that it sees the end of everything
 *   |- killick run -- stage       a killick of its own around everything plain: its end is the end
 * of all strays |   `- client - server ...    the left column
 *   `- client - killick run - server ...    the right column
 *
 * stage and client are `killick-more demo-part stage|client`. A client is what any MCP client is at
 * its smallest: it starts a server with two pipes, sends initialize and reads the answer. Clients
 * and stage leave when their stdin ends, so none outlives the demo, whatever ends that. All are
 * found again by DEMO_TAG in their environment.
 */
#pragma once

#include <sys/types.h>

#define DEMO_TAG                                                                                   \
	"KILLICK_DEMO" /* =RUN.stage, RUN.plain.N or RUN.killick.N, N being the number of the      \
			  scene */

int demo_part(int argc, char **argv);

/* Start argv with these as stdin and stdout, DEMO_TAG=tag first in its environment, default
 * signals. Descriptors beyond 2 must be CLOEXEC. Returns the pid or -errno. */
pid_t demo_spawn(char *const *argv, const char *tag, int in_fd, int out_fd);
