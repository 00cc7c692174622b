/* fixtures.h - the modes of the zoo that only tests need: servers that attack their keepers,
 * servers that move to another namespace, cgroup or user, and a complete MCP server that breaks the
 * protocol
 * (`mcp`, protocol.h). The modes of `killick zoo` are in src/zoo.
 *
 * Environment: ZOO_SETUID names the set-uid copy that mode `setuid` needs. ZOO_PIDNS is the pid of
 * the init of a pid namespace that modes `setns...` enter. ZOO_PIDS names a file to which `mcp`
 * adds its pid.
 */
#pragma once

#include "zoo/zoo.h"
#include "zoo/zoo_internal.h"

int zoo_unshare(int argc, char **argv); /* sessions.c */
int zoo_cgmove(int argc, char **argv);
int zoo_setuid(int argc, char **argv);
int zoo_lingerer(int argc, char **argv);
int zoo_ptrace(int argc, char **argv);
int zoo_protocol(int argc, char **argv); /* protocol.c */
int zoo_limits(int argc, char **argv);   /* fights.c */
int zoo_limits0(int argc, char **argv);
int zoo_starve(int argc, char **argv);
int zoo_nobytes(int argc, char **argv);
int zoo_idle(int argc, char **argv);
int zoo_seize(int argc, char **argv);
int zoo_lobotomy(int argc, char **argv);
int zoo_steal(int argc, char **argv);
int zoo_cut(int argc, char **argv);
int zoo_lease(int argc, char **argv);
int zoo_heir(int argc, char **argv);
int zoo_norecord(int argc, char **argv);
int zoo_flood(int argc, char **argv);
int zoo_stopboth(int argc, char **argv);
int zoo_stopflood(int argc, char **argv);
int zoo_scopeflood(int argc, char **argv);
int zoo_nopdeath(int argc, char **argv);
int zoo_freeze(int argc, char **argv); /* fights_places.c */
int zoo_freezeboth(int argc, char **argv);
int zoo_freezewatch(int argc, char **argv);
int zoo_freezeabove(int argc, char **argv);
int zoo_embrace(int argc, char **argv);
int zoo_chmodevents(int argc, char **argv);
int zoo_deepcg(int argc, char **argv);
int zoo_setns(int argc, char **argv);
int zoo_setnsout(int argc, char **argv);
int zoo_setnsbare(int argc, char **argv);
int zoo_setnslost(int argc, char **argv);
/* +caller SOCKET LINE...: an orphan with an empty environment that connects to the hub, sends the
 * lines, prints the answers, and keeps the connection. */
int zoo_caller(int argc, char **argv);
/* +descendant SOCKET LINE: 10 times a caller that sends the line, and whose ancestors exit at that
 * moment; prints the answers. */
int zoo_descendant(int argc, char **argv);

/* The keepers of this server: its parent and grandparent. 0: does not exist, not visible, or not
 * called killick. For the server's first process only. */
struct zoo_keepers {
	pid_t hold, watch;
};
struct zoo_keepers zoo_keepers(void); /* fights.c */
/* Find the keepers and start ZOO_FIGHT_CHILDREN children that try to survive: a daemon, and a child
 * in a new session. All are ready on return. */
#define ZOO_FIGHT_CHILDREN 2
void zoo_fight_begin(void);
/* Print on stderr that `what` was refused for process `pid`, with errno. */
void zoo_refused(const char *what, pid_t pid);

/* The directory of the cgroup (v2) of this process; false: none. */
bool zoo_own_cgroup(char *out, size_t size); /* sessions.c */
/* The same, if killick made the cgroup for this server. */
bool zoo_killick_cgroup(char *out, size_t size); /* fights_places.c */
/* Make a cgroup beside `of` and tell the auditor; false: not allowed here. */
bool zoo_sibling_cgroup(const char *of, char *out, size_t size);
/* Write `text` to the file of that name in directory `dir`. */
bool zoo_cgroup_write(const char *dir, const char *file, const char *text);
