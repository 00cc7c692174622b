/* killick.h - sessions with MCP servers that cannot outlive their owner.
 *
 * On a runtime (struct killick) a program opens sessions; a session is a set of stdio MCP servers
 * made from a config. A keeper, a small program, holds each server. The server and every process
 * that the server ever started are ended when the session closes, when the program ends (exit,
 * crash, SIGKILL, exec) and when the keeper itself is killed.
 *
 *	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.config_file = "mcp.json");
 *	struct killick *k;
 *	struct killick_session *s;
 *	struct killick_result *r;
 *	struct killick_error e;
 *
 *	if (killick_open(NULL, &k, &e) || killick_session_open(k, &options, &s, &e))
 *		die(e.text);
 *	killick_call_tool(s, "files", "read_file", "{\"path\":\"/etc/motd\"}", &r);
 *	puts(killick_result_json(r, NULL));
 *	killick_result_free(r);
 *	killick_free(k);		// closes the session, proves that its servers are gone
 *
 * Threads: every function may be called from any thread. A runtime has a thread for the timers:
 * this thread ends calls that timed out, sends heartbeats and closes servers, and never runs code
 * of the host. A second thread runs the callbacks. The first function that is given a callback
 * starts the second thread; a program that uses only blocking calls never has this thread.
 *
 * Callbacks: on_event, on_ask, on_progress, on_done and the `done` of the _start functions. They
 *run on the runtime's callback thread or, with KILLICK_DISPATCH_HOST, inside killick_dispatch();
 *without any lock of the library; one at a time and in order, over all sessions of the runtime. So
 *a callback that blocks delays the other callbacks of its runtime, and nothing else: deadlines,
 *heartbeats, leases, blocking calls and closes go on. A language that cannot give callbacks to C
 *uses KILLICK_DISPATCH_PULL and fetches items with killick_next() instead.
 *
 * Inside a callback every function may be called except the functions that wait: killick_close,
 * killick_session_open, _refresh and _close, killick_do, killick_wait and killick_call_tool fail
 * with KILLICK_ERR_USAGE. The next callbacks would have to wait as well, and the answer may depend
 * on one of these callbacks (on_ask). Use the _start functions. killick_free does nothing in a
 * callback.
 *
 * On the callback thread all signals are blocked, except the signals that a fault raises (SIGSEGV
 * and the like). fork() is allowed; the child inherits the signal mask, and must exec or _exit
 * before the callback returns (otherwise the child is ended with status 70).
 *
 * ctx: the ctx of a request is in use until on_done has returned or, without on_done, until
 * killick_do or killick_wait has returned. The ctx of a `done` is in use until `done` has returned.
 * on_done and `done` are called exactly once, also after a close, at the latest by killick_free.
 * The ctx of a session's handlers is in use until killick_session_close has returned KILLICK_OK.
 *
 * Time: every wait has a deadline, given or default; no server can hang a call or a close.
 *
 * The host: no signal handlers, no SIGCHLD, no subreaper, no atexit, no environment change, no
 * output (but see killick_set_logger). After fork() the child must not use the handles: every call
 *fails with KILLICK_ERR_FORKED, and the _free functions leave runtimes, sessions and calls alone
 *(results, reports and statuses are freed); the parent's servers are not disturbed.
 *
 * Descriptors: the descriptors of the runtime are close-on-exec, and the host must not close them.
 * If the host closes one (close_range(), closefrom(), a number closed twice) the library notices
 * before it writes: a descriptor that the host has opened under the same number meanwhile is
 * neither written to nor closed. The keepers end the servers of the closed descriptors; calls fail
 * with KILLICK_ERR_SYSTEM or KILLICK_ERR_EXITED and a text that names the cause; the ending has no
 * proof. Closes and killick_free return in time, and the runtime can be used again. A call that
 * another thread waits in at that moment may not return.
 *
 * Memory: no server can end the program by sending large messages. When there is no memory for a
 * message, its request fails (KILLICK_ERR_SYSTEM, KILLICK_ERR_PROTOCOL), an event is dropped, an
 * ask gets no answer of the host or is dropped, and a warning reports the loss; the session goes on. When there is no
 * memory for less than 64 KiB, or for an object that the program itself asked for (a status, a
 * session), abort() ends the program, after one line on stderr. The keepers then end the servers.
 */
#ifndef KILLICK_H
#define KILLICK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On Windows a program that links the static library, not the DLL, defines KILLICK_STATIC
 * (`pkg-config --variable=static_cflags libkillick`).
 * KILLICK_EXPORTS is defined while the library itself is compiled. */
#if defined(_WIN32) && defined(KILLICK_EXPORTS)
#define KILLICK_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(KILLICK_STATIC)
#define KILLICK_API __declspec(dllimport)
#elif !defined(_WIN32) && defined(__GNUC__)
#define KILLICK_API __attribute__((visibility("default")))
#else
#define KILLICK_API
#endif

/* --- versions --- */

/* The version of this header. killick_version() returns the version of the library in use, which
 * may be newer. */
