/* far.c - see far.h */
#include "far.h"

#include <stdio.h>
#include <string.h>

#include "place.h"

static void read_url(char *url, size_t size)
{
	char line[256];
	FILE *f = fopen("executor.log", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "ws://", 5))
			snprintf(url, size, "%.*s", (int)strcspn(line, "\n"), line);
	if (f)
		fclose(f);
}

void far_open(struct far *f, enum cable_kind kind, const char *lease)
{
	const char *argv[] = { killick(),    "exec-server", "--listen", "ws://" CABLE_FAR ":0",
			       "--insecure", "--lease",     lease,      NULL };

	*f = (struct far){ 0 };
	place_begin();
	cable_open(&f->cable, kind);
	minder_start(&f->executor, &(struct minder_spec){ .argv = argv,
							  .env = place_env(false),
							  .log = place_file("executor.log"),
							  .netns = f->cable.far });
	place_await_text("executor.log", "ws://" CABLE_FAR ":");
	place_await_text("executor.log", "\n");
	read_url(f->url, sizeof(f->url));
	snprintf(f->environment, sizeof(f->environment), "{\"url\": \"%s\"}", f->url);
}

void far_close(struct far *f)
{
	EQ(minder_end(&f->executor), 0);
	OK(!file_has("executor.log", "Sanitizer") && !file_has("executor.log", "runtime error"));
	cable_close(&f->cable);
}
