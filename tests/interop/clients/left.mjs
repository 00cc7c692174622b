// left.mjs - what real clients leave behind, with the config they have and with the same config after
// `killick wrap`.
//
//	node left.mjs [--table]
//
// KILLICK and ZOO are the programs to test. TAP on stdout; with --table a page for bench/RESULTS.md
// instead.
// Each client starts one hostile server (codex/server.mjs: a child that ignores SIGTERM, a daemon)
// and exits by itself, or gets SIGKILL while it waits for the handshake of a mute server. An auditor
// then counts. Without killick each client must leave something when it is killed, or the auditor
// is blind.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TAG, Tree, look, lookUntilEmpty, scrub, show } from "../auditor.mjs";
import { comment, pause, start, until, within } from "../codex/child.mjs";
import { Model } from "../codex/model.mjs";
import { newDir, newServer, newTag } from "../codex/server.mjs";
import { finish, result, skip } from "../tap.mjs";
import { allClients } from "./clients.mjs";

const RUN_MS = 60000; // a client alone takes at most 3 s
const EMPTY_MS = 10000; // killick's own budget is 5.5 s
const SETTLE_MS = 3000; // for a client's own way to end its server, which takes the SDK 4 s after EOF
const KINDS = { exit: "hostile", SIGKILL: "mute" };
const programs = { killick: process.env.KILLICK, zoo: process.env.ZOO };
const asTable = process.argv.includes("--table");

// `killick wrap` on the client's own file; the file says killick afterwards, or nothing was shown.
function wrap(file) {
	execFileSync(programs.killick, ["wrap", "--yes", file], { stdio: ["ignore", "ignore", "inherit"] });
	if (!readFileSync(file, "utf8").includes('"run"'))
		throw new Error(`killick wrap did not change ${file}`);
}

// Let the client end the given way. Returns when it has ended; its server was there before.
async function runClient(client, dir, server, ending) {
	const tree = new Tree(newTag());
	const run = start(client.argv(dir), { ...client.env(dir), [TAG]: tree.tag }, join(dir, "work"));
	const isWhole = () => {
		look([server.tree], false);
		return server.daemon() && server.tree.living.length >= server.size;
	};
	try {
		if (ending !== "exit") {
			await until(RUN_MS, "the processes of its server", isWhole, run.exited);
			run.child.kill(ending);
		}
		await within(RUN_MS, "its end", run.exited);
		if (!server.daemon())
			throw new Error("its server was never started");
	} catch (e) {
		throw new Error(`${e.message}\n# ${comment(`${run.said.out}\n${run.said.err}`)}`);
	} finally {
		run.child.kill("SIGKILL");
		await run.exited;
		await scrub([tree]);
	}
}

// The processes of the server that are alive after the client has ended.
async function countLeft(client, ending, wrapped) {
	const dir = newDir("client");
	const server = newServer(KINDS[ending], programs.zoo, dir);
	try {
		const file = client.config(dir, server);
		if (wrapped)
			wrap(file);
		await runClient(client, dir, server, ending);
		if (!wrapped)
			await pause(SETTLE_MS);
		await lookUntilEmpty([server.tree], performance.now() + (wrapped ? EMPTY_MS : 0));
		return { left: server.tree.living, seen: server.tree.seen.size };
	} finally {
		await scrub([server.tree]);
	}
}

function tell(client, ending, plain, held) {
	const name = `${client.name} ${client.version}`;
	if (asTable) {
		const end = ending === "exit" ? "exits" : "is killed";
		console.log(`| ${name} | ${end} | ${plain.left.length} | ${held.left.length} |`);
		return;
	}
	if (ending !== "exit")
		result(plain.left.length > 0, `${name}, ${ending}: without killick processes are left`);
	result(held.left.length === 0, `${name}, ${ending}: after killick wrap no process is left`,
		`without killick ${plain.left.length} of ${plain.seen}: ${show(plain.left)}` +
		(held.left.length ? `\n# with killick: ${show(held.left)}` : ""));
}

async function tryClient(client, ending) {
	try {
		const plain = await countLeft(client, ending, false);
		tell(client, ending, plain, await countLeft(client, ending, true));
	} catch (e) {
		result(false, `${client.name}, ${ending}: ${e.message}`);
	}
}

const HEADING = `# What real clients leave behind

Each client reads its own config with one server, which starts a child that ignores SIGTERM and a daemon. The client
lists the server's tools and exits, or is killed while it waits for the handshake. The numbers are processes of the
server that live ${SETTLE_MS / 1000} s later; with killick: after \`killick wrap\` on the same config.

| client | the client | left without killick | left with killick |
|---|---|--:|--:|`;

const model = new Model([{ say: "done" }]);
const clients = allClients(await model.open());
if (asTable)
	console.log(HEADING);
for (const client of clients)
	for (const ending of Object.keys(KINDS))
		if (client.missing && !asTable)
			skip(`${client.name}, ${ending}`, client.missing);
		else if (!client.missing)
			await tryClient(client, ending);
model.close();
if (!asTable)
	finish();