#define KILLICK_VERSION_MAJOR  0
#define KILLICK_VERSION_MINOR  2
#define KILLICK_VERSION_PATCH  0
#define KILLICK_VERSION_STRING "0.2.0"
/* For #if: 0.2.0 is 2000. */
#define KILLICK_VERSION_NUMBER                                                                     \
	(KILLICK_VERSION_MAJOR * 1000000 + KILLICK_VERSION_MINOR * 1000 + KILLICK_VERSION_PATCH)

/* Structs that the host fills in (killick_options, killick_session_options, killick_handlers,
 * killick_request) begin with their size. Later versions add members at the end; the value zero
 * keeps the behaviour of older versions. The size tells the library how many members the host
 * knows, so programs that were compiled with an older header keep working. A host compiled with
 * a newer header works with an older library as long as the members that the library does not know
 * are zero; otherwise the function fails with KILLICK_ERR_USAGE and a sentence.
 *
 * The macros below set the size, and members that are not named are zero:
 *
 *	killick_do(s, &KILLICK_REQUEST(.op = KILLICK_PING, .server = "files"), &r);
 *
 * C++ has no such expressions: killick_sized<killick_request>() returns a struct with its size set.
 * Other languages set the whole struct to zero, then `size` to its sizeof. A size of 0 is
 * KILLICK_ERR_USAGE, so that a forgotten size is noticed at once.
 *
 * Structs that the library fills in grow at the end as well. They are handed out by pointer only;
 * a host that copies one copies the members that the host knows. */
#define KILLICK_OPTIONS(...)         KILLICK_SIZED(killick_options, __VA_ARGS__)
#define KILLICK_SESSION_OPTIONS(...) KILLICK_SIZED(killick_session_options, __VA_ARGS__)
#define KILLICK_HANDLERS(...)        KILLICK_SIZED(killick_handlers, __VA_ARGS__)
#define KILLICK_REQUEST(...)         KILLICK_SIZED(killick_request, __VA_ARGS__)
#define KILLICK_SIZED(type, ...)     ((struct type){ .size = sizeof(struct type), __VA_ARGS__ })

struct killick;         /* a runtime */
struct killick_session; /* a set of servers */
struct killick_call;    /* a request in flight */
struct killick_result;  /* the outcome of a request */
struct killick_ask;     /* a request from a server to the host */

/* --- errors --- */

enum killick_code {
	KILLICK_OK = 0,
	/* wrong use of the library: a bad argument, a blocking call in a callback */
	KILLICK_ERR_USAGE = -1,
	/* the config was refused, and nothing changed; of a server: its part of the config has an
	 * error */
	KILLICK_ERR_CONFIG = -2,
	/* no server, tool or call with this name */
	KILLICK_ERR_NO_SERVER = -3,
	/* the server could not be started or did not complete its handshake */
	KILLICK_ERR_START = -4,
	/* the server ended while the request was open */
	KILLICK_ERR_EXITED = -5,
	/* the session was closed, or the server removed or replaced by a refresh */
	KILLICK_ERR_CLOSED = -6,
	KILLICK_ERR_TIMEOUT = -7,
	KILLICK_ERR_CANCELLED = -8,
	/* the server answered with a JSON-RPC error: killick_result_json() returns the error */
	KILLICK_ERR_ANSWER = -9,
	/* the answer is not valid (not JSON, too long, of the wrong shape), or the server does not
	 * offer the requested feature */
	KILLICK_ERR_PROTOCOL = -10,
	/* the server does not read, or too much is in flight */
	KILLICK_ERR_BUSY = -11,
	/* the system refused: processes, descriptors, files, memory for an answer */
	KILLICK_ERR_SYSTEM = -12,
	/* the handle belongs to the parent process, which forked this process */
	KILLICK_ERR_FORKED = -13,
	/* the connection to the environment that the server runs in is lost. Requests in flight
	 * (unless "lostCalls" in the config lets them wait for the connection) and later requests
	 * end with this code at once, until the connection is back or the server is given up: then
	 * the server is started again like a server that ended by itself. Whether the server
	 * carried out the request is not known. */
	KILLICK_ERR_LOST = -14,
};

/* Every function that can fail has a last argument e, which says why, or returns a result, whose
 * killick_result_error says why. e may be NULL; it is written only on failure. */
struct killick_error { /* in the host's memory; this struct never changes */
	int code;
	char text[512]; /* a sentence: the thing, the reason, the next step */
};

/* One word for a code: "timeout", "closed", ... */
KILLICK_API const char *killick_code_name(int code);
/* The version of the library: "0.2.0". */
KILLICK_API const char *killick_version(void);
/* The library is silent, with two exceptions: the lines of KILLICK_TRACE (killick(1)), and one line
 * before it calls abort(). They go to stderr, or to this function, without the newline; NULL:
 * stderr again. For the whole process; call it while no runtime is open. The function is called
 * from any thread, also while the library has locks: it must return soon and must not call the
 * library. */
