/* talk_config.h - the config of a client verb: which file, and its text if the library does not
 * read its shape. */
#pragma once

#include "talk.h"

/* Find the config: --config, $KILLICK_CONFIG, a file in this directory, or the config of another
 * client, which is then named on stderr. Sets t->source and, for a file that has to be translated,
 * t->config_text. False: an error was printed and the exit status is set. */
bool talk_config_find(struct talk *t);
/* A message of the library about a translated text gets the name of the file. */
void talk_config_name(struct talk *t);
void talk_config_done(struct talk *t);
