/* proc_stat.c - /proc/PID/stat with whatever a process may call itself */
#include <assert.h>
#include <errno.h>

#include "fuzz.h"
#include "keeper/linux/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct proc_stat st, before;
	int r;

	memset(&st, 0x5a, sizeof(st));
	before = st;
	r = proc_stat_parse(text, &st);
	assert(r == 0 || r == -EINVAL);
	if (r == 0) {
		assert(st.pid > 0);
		assert(fuzz_is_text(st.comm, sizeof(st.comm)));
		assert(st.state != '\0');
	} else {
		assert(memcmp(&st, &before, sizeof(st)) == 0);
	}
	free(text);
	return 0;
}