typedef void (*killick_log_fn)(void *ctx, const char *line);
KILLICK_API void killick_set_logger(killick_log_fn fn, void *ctx);
/* Free a text that a function of this header returned for this purpose. Not free(): on Windows the
 * host and the library may have different heaps. NULL is fine. */
KILLICK_API void killick_text_free(char *text);

/* --- the runtime --- */

enum killick_dispatch_mode {
	KILLICK_DISPATCH_THREAD, /* callbacks run on the callback thread */
	KILLICK_DISPATCH_HOST,   /* callbacks run inside killick_dispatch() */
	/* There are no callbacks, for languages that cannot have them: killick_next() returns items
	 * instead. A function pointer other than NULL is KILLICK_ERR_USAGE. */
	KILLICK_DISPATCH_PULL,
};

struct killick_options { /* zero: the default */
	size_t size;     /* of this struct: KILLICK_OPTIONS sets it */
	/* path of the program `killick`; NULL: $KILLICK_KEEPER, the installed one, on
	 * Windows the one beside this library, the one in PATH */
	const char *keeper;
	enum killick_dispatch_mode dispatch; /* where callbacks run */
	unsigned starting;                   /* servers that may be starting at once; 0: 16 */
	size_t message_limit;                /* bytes of one message; 0: 64 MiB */
	const char *client_name;             /* name of the host for servers; NULL: "killick" */
	const char *client_version;          /* NULL: the version of killick */
	const char *cache_dir; /* where `era: auto` stores its verdicts; NULL: in memory */
};

/* Start a runtime; options may be NULL. On failure *out is untouched. */
KILLICK_API int killick_open(const struct killick_options *options, struct killick **out,
			     struct killick_error *e);

/* With KILLICK_DISPATCH_HOST and KILLICK_DISPATCH_PULL: readable when callbacks, or items, wait;
 * with KILLICK_DISPATCH_HOST also when a server has written something that killick_dispatch is to
 * read. Owned by the runtime. Else -1. The host need not hurry: the runtime's own thread runs the
 * timers, and reads when the host has not called killick_dispatch for 10 ms. On Windows no
 * function of the system takes this number: a host there waits for killick_handle. */
KILLICK_API int killick_fd(const struct killick *k);
#if defined(_WIN32)
/* The counterpart of killick_fd on Windows: a HANDLE for WaitForMultipleObjects and the like, which
 * is signalled while killick_dispatch (with KILLICK_DISPATCH_PULL: killick_next) has work. Owned by
 * the runtime: the host must neither close nor reset it. NULL with
 * KILLICK_DISPATCH_THREAD. */
KILLICK_API void *killick_handle(const struct killick *k);
#endif
/* With KILLICK_DISPATCH_HOST: read the output of servers, and run the callbacks that wait. Returns
 * the number of callbacks that were run, 0 also while another thread runs them. Requests that the
 * callbacks make are written before this returns. */
KILLICK_API int killick_dispatch(struct killick *k, struct killick_error *e);

/* --- how things ended --- */

struct killick_ending {
	const char *session; /* label of the session; "": none */
	const char *server;
	int pid; /* of the server's main process; 0: the server never ran */
	/* "close", "refresh"; "exit": the server exited with status 0, or closed its stdout;
	 * "crash": it exited with another status, or by a signal; "handshake": the handshake
	 * failed; "timeout": the server was not ready in time; "start": the server could not be
	 * started; "keeper": the keeper was killed; "lost": the environment could not be reached
	 * for too long */
	const char *why;
	const char *step; /* the last step: "none" (the server had exited), "eof", "term", "kill" */
	/* -1: ended by a signal, or unknown. On Windows a code above 0x7fffffff is negative, and
	 * 0xffffffff is 255. */
	int exit_code;
	int exit_signal; /* 0: none */
	double stop_ms;  /* from the decision to the proof */
	/* How killick knows that the tree is empty, words joined by commas. "waitid": the keeper
	 * has no child left, and so no descendant; "cgroup": the cgroup is empty; "mark": no
	 * process in another pid namespace carries the tree's mark. "group": the server's process
	 * group is gone, which is best effort: for the level `group`, and for a foreign executor
	 * that ended the group; "group,sweep": in addition, a search through the processes of the
	 * foreign executor's machine found no process with the tree's mark. "never": the server
	 * never ran. "job": Windows counts no process in the job. Two words are no proof: "none":
	 * it is not known whether the tree is empty, as always on a foreign executor on Windows.
	 * "lease": the executor could not be reached; the executor ends the tree by itself when the
	 * lease is over, and `text` says when. */
	const char *proof;
	int survivors;           /* processes that could not be killed */
	const char *json;        /* the keeper's own report, "" if the keeper was killed */
	const char *environment; /* where the server ran; "": on this machine */
	/* A sentence with details: when a lease ends, the result of a sweep on a foreign executor,
	 * and so on; "": none. */
	const char *text;
};

