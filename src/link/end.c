/* end.c - see end.h */
#include "link/end.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int signal_number(const char *name)
{
	for (int sig = 1; sig < NSIG; sig++) {
		const char *known = sigabbrev_np(sig);

		if (known && strcmp(known, name) == 0)
			return sig;
	}
	return strncmp(name, "SIG", 3) == 0 ? atoi(name + 3) : 0;
}

static void read_proof(struct link_end *end, struct json list)
{
	struct json_iter it = json_iter(list);
	size_t used = 0;
	char word[12];

	for (end->proof[0] = '\0'; json_each(&it) && used < sizeof(end->proof);) {
		if (!json_string_into(it.value, word, sizeof(word)))
			continue;
		used += (size_t)snprintf(end->proof + used, sizeof(end->proof) - used, "%s%s",
					 used ? "," : "", word);
	}
	if (!used)
		snprintf(end->proof, sizeof(end->proof), "none");
}

void link_end_read(struct link_end *end, struct json report)
{
	int64_t number;
	char word[16];

	json_string_into(json_get(report, "why"), end->why, sizeof(end->why));
	json_string_into(json_get(report, "step"), end->step, sizeof(end->step));
	json_double(json_get(report, "stop_ms"), &end->stop_ms);
	if (json_int(json_find(report, "exit.code"), &number))
		end->exit_code = (int)number;
	if (json_string_into(json_find(report, "exit.signal"), word, sizeof(word))) {
		end->exit_signal = signal_number(word);
		end->exit_code = -1;
	}
	end->survivors = (int)json_count(json_get(report, "survivors"));
	read_proof(end, json_get(report, "proof"));
}
