// executors.mjs WINE KILLICK.EXE SERVER.EXE KILLICK - codex and killick on both ends of the
// executor's protocol, with Wine on one end. TAP, by tests/windows/judge, which counts.
//
// 1. killick.exe's executor in Wine, for killick (KILLICK) and codex on Linux.
// 2. codex.exe's executor in Wine, for killick on Linux. Working directories are those of Windows.
// 3. codex.exe in Wine with its server on killick's executor, in the same Wine and on Linux.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { comment, start, until, within } from "../../interop/codex/child.mjs";
import { findCodex, startTurn, writeHome } from "../../interop/codex/codex.mjs";
import { endExecutor, killickExecutor, listen } from "../../interop/codex/executor.mjs";
import { Model } from "../../interop/codex/model.mjs";
import { finish, result, skip, skipAll } from "../../interop/tap.mjs";
import { codexCli, onWindows } from "./clients.mjs";
import { ask, leftOf, newTag, tagged } from "./judge.mjs";
import { Shell } from "./shell.mjs";
import { Turn } from "./turn.mjs";

const UP_MS = 30000;
const RUN_MS = 60000;
const EMPTY_MS = 10000;
const TTL_MS = 30000; // codex's executor ends a session that is not resumed
const LEASE = "2s";
const NAME = "hostile";
const WORD = "there and back";
const ECHO = [{ server: NAME, tool: "echo", arguments: { text: WORD } }, { say: "done" }];
const HANG = [{ server: NAME, tool: "hang" }];
const [wine, killickExe, program, killick] = process.argv.slice(2);
const zoo = join(dirname(killick), "tests/zoo/killick-zoo"); // of the build for Linux: `make` alone does not build it
for (const needed of [killick, zoo])
	if (!existsSync(needed))
		skipAll(`no ${needed}, which make test builds: codex on Windows was not tested with killick on Linux`);
const scratch = mkdtempSync(join(dirname(killickExe), "executors-"));
const runtime = mkdtempSync(join(tmpdir(), "killick-"));
process.env.KILLICK_RUNTIME_DIR = runtime;
process.on("exit", () => {
	for (const dir of [scratch, runtime])
		rmSync(dir, { recursive: true, force: true });
});
const never = new Promise(() => {});
const codexExe = codexCli();
const codex = findCodex();

function newDir() {
	const dir = mkdtempSync(join(scratch, "trial-"));
	mkdirSync(join(dir, "work"));
	return dir;
}

function newServer(dir) {
	const tag = newTag();
	const file = join(dir, "pids");
	return {
		name: NAME, command: onWindows(program), args: [NAME, onWindows(file)],
		cwd: "C:\\windows", env: tagged(tag), tag,
		hasStarted: () => existsSync(file) && readFileSync(file, "utf8").includes("\n"),
	};
}

function newLinuxServer(dir) {
	const tag = newTag();
	const file = join(dir, "started");
	const script = `sleep 60 & echo >"${file}"; exec "$ZOO" mcp`;
	return {
		name: NAME, command: "/bin/sh", args: ["-c", script], cwd: "/tmp",
		env: { ZOO: zoo, TAG: tag }, tag,
		hasStarted: () => existsSync(file),
	};
}

// The server and the processes that it starts are there.
const untilStarted = (server, exited = never) =>
	until(RUN_MS, "the server", server.hasStarted, exited);
const findAddress = (text) => text.match(/^ws:\/\/[\d.:]+(?=\r?\n)/m);

// An executor in Wine on a port of its choice, { url, close() }. Wine ends with its script.
async function serve(words) {
	const child = spawn(wine, [...words, "--listen", "ws://127.0.0.1:0"],
		{ stdio: ["ignore", "pipe", "pipe"], detached: true });
	const said = { out: "", err: "" };
	child.stdout.on("data", (data) => { said.out += data; });
	child.stderr.on("data", (data) => { said.err += data; });
	const exited = once(child, "exit");
	const close = async () => {
		try {
			process.kill(-child.pid, "SIGKILL");
		} catch {
			// gone by itself
		}
		await exited;
	};
	const address = () => findAddress(said.out);
	try {
		await until(UP_MS, "the address of exec-server", address, exited);
	} catch (e) {
		await close();
		throw new Error(`${e.message}; it says: ${said.err}`);
	}
	return { url: address()[0], close };
}

