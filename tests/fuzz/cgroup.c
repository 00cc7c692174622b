/* cgroup.c - /proc/self/cgroup and /proc/self/mountinfo, as the first and the second half of the
 * input.
 *
 * The halves are parted by a line `--`. Looked up in v2 and in a v1 controller, with room enough
 * and with little.
 */
#include <assert.h>
#include <errno.h>

#include "fuzz.h"
#include "keeper/linux/cgroup.h"

static void locate(const char *mountinfo, const char *cgroups, const char *controller, size_t room)
{
	char *dir = malloc(room);
	int r;

	if (!dir)
		abort();
	r = cgroup_locate(mountinfo, cgroups, controller, dir, room);
	assert(r == 0 || r == -ENOENT || r == -EXDEV || r == -ENAMETOOLONG);
	assert(r != 0 || fuzz_is_text(dir, room));
	free(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *parting = strstr(text, "\n--\n");
	const char *mountinfo = "";

	if (parting) {
		parting[1] = '\0';
		mountinfo = parting + 4;
	}
	locate(mountinfo, text, NULL, CGROUP_PATH_MAX);
	locate(mountinfo, text, "pids", CGROUP_PATH_MAX);
	locate(mountinfo, text, NULL, 8);
	free(text);
	return 0;
}
