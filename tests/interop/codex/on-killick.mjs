// on-killick.mjs - the real codex has its MCP server on `killick exec-server`.
//
// KILLICK and ZOO are the programs to test. TAP on stdout. Codex reaches the executor over a socket
// and as a program; a script stands in for the model. The server is hostile; codex calls a tool and
// leaves, is interrupted in a call, is killed in a call, loses its connection in a call. Afterwards
// an auditor must find nobody. On codex's own executor the same server leaves survivors, or the
// auditor is blind.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TAG, Tree, look, lookUntilEmpty, scrub, show } from "../auditor.mjs";
import { bailOut, finish, result } from "../tap.mjs";
import { comment, until, within } from "./child.mjs";
import { codexEnv, findCodex, startTurn, writeHome } from "./codex.mjs";
import {
	asProgram, codexExecutor, endExecutor, killickExecutor, listen, openWire,
} from "./executor.mjs";
import { Model } from "./model.mjs";
import { newDir, newServer, newTag } from "./server.mjs";

const LEASE_S = 2;
const TURN_MS = 30000; // codex alone takes less than a second
const EMPTY_MS = 5000 + 1000 * LEASE_S;
const SURVIVE_MS = 1000;
const SLEEP_MS = 700; // a tool at work, longer than codex takes to come back
const BIG = 1 << 20;

const programs = { killick: process.env.KILLICK, zoo: process.env.ZOO };
const codex = findCodex();
const canSandbox = () => spawnSync("bwrap", [
	"--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev",
	"--proc", "/proc", "true",
]).status === 0;
const said = (run) => run ? comment(`${run.said.out}\n${run.said.err}`) : "";

// Codex with a new home, and a hostile server on the executor. body gets the scene { server,
// client, model, turn, audit }. The auditor looks after each result, before the model goes on, and
// when `audit` is called. Nothing of it is left afterwards.
async function withTurn(name, executor, script, body, more = []) {
	const dir = newDir("codex");
	const server = newServer("hostile", programs.zoo, dir);
	const client = new Tree(newTag());
	const audit = () => look([server.tree, ...more], false);
	const model = new Model(script(server.name), audit);
	let turn;
	try {
		executor.prepare?.(server.cwd);
		writeHome(dir, { modelUrl: await model.open(), executor, server });
		turn = startTurn(codex, dir, server.cwd, { [TAG]: client.tag });
		await body({ server, client, model, turn, audit });
	} catch (e) {
		result(false, `${name}: ${e.message}`, said(turn));
	} finally {
		turn?.child.kill("SIGKILL");
		await turn?.exited;
		model.close();
		await scrub([server.tree, client, ...more]);
	}
}

// Nobody of the tree is left, of which `size` were seen before, or it proves nothing. What else
// codex may have started must be gone, too.
async function expectNobody(name, client, tree, size) {
	const seen = tree.seen.size;
	const t0 = performance.now();
	await lookUntilEmpty([tree, client], t0 + EMPTY_MS);
	const left = [tree, client].filter((t) => !t.emptyAt).flatMap((t) => t.living);
	const when = left.length ? `left: ${show(left)}` :
		`empty after ${(tree.emptyAt - t0).toFixed(0)} ms`;
	result(seen >= size && !left.length, `${name}: nobody left`, `${seen} processes, ${when}`);
}

const expectNoServer = (name, { server, client }) =>
	expectNobody(name, client, server.tree, server.size);

// Codex has called tools and got these answers, and has ended.
async function expectAnswers(name, { model, turn }, answers) {
	const { code } = await within(TURN_MS, "codex", turn.exited);
	const ok = code === 0 && model.results.length === answers.length &&
		answers.every((answer, i) => model.results[i].includes(answer));
	const results = JSON.stringify(model.results).slice(0, 1000);
	result(ok, name, ok ? "" : `status ${code}, results ${results}\n# ${said(turn)}`);
}

async function expectCall(name, executor) {
	const word = newTag();
	const script = (server) =>
		[{ server, tool: "echo", arguments: { text: word } }, { say: "done" }];

	await withTurn(name, executor, script, async (scene) => {
		await expectAnswers(`${name}: a tool is called and answers`, scene, [word]);
		result(scene.server.calls().includes(word), `${name}: the server was asked`);
		await expectNoServer(`${name}: codex has ended`, scene);
	});
}

