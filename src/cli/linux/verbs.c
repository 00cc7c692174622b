/* verbs.c - the verbs that only Linux has, or describes in its own way; see cli/verbs.h */
#include "cli/verbs.h"

#include "cli/cli.h"
#include "demo_part.h"

const struct verb verbs_system[] = {
	{ "reap", "end the trees whose keepers are gone or do not work", verb_reap, reap_help },
	{ "doctor", "print what works on this machine; list orphans of other programs", verb_doctor,
	  doctor_help },
	{ "demo", "compare what a plain client and killick leave behind", verb_demo, demo_help },
	{ "container-end", NULL, verb_container_end, NULL },
	{ "zoo", NULL, verb_zoo, zoo_help },
	{ "demo-part", NULL, demo_part, NULL },
	{ NULL, NULL, NULL, NULL },
};
