/* swept.c - who of many starts sweeps. */
#include "keeper/linux/janitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../t.h"
#include "keeper/linux/clock.h"

static int own_records(void)
{
	static char dir[160];

	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

TEST(a_sweep_counts_for_starts_before_it)
{
	struct janitor j = { .budget_ms = 1000 };
	int dirfd = own_records();
	long long before_us = clock_us();

	OK(!janitor_swept_since(dirfd, before_us));
	EQ(janitor_sweep(&j), 0);
	OK(janitor_swept_since(dirfd, before_us));
	OK(!janitor_swept_since(dirfd, clock_us()));
	close(dirfd);
}

TEST(a_dry_run_does_not_count_as_a_sweep)
{
	struct janitor j = { .budget_ms = 1000, .dry_run = true };
	int dirfd = own_records();
	long long before_us = clock_us();

	EQ(janitor_sweep(&j), 0);
	OK(!janitor_swept_since(dirfd, before_us));
	close(dirfd);
}

TEST(a_sweep_of_another_boot_does_not_count)
{
	struct janitor j = { .budget_ms = 1000 };
	struct timespec later = { .tv_sec = clock_us() / 1000000 + 3600 };
	int dirfd = own_records();
	long long before_us = clock_us();

	EQ(janitor_sweep(&j), 0);
	OK(utimensat(dirfd, ".swept", (struct timespec[]){ later, later }, 0) == 0);
	OK(!janitor_swept_since(dirfd, before_us));
	close(dirfd);
}

TEST(without_a_directory_each_start_sweeps)
{
	OK(!janitor_swept_since(-1, 0));
}
