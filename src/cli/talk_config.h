/* talk_config.h - the config of a client verb: its file, and a translated text if the library
 * cannot read the shape of the file.
 */
#pragma once

#include "config/config.h"
#include "talk.h"

/* Find the config: --config, $KILLICK_CONFIG, a file in this directory, or the config of another
 * client, which is then named on stderr. Sets t->source and, for a file that has to be translated,
 * t->config_text. False: an error was printed and the exit status is set. */
bool talk_config_find(struct talk *t);
/* Call talk_config_find, unless the config was found before or the server is a command. */
bool talk_has_config(struct talk *t);
/* Put the name of the file into t->error, if it is a message of the library about a translated
 * text. */
void talk_config_name(struct talk *t);
/* The same for any message. Returns `text` itself or `out`. */
const char *talk_config_say(const struct talk *t, const char *text, char *out, size_t size);
/* Read the config that was found. False: the config is refused; the library reports the error
 * later. */
bool talk_config_read(const struct talk *t, struct config *out);
void talk_config_done(struct talk *t);
