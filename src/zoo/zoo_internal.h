/* zoo_internal.h - what the modes of the zoo share: bounded forking, the deadline, the MCP speaker.
 *
 * A mode is a function that builds its tree with zoo_fork, waits until the tree stands (zoo_await)
 * and then serves (zoo_serve). State that the processes of one server share lies in one anonymous
 * shared mapping; it ends at exec, which is why what is executed again (zoo_again) gets its
 * deadline as an argument.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define ZOO_MAX_LIVE    300
#define ZOO_MAX_FORKS   10000
#define ZOO_LIFE_MS     12000
#define ZOO_LIFE_MAX_MS 20000 /* with ZOO_LIFE_MS in the environment */
#define ZOO_CANNOT      77

enum zoo_eof {
	ZOO_LEAVE, /* stdin hung up: return, as a good server does */
	ZOO_STAY,  /* stay until the deadline */
};

/* Fork, unless the bounds forbid it: then -1. The child has its death timer. */
pid_t zoo_fork(void);
/* The same through raw clone(2) with these flags (no CLONE_VM): the child must not use threads. */
pid_t zoo_clone(unsigned long flags);
/* End this process and give its place back. A killed process' place is found by others. */
_Noreturn void zoo_gone(void);
/* Fork a child that runs fn(arg), which should not return. */
pid_t zoo_child(void (*fn)(long arg), long arg);

/* Do nothing until the deadline. Signals do what their disposition says. */
_Noreturn void zoo_linger(void);
bool zoo_expired(void);
int zoo_age_ms(void); /* a clock that runs; its zero means nothing */
void zoo_nap_us(long us);

/* A child says it is in place; the server waits (5 s at most) for `count` of them. */
void zoo_ready(void);
void zoo_await(int count);

/* Ignore or default signal `sig`. */
void zoo_ignore(int sig);
void zoo_ignore_all(void);
void zoo_default(int sig);

/* Tell the reader of ZOO_FIFO a line, e.g. of something to clean up. */
void zoo_tell(const char *word, const char *text);

/* Execute this program, or the copy `path` of it when not NULL, as `mode`; argv[0] is `name`. The
 * FIFO stays open. `env` NULL means an empty environment. Returns only on failure. */
void zoo_again(const char *path, const char *name, const char *mode, char *const *env);
/* The command line of zoo_again for others to execute; borrowed, ends with NULL. */
char *const *zoo_again_argv(const char *name, const char *mode);

/* Close stdin, stdout and stderr (or put /dev/null there), and everything else but the FIFO. */
void zoo_close_all(void);

/* Speak MCP on stdin and stdout. Returns 0 at end of input when eof is ZOO_LEAVE. */
int zoo_serve(enum zoo_eof eof);
/* What to do when notifications/initialized arrives; NULL: nothing. */
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