// The call is at the server, and will not be answered soon.
async function callArrives({ server, turn, audit }, tool) {
	await until(TURN_MS, "the call at the server",
		() => server.calls().includes(`"${tool}"`), turn.exited);
	audit();
}

async function inCall(name, executor, signal, body) {
	const script = (server) => [{ server, tool: "block" }];

	await withTurn(name, executor, script, async (scene) => {
		await callArrives(scene, "block");
		scene.turn.child.kill(signal);
		await within(TURN_MS, `codex after ${signal}`, scene.turn.exited);
		await body(scene);
	});
}

const expectEnd = (name, executor, signal) => inCall(name, executor, signal,
	(scene) => expectNoServer(`${name}: ${signal} in a call`, scene));

// A command of the model runs there as well, when it says so. What it leaves behind goes on through
// the next, and ends with codex.
async function expectShell(name, executor) {
	const word = newTag();
	const jobs = new Tree(newTag());
	const sleep = "sleep 120 </dev/null >/dev/null 2>&1";
	const script = `${sleep} & (setsid ${sleep} &); echo "$WORD"`;
	const cmd = `${TAG}=${jobs.tag} WORD=${word} sh -c '${script}'`;
	const run = (line) =>
		({ tool: "exec_command", arguments: { cmd: line, environment_id: "host" } });
	const turn = () => [run(cmd), run(`echo again ${word}`), { say: "done" }];

	await withTurn(name, executor, turn, async (scene) => {
		await expectAnswers(`${name}: commands of the model run`, scene,
			[word, `again ${word}`]);
		result(jobs.living.length === 2, `${name}: the jobs of one outlive it`,
			show(jobs.living));
		await expectNobody(`${name}: they go with codex`, scene.client, jobs, 2);
	}, [jobs]);
}

// A command of the model in the sandbox mode of codex: it writes to the directory of the turn, and
// outside of all that codex lets it write to.
async function expectSandbox(name, executor, sandbox, inside) {
	const script = "(touch here && echo inside) 2>&1; (touch /usr/here && echo outside) 2>&1; exit 0";
	const turn = () => [
		{ tool: "exec_command", arguments: { cmd: script, environment_id: "host" } },
		{ say: "done" },
	];
	await withTurn(name, { ...executor, sandbox }, turn, async ({ model, turn: run }) => {
		const { code } = await within(TURN_MS, "codex", run.exited);
		const said = model.results.join("\n");
		const ok = code === 0 && said.includes("/usr/here': Read-only") &&
			!/^outside/m.test(said) && /^inside/m.test(said) === inside;
		result(ok, `${name}: ${sandbox} is enforced`, said.replaceAll("\n", " | "));
	});
}

// A patch of the model: codex reads, writes, moves and removes files by the executor, and finds the
// instructions and the skill that are there.
async function expectPatch(name, executor, sandbox, allowed) {
	const patch = [
		"*** Begin Patch", "*** Add File: sub/deep/new.txt", "+hello",
		"*** Update File: old.txt", "*** Move to: moved/name.txt", "@@", "-two", "+three",
		"*** Delete File: gone.txt", "*** End Patch", "",
	].join("\n");
	const turn = () => [{ tool: "apply_patch", input: patch }, { say: "done" }];
	const prepare = (cwd) => {
		mkdirSync(join(cwd, ".agents/skills/greet"), { recursive: true });
		writeFileSync(join(cwd, ".agents/skills/greet/SKILL.md"),
			"---\nname: greet\ndescription: greets in the interop test\n---\nGreet.\n");
		writeFileSync(join(cwd, "AGENTS.md"), "Instructions of the interop test.\n");
		writeFileSync(join(cwd, "old.txt"), "one\ntwo\n");
		writeFileSync(join(cwd, "gone.txt"), "x\n");
	};
	const read = (file) => existsSync(file) ? readFileSync(file, "utf8") : null;
	const at = { ...executor, sandbox, first: true, prepare };

	await withTurn(name, at, turn, async ({ model, server, turn: run }) => {
		const { code } = await within(TURN_MS, "codex", run.exited);
		const files = ["sub/deep/new.txt", "moved/name.txt", "old.txt", "gone.txt"]
			.map((file) => read(join(server.cwd, file)));
		const expected = allowed ? ["hello\n", "one\nthree\n", null, null] :
			[null, null, "one\ntwo\n", "x\n"];
		const ok = code === 0 && JSON.stringify(files) === JSON.stringify(expected);
		result(ok, `${name}: ${sandbox}: a patch ${allowed ? "is applied" : "changes nothing"}`,
			ok ? "" : `${JSON.stringify(files)} ${model.results}\n# ${said(run)}`);
		result(model.asked.includes("Instructions of the interop test") &&
			model.asked.includes("greets in the interop test"),
		`${name}: ${sandbox}: instructions and skills are found`);
	});
}

