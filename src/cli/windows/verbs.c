/* verbs.c - the verbs that Windows describes in its own way; see cli/verbs.h */
#include "cli/verbs.h"

#include "cli/cli.h"
#include "demo_part.h"

const struct verb verbs_system[] = {
	{ "reap", "say that nothing is left behind here", verb_reap, reap_help },
	{ "doctor", "print what works on this machine", verb_doctor, doctor_help },
	{ "demo", "compare what a plain client and killick leave behind", verb_demo, demo_help },
	{ "zoo", NULL, verb_zoo, zoo_help },
	{ "demo-part", NULL, demo_part, NULL },
	{ NULL, NULL, NULL, NULL },
};
