/* main.c - the zoo as a program of its own, with the modes that only tests need. */
#include <stddef.h>

#include "fixtures.h"

static const struct zoo_mode fixtures[] = {
	{ "unshare", zoo_unshare, "children in a user and pid namespace of their own" },
	{ "cgmove", zoo_cgmove, "a child that moves to a sibling cgroup where it may" },
	{ "setuid", zoo_setuid, "a child that runs as another user (needs a set-uid copy)" },
	{ "ptrace", zoo_ptrace, "a child held in a trace stop by another child" },
	{ "limits", zoo_limits, "leaves its keepers 6 descriptors" },
	{ "limits0", zoo_limits0, "leaves its keepers no descriptor" },
	{ "starve", zoo_starve, "leaves its keepers no process, stack, memory or signal queue" },
	{ "nobytes", zoo_nobytes, "lets its keepers write to no file (RLIMIT_FSIZE)" },
	{ "idle", zoo_idle, "lets its keepers run only when nobody else does, and burns the CPU" },
	{ "seize", zoo_seize, "holds its keepers in a trace stop" },
	{ "lobotomy", zoo_lobotomy, "overwrites its keepers' program through /proc/PID/mem" },
	{ "steal", zoo_steal,
	  "takes its keepers' descriptors and reads what they tell each other" },
	{ "cut", zoo_cut, "the same, and shuts their sockets down" },
	{ "lease", zoo_lease, "leases on files its keepers may want to open: open(2) blocks" },
	{ "heir", zoo_heir, "waits for the lock of its own record" },
	{ "norecord", zoo_norecord, "removes its own record" },
	{ "flood", zoo_flood,
	  "sends its keepers signals without pause and keeps the hold stopped" },
	{ "stopboth", zoo_stopboth, "stops both keepers" },
	{ "stopflood", zoo_stopflood, "the same again and again, without pause" },
	{ "scopeflood", zoo_scopeflood, "tries the same in a sandbox for signals (Landlock)" },
	{ "nopdeath", zoo_nopdeath, "clears its parent-death signal (PR_SET_PDEATHSIG)" },
	{ "freeze", zoo_freeze, "moves its hold into a cgroup and freezes that" },
	{ "freezeboth", zoo_freezeboth, "the same with hold and watch" },
	{ "freezewatch", zoo_freezewatch, "the same with the watch alone" },
	{ "freezeabove", zoo_freezeabove,
	  "leaves the cgroup its keepers are in, and freezes that" },
	{ "embrace", zoo_embrace, "moves its keepers into the cgroup they are to kill" },
	{ "chmodevents", zoo_chmodevents, "takes all rights from the files of its cgroup" },
	{ "deepcg", zoo_deepcg, "nests cgroups 40 deep, with a process in the last" },
	{ "setns", zoo_setns, "a daemon in a pid namespace that was there before (ZOO_PIDNS)" },
	{ "setnsout", zoo_setnsout, "the same, and out of its cgroup where it may" },
	{ "setnsbare", zoo_setnsbare, "the first, without environment" },
	{ "setnslost", zoo_setnslost, "the second, without environment" },
	{ "mcp", zoo_protocol, "a whole MCP server [way to misbehave; --list names them]" },
	/* Not servers: callers of the hub; what `setuid` executes itself as. */
	{ "+caller", zoo_caller, NULL },
	{ "+descendant", zoo_descendant, NULL },
	{ "+linger", zoo_lingerer, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	zoo_more = fixtures;
	return zoo_main(argc, argv);
}
