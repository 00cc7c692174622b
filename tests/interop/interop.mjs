// interop.mjs - `killick run` under a real client: the MCP SDK, with hostile servers and through
// real npx.
//
// KILLICK and ZOO are the programs to test. TAP on stdout. Every server runs with a tool call in
// flight when its client closes it, gets SIGTERM, or gets SIGKILL; afterwards an auditor
// (auditor.mjs) must find nobody. The same servers without killick must leave survivors, or the
// auditor is blind. As root everything is done as an unprivileged user too.
import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Tree, TAG, environ, look, lookUntilEmpty, scrub, show } from "./auditor.mjs";
import { bailOut, finish, result, skip, skipAll } from "./tap.mjs";
import { makeDir, makeUser, npxServers, zooServer } from "./user.mjs";

const NOBODY = 65534;
const READY_MS = 30000; // the slowest start: several npx at once on a busy machine
// close: EOF wait and TERM wait of 2 s each are killick's to use; the SDK's own escalation takes
// the same 4 s
const EMPTY_MS = { close: 7000, SIGTERM: 4000, SIGKILL: 4000 };
const TRIES = 5; // to be quicker than the life of a server: an empty tree of an old one proves nothing
const MODES = ["plain", "ignore", "bg", "daemon", "stopped", "chainsid8", "holdout", "sh", "npx",
	"npxterm"];
// plain and sh leave at end of input; a chain that nobody adopts leaves pid 1 thousands of zombies
const POLITE = ["plain", "sh", "chainsid8"];

// The next JSON line of a client, in time.
async function nextLine(lines, script) {
	let timer;
	const late = new Promise((_, fail) => {
		const error = new Error(`${script}: nothing said in ${READY_MS} ms`);
		timer = setTimeout(() => fail(error), READY_MS);
	});
	try {
		const { value, done } = await Promise.race([lines.next(), late]);
		if (done)
			throw new Error(`${script} ended before it was ready`);
		return JSON.parse(value);
	} finally {
		clearTimeout(timer);
	}
}

// Start a script of ours as `user`. XDG_RUNTIME_DIR is there, as in a login session; the SDK must
// be seen not to pass it on.
function startClient(user, script, args) {
	const env = {
		PATH: process.env.PATH, HOME: user.home, USER: user.name, TERM: "dumb",
		XDG_RUNTIME_DIR: user.home,
	};
	const child = spawn(process.execPath, [join(user.places.dir, script), ...args], {
		cwd: user.places.dir, env, uid: user.uid, gid: user.uid,
		stdio: ["pipe", "pipe", "inherit"],
	});
	const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	return { child, exited: once(child, "exit"), say: () => nextLine(lines, script) };
}

// End the client the given way. Returns when that is under way (close) or over (signals): the
// promise is about the tree, and that close() comes back is asked for later.
async function end(client, how) {
	if (how === "close") {
		client.child.stdin.write("close\n");
		return;
	}
	client.child.kill(how);
	await client.exited;
}

const forClient = ({ tree, life, ...server }) => server;
const allServers = (list) => [JSON.stringify(list.map(forClient))];

// Run `script` with the servers tagged one by one; body gets it once all are up. Nothing of it is
// left afterwards.
async function withClient(user, servers, { script, args }, body) {
	const list = servers.map((server) => {
		const tag = randomBytes(12).toString("hex");
		return { ...server, env: { ...server.env, [TAG]: tag }, tree: new Tree(tag, true) };
	});
	const trees = list.map((s) => s.tree);
	const client = startClient(user, script, args(list));
	try {
		const { ready } = await client.say();
		look(trees, false); // everybody that can be known by now is known, also by descent
		await body({ client, list, trees, ready });
	} catch (e) {
		result(false, `${user.name}: ${list.map((s) => s.name).join(", ")}: ${e.message}`);
	} finally {
		client.child.kill("SIGKILL");
		await client.exited;
		await scrub(trees);
	}
}

const CLIENT = { script: "client.mjs", args: allServers };

// One client, all servers, one ending: one result per server. Where the machine was so slow that
// old age may have done killick's work nothing is known yet, and it is all done again.
async function expectNobody(user, servers, how, tries = TRIES) {
	let again = false;

	await withClient(user, servers, CLIENT, async ({ client, list, trees, ready }) => {
		const known = new Map(list.map((s) => [s, s.tree.seen.size]));
		const t0 = performance.now();
		await end(client, how);
		await lookUntilEmpty(trees, t0 + EMPTY_MS[how]);
		const late = (s) => s.tree.emptyAge > s.life - 1;
		again = tries > 1 && list.some(late);
		for (const s of again ? [] : list) {
			const { emptyAt, living } = s.tree;
			const { tools } = ready.find((r) => r.name === s.name);
			const when = emptyAt ? `empty after ${(emptyAt - t0).toFixed(0)} ms` :
				`left: ${show(living)}`;

			// watch, hold and server at least, or we looked at the wrong thing
			const real = known.get(s) >= 3 && tools.includes(s.call.name);
			result(real && emptyAt && !late(s),
				`${user.name}: ${s.name}, ${how} in a call: nobody left`,
				`${known.get(s)} processes, ${when}${late(s) ? ", aged" : ""}`);
		}
		if (how === "close" && !again) {
			const { closed } = await client.say();
			result(closed, `${user.name}: close() of ${list.length} clients came back`);
		}
	});
	if (again)
		await expectNobody(user, servers, how, tries - 1);
}

