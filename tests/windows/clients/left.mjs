// left.mjs WINE KILLICK.EXE SERVER.EXE - what real Windows clients leave behind in Wine, with the
// config they have and with the same config after `killick wrap`. TAP, by tests/windows/judge,
// which counts.
//
// Each client starts one hostile server behind a .cmd file (library/server.c: the server ignores
// the end of its input, and starts a detached child and a daemon), calls a tool of it and exits,
// or gets TerminateProcess in a call.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { comment, pause } from "../../interop/codex/child.mjs";
import { finish, result, skip } from "../../interop/tap.mjs";
import { claudeCode, codexCli, onWindows } from "./clients.mjs";
import { ask, leftOf, newTag, tagged } from "./judge.mjs";
import { Shell } from "./shell.mjs";
import { Turn } from "./turn.mjs";

const RUN_MS = 120000; // a client alone takes 8 s
const EMPTY_MS = 10000; // killick's own budget is 5.5 s
const SETTLE_MS = 3000; // for a client's own way to end its server
const SIZE = 4; // cmd.exe, the server, its child, its daemon
const NAME = "hostile";
const WORD = "there and back";
const TERMINATED = "is terminated";
const SCRIPTS = {
	exits: [{ server: NAME, tool: "echo", arguments: { text: WORD } }, { say: "done" }],
	[TERMINATED]: [{ server: NAME, tool: "hang" }],
};

const [wine, killick, program] = process.argv.slice(2);
const scratch = mkdtempSync(join(dirname(killick), "clients-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
const shell = new Shell(wine);

function newServer(dir) {
	const tag = newTag();
	const shim = join(dir, "server.cmd");
	const pids = onWindows(join(dir, "pids"));
	writeFileSync(shim, `@"${onWindows(program)}" hostile "${pids}"\r\n`);
	return { name: NAME, command: onWindows(shim), args: [], env: tagged(tag), tag };
}

async function wrap(file) {
	const words = [onWindows(killick), "wrap", "--yes", onWindows(file), ">nul 2>&1"];
	const status = await shell.do(words.join(" "));
	if (status !== 0 || !readFileSync(file, "utf8").includes('"run"'))
		throw new Error(`killick wrap did not change ${file}: status ${status}`);
}

// The client has ended then. Returns how many processes the server had.
async function runClient(client, { server, model, ending, turn }) {
	const deadline = performance.now() + RUN_MS;
	let seen = 0, terminated = false;
	await turn.start(shell);
	while (Number.isNaN(turn.status())) {
		if (performance.now() > deadline)
			throw new Error(`no end within ${RUN_MS} ms`);
		seen = Math.max(seen, (await ask("count", server.tag)).count);
		if (ending === TERMINATED && !terminated && model.turns > 0 && seen >= SIZE) {
			await shell.do(`taskkill /f /im ${client.image} >nul`);
			terminated = true;
		}
		await pause(50);
	}
	return seen;
}

function checkTurn({ model, ending, turn }, seen) {
	if (seen < SIZE)
		throw new Error(`its server had ${seen} processes`);
	if (ending !== TERMINATED && (turn.status() !== 0 || !model.results[0]?.includes(WORD)))
		throw new Error(`status ${turn.status()}, result ${model.results[0]}`);
}

// The processes of the server that are alive after the client has ended, { left, seen }.
async function countLeft(client, ending, wrapped) {
	const dir = mkdtempSync(join(scratch, "trial-"));
	const model = client.newModel(SCRIPTS[ending]);
	mkdirSync(join(dir, "work"));
	const server = newServer(dir);
	let turn;
	try {
		const modelUrl = await model.open();
		const file = client.config(dir, server, modelUrl);
		if (wrapped)
			await wrap(file);
		turn = new Turn(dir, client, modelUrl, SCRIPTS[ending]);
		const trial = { server, model, ending, turn };
		const seen = await runClient(client, trial);
		checkTurn(trial, seen);
		if (!wrapped)
			await pause(SETTLE_MS);
		return { left: await leftOf(server.tag, wrapped ? EMPTY_MS : 0), seen };
	} catch (e) {
		const how = wrapped ? "with" : "without";
		throw new Error(`${how} killick: ${e.message}\n# ${comment(turn?.said() ?? "")}`);
	} finally {
		model.close();
		await ask("scrub", server.tag);
	}
}

// claude.exe leaves processes, or the judge is blind. codex.exe has its servers in a job.
async function tryClient(client, ending) {
	const name = `${client.name} ${client.version} ${ending}`;
	try {
		const plain = await countLeft(client, ending, false);
		const held = await countLeft(client, ending, true);
		const tell = ({ left, seen }) => `${left.count} left of ${seen}: ${left.text}`;
		if (client.leaves)
			result(plain.left.count > 0, `${name}: without killick processes are left`);
		result(held.left.count === 0, `${name}: after killick wrap no process is left`,
			`without killick ${tell(plain)}\n# with killick ${tell(held)}`);
	} catch (e) {
		result(false, `${name}: ${e.message}`);
	}
}

// Why the client cannot be tested here, or nothing.
async function obstacle(client) {
	if (client.missing)
		return client.missing;
	const out = join(scratch, "version");
	const status = await shell.do(`${client.program} --version >${onWindows(out)} 2>&1`);
	const said = readFileSync(out, "utf8").trim();
	return status === 0 && said.includes(client.version) ? null :
		`it does not start in this Wine: status ${status}, ${said.split("\n").at(-1)}`;
}

for (const client of [claudeCode(), codexCli()]) {
	const why = await obstacle(client);
	for (const ending of Object.keys(SCRIPTS))
		if (why)
			skip(`${client.name} ${ending}`, why);
		else
			await tryClient(client, ending);
}
await shell.close();
finish();
process.exit(); // the judge keeps the input open