struct killick_report {
	size_t count;
	const struct killick_ending *const *endings;
	int survivors; /* over all endings */
	bool proved;   /* every ending has a proof ("none" and "lease" are not) and no survivor */
	double ms;
};
/* The same as JSON text, to be given to killick_text_free; NULL for NULL. An object with the
 * members of the structs under their names, except: `proof` is an array of words; `exit` is
 * {"code": 1}, {"signal": "KILL"} or null; `report` is the keeper's own report (`json`) or null. */
KILLICK_API char *killick_report_json(const struct killick_report *r);
KILLICK_API void killick_report_free(struct killick_report *r); /* NULL is fine */

/* Close every session; no other can be opened after that. Returns when every tree is proved gone
 * (or named as a survivor). Idempotent, from any thread; a second caller waits for the first and
 * gets an empty report. out_report may be NULL. killick_close does not wait for callbacks. */
KILLICK_API int killick_close(struct killick *k, struct killick_report **out_report,
			      struct killick_error *e);
/* Call killick_close if the host did not, deliver the remaining callbacks, stop the threads, free
 * the memory. Handles of sessions, calls and asks that the host did not free are freed, too. After
 * the return no callback runs and none will be called, with one exception: killick_free waits at
 * most 5 s for a callback that does not return; then the thread of this callback does the rest when
 * the callback returns. Not from a callback (nothing happens then). NULL is fine. */
KILLICK_API void killick_free(struct killick *k);

/* --- sessions --- */

/* The state of a server. */
enum killick_state {
	KILLICK_IDLE,     /* not started yet, or waiting for its next use */
	KILLICK_STARTING, /* its process is being started */
	KILLICK_HANDSHAKING,
	KILLICK_READY,
	KILLICK_DRAINING, /* no new calls; calls in flight may finish */
	KILLICK_STOPPING, /* its tree is being ended */
	KILLICK_GONE,     /* ended and proved; `error` says why, if the host did not ask for it */
	KILLICK_DISABLED, /* by the config */
	KILLICK_REMOTE,  /* the config has a URL for the server and no command: it is not started */
	KILLICK_RESTING, /* ended and proved, because it was not used ("idle" in its config); its
			  * next use starts it again */
};
KILLICK_API const char *killick_state_name(enum killick_state state); /* "ready", ... */

enum killick_event_kind {
	KILLICK_EVENT_STATE, /* a server's state changed */
	KILLICK_EVENT_LOG,   /* notifications/message; json: its params */
	KILLICK_EVENT_TOOLS, /* the list of tools changed; and so on */
	KILLICK_EVENT_RESOURCES,
	KILLICK_EVENT_PROMPTS,
	KILLICK_EVENT_UPDATED, /* a subscribed resource changed; text: its uri */
	KILLICK_EVENT_STDERR,  /* text: one or more lines as the server wrote them */
	KILLICK_EVENT_WARNING, /* text: a sentence, for example about an unknown config key */
};

/* Borrowed, for the time of the callback. At most 1024 events and progress reports, or 8 MiB, wait
 * for a session: further ones are dropped, and a WARNING says how many. STATE is never dropped. */
struct killick_event {
	enum killick_event_kind kind;
	const char *server; /* NULL: of no server in particular */
	enum killick_state state;
	const char *text;
	size_t text_len;
	const char *json;
	size_t json_len;
};

/* What servers may ask of the host (sampling/createMessage, elicitation/create, roots/list), as
 * declared to servers in the handshake. */
enum killick_answers {
	KILLICK_SAMPLING = 1,
	KILLICK_ELICITATION = 2,
	KILLICK_ROOTS = 4,
	/* with KILLICK_ROOTS: the host says when its roots change, see killick_roots_changed */
	KILLICK_ROOTS_CHANGE = 8,
	/* of `features`: declare nothing */
	KILLICK_NO_FEATURES = 1 << 30,
};

struct killick_handlers {
	size_t size; /* of this struct: KILLICK_HANDLERS sets it */
	void *ctx;
	void (*on_event)(void *ctx, const struct killick_event *ev);
	/* A server asks. Answer with killick_answer or killick_decline, now or later, from any
	 * thread, exactly once. For an ask that could belong to several sessions on_ask is not called. */
	void (*on_ask)(void *ctx, struct killick_ask *ask);
	/* enum killick_answers, or-ed: the asks that on_ask is called for. All other asks are
	 * answered by the library: an elicitation with {"action":"cancel"}, which means that no
	 * person has decided, the others with an error. */
	unsigned answers;
};

/* What an open or a refresh waits for. */
enum killick_wait_for {
	KILLICK_WAIT_SETTLED,  /* every server is ready or failed */
	KILLICK_WAIT_REQUIRED, /* only the required ones */
};

