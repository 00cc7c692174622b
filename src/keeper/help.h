/* help.h - the text of `killick --help`; that of `killick run --help` is each system's. */
#pragma once

/* `own` has the lines of the verbs that not every system has, or that differ, `end` the last
 * sentence. */
#define HELP_USAGE(own, end)                                                                       \
	"killick holds a stdio MCP server to its owner: when the owner exits, crashes or\n"        \
	"is killed, killick ends the server and every process the server ever started.\n"          \
	"\n"                                                                                       \
	"  killick run [options] -- CMD ARGS...  hold a server (see killick run --help)\n"         \
	"  killick wrap | unwrap                 edit the configs of your MCP clients\n"           \
	"  killick ps [--json] [--tree]          list the trees of this user\n"                    \
	"  killick top [--once]                  show the servers of this user live\n"             \
	"  killick hub | connect                 share servers between sessions\n" own             \
	"  killick --version [--json]\n"                                                           \
	"\n"                                                                                       \
	"With the servers of a config (.mcp.json), or with one: -- CMD ARGS...\n"                  \
	"  killick tools | resources | prompts   list what the servers offer\n"                    \
	"  killick call NAME [KEY=VALUE]...      call a tool\n"                                    \
	"  killick read URI                      read a resource\n"                                \
	"  killick ping | status | inspect       response time; state; all details\n"              \
	"  killick trust [FILE|DIR]              allow the config of a project\n"                  \
	"\n"                                                                                       \
	"Start here: 'killick wrap' puts 'killick run --' in front of every command in\n"          \
	"the MCP configs of your clients." end "\n"
