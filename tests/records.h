/* records.h - how many trees have their record in a directory? A record is named by the 16 hex
 * digits of its tree.
 */
#pragma once

#include <dirent.h>
#include <string.h>

static inline int records_count(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	for (struct dirent *d; dir && (d = readdir(dir));)
		count += strlen(d->d_name) == 16 && strspn(d->d_name, "0123456789abcdef") == 16;
	if (dir)
		closedir(dir);
	return count;
}
