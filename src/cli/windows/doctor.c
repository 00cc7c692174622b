/* doctor.c - `killick doctor`: prints what works on this machine, which variables servers get, and
 * which clients have servers that killick does not hold. */
#include <stdio.h>

#include "base/auto.h"
#include "base/emit.h"
#include "cli/cli.h"
#include "cli/doctor_clients.h"
#include "cli/doctor_variables.h"
#include "cli/fact.h"
#include "os/kernel.h"
#include "trees.h"

const char doctor_help[] =
	"usage: killick doctor [--json]\n"
	"\n"
	"Print which level of containment works here, the trees of this user, which\n"
	"variables servers get, and the servers in the configs of MCP clients that\n"
	"killick does not hold.\n"
	"\n"
	"  --json   print all facts as one JSON object\n"
	"  --show-secrets   print secrets in the commands, too\n"
	"\n"
	"Orphans of other programs are listed, and ended by --reap, only on Linux.\n"
	"\n"
	"Exit status: 0; 64 usage; 69 --reap is not possible here.\n";

struct findings {
	struct kernel kernel;
	char keeper[4200]; /* the program; "": not found */
	char dir[4096];    /* of the records; "": none */
	struct trees trees;
	int error; /* of trees */
};

static void doctor_look(struct findings *f)
{
	if (kernel_look(&f->kernel) < 0)
		f->kernel = (struct kernel){ .name = "Windows" };
	if (!cli_find_keeper(f->keeper, sizeof(f->keeper)))
		f->keeper[0] = '\0';
	if (!trees_dir(f->dir, sizeof(f->dir)))
		f->dir[0] = '\0';
	f->error = trees_read(&f->trees);
}

static void print_findings(const struct findings *f)
{
	char text[4300];

	printf("killick %s on %s %s, %s\n", KILLICK_VERSION, f->kernel.name, f->kernel.release,
	       f->kernel.machine);
	fact_heading("containment");
	fact("level here", "job: Windows ends every process of a tree together with its keeper",
	     false);
	fact("keeper", *f->keeper ? f->keeper : "killick.exe was not found; reinstall killick",
	     false);
	fact("limits", "--max-procs and --memory are limits of the job object", false);
	doctor_variables_print();
	fact_heading("state");
	fact("records", *f->dir ? f->dir : "no: LOCALAPPDATA is not set", false);
	snprintf(text, sizeof(text), "%zu", f->trees.count);
	fact("trees", f->error ? "not known" : text, false);
	doctor_clients_print();
}

static void doctor_print_json(const struct findings *f)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	emit_open(&j, NULL, '{');
	emit_str(&j, "killick", KILLICK_VERSION);
	emit_str(&j, "kernel", f->kernel.release);
	emit_str(&j, "level", "job");
	emit_str(&j, "keeper", *f->keeper ? f->keeper : NULL);
	emit_str(&j, "records", *f->dir ? f->dir : NULL);
	doctor_variables_emit(&j);
	emit_open(&j, "trees", '{');
	emit_int(&j, "count", (long long)f->trees.count);
	emit_close(&j);
	doctor_clients_emit(&j);
	emit_close(&j);
	emit_print(&j, stdout);
}

int verb_doctor(int argc, char **argv)
{
	struct findings f = { .error = 0 };
	const char *reap = NULL;
	bool as_json = false;
	const struct option options[] = {
		{ "reap", OPTION_WORD, .text = &reap },
		{ "json", .flag = &as_json },
		{ "show-secrets", .flag = &cli_show_secrets },
		{ .name = NULL },
	};
	int status;

	if (!cli_options(argc, argv, doctor_help, options, &status))
		return status;
	if (reap) {
		cli_say("doctor",
			"--reap does not work on Windows: doctor lists no orphans of other "
			"programs there; to end a process and its children use: taskkill "
			"/f /t /pid PID");
		return EXIT_UNAVAILABLE;
	}
	doctor_look(&f);
	if (as_json)
		doctor_print_json(&f);
	else
		print_findings(&f);
	trees_done(&f.trees);
	return cli_finish("doctor", EXIT_SUCCESS);
}