struct killick_session_options {
	size_t size; /* of this struct: KILLICK_SESSION_OPTIONS sets it */
	/* One of these three: JSON text; the file that has it; or one server without a config, its
	 * argv, NULL at the end, which is then called "server". */
	const char *config;
	const char *config_file;
	char *const *command;
	/* Use only this server of the config, also after a refresh; NULL: all. */
	const char *only;
	/* Shown by `killick ps` and in reports: one line of at most 63 bytes; NULL: none. */
	const char *label;
	enum killick_wait_for wait;
	/* Time for a server to exit after EOF, and again after SIGTERM; 0: 2000; at most an hour.
	 */
	unsigned grace_ms;
	/* How long close and refresh let calls in flight finish; 0: not at all. */
	unsigned drain_ms;
	/* Copied by the open; NULL: none. */
	const struct killick_handlers *handlers;
	/* enum killick_answers, or-ed: the features that are declared to servers, independent of
	 * `answers` in the handlers. 0: the `answers` if there is an on_ask, else none. A server
	 * that asks for an undeclared feature gets the error "method not found"; an ask for a
	 * feature that was declared and is not in `answers` is answered by the library, as above.
	 * Only sessions that declare the same features share a server. */
	unsigned features;
	/* env and cwd are for `command` alone: a config has keys for them.
	 * Variables of the server, "NAME=value", NULL at the end. They are added to the few
	 * variables that servers get from the host's environment (killick-config(5)), or replace
	 * them. NULL: none. */
	char *const *env;
	const char *cwd; /* the directory that the server starts in; NULL: the host's */
	/* The time that each server has for its start and handshake, also after a refresh; at most
	 * an hour. 0: as its config says; else 30000, or, of a launcher that may have to download
	 * the server (npx, uvx, docker, ...), 180000 while its processes show signs of life. */
	unsigned startup_ms;
	/* For a host that opens sessions for other programs: the environment ("NAME=value", NULL at
	 * the end) and the directory of the program that the session is for, an absolute path. They
	 * take the place of the host's own when a config is read, also in a refresh: for ${NAME} in
	 * the config, for the variables that servers get, for the directory of servers and for
	 * relative paths. NULL: the host's own. */
	char *const *user_env;
	const char *user_cwd;
};

/* Open a session: read the config, start its servers, wait as told. Fails, leaving no process, when
 * the config is refused or a required server fails; other failures are in killick_session_status().
 * An error inside one server of the config (a wrong type, a variable that is not set) makes that
 * server fail and does not refuse the config. */
KILLICK_API int killick_session_open(struct killick *k,
				     const struct killick_session_options *options,
				     struct killick_session **out, struct killick_error *e);
/* The same, but returns at once: `done` is called with the outcome; `s` is NULL on failure. When
 * killick_session_open_start itself fails (usage, config, forked, closed, no thread for callbacks)
 * `done` is not called, and *out is untouched.
 *
 * With `out` the host has the handle from now on, whatever the outcome will be, and frees the
 * handle once. To give the open up, close or free the handle, at any time and from any thread: the
 * servers that were started are ended at once, here and on executors, and `done` is called with
 * KILLICK_ERR_CANCELLED when they are proved gone. The report of killick_session_close or
 * killick_session_close_start has the proof. Before `done`, killick_session_status shows how far
 * each server is, and requests fail with KILLICK_ERR_USAGE. With out NULL, the host gets the handle
 * in `done`, and only killick_close ends the open before.
 *
 *	killick_session_open_start(k, &options, done, ctx, &s, &e);
 *	...
 *	killick_session_close_start(s, on_ended, ctx, NULL);	// the person pressed Escape
 *	killick_session_free(s);
 */
typedef void (*killick_opened_fn)(void *ctx, struct killick_session *s,
				  const struct killick_error *e);
KILLICK_API int killick_session_open_start(struct killick *k,
					   const struct killick_session_options *options,
					   killick_opened_fn done, void *ctx,
					   struct killick_session **out, struct killick_error *e);

/* Replace the set of servers by the set of another config. Servers with the same fingerprint stay
 * as they are; other servers are started next to the old ones and replace them when the new ones
 * are ready or failed; returns when every replaced tree is proved gone. Calls in flight on a
 * replaced server end with KILLICK_ERR_CLOSED (after drain_ms). A refused config changes nothing; a
 * running server whose new definition has an error stays as it is, and a WARNING names the error.
 * When a required server fails, the session has the new set nevertheless, and the outcome is
 * KILLICK_ERR_START. A server that had failed is tried again. Refreshes of one session are done one
 * after the other. */
KILLICK_API int killick_session_refresh(struct killick_session *s, const char *config,
					const char *config_file, struct killick_report **out_report,
					struct killick_error *e);
/* The callback owns the report. On failure e->code is set and report is NULL. When
 * killick_session_refresh_start itself fails `done` is not called. */
typedef void (*killick_ended_fn)(void *ctx, struct killick_report *report,
				 const struct killick_error *e);
KILLICK_API int killick_session_refresh_start(struct killick_session *s, const char *config,
					      const char *config_file, killick_ended_fn done,
					      void *ctx, struct killick_error *e);

