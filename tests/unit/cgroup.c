/* cgroup.c - where we are, on every kind of mount. */
#include "keeper/linux/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../t.h"

#define V2(root, point)                                                                            \
	"30 20 0:26 " root " " point " rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1(root, point, what) "31 20 0:27 " root " " point " rw - cgroup cgroup rw," what "\n"
#define OTHER                 "20 1 8:1 / / rw - ext4 /dev/sda rw\n"

static const char *locate(const char *mounts, const char *cgroups, const char *controller)
{
	static char dir[512];
	int r = cgroup_locate(mounts, cgroups, controller, dir, sizeof(dir));

	if (r < 0)
		snprintf(dir, sizeof(dir), "%s",
			 r == -ENOENT  ? "ENOENT"
			 : r == -EXDEV ? "EXDEV"
				       : "other");
	return dir;
}

TEST(cgroup_on_pure_v2)
{
	STREQ(locate(OTHER V2("/", "/sys/fs/cgroup"), "0::/user.slice/a.scope\n", NULL),
	      "/sys/fs/cgroup/user.slice/a.scope");
	STREQ(locate(OTHER V2("/", "/sys/fs/cgroup"), "0::/\n", NULL), "/sys/fs/cgroup");
}

TEST(cgroup_on_hybrid)
{
	static const char mounts[] = OTHER V1("/", "/sys/fs/cgroup/pids", "pids")
		V1("/", "/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct")
			V2("/", "/sys/fs/cgroup/unified");
	static const char groups[] = "8:pids:/p\n4:cpu,cpuacct:/c\n1:name=systemd:/s\n0::/u\n";

	STREQ(locate(mounts, groups, NULL), "/sys/fs/cgroup/unified/u");
	STREQ(locate(mounts, groups, "pids"), "/sys/fs/cgroup/pids/p");
	STREQ(locate(mounts, groups, "cpuacct"), "/sys/fs/cgroup/cpu,cpuacct/c");
	STREQ(locate(mounts, groups, "memory"), "ENOENT");
	STREQ(locate(mounts, groups, "cpuac"), "ENOENT");
}

/* A container's mount shows a part of the tree: our path is told from the top. */
TEST(cgroup_in_a_container)
{
	STREQ(locate(V2("/docker/x", "/sys/fs/cgroup"), "0::/docker/x/y\n", NULL),
	      "/sys/fs/cgroup/y");
	STREQ(locate(V2("/docker/x", "/sys/fs/cgroup"), "0::/docker/x\n", NULL), "/sys/fs/cgroup");
	STREQ(locate(V2("/docker/x", "/sys/fs/cgroup"), "0::/docker/xy\n", NULL), "EXDEV");
	STREQ(locate(V2("/", "/sys/fs/cgroup"), "0::/../other\n", NULL), "EXDEV");
}

TEST(cgroup_nowhere)
{
	STREQ(locate(OTHER, "0::/\n", NULL), "ENOENT");
	STREQ(locate(V2("/", "/c"), "4:cpu:/\n", NULL), "ENOENT");
	STREQ(locate("", "", NULL), "ENOENT");
	STREQ(locate("garbage\n - \n1 2 3\n", "garbage\n::\n0:\n", NULL), "ENOENT");
}

TEST(cgroup_path_that_does_not_fit)
{
	char dir[10];

	EQ(cgroup_locate(V2("/", "/sys/fs/cgroup"), "0::/user\n", NULL, dir, sizeof(dir)),
	   -ENAMETOOLONG);
}

TEST(cgroup_none_is_harmless)
{
	struct cgroup none = CGROUP_NONE;
	pid_t pids[4];

	cgroup_kill(&none);
	EQ(cgroup_look(&none), CGROUP_UNKNOWN);
	EQ(cgroup_members(&none, pids, 4), 0);
	EQ(cgroup_enter(&none), 0);
	EQ(cgroup_enter_limits(&none), 0);
	EQ(cgroup_remove(&none), 0);
}
