/* replay.c - a fuzz target over its corpus, without a fuzzer: replay NAME DIR...
 *
 * Every file as it is, cut at every length, and with single bytes changed (by a fixed generator:
 * every run is the same). One TAP line per file.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define CHANGES 2000

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool read_file(int dirfd, const char *name, uint8_t **out_data, size_t *out_size)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data = NULL;
	bool good = fd >= 0 && fstat(fd, &st) == 0 &&
		    (data = malloc((size_t)st.st_size + 1)) != NULL &&
		    read(fd, data, (size_t)st.st_size) == st.st_size;

	if (fd >= 0)
		close(fd);
	if (!good) {
		free(data);
		return false;
	}
	*out_data = data;
	*out_size = (size_t)st.st_size;
	return true;
}

static void replay(uint8_t *data, size_t size)
{
	uint64_t seed = size;

	LLVMFuzzerTestOneInput(data, size);
	for (size_t len = 0; len < size; len++)
		LLVMFuzzerTestOneInput(data, len);
	for (int i = 0; size && i < CHANGES; i++) {
		static const char liked[] = "\n =()/:-0,.9 \\\"";
		uint64_t r = next_random(&seed);
		size_t at = (size_t)(r % size);
		uint8_t was = data[at];

		r >>= 32;
		data[at] = (uint8_t)(r >> 1);
		if (r & 1)
			data[at] = (uint8_t)liked[(r >> 1) % (sizeof(liked) - 1)];
		LLVMFuzzerTestOneInput(data, size);
		data[at] = was;
	}
}

int main(int argc, char **argv)
{
	int count = 0, bad = 0;
	DIR *dir = argc == 3 ? opendir(argv[2]) : NULL;

	if (!dir) {
		fprintf(stderr, "usage: %s NAME CORPUS-DIRECTORY\n", argv[0]);
		return 64;
	}
	setvbuf(stdout, NULL, _IOLBF,
		0); /* should an assert end us, the log says after which file */
	for (struct dirent *e; (e = readdir(dir)) != NULL;) {
		uint8_t *data;
		size_t size;

		if (e->d_name[0] == '.')
			continue;
		count++;
		printf("# %s/%s\n", argv[1], e->d_name);
		if (!read_file(dirfd(dir), e->d_name, &data, &size)) {
			printf("not ok %d - %s/%s: cannot read\n", count, argv[1], e->d_name);
			bad++;
			continue;
		}
		replay(data, size);
		free(data);
		printf("ok %d - %s/%s\n", count, argv[1], e->d_name);
	}
	closedir(dir);
	printf("1..%d\n", count);
	return bad > 0;
}