/* End the session: calls in flight end with KILLICK_ERR_CLOSED, every tree is ended and proved.
 * Idempotent, from any thread, in any state, also while the session opens. A second close waits for
 * the outcome of the first (the report of a second close is empty). A shared server that other
 * sessions use has no ending.
 * First the handlers receive the events from before the close, which takes 1 s at most; afterwards
 * the handlers of this session are not called any more. KILLICK_OK: no handler runs, and the ctx of
 * the handlers may be freed. KILLICK_ERR_TIMEOUT: the session is closed and *out_report is set, but
 * a handler was still running 1 s later; close the session again to wait for that handler. */
KILLICK_API int killick_session_close(struct killick_session *s, struct killick_report **out_report,
				      struct killick_error *e);
/* The same, but returns at once; `done` may be NULL. */
KILLICK_API int killick_session_close_start(struct killick_session *s, killick_ended_fn done,
					    void *ctx, struct killick_error *e);
/* Free the handle; a session that is open, or opens, is closed in the background. Its handlers are
 * not called any more. killick_session_free waits at most 1 s for a handler that runs: a host that
 * must know whether the handler has returned calls killick_session_close first. NULL is fine. */
KILLICK_API void killick_session_free(struct killick_session *s);

/* --- status ---
 *
 * A server that ends by itself is started again as its config says ("restart"); calls in flight end
 * with KILLICK_ERR_EXITED. The new process knows nothing of the old one: the host must subscribe
 * and set the log level again once the new process is ready. For a server with "idle" in its config
 * the library does both. */

struct killick_server_status {
	const char *name;
	enum killick_state state;
	bool required, shared;
	int pid;
	const char *level;        /* "cgroup", "keeper", ...; "" before the server runs */
	const char *era;          /* "legacy", "modern"; "" before the handshake */
	const char *protocol;     /* "2025-11-25" */
	const char *info;         /* JSON: serverInfo */
	const char *capabilities; /* JSON */
	const char *instructions; /* text; "": none */
	long tools;               /* -1: not listed yet */
	unsigned restarts, in_flight;
	unsigned long long bytes_in, bytes_out;
	const char *error;       /* why the server is not ready, or last ended; "": no error */
	const char *stderr_tail; /* the last lines of its stderr, at most 4 KiB */
	const char *environment; /* where the server is placed; "": on this machine */
	int code;                /* enum killick_code that belongs to `error` */
	bool settled;       /* ready, failed or not to be started since the open or the refresh */
	const char *why;    /* why the last process ended, as in killick_ending; "": none ended */
	const char *reason; /* `error` without the words "server 'NAME' " at its beginning */
	size_t quoted;      /* bytes at the end of `error` that quote the stderr of the server */
	/* Requests of this session that the server was sent and that have ended, and those of them
	 * without a result (an error answer, a timeout, ...). */
	unsigned long long calls, errors;
	/* The time from a request to its result that half of the requests, and 99 of 100, did not
	 * exceed, over all sessions of this server and all its processes; 0: no requests. The error
	 * is at most 19 %. */
	double p50_ms, p99_ms;
};

struct killick_status {
	size_t count;
	const struct killick_server_status *const *servers; /* in the config's order */
};
KILLICK_API int killick_session_status(struct killick_session *s, struct killick_status **out,
				       struct killick_error *e);
/* The same as JSON text, to be given to killick_text_free; NULL for NULL. `killick status --json`
 * prints this text: an array of objects with the members of the struct under their names, except
 * that `name` is called `server`, `code` is a word (killick_code_name) or null, and the state of a
 * server that is gone because of an error is "failed". Empty texts, and an unknown number of tools,
 * are null. `reason` and `quoted` are left out. */
KILLICK_API char *killick_status_json(const struct killick_status *st);
KILLICK_API void killick_status_free(struct killick_status *st); /* NULL is fine */

/* --- requests --- */

enum killick_op {
	/* All pages; server NULL: the tools of all ready servers, with qualified names. The list is
	 * cached, and the server is not asked again, while the list is valid: in the modern era for
	 * its ttlMs; in the legacy era, if the server declared tools.listChanged, until the server
	 * reports a change. The cached list is not used after the server reported a change, was
	 * started again, or could not be reached for a time; nor with `refresh`. */
	KILLICK_TOOLS,
	KILLICK_RESOURCES, /* all pages */
	KILLICK_TEMPLATES, /* all pages */
	KILLICK_PROMPTS,   /* all pages */
	KILLICK_CALL,      /* name: tool; args: arguments */
	KILLICK_READ,      /* name: uri */
	KILLICK_PROMPT,    /* name: prompt; args: arguments */
	KILLICK_COMPLETE,  /* args: the params of completion/complete */
	KILLICK_PING,
	KILLICK_LOG_LEVEL,   /* name: "debug", "info", ... */
	KILLICK_SUBSCRIBE,   /* name: uri */
	KILLICK_UNSUBSCRIBE, /* name: uri */
	/* name: any method; args: its params. The params are sent as given, except `_meta`: its
	 * members are sent in addition to the members that the protocol requires in every request.
	 * Of those, only `extensions` in io.modelcontextprotocol/clientCapabilities is taken from
	 * the host, in the modern era.
	 * The result is the text that the server wrote, of any type; one page of a list. The
	 * methods of the connection itself (initialize, server/discover, subscriptions/listen) are
	 * refused with KILLICK_ERR_USAGE. */
	KILLICK_RAW,
};

