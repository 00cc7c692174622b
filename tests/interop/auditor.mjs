// auditor.mjs - who is alive, by /proc alone: shares nothing with killick.
//
// A process belongs to a server when its environment, as it was at its exec, holds the server's
// tag, or when it was seen below a process that did, or as the keeper above one. (pid, start time)
// names a process for ever, so a pid used again is nobody we know. A zombie is dead, unless other
// threads of it live: then its main thread has merely left.
import { constants, readdirSync, readFileSync } from "node:fs";

export const TAG = "KILLICK_INTEROP_TAG";

// Without waiting: a process may hold a lease on a file of its own here, which nobody then opens for
// 45 s.
const read = (path) => readFileSync(path, {
	encoding: "latin1", flag: constants.O_RDONLY | constants.O_NONBLOCK,
});

function stat(pid) {
	try {
		const text = read(`/proc/${pid}/stat`);
		const close = text.lastIndexOf(")"); // comm may hold anything, parentheses too
		const rest = text.slice(close + 2).split(" ");
		return {
			pid: Number(pid),
			comm: text.slice(text.indexOf("(") + 1, close),
			state: rest[0],
			ppid: Number(rest[1]),
			threads: Number(rest[17]),
			start: rest[19],
		};
	} catch {
		return null; // gone between the listing and now
	}
}

function isDead(p) {
	return (p.state === "Z" || p.state === "X") && p.threads <= 1;
}

export function environ(pid) {
	try {
		return read(`/proc/${pid}/environ`).split("\0").filter((e) => e);
	} catch {
		return [];
	}
}

// Pids of zombies, and when each was last looked at. Tests of other things can leave pid 1 thousands
// of zombies, and looking at each takes longer than anything waited for here: a look that need not
// be sure leaves out zombies of less than a second ago. Not older ones: the pid may have a new
// process by now. (With 32768 pids that takes longer than a second.)
const zombies = new Map();
const ZOMBIE_MS = 1000;

function everybody(sure) {
	const all = [];
	const now = performance.now();
	for (const name of readdirSync("/proc")) {
		if (!/^\d+$/.test(name) || (!sure && now - zombies.get(name) < ZOMBIE_MS))
			continue;
		const p = stat(name);
		zombies.delete(name);
		if (p && isDead(p))
			zombies.set(name, now);
		else if (p)
			all.push(p);
	}
	return all;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// What is known of one server's processes; grows with every look.
export class Tree {
	constructor(tag, keepers = false) {
		this.tag = tag;
		this.keepers = keepers; // belong to it, too
		this.seen = new Map(); // "pid start" of everybody ever found in it
		this.living = [];
	}

	// Seconds since the first process of it began, to the kernel's tick of 10 ms.
	age() {
		const uptime = Number(readFileSync("/proc/uptime", "latin1").split(" ")[0]);
		const starts = [...this.seen.values()].map((p) => Number(p.start));
		return uptime - Math.min(...starts) / 100;
	}

	choose(all) {
		const ours = (p) => p.tag === this.tag || this.seen.has(`${p.pid} ${p.start}`);
		const found = new Set(all.filter(ours).map((p) => p.pid));
		const parents = new Set();
		for (let grown = true; grown;) { // children of the found are of the tree as well
			grown = false;
			for (const p of all) {
				// keepers are known by what is below: only root may read their environment
				const keeper = this.keepers && parents.has(p.pid) && p.comm === "killick";
				if (!found.has(p.pid) && (found.has(p.ppid) || keeper)) {
					found.add(p.pid);
					grown = true;
				}
				if (found.has(p.pid) && !parents.has(p.ppid)) {
					parents.add(p.ppid);
					grown = true;
				}
			}
		}
		this.living = all.filter((p) => found.has(p.pid));
		for (const p of this.living)
			this.seen.set(`${p.pid} ${p.start}`, p);
	}
}

// Bring `living` of every tree up to date, from one listing; `sure` leaves nobody out.
export function look(trees, sure = true) {
	const all = everybody(sure);
	for (const p of all)
		p.tag = environ(p.pid).find((e) => e.startsWith(`${TAG}=`))?.slice(TAG.length + 1);
	for (const tree of trees)
		tree.choose(all);
}

// Wait until nobody of any tree lives, or for the deadline. Sets emptyAt of those that became
// empty. Empty is what was seen empty twice, the second time surely: a chain of forks may pass
// between the lines of one listing.
export async function lookUntilEmpty(trees, deadline) {
	for (let left = trees; left.length; left = left.filter((t) => !t.emptyAt)) {
		look(left, false);
		const now = performance.now();
		const maybe = left.filter((t) => t.living.length === 0);
		for (const t of left)
			t.firstEmptyAt = t.living.length ? undefined : t.firstEmptyAt ?? now;
		if (maybe.length === left.length || now > deadline) {
			look(left, true);
			for (const t of maybe.filter((one) => one.living.length === 0)) {
				t.emptyAt = t.firstEmptyAt;
				t.emptyAge = t.age();
			}
		}
		if (now > deadline)
			return;
		await pause(5);
	}
}

// Kill what is left, by pid, until there is nothing. For servers that are known to escape.
export async function scrub(trees) {
	const deadline = performance.now() + 15000;
	for (look(trees); performance.now() < deadline; look(trees)) {
		const living = trees.flatMap((t) => t.living);
		if (!living.length)
			return;
		for (const p of living.filter((one) => stat(one.pid)?.start === one.start))
			try {
				process.kill(p.pid, "SIGKILL");
			} catch {
				// gone by itself
			}
		await pause(2);
	}
}

export function show(processes) {
	return processes.map((p) => `${p.pid} (${p.comm}) ${p.state} ppid ${p.ppid}`).join(", ");
}
