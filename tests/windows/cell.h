/* cell.h - one trial: a client starts a hostile server in one way, one ending, and what is left.
 *
 * Calling sequence: cell_prepare once; for each trial, in any thread, cell_run.
 */
#pragma once

#include <windows.h>
#include <stdbool.h>

#include "verdict.h"

enum cell_way {
	WAY_KILLICK, /* client -> killick run -> server */
	WAY_CMD,  /* client -> cmd /c killick run -> server: cmd.exe is the owner that killick sees
		   */
	WAY_BARE, /* client -> server */
	WAY_COUNT
};
enum cell_ending {
	END_OWNER, /* the client is terminated */
	END_CHILD, /* the process that the client started is terminated: killick, cmd.exe, the
		      server */
	END_BOTH,  /* both of them */
	END_STDIN, /* the client closes the standard input of the server, and lives */
	END_EXIT,  /* the main process of the server exits, and the client lives */
	END_COUNT
};
extern const char *const cell_way_names[WAY_COUNT], *const cell_ending_names[END_COUNT];

struct cell {
	const wchar_t *mode; /* of the zoo, or cmd or shim: mode `child` behind cmd /c, or behind
				zooshim.cmd */
	enum cell_way way;
	enum cell_ending ending;
	bool escapes; /* is expected to leave processes: do not wait long for them */
	/* the result */
	char verdict; /* '.' no process is left, 'E' some are, '!' the trial failed */
	int left;     /* processes */
	double ms;    /* until the last one was gone */
	char text[512];
	bool judges_disagree;
};

/* Where the programs are, and a directory with the shim, first on PATH. False, and a note: cannot
 * be made. */
bool cell_prepare(const wchar_t *killick);
void cell_finish(void);
const wchar_t *cell_killick(void);
const wchar_t *cell_zoo(void);
const wchar_t *cell_dir(void);

void cell_run(struct cell *c);
