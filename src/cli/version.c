/* version.c - `killick --version --json`: the version, and what the two programs are linked with.
 *
 * In the static programs of `make dist` KILLICK_LINKED lists the packages that are linked in, as
 * words PROGRAM:NAME=VERSION; scripts/dist writes the list. Without the list the libraries of this
 * machine are used, and are asked for their versions.
 */
#include <stdio.h>
#include <string.h>

#include "base/emit.h"
#include "cli.h"
#include "os/kernel.h"
#include "os/tls.h"

static void version_add(struct emit *j, const char *program, const char *name, const char *version,
			const char *how)
{
	emit_open(j, NULL, '{');
	emit_str(j, "program", program);
	emit_str(j, "name", name);
	emit_str(j, "version", version);
	emit_str(j, "link", how);
	emit_close(j);
}

#ifdef KILLICK_LINKED
static bool version_is_static(void)
{
	return true;
}

static void version_add_linked(struct emit *j)
{
	char words[] = KILLICK_LINKED, *rest = words;

	for (char *word; (word = strsep(&rest, " ")) != NULL;) {
		char *program = strsep(&word, ":"), *name = strsep(&word, "=");

		if (word)
			version_add(j, program, name, word, "static");
	}
}
#else
/* NULL in a program without libyaml */
const char *yaml_get_version_string(void) __attribute__((weak));

static bool version_is_static(void)
{
	return false;
}

static void version_add_linked(struct emit *j)
{
	struct tls_library tls;
	char libc[64];

	if (kernel_libc(libc, sizeof(libc)))
		version_add(j, "killick-more", "glibc", libc, "shared");
	if (yaml_get_version_string)
		version_add(j, "killick-more", "libyaml", yaml_get_version_string(), "shared");
	tls_look(&tls);
	version_add(j, "killick-more", tls.name, tls.version, tls.link);
}
#endif

int verb_version(int argc, char **argv)
{
	struct buf out = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&out);
	struct kernel kernel;

	if (argc < 2 || strcmp(argv[1], "--json") != 0) {
		puts("killick " KILLICK_VERSION);
		return cli_finish("version", EXIT_SUCCESS);
	}
	emit_open(&j, NULL, '{');
	emit_str(&j, "killick", KILLICK_VERSION);
	emit_str(&j, "machine", kernel_look(&kernel) == 0 ? kernel.machine : NULL);
	emit_bool(&j, "static", version_is_static());
	emit_open(&j, "linked", '[');
	version_add_linked(&j);
	emit_close(&j);
	emit_close(&j);
	emit_print(&j, stdout);
	buf_done(&out);
	return cli_finish("version", EXIT_SUCCESS);
}
