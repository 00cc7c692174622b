/* verbs.c - the verbs that Windows describes in its own way; see cli/verbs.h */
#include "cli/verbs.h"

#include "cli/cli.h"

const struct verb verbs_system[] = {
	{ "reap", "say that nothing is left behind here", verb_reap, reap_help },
	{ "doctor", "print what works on this machine", verb_doctor, doctor_help },
	{ NULL, NULL, NULL, NULL },
};