// The connection is lost while a tool is at work: codex comes back for the answer.
async function expectResume(name, { url }) {
	const script = (server) => [
		{ server, tool: "sleep", arguments: { ms: SLEEP_MS } },
		{ server, tool: "big", arguments: { bytes: BIG } },
		{ say: "done" },
	];
	const wire = await openWire(url);
	try {
		await withTurn(name, { url: wire.url }, script, async (scene) => {
			await callArrives(scene, "sleep");
			wire.cut();
			await expectAnswers(`${name}: a call survives a cut connection`, scene,
				["slept", "x".repeat(1000)]);
			await expectNoServer(`${name}: codex has ended after a cut`, scene);
		});
	} finally {
		wire.close();
	}
}

async function allOf(name, executor) {
	await expectCall(name, executor);
	await expectShell(name, executor);
	for (const signal of ["SIGINT", "SIGKILL"])
		await expectEnd(name, executor, signal);
}

// One executor for all of them: what happened to one codex is nothing to the next.
async function overSocket(executor) {
	const name = `${executor.name} over ws`;
	const tree = new Tree(newTag());
	let at;
	try {
		at = await listen(executor, codexEnv(newDir("executor"), { [TAG]: tree.tag }));
		await allOf(name, at);
		await expectResume(name, at);
		await expectCall(`${name}, again`, at);
		look([tree]);
		const { code, signal } = await endExecutor(at);
		await lookUntilEmpty([tree], performance.now() + EMPTY_MS);
		result(code === 0 && tree.emptyAt, `${name}: the executor ends and leaves nobody`,
			`${tree.seen.size} processes, ${signal ?? code}; ${show(tree.living)}`);
	} catch (e) {
		result(false, `${name}: ${e.message}`, said(at));
		at?.child.kill("SIGKILL");
	} finally {
		await at?.exited;
		await scrub([tree]);
	}
}

// The test of the test.
async function expectSurvivors(executor) {
	const name = `${executor.name} as a program`;
	await inCall(name, asProgram(executor), "SIGINT", async ({ server }) => {
		await lookUntilEmpty([server.tree], performance.now() + SURVIVE_MS);
		result(server.tree.living.length > 0, `${name}: the auditor sees survivors`,
			show(server.tree.living));
	});
}

if (!programs.killick || !programs.zoo)
	bailOut("KILLICK and ZOO must name the programs to test", 64);
if (codex.missing) {
	console.log(`1..0 # SKIP ${codex.missing}`);
} else {
	const ours = killickExecutor(programs.killick, `${LEASE_S}s`);
	console.log(`# codex ${codex.version}`);
	await overSocket(ours);
	await allOf(`${ours.name} as a program`, asProgram(ours));
	await expectPatch(ours.name, asProgram(ours), "danger-full-access", true);
	if (canSandbox()) {
		const sandboxed = asProgram({ ...ours, argv: [...ours.argv, "--sandbox", "bwrap"] });
		await expectSandbox(ours.name, sandboxed, "workspace-write", true);
		await expectSandbox(ours.name, sandboxed, "read-only", false);
		await expectPatch(ours.name, sandboxed, "workspace-write", true);
		await expectPatch(ours.name, sandboxed, "read-only", false);
	} else {
		console.log("# bwrap does not work here: no sandbox is tested");
	}
	await expectSurvivors(codexExecutor(codex));
	finish();
}
