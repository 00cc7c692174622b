/* owner.h - the client: a process that starts servers with pipes, as MCP clients do, and is killed
 *for it.
 *
 * The test starts it as `PROGRAM owner` and writes lines to it:
 *	tag TAG		the mark of the trial (verdict.h), for all that is started from now on
 *	start LINE	start a server by this command line (UTF-8)
 *	close		close the standard input of all servers
 *	exit		write the word "exit" to all servers
 * It answers:
 *	child PID	of the process that was started, or failed ERROR
 *	ready		a server wrote "ready"
 *	gone CODE	a process that was started has ended
 * It ends at the end of its input and does not end its servers: a client that forgets them.
 */
#pragma once

int owner_main(void);
