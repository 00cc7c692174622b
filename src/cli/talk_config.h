/* talk_config.h - the config of a client verb: which file, and its text if the library does not
 * read its shape. */
#pragma once

#include "config/config.h"
#include "talk.h"

/* Find the config: --config, $KILLICK_CONFIG, a file in this directory, or the config of another
 * client, which is then named on stderr. Sets t->source and, for a file that has to be translated,
 * t->config_text. False: an error was printed and the exit status is set. */
bool talk_config_find(struct talk *t);
/* The same unless it was done before, or the server is a command. */
bool talk_has_config(struct talk *t);
/* A message of the library about a translated text gets the name of the file. */
void talk_config_name(struct talk *t);
/* The same for any message: the result is `text` itself or in `out`. */
const char *talk_config_say(const struct talk *t, const char *text, char *out, size_t size);
/* Read the config that was found; its errors are left to the library. False: it is refused. */
bool talk_config_read(const struct talk *t, struct config *out);
void talk_config_done(struct talk *t);