struct killick_progress {       /* borrowed, for the time of the callback */
	double progress, total; /* total 0: not known */
	const char *message;    /* "": none */
};

struct killick_request {
	size_t size; /* of this struct: KILLICK_REQUEST sets it */
	enum killick_op op;
	const char *server; /* NULL: for KILLICK_CALL `name` is qualified, or there is one server */
	const char *name;
	const char *args;      /* JSON object text; NULL: {} */
	long timeout_ms;       /* 0: the server's default; -1: none */
	bool progress_extends; /* each progress report restarts the timeout */
	void *ctx;             /* of the callbacks */
	void (*on_progress)(void *ctx, const struct killick_progress *p);
	/* Called exactly once; the callback owns the result and must free it. */
	void (*on_done)(void *ctx, struct killick_result *r);
	bool refresh; /* KILLICK_TOOLS: ask the server, also when its list is cached */
	/* With KILLICK_DISPATCH_PULL: progress reports come as items. */
	bool wants_progress;
	/* JSON object text: further members of `_meta` in the params, of every operation, for
	 * example a traceparent. The members that the protocol itself requires stay those of the
	 * library, as for KILLICK_RAW; `meta` takes the place of a `_meta` in args. A list that is
	 * cached is not asked for again; in the modern era no request is sent for
	 * KILLICK_LOG_LEVEL, KILLICK_SUBSCRIBE and KILLICK_UNSUBSCRIBE. NULL: none. */
	const char *meta;
};

/* Make the request and wait for the result. Progress that was not delivered when the result came is
 * dropped; killick_do waits for an on_progress of this call that runs, so its ctx may be on the
 * stack. Returns the code of the result. *out, if out is not NULL, is the result for every code:
 * killick_result_error names the argument that is wrong, and why. on_done is not called. */
KILLICK_API int killick_do(struct killick_session *s, const struct killick_request *rq,
			   struct killick_result **out);

/* Begin the request. on_done is called with the result; without on_done, killick_wait returns the
 * result. out may be NULL with on_done. A failure to begin is also reported through the result,
 * except for USAGE, FORKED and SYSTEM (no thread for callbacks could be started): then there is no
 * call, on_done is not called, and e says why. */
KILLICK_API int killick_start(struct killick_session *s, const struct killick_request *rq,
			      struct killick_call **out, struct killick_error *e);
/* Wait for the result of a call without on_done; once. *out as in killick_do. */
KILLICK_API int killick_wait(struct killick_call *c, struct killick_result **out);
/* Cancel the call: the library tells the server, and the result is KILLICK_ERR_CANCELLED. Does
 * nothing when the call is over. */
KILLICK_API void killick_cancel(struct killick_call *c);
/* Free the handle; the call itself goes on. NULL is fine. */
KILLICK_API void killick_call_free(struct killick_call *c);

/* killick_do for the most frequent request. */
KILLICK_API int killick_call_tool(struct killick_session *s, const char *server, const char *tool,
				  const char *args, struct killick_result **out);

/* Send a notification. params is the text of a JSON object, which is sent as given (including
 * `_meta`); NULL: none. server as in killick_request. Returns at once, without waiting for a server
 * or starting one: KILLICK_ERR_START when the server is not ready, KILLICK_ERR_BUSY when the server
 * does not read. KILLICK_ERR_USAGE for the notifications of the connection itself
 * (notifications/initialized, notifications/cancelled). */
KILLICK_API int killick_notify(struct killick_session *s, const char *server, const char *method,
			       const char *params, struct killick_error *e);

/* The roots of the host have changed: send notifications/roots/list_changed to each server of the
 * session that is ready and was told KILLICK_ROOTS and KILLICK_ROOTS_CHANGE. Returns at once, with
 * the number of servers that were told, or a code. (Servers of the modern era have no such
 * notification: they ask for the roots when they need them.) */
KILLICK_API int killick_roots_changed(struct killick_session *s, struct killick_error *e);

/* --- pulling instead of callbacks --- */

enum killick_item_kind {
	KILLICK_ITEM_EVENT,    /* of a session that has handlers: event */
	KILLICK_ITEM_ASK,      /* of the same, if its `answers` name the method: ask */
	KILLICK_ITEM_PROGRESS, /* of a request with wants_progress: progress */
	KILLICK_ITEM_RESULT,   /* of killick_start: result */
	/* of killick_session_open_start: session (NULL on failure; else the host owns the session,
	 * or it is the handle that the host has already), error */
	KILLICK_ITEM_OPENED,
	KILLICK_ITEM_ENDED, /* of the other _start functions: report (NULL on failure), error */
};

