/* zoo_internal.h - functions for the modes of the zoo: bounded forking, the deadline, the MCP
 * server.
 *
 * A mode is a function that builds its tree with zoo_fork, waits until the tree is complete
 * (zoo_await) and then serves (zoo_serve). The processes of one server share state in an anonymous
 * shared mapping; exec drops the mapping, so zoo_again passes the deadline as an argument.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "zoo/zoo.h"

#define ZOO_MAX_LIVE    300
#define ZOO_MAX_FORKS   10000
#define ZOO_LIFE_MS     12000
#define ZOO_LIFE_MAX_MS 20000 /* with ZOO_LIFE_MS in the environment */
#define ZOO_CANNOT      77

enum zoo_eof {
	ZOO_LEAVE, /* return when stdin hangs up, like a well-behaved server */
	ZOO_STAY,  /* stay until the deadline */
};

/* The modes of this system; the last one has no name. */
extern const struct zoo_mode zoo_modes[];
/* Set the bounds of this process: argv as zoo_main got it. Aborts where this is not possible. */
void zoo_begin(const char *mode, int argc, char **argv);

/* Fork, unless the bounds forbid it: then -1. The child has its death timer. */
pid_t zoo_fork(void);
/* The same through raw clone(2) with these flags (no CLONE_VM): the child must not use threads. */
pid_t zoo_clone(unsigned long flags);
/* End this process and decrease the number of live processes. Other processes correct the number
 * for a killed process. */
_Noreturn void zoo_gone(void);
/* Fork a child that runs fn(arg), which should not return. */
pid_t zoo_child(void (*fn)(long arg), long arg);

/* Do nothing until the deadline. Signals do what their disposition says. */
_Noreturn void zoo_linger(void);
bool zoo_expired(void);
int zoo_age_ms(void); /* a clock for differences; its start is arbitrary */
void zoo_nap_us(long us);

/* A child reports that it is ready; the server waits (5 s at most) for `count` children. */
void zoo_ready(void);
void zoo_await(int count);

/* Ignore or default signal `sig`. */
void zoo_ignore(int sig);
void zoo_ignore_all(void);
void zoo_default(int sig);

/* Send the reader of ZOO_FIFO a line, for example a path to clean up. */
void zoo_tell(const char *word, const char *text);

/* Execute this program, or the copy `path` of it when not NULL, as `mode`; argv[0] is `name`. The
 * FIFO stays open. `env` NULL means an empty environment. Returns only on failure. */
void zoo_again(const char *path, const char *name, const char *mode, char *const *env);
/* The command line of zoo_again for others to execute; borrowed, ends with NULL. */
char *const *zoo_again_argv(const char *name, const char *mode);

/* Close stdin, stdout and stderr (or replace them by /dev/null), and all other descriptors except
 * the FIFO. */
void zoo_close_all(void);

/* Speak MCP on stdin and stdout. Returns 0 at end of input when eof is ZOO_LEAVE. */
int zoo_serve(enum zoo_eof eof);
/* Called when notifications/initialized arrives; may be NULL. */
extern void (*zoo_on_initialized)(void);

int zoo_plain(int argc, char **argv); /* misc.c */
int zoo_ignorer(int argc, char **argv);
int zoo_stopped(int argc, char **argv);
int zoo_selfstop(int argc, char **argv);
int zoo_execloop(int argc, char **argv);
int zoo_execstep(int argc, char **argv);
int zoo_holdout(int argc, char **argv);
int zoo_hog(int argc, char **argv);
int zoo_core(int argc, char **argv);
int zoo_exit0(int argc, char **argv);
int zoo_exitleft(int argc, char **argv);
int zoo_noread(int argc, char **argv);
int zoo_bg(int argc, char **argv); /* forks.c */
int zoo_chain(int argc, char **argv);
int zoo_chainsid(int argc, char **argv);
int zoo_chainsid8(int argc, char **argv);
int zoo_bomb(int argc, char **argv);
int zoo_bombsid(int argc, char **argv);
int zoo_cloneparent(int argc, char **argv);
int zoo_daemon(int argc, char **argv); /* daemons.c */
int zoo_nestsub(int argc, char **argv);
int zoo_deadlead(int argc, char **argv); /* threads.c */
int zoo_deadmain(int argc, char **argv);
int zoo_threads(int argc, char **argv);
int zoo_sh(int argc, char **argv); /* launchers.c */
int zoo_npx(int argc, char **argv);
int zoo_npxterm(int argc, char **argv);

void zoo_make_daemon(void); /* daemons.c: one double-forked daemon, in place on return */