async function attempt(name, body) {
	try {
		await body();
	} catch (e) {
		result(false, `${name}: ${e.message}`);
	}
}

// At most this many processes are left.
async function expectLeft(name, tag, most, ms = EMPTY_MS) {
	const t0 = performance.now();
	const left = await leftOf(tag, ms, most);
	const passed = (performance.now() - t0).toFixed(0);
	const what = most ? "only the daemon may be" : "no process is";
	result(left.count <= most, `${name}: ${what} left`, `after ${passed} ms: ${left.text}`);
	await ask("scrub", tag);
}

// --- killick on Linux, codex.exe's executor ---

const run = (words) => start([killick, ...words], process.env, scratch);

async function runOn(url, cwd, line, more = []) {
	const r = run(["run", "--on", url, "--cwd", cwd, ...more, "--", "cmd.exe", "/c", line]);
	const { code } = await within(RUN_MS, "killick run --on", r.exited);
	return { code, ...r.said };
}

async function expectDirectory(url, cwd, real) {
	const { code, out, err } = await runOn(url, cwd, "cd & exit 7");
	const ok = code === 7 && out.trim() === real;
	result(ok, `--cwd ${cwd} on codex.exe's executor`,
		ok ? "" : comment(`${code} ${out}${err}`));
}

// Codex's executor ends nothing when the program exits by itself, so killick may claim no proof.
async function expectNoProof(url) {
	const tag = newTag();
	const file = join(scratch, "report");
	const line = `start /b ${onWindows(program)} sleep ${tag} & exit 0`;
	const { code, err } = await runOn(url, "C:\\", line, ["--report", file]);
	const { proof } = JSON.parse(readFileSync(file, "utf8"));
	const left = await ask("count", tag);
	result(code === 0 && proof.length === 0 && err.includes("look for processes"),
		"a program that exits on codex.exe's executor: no proof is claimed",
		comment(`${left.count} left; proof ${JSON.stringify(proof)}; ${err}`));
	await ask("scrub", tag);
}

// A verb of killick with a server on the executor; ends the verb with a signal, if any.
async function withVerb(url, words, signal, body) {
	const dir = newDir();
	const server = newServer(dir);
	const { command, args, cwd, env } = server;
	const file = join(dir, "killick.json");
	writeFileSync(file, JSON.stringify({
		environments: { windows: { url } },
		mcpServers: { [NAME]: { command, args, cwd, env, environment: "windows" } },
	}));
	const r = run([...words, "--config", file]);
	try {
		if (signal) {
			await untilStarted(server, r.exited);
			r.child.kill(signal);
		}
		const { code } = await within(RUN_MS, words[0], r.exited);
		await body({ code, ...r.said, server });
	} finally {
		r.child.kill("SIGKILL");
		await ask("scrub", server.tag);
	}
}

// `most` processes of the hostile server may be left, and `ms` may pass after a SIGKILL.
async function expectEnds(name, url, most, ms) {
	const call = ["call", "echo", `text=${WORD}`];
	await withVerb(url, call, null, async ({ code, out, err, server }) => {
		result(code === 0 && out.includes(WORD), `${name}: a tool answers`, comment(err));
		await expectLeft(`${name}, a call`, server.tag, most);
	});
	for (const [signal, wait] of [["SIGINT", EMPTY_MS], ["SIGKILL", ms]])
		await withVerb(url, ["call", "hang"], signal, ({ server }) =>
			expectLeft(`${name}, ${signal} in a call`, server.tag, most, wait));
}

async function killickOnKillick() {
	const at = await serve([killickExe, "exec-server", "--lease", LEASE]);
	try {
		await expectEnds("killick on killick.exe's executor", at.url, 0, EMPTY_MS);
	} finally {
		await at.close();
	}
}

// The job of codex.exe's executor lets processes leave it, and the daemon does.
async function killickOnCodex() {
	const at = await serve([codexExe.path, "exec-server"]);
	try {
		for (const cwd of ["C:\\windows", "C:/windows", "file:///C:/windows"])
			await expectDirectory(at.url, cwd, "C:\\windows");
		await expectNoProof(at.url);
		await expectEnds("killick on codex.exe's executor", at.url, 1, TTL_MS + EMPTY_MS);
	} finally {
		await at.close();
	}
}

// --- codex on Linux, killick.exe's executor ---

