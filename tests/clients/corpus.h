/* corpus.h - config files of MCP clients as people and programs write them, made from a seed.
 *
 * The same seed makes the same file. All nine shapes occur, with comments, CRLF, byte order marks,
 * tabs, odd spacing, escapes, duplicate names, and members with confusing names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "clients/entry.h"

enum { CORPUS_SHAPES = 9 };

struct sample {
	const char *shape; /* "mcpServers", "servers", "codex", ... */
	enum format format;
	const char *suffix; /* of a file name */
	struct buf text;
};

void corpus_make(uint64_t seed, struct sample *out);
void corpus_done(struct sample *s);
