/* complete.c - `killick complete`: prints the words that a shell offers at the Tab key. Not listed
 * in the help: the completion scripts call this verb.
 *
 * The verb starts no server. Names of servers come from the config, names of tools from the last
 * listing (toolnames.h). The scripts discard stderr, because the user is typing.
 */
#include <string.h>

#include "base/auto.h"
#include "cli.h"
#include "config/config.h"
#include "session/names.h"
#include "talk_config.h"
#include "toolnames.h"

const char complete_help[] =
	"usage: killick complete servers|tools [--config FILE] [--server NAME]\n"
	"\n"
	"Print the names of the servers in a config, or the names of their tools as of\n"
	"the last `killick tools`, one on each line, for the completion of shells.\n"
	"\n"
	"Exit status: 0; 64 usage.\n";

static const struct config_server *complete_find(const struct config *c, const char *server)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->servers[i].name, server) == 0)
			return &c->servers[i];
	return NULL;
}

static void complete_servers(const struct config *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (!c->servers[i].disabled)
			puts(c->servers[i].name);
}

/* A tool is a word of its own on the command line: a name that begins with a dash would be an
 * option there, and a server chose the name. */
static void complete_tool(const char *name)
{
	if (*name != '-')
		puts(name);
}

/* Print the names that `killick tools` prints: plain with one server, else qualified. */
static void complete_tools(const struct config *c, const char *file, const char *only)
{
	AUTO(toolnames_done) struct toolnames list = TOOLNAMES_INIT;
	struct names names = NAMES_INIT;
	char server[128], tool[256];
	size_t on = 0;

	for (size_t i = 0; i < c->count; i++)
		on += !c->servers[i].disabled;
	toolnames_read(&list, file);
	for (size_t at = 0; toolnames_next(&list, &at, server, tool);) {
		const struct config_server *cs = complete_find(c, server);

		if (!cs || cs->disabled || (only && strcmp(only, server) != 0))
			continue;
		if (only || on == 1)
			complete_tool(tool);
		else
			names_add(&names, server, tool);
	}
	names_settle(&names);
	for (size_t i = 0; i < names.count; i++)
		complete_tool(names.list[i]->qualified);
	names_done(&names);
}

int verb_complete(int argc, char **argv)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct talk t = TALK_INIT(argv);
	const struct option options[] = {
		{ "config", OPTION_WORD, .text = &t.config },
		{ "server", OPTION_WORD, .text = &t.server },
		{ .name = NULL },
	};
	struct cli_words words;
	int status;

	if (!cli_words(argc, argv, complete_help, options, &words, &status))
		return status;
	if (words.count != 1 ||
	    (strcmp(words.list[0], "servers") != 0 && strcmp(words.list[0], "tools") != 0))
		return cli_usage("complete", "write 'servers' or 'tools'");
	t.names_only = true;
	if (!talk_config_find(&t) || !talk_config_read(&t, &c))
		c.count = 0;
	else if (strcmp(words.list[0], "servers") == 0)
		complete_servers(&c);
	else
		complete_tools(&c, t.source, t.server);
	talk_config_done(&t);
	return cli_finish("complete", EXIT_SUCCESS);
}