async function withTurn(script, executor, body) {
	const dir = newDir();
	const server = newServer(dir);
	const model = new Model(script);
	writeHome(dir, { modelUrl: await model.open(), executor, server });
	const turn = startTurn(codex, dir, join(dir, "work"), {});
	try {
		await body({ server, model, turn });
	} finally {
		turn.child.kill("SIGKILL");
		await turn.exited;
		model.close();
		await ask("scrub", server.tag);
	}
}

async function codexOnKillick() {
	const name = "codex on Linux with killick.exe's executor";
	if (codex.missing) {
		skip(name, codex.missing);
		return;
	}
	const at = await serve([killickExe, "exec-server", "--lease", LEASE]);
	try {
		await withTurn(ECHO, at, async ({ server, model, turn }) => {
			const { code } = await within(RUN_MS, "codex", turn.exited);
			const ok = code === 0 && model.results[0]?.includes(WORD);
			result(ok, `${name}: a tool answers`,
				ok ? "" : comment(`${code} ${turn.said.out}\n${turn.said.err}`));
			await expectLeft(`${name}, a turn`, server.tag, 0);
		});
		await withTurn(HANG, at, async ({ server, turn }) => {
			await untilStarted(server, turn.exited);
			turn.child.kill("SIGKILL");
			await expectLeft(`${name}, SIGKILL in a call`, server.tag, 0);
		});
	} finally {
		await at.close();
	}
}

// --- codex.exe, killick's executor ---

// killick.exe's executor beside codex.exe.
async function serveInShell(shell, dir) {
	const out = join(dir, "url");
	await shell.do(`start /b ${onWindows(killickExe)} exec-server --lease ${LEASE} ` +
		`--listen ws://127.0.0.1:0 <nul >${onWindows(out)} 2>nul`);
	const address = () => existsSync(out) && findAddress(readFileSync(out, "utf8"));
	await until(UP_MS, "the address of exec-server", address, never);
	return { url: address()[0] };
}

async function codexExeOn(shell, executor, server, script, body) {
	const dir = newDir();
	const model = new Model(script);
	const modelUrl = await model.open();
	writeHome(dir, { modelUrl, executor, server });
	const turn = new Turn(dir, codexExe, modelUrl, script);
	try {
		await turn.start(shell);
		await body({ model, turn });
	} catch (e) {
		throw new Error(`${e.message}\n# ${comment(turn.said())}`);
	} finally {
		model.close();
		await ask("scrub", server.tag);
	}
}

async function expectTurns(name, shell, executor, makeServer) {
	let server = makeServer(newDir());
	await codexExeOn(shell, executor, server, ECHO, async ({ model, turn }) => {
		const hasEnded = () => !Number.isNaN(turn.status());
		await until(RUN_MS, "the end of codex.exe", hasEnded, never);
		const ok = turn.status() === 0 && model.results[0]?.includes(WORD);
		result(ok, `${name}: a tool answers`,
			ok ? "" : comment(`${turn.status()} ${turn.said()}`));
		await expectLeft(`${name}, a turn`, server.tag, 0);
	});
	server = makeServer(newDir());
	await codexExeOn(shell, executor, server, HANG, async () => {
		await untilStarted(server);
		await shell.do(`taskkill /f /im ${codexExe.image} >nul`);
		await expectLeft(`${name}, terminated in a call`, server.tag, 0);
	});
}

async function codexExeOnKillick() {
	const shell = new Shell(wine);
	try {
		const there = await serveInShell(shell, newDir());
		await expectTurns("codex.exe on killick.exe's executor", shell, there, newServer);
		const here = await listen(killickExecutor(killick, LEASE), process.env);
		try {
			const name = "codex.exe on killick's executor on Linux";
			await expectTurns(name, shell, here, newLinuxServer);
		} finally {
			await endExecutor(here);
		}
	} finally {
		await shell.close();
	}
}

await attempt("killick on killick.exe's executor", killickOnKillick);
await attempt("codex on killick.exe's executor", codexOnKillick);
for (const [name, body] of [
	["killick on codex.exe's executor", killickOnCodex],
	["codex.exe on killick.exe's executor", codexExeOnKillick],
])
	if (codexExe.missing)
		skip(name, codexExe.missing);
	else
		await attempt(name, body);
finish();
process.exit();
