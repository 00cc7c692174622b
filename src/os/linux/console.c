/* console.c - see console.h */
#include "os/console.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool console_is_terminal(int fd)
{
	return isatty(fd) == 1;
}

bool console_is_utf8(void)
{
	const char *name;

	if (setlocale(LC_CTYPE, ""))
		return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	name = getenv("LC_ALL");
	if (!name || !*name)
		name = getenv("LC_CTYPE");
	if (!name || !*name)
		name = getenv("LANG");
	if (!name || !(strcasestr(name, "UTF-8") || strcasestr(name, "UTF8")))
		return false;
	return setlocale(LC_CTYPE, "C.UTF-8") != NULL;
}

bool console_can_draw(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) == 1 && term && strcmp(term, "dumb") != 0;
}

size_t console_columns(int fd)
{
	struct winsize ws;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 20)
		return ws.ws_col;
	return 80;
}

size_t console_rows(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_row > 0)
		return ws.ws_row;
	return 24;
}

static void console_on_interrupt(int sig)
{
	(void)sig;
}

/* SIGINT is accepted only while ppoll waits. Before ppoll SIGINT would end the program, and between
 * ppoll and fgets it would be lost, and fgets would wait for a line. */
bool console_ask(FILE *to, const char *question, char *answer, size_t size)
{
	struct sigaction heard = { .sa_handler = console_on_interrupt }, old_action;
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	sigset_t interrupt, old;
	bool good;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &old);
	sigaction(SIGINT, &heard, &old_action);
	fputs(question, to);
	fflush(to);
	good = ppoll(&terminal, 1, NULL, &old) > 0 && fgets(answer, (int)size, stdin) != NULL;
	sigaction(SIGINT, &old_action, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!good)
		fputc('\n', to);
	return good;
}