// The test of the test: without killick the same servers outlive the client.
async function expectSurvivors(user, servers) {
	await withClient(user, servers, CLIENT, async ({ client, list, trees }) => {
		await end(client, "SIGKILL");
		await lookUntilEmpty(trees, performance.now() + 700); // the polite leave sooner
		for (const s of list)
			result(s.tree.living.length > 0,
				`${user.name}: bare ${s.name}, SIGKILL: the auditor sees survivors`,
				`${s.tree.living.length} alive`);
	});
}

// What the keeper and the server see of the client's environment: six variables, and ours.
async function expectEnvironment(user) {
	const servers = [zooServer(user, "plain", true)];

	await withClient(user, servers, CLIENT, async ({ list, ready }) => {
		const isTree = (e) => /^KILLICK_TREE=[0-9a-f]{16}$/.test(e);
		const given = environ(ready[0].pid);
		const all = list[0].tree.living.map((p) => environ(p.pid));
		const seen = all.find((env) => env.some(isTree));
		const rest = seen?.filter((e) => !isTree(e));

		const names = [`${user.name}: killick works without XDG_RUNTIME_DIR`,
			`${user.name}: the rest of its environment is what the client gave`];

		result(seen, `${user.name}: the server has KILLICK_TREE in its environment`);
		if (process.getuid() !== 0) {
			names.forEach((n) => skip(n, "only root can read the environment of a keeper"));
			return;
		}
		result(given.length > 0 && !given.some((e) => e.startsWith("XDG_RUNTIME_DIR=")), names[0]);
		result(rest?.sort().join() === given.sort().join(), names[1]);
	});
}

// A client whose server was started by one of its threads, which has ended. `fds`: the pipes are
// the process's; `sdk`: the thread's.
const threads = (user, how) => ({
	script: "threads.mjs",
	args: (list) => [how, JSON.stringify(forClient(list[0])), makeDir(user)],
});

async function expectThreadIsNotOwner(user) {
	const env = { PATH: process.env.PATH };
	const held = { ...zooServer(user, "daemon", true), env };
	const deathSignal = {
		...zooServer(user, "plain", false), env, command: "setpriv",
		args: ["--pdeathsig", "KILL", "--", user.places.zoo, "plain"],
	};

	await withClient(user, [held], threads(user, "fds"), async ({ client, trees, ready }) => {
		result(ready[0].tools?.includes("hang"),
			`${user.name}: the end of the thread that started it is not the owner's`,
			ready[0].error);
		await end(client, "SIGKILL");
		await lookUntilEmpty(trees, performance.now() + EMPTY_MS.SIGKILL);
		result(trees[0].emptyAt, `${user.name}: the end of that client is: nobody left`,
			show(trees[0].living));
	});
	await withClient(user, [deathSignal], threads(user, "fds"), async ({ ready }) =>
		result(ready[0].error,
			`${user.name}: a death signal takes the thread for the owner`,
			ready[0].error));
	await withClient(user, [held], threads(user, "sdk"), async ({ trees, ready }) => {
		await lookUntilEmpty(trees, performance.now() + EMPTY_MS.close);
		result(trees[0].emptyAt && ready[0].tools.includes("hang"),
			`${user.name}: a thread that takes its client along: nobody left`,
			show(trees[0].living));
	});
}

async function all(user) {
	const zoo = (modes, held) => modes.map((mode) => zooServer(user, mode, held));

	await expectEnvironment(user);
	for (const how of ["close", "SIGTERM", "SIGKILL"]) {
		await expectNobody(user, zoo(MODES, true), how);
		await expectNobody(user, npxServers(user, true), how);
	}
	await expectSurvivors(user, zoo(MODES.filter((mode) => !POLITE.includes(mode)), false));
	await expectSurvivors(user, npxServers(user, false).slice(0, 1));
	await expectThreadIsNotOwner(user);
}

const programs = { killick: process.env.KILLICK, zoo: process.env.ZOO };
const sdk = new URL("node_modules/@modelcontextprotocol/sdk/package.json", import.meta.url);

if (!programs.killick || !programs.zoo)
	bailOut("KILLICK and ZOO must name the programs to test", 64);
if (!existsSync(fileURLToPath(sdk)))
	skipAll("the MCP SDK is not installed: npm ci --prefix tests/interop");
const root = process.getuid() === 0;
const users = [makeUser(root ? "root" : "user", process.getuid(), programs)];
if (root)
	users.push(makeUser("nobody", NOBODY, programs));
await Promise.all(users.map(all)); // most of it is waiting for grace periods to end
finish();
