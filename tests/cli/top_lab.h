/* top_lab.h - `killick top` on a pseudo-terminal, the picture that the terminal shows, and a hub
 * that the test plays.
 *
 * Life: begin (shell.h) -> hub_listen, if there is a hub -> start_top -> sees, press ... -> ends ->
 * hub_end. The terminal and the hub are served only while a function waits.
 * Every function fails the test when it cannot do its work; every wait has a deadline.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

enum { ROWS_MAX = 60, COLUMNS_MAX = 130 };

/* What the terminal shows. */
struct tty {
	char cells[ROWS_MAX][COLUMNS_MAX + 1];
	int rows, columns, row, column;
	bool second, cursor; /* the second page is shown; the cursor is shown */
	char escape[32];
	size_t escape_len;
	size_t restored; /* how often the first page came back */
	size_t too_wide; /* characters that did not fit into their line */
	bool resized;    /* a frame of the old size may be on its way: judge the last frame only */
};
extern struct tty tty;

void tty_clear(int row, int column); /* from this cell to the end */
void tty_size(int rows, int cols);
/* The picture with a newline behind each line, and without spaces at its end. */
const char *picture(void);

/* The hub that the test plays. */
struct top_hub {
	int listener, conn; /* -1: none */
	char in[4096], asked[4096];
	size_t in_len;
	const char *files; /* state of the server "files" */
};
extern struct top_hub hub;

void hub_listen(void);
void hub_end(void);

/* The program. */
struct top {
	pid_t pid;
	int master, slave; /* the slave stays open: its modes are read after the end */
	struct termios before;
};
extern struct top top;

/* Start `killick top` with this option; NULL: none. */
void start_top(int rows, int cols, const char *option);
/* Serve the terminal and the hub once. */
void step(int timeout_ms);
/* Wait until the picture has a text. */
void sees(const char *text);
/* Wait until the picture does not have the text. */
void sees_no(const char *text);
void press(const char *keys);
/* Wait for the end: the terminal is as before. Returns the exit status. */
int ends(void);
