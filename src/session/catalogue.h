/* catalogue.h - what servers have sent about themselves: facts of the handshake and lists.
 *
 * The hub answers a list of a resting or not yet started server from here. An entry belongs to a
 * key: fingerprint, era and features of the server. Entries are kept in memory: at most
 * CATALOGUE_MAX entries and CATALOGUE_BYTES in all, and the least recently used one is dropped
 * first. After catalogue_use_files each entry is also a file in a folder of the cache directory, so
 * that the next hub knows the entry. An entry is dropped when a file of the server's program has
 * changed (the stamp, look.h), a list when the server says that the list has changed. A server that
 * was installed by npx or in a container may change without such a sign. So an entry is old after
 * CATALOGUE_AGE_MS, and the next session starts the server.
 *
 * The folder may be on a file system that hangs. So the threads of the hub read the files of a
 * config before its session begins (catalogue_fetch), and write changed entries; a folder that does
 * not answer is not used any more. Without threads catalogue_get reads the file.
 *
 * Life: catalogue_init -> catalogue_use_files -> catalogue_fetch, _get, _put ... -> catalogue_done.
 * Threads: with the loop's lock.  Blocking: without threads catalogue_get, catalogue_done and a
 * timer of the loop use files; only programs of killick use files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/loop.h"
#include "base/ring.h"
#include "base/workers.h"
#include "config/config.h"
#include "mcp/client.h"

#define CATALOGUE_MAX      256u
#define CATALOGUE_BYTES    (64u << 20)
#define CATALOGUE_LIST_MAX (8u << 20)                  /* bytes of one list that is kept */
#define CATALOGUE_AGE_MS   (24 * 3600 * INT64_C(1000)) /* one day */

#define CATALOGUE_KEY_SIZE   (FINGERPRINT_SIZE + 16)
#define CATALOGUE_STAMP_SIZE FINGERPRINT_SIZE

enum catalogue_kind {
	CATALOGUE_TOOLS,
	CATALOGUE_RESOURCES,
	CATALOGUE_TEMPLATES,
	CATALOGUE_PROMPTS,
	CATALOGUE_KINDS,
};

struct catalogue_entry { /* borrowed: valid until the handler of the loop returns */
	struct ring in_order;
	char key[CATALOGUE_KEY_SIZE], stamp[CATALOGUE_STAMP_SIZE];
	enum client_era era;                  /* ERA_LEGACY or ERA_MODERN */
	char *protocol, *info, *capabilities; /* the last two: JSON text */
	char *instructions;                   /* text; "": none */
	/* The results of the lists, each one object that has the items of all pages; at NULL: not
	 * known. */
	struct json lists[CATALOGUE_KINDS];
	bool asked;      /* the server has sent a request of its own */
	bool dirty;      /* the file is not written yet */
	int64_t told_ms; /* since 1970: when the server was last ready and sent these facts */
	size_t bytes;
};

struct catalogue_write;

struct catalogue {
	struct ring entries; /* the most recently used last */
	size_t count, bytes;
	char *folder;  /* NULL: there is no cache directory */
	bool in_files; /* the folder is used */
	struct loop *loop;
	struct workers *workers;         /* NULL: the loop itself uses the files */
	bool prepared;                   /* the folder was made by a thread, or will be */
	struct catalogue_write *writing; /* by a thread; NULL: none */
	struct loop_timer save;
};

void catalogue_init(struct catalogue *c, const char *cache_dir);
/* Read and write files from now on, by these workers; NULL: without threads. Removes the oldest
 * files if there are too many. A second call does nothing. */
void catalogue_use_files(struct catalogue *c, struct loop *loop, struct workers *workers);
/* With workers: begin to write what is not written yet; catalogue_is_saved is for loop_wait. */
void catalogue_flush(struct catalogue *c);
bool catalogue_is_saved(void *catalogue);
/* Free everything. Without workers: write what is not written yet. Before workers_free. May be
 * called twice. */
void catalogue_done(struct catalogue *c);

/* With workers: have a thread read the entries of the servers of a config that are not in memory.
 * done is called from the loop, also when the folder hangs. NULL: there is nothing to read, and
 * done is not called. */
struct catalogue_fetch *catalogue_fetch(struct catalogue *c, const struct config *config,
					void (*done)(void *ctx), void *ctx);
void catalogue_fetch_cancel(struct catalogue_fetch *f); /* done is not called */

void catalogue_key(const char *fingerprint, enum config_era era, unsigned features,
		   char out[CATALOGUE_KEY_SIZE]);
/* The entry of a server; NULL: not known, or its files have changed. */
const struct catalogue_entry *catalogue_get(struct catalogue *c, const char *key,
					    const char *stamp);
/* The server was not ready for CATALOGUE_AGE_MS: start the server, do not trust the lists. */
bool catalogue_is_old(const struct catalogue_entry *e);
/* The server is ready: store its facts. Lists of the entry stay. */
void catalogue_put(struct catalogue *c, const char *key, const char *stamp,
		   const struct client_facts *facts);
/* Store a list. The entry must exist, else nothing happens. Returns true if the entry had another
 * list before. */
bool catalogue_put_list(struct catalogue *c, const char *key, enum catalogue_kind kind,
			struct json list);
/* The list has changed, and the new one is not known. */
void catalogue_drop_list(struct catalogue *c, const char *key, enum catalogue_kind kind);
/* The server has sent a request of its own. */
void catalogue_put_asked(struct catalogue *c, const char *key);
