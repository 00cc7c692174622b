// on-codex.mjs - `killick call` has its server on `codex exec-server`.
//
// KILLICK and ZOO are the programs to test. TAP on stdout. Codex's executor ends a process group
// and no more; what else a server has left behind there killick must find, kill and name.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TAG, Tree, look, lookUntilEmpty, scrub, show } from "../auditor.mjs";
import { bailOut, finish, result } from "../tap.mjs";
import { comment, start, until, within } from "./child.mjs";
import { codexEnv, findCodex } from "./codex.mjs";
import { asProgram, codexExecutor, endExecutor, listen } from "./executor.mjs";
import { newDir, newServer, newTag } from "./server.mjs";

const RUN_MS = 20000;
const EMPTY_MS = 5000;
const INTERRUPTED = 130;

const programs = { killick: process.env.KILLICK, zoo: process.env.ZOO };
const codex = findCodex();

function writeConfig(dir, environment, { name, command, args, cwd, env }) {
	const file = join(dir, "config.json");
	writeFileSync(file, JSON.stringify({
		environments: { far: environment },
		mcpServers: { [name]: { command, args, cwd, env, environment: "far" } },
	}));
	return file;
}

// A server of this kind at `environment`, and a verb of killick that uses it. body gets { server,
// client, run }. Nothing of it is left afterwards.
async function withServer(name, environment, { kind, verb }, body) {
	const dir = newDir("killick");
	const server = newServer(kind, programs.zoo, dir);
	const client = new Tree(newTag());
	let run;
	try {
		const config = writeConfig(dir, environment, server);
		const env = codexEnv(dir, { [TAG]: client.tag });
		run = start([programs.killick, ...verb, "--config", config, "--verbose"], env);
		await body({ server, client, run });
	} catch (e) {
		result(false, `${name}: ${e.message}`, comment(run?.said.err ?? ""));
	} finally {
		run?.child.kill("SIGKILL");
		await run?.exited;
		await scrub([server.tree, client]);
	}
}

// Nobody is left of a server that did run.
async function expectNobody(name, server, client) {
	const trees = [server.tree, client];
	await lookUntilEmpty(trees, performance.now() + EMPTY_MS);
	const left = trees.flatMap((t) => t.living);
	result(server.calls() && !left.length, `${name}: nobody left`, show(left));
}

async function expectTools(name, environment) {
	const how = { kind: "polite", verb: ["tools", "--json"] };
	await withServer(name, environment, how, async ({ server, client, run }) => {
		const { code } = await within(RUN_MS, "killick tools", run.exited);
		const asked = server.calls().includes("tools/list");
		const ok = code === 0 && asked && run.said.out.includes('"block"');
		result(ok, `${name}: the tools are listed`, ok ? "" : comment(run.said.err));
		await expectNobody(`${name}: tools`, server, client);
	});
}

async function expectCall(name, environment) {
	const word = newTag();
	const how = { kind: "polite", verb: ["call", "echo", `text=${word}`] };
	await withServer(name, environment, how, async ({ server, client, run }) => {
		const { code } = await within(RUN_MS, "killick call", run.exited);
		const asked = server.calls().includes(word);
		const ok = code === 0 && asked && run.said.out.includes(word);
		result(ok, `${name}: a tool answers`, ok ? "" :
			comment(`status ${code}, asked ${asked}\n${run.said.out}${run.said.err}`));
		await expectNobody(`${name}: call`, server, client);
	});
}

// Codex's executor does not end the daemon. Killick looks for what is left, kills it, and names it.
async function expectSwept(name, environment) {
	const word = newTag();
	const how = { kind: "hostile", verb: ["call", "echo", `text=${word}`] };
	await withServer(name, environment, how, async ({ server, client, run }) => {
		const { code } = await within(RUN_MS, "killick call", run.exited);
		const told = new RegExp(`\\b${server.daemon()}\\b`).test(run.said.err);
		const err = comment(run.said.err);
		const ok = code === 0 && run.said.out.includes(word);
		result(ok, `${name}: a hostile server's tool answers`, ok ? "" :
			`status ${code}\n# ${err}`);
		result(server.daemon() && told, `${name}: the report names its daemon`,
			told ? "" : `daemon ${server.daemon()}\n# ${err}`);
		await expectNobody(`${name}: call of a hostile server`, server, client);
	});
}

async function expectInterrupt(name, environment) {
	const how = { kind: "polite", verb: ["call", "block"] };
	await withServer(name, environment, how, async ({ server, client, run }) => {
		await until(RUN_MS, "the call at the server",
			() => server.calls().includes('"block"'), run.exited);
		look([server.tree], false);
		run.child.kill("SIGINT");
		const { code } = await within(RUN_MS, "killick after SIGINT", run.exited);
		const { size } = server.tree.seen;
		const ok = code === INTERRUPTED && size >= server.size;
		result(ok, `${name}: SIGINT in a call ends it`, ok ? "" :
			`status ${code}, ${size} processes\n# ${comment(run.said.err)}`);
		await expectNobody(`${name}: SIGINT in a call`, server, client);
	});
}

async function allOf(name, environment) {
	await expectTools(name, environment);
	await expectCall(name, environment);
	await expectSwept(name, environment);
	await expectInterrupt(name, environment);
}

async function overSocket(executor) {
	const tree = new Tree(newTag());
	let at;
	try {
		at = await listen(executor, codexEnv(newDir("executor"), { [TAG]: tree.tag }));
		await allOf("over ws", { url: at.url });
		await endExecutor(at);
	} catch (e) {
		result(false, `over ws: ${e.message}`, comment(at?.said.err ?? ""));
		at?.child.kill("SIGKILL");
	} finally {
		await at?.exited;
		await scrub([tree]);
	}
}

if (!programs.killick || !programs.zoo)
	bailOut("KILLICK and ZOO must name the programs to test", 64);
if (codex.missing) {
	console.log(`1..0 # SKIP ${codex.missing}`);
} else {
	const executor = codexExecutor(codex);
	console.log(`# codex ${codex.version}`);
	await overSocket(executor);
	await allOf("as a program", asProgram(executor));
	finish();
}