/* The arguments that a callback would have got. Members that the kind does not have are NULL.
 * event, progress and error live as long as the item. The host owns ask, result, session and
 * report, like a callback: the host frees or answers them, before or after it frees the item. */
struct killick_item {
	enum killick_item_kind kind;
	void *ctx; /* of the request, of the handlers, or of the _start function */
	const struct killick_event *event;
	struct killick_ask *ask;
	const struct killick_progress *progress;
	struct killick_result *result;
	struct killick_session *session;
	struct killick_report *report;
	const struct killick_error *error;
};

/* With KILLICK_DISPATCH_PULL: the next item, in order, over all sessions of the runtime. Waits for
 * timeout_ms; 0: not at all, -1: without limit. Returns 1 and *out, to be given to
 * killick_item_free; 0: no item came in time; KILLICK_ERR_CLOSED: the runtime is closed, and no
 * item is left. May be called by several threads: each item comes once.
 *
 * In this mode the result of killick_start always comes as an item (killick_wait is
 * KILLICK_ERR_USAGE), and its `out` may be NULL; the _start functions take NULL as `done`; a
 * session has events when its options have handlers, whose on_event and on_ask are NULL. Blocking
 * functions work as in the other modes; but a host with one thread that waits in killick_do cannot
 * answer the asks of the server meanwhile. killick_free drops the items that were not fetched. */
KILLICK_API int killick_next(struct killick *k, long timeout_ms, struct killick_item **out,
			     struct killick_error *e);
KILLICK_API void killick_item_free(struct killick_item *i); /* NULL is fine */

/* --- results --- */

/* The returned strings belong to the result and live as long. For a NULL result the functions
 * return KILLICK_ERR_USAGE and "". */
KILLICK_API int killick_result_code(const struct killick_result *r);
/* A sentence when the code is not 0, else "". */
KILLICK_API const char *killick_result_error(const struct killick_result *r);
KILLICK_API const char *killick_result_server(const struct killick_result *r);
/* The `result` as the server wrote it, byte for byte and NUL-terminated (lists of several pages:
 * one object with the pages' items as written); for KILLICK_ERR_ANSWER the `error`; else "". */
KILLICK_API const char *killick_result_json(const struct killick_result *r, size_t *out_len);
/* Of a tool call: the texts of its content, joined by newlines. Owned by the result. "" also when
 * there is no memory for the text. */
KILLICK_API const char *killick_result_text(struct killick_result *r);
/* Of a tool call: the tool reported a failure (isError). */
KILLICK_API bool killick_result_is_error(const struct killick_result *r);
KILLICK_API void killick_result_free(struct killick_result *r); /* NULL is fine */

/* Small accessors for JSON text. `path` is keys and array indexes joined by dots ("content.0.text";
 * a dot in a key is not possible). Returns the start of the value inside `json` and its length,
 * NULL if there is none. */
KILLICK_API const char *killick_json_find(const char *json, size_t len, const char *path,
					  size_t *out_len);
/* A string value, decoded, NUL-terminated, to be given to killick_text_free; NULL if the value is
 * not a string, or if there is no memory for it. */
KILLICK_API char *killick_json_string(const char *json, size_t len, const char *path);

/* --- tool names for models --- */

/* Find the server and the tool of a qualified name. A qualified name is `server__tool`, made of
 * [A-Za-z0-9_], at most 128 bytes, unique in the session. Both out strings are to be given to
 * killick_text_free. KILLICK_ERR_NO_SERVER if no tool has this name. The names of a session are
 * known once its tools were listed. At most 10000 tools of a server have a qualified name, and only
 * tools whose own name has at most 1024 bytes. */
KILLICK_API int killick_tool_find(struct killick_session *s, const char *qualified,
				  char **out_server, char **out_tool, struct killick_error *e);

/* --- asks: requests from servers --- */

KILLICK_API const char *killick_ask_server(const struct killick_ask *a);
/* "sampling/createMessage", "elicitation/create", "roots/list" */
KILLICK_API const char *killick_ask_method(const struct killick_ask *a);
KILLICK_API const char *killick_ask_params(const struct killick_ask *a, size_t *out_len);
/* Answer with the JSON text of a result (an object; otherwise the library answers as for an ask
 * that is not in `answers`, and the function returns KILLICK_ERR_USAGE), or decline with a reason:
 * an elicitation gets {"action":"decline"}, the decision of a person, other asks an error. If no
 * person has decided, answer an elicitation with {"action":"cancel"}. Both functions free the ask.
 * When the request that the ask belongs to is over, nothing is sent. */
KILLICK_API int killick_answer(struct killick_ask *a, const char *result_json,
			       struct killick_error *e);
KILLICK_API int killick_decline(struct killick_ask *a, const char *reason, struct killick_error *e);

#ifdef __cplusplus
}

/* A struct that the host fills in, with its size set and all other members zero. */
template <class T> inline T killick_sized()
{
	T t = T();

	t.size = sizeof(t);
	return t;
}
#endif
#endif
