// hub.mjs - real clients through `killick connect`.
//
//	node hub.mjs
//
// KILLICK and ZOO are the programs to test. TAP on stdout. One hub serves all clients. Each client has
// one server in its own config, `killick connect`, which offers two servers with qualified names. A
// model on loopback, or a script of the SDK, calls a tool of each of them. Then the client exits, or
// gets SIGKILL while its model waits. The auditor counts the processes of the servers: none may be
// left. The test has a network namespace of its own, so that no client reaches anything but loopback.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { look, lookUntilEmpty, scrub, show } from "../auditor.mjs";
import { comment, start, until, within } from "../codex/child.mjs";
import { Model } from "../codex/model.mjs";
import { newDir, newServer } from "../codex/server.mjs";
import { finish, result, skip, skipAll } from "../tap.mjs";
import { allClients, findPackage } from "./clients.mjs";
import { Contents } from "./contents.mjs";
import { Messages } from "./messages.mjs";

const RUN_MS = 90000; // a client alone takes at most 5 s
const EMPTY_MS = 10000; // killick's own budget is 5.5 s
const HELLO = "hello through the hub";
const TOOL = "alpha__echo";
const SCRIPT = [{ server: "hub", tool: TOOL, arguments: { text: HELLO } }, { say: "done" }];
const here = dirname(fileURLToPath(import.meta.url));
const { KILLICK: killick, ZOO: zoo } = process.env;

function enterOwnNetwork() {
	if (process.env.INTEROP_NETWORK)
		return;
	const asRoot = process.getuid() === 0 ? [] : ["--user", "--map-root-user"];
	const script = 'ip link set lo up && exec "$0" "$1"';
	const { status, error } = spawnSync("unshare",
		[...asRoot, "--net", "sh", "-c", script, process.execPath, fileURLToPath(import.meta.url)],
		{ stdio: "inherit", env: { ...process.env, INTEROP_NETWORK: "own" } });
	if (error || status === 126 || status === 127)
		skipAll(`no network namespace here: ${error ?? status}`);
	process.exit(status);
}

// The servers behind the hub, and the config that `killick connect` reads.
function newServers(dir) {
	const servers = ["alpha", "beta"].map((name) => {
		const of = newDir(name);
		return { ...newServer("polite", zoo, of), name };
	});
	const entries = servers.map(({ name, command, args, cwd, env }) =>
		[name, { command, args, cwd, env }]);
	const file = join(dir, "servers.json");
	writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
	return { servers, file };
}

// One turn of one client: its argv, its variables and what its model was answered.
const turns = {
	"Claude Code": async (client, dir) => {
		const model = new Messages(SCRIPT);
		const [program] = client.argv(dir).slice(-3);
		return {
			model,
			argv: [program, "-p", "Go on.", "--output-format", "json", "--allowedTools",
				`mcp__hub__${TOOL}`],
			env: {
				ANTHROPIC_BASE_URL: await model.open(), ANTHROPIC_API_KEY: "none",
				// without these the first request is made before the servers are there
				ENABLE_TOOL_SEARCH: "false", MCP_CONNECTION_NONBLOCKING: "false",
				MCP_TIMEOUT: String(RUN_MS),
			},
		};
	},
	"Gemini CLI": async (client, dir) => {
		const model = new Contents(SCRIPT);
		const [node, program] = client.argv(dir).slice(-4);
		const file = join(dir, ".gemini/settings.json");
		const settings = JSON.parse(readFileSync(file, "utf8"));
		settings.security.auth = { selectedType: "gemini-api-key" };
		settings.model = { name: "gemini-2.5-flash" };
		writeFileSync(file, JSON.stringify(settings));
		return {
			model,
			argv: [node, program, "--yolo", "-p", "Go on."],
			env: { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: await model.open() },
		};
	},
	Codex: async (client, dir) => ({ model: codexModel, argv: client.argv(dir), env: {} }),
};

// Clients of the SDK need no model.
const sdk = (version) => async (client, dir) => ({
	argv: [process.execPath, join(here, "turn.mjs"), version, join(dir, "mcp.json"), "hub", TOOL,
		JSON.stringify({ text: HELLO })],
	env: {},
});

const codexModel = new Model(SCRIPT);

// Start a client whose config has `killick connect`, let `body` watch the run, and audit the servers.
async function withClient(name, client, turn, body) {
	const dir = newDir("hub-client");
	const { servers, file } = newServers(dir);
	const trees = servers.map(({ tree }) => tree);
	client.config(dir, {
		name: "hub", command: killick, args: ["connect", "--config", file],
		env: { KILLICK_RUNTIME_DIR: runtime },
	});
	const { model, argv, env } = await turn(client, dir);
	const run = start(argv, { ...client.env(dir), ...env }, join(dir, "work"));
	try {
		await body({ run, servers, trees, model });
		await lookUntilEmpty(trees, performance.now() + EMPTY_MS);
		const left = trees.flatMap((tree) => tree.living);
		result(left.length === 0, `${name}: no process is left`, show(left));
	} catch (e) {
		result(false, `${name}: ${e.message}`, comment(`${run.said.out}\n${run.said.err}`));
	} finally {
		run.child.kill("SIGKILL");
		await run.exited;
		if (model && model !== codexModel)
			model.close();
		await scrub(trees);
	}
}

const callTool = (name) => async ({ run, servers, model }) => {
	const { code } = await within(RUN_MS, "its end", run.exited);
	const answers = model ? model.results.join() : run.said.out;
	result(code === 0 && answers.includes(HELLO), `${name}: a call through killick connect`,
		comment(code === 0 ? `answered ${answers.slice(0, 200)}`
			: `exit ${code}\n${run.said.out}\n${run.said.err}`));
	result(servers[0].calls().includes(HELLO), `${name}: the server got the call`);
};

const killClient = async ({ run, servers, trees }) => {
	await until(RUN_MS, "its servers", () => {
		look(trees, false);
		return servers.every((server) => server.calls().includes("initialize"));
	}, run.exited);
	run.child.kill("SIGKILL");
	await run.exited;
};

enterOwnNetwork();
const runtime = newDir("hub-runtime");
const hub = start([killick, "hub", "--idle-exit", "0"],
	{ PATH: process.env.PATH, HOME: runtime, KILLICK_RUNTIME_DIR: runtime }, runtime);
const clients = allClients(await codexModel.open());
const npm = clients.find(({ name }) => name === "TypeScript SDK");
const sdk2 = findPackage("@modelcontextprotocol/client");
const all = [
	...clients.filter((client) => client !== npm).map((client) => [client, turns[client.name]]),
	[npm, sdk("1.x")],
	[{ ...npm, ...sdk2 }, sdk("2.x")],
	[{ ...npm, ...sdk2, name: "TypeScript SDK, 2026-07-28" }, sdk("modern")],
];
for (const [client, turn] of all) {
	const name = `${client.name} ${client.version ?? ""}`.trim();
	if (client.missing) {
		skip(name, client.missing);
		continue;
	}
	await withClient(name, client, turn, callTool(name));
	await withClient(`${name}, SIGKILL`, client, turn, killClient);
}
const stopped = start([killick, "hub", "stop"],
	{ PATH: process.env.PATH, HOME: runtime, KILLICK_RUNTIME_DIR: runtime }, runtime);
const { code } = await within(RUN_MS, "killick hub stop", stopped.exited);
result(code === 0, "killick hub stop", comment(stopped.said.err));
const ended = await within(EMPTY_MS, "the end of the hub", hub.exited);
result(ended.code === 0, "the hub exits with 0", comment(hub.said.err));
codexModel.close();
finish();
