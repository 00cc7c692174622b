// npm.mjs - the npm packages: `npm install killick` into an empty project, and the MCP SDK through `npx killick run`.
//
//	node npm.mjs PACKAGES
//
// TAP on stdout. The packages come from a registry on loopback (registry.mjs); no other host is asked. The client is that of
// tests/interop, with a hostile server that has daemons and a tool call in flight; when the client closes it, or the client
// or the process that the client started is killed, an auditor must find no process.
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { TAG, Tree, look, lookUntilEmpty, scrub, show } from "../interop/auditor.mjs";
import { finish, result, skip, skipAll } from "../interop/tap.mjs";
import { openRegistry } from "./registry.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const interop = join(here, "..", "interop");
const READY_MS = 60000;
const EMPTY_MS = 10000;
const ENDINGS = ["close", "SIGTERM", "SIGKILL", "killed command"];

const project = mkdtempSync(join(tmpdir(), "killick-npm-"));
process.on("exit", () => rmSync(project, { recursive: true, force: true }));
const env = {
	PATH: process.env.PATH, HOME: project, TERM: "dumb", KILLICK_RUNTIME_DIR: project,
	npm_config_cache: join(project, "cache"), npm_config_audit: "false", npm_config_fund: "false",
	npm_config_update_notifier: "false", npm_config_offline: "false", npm_config_fetch_retries: "0",
};
const run = (command, ...args) => spawnSync(command, args, { cwd: project, env, encoding: "utf8" });
const oneLine = (text) => text.trim().replaceAll("\n", " | ");
const said = (r) => oneLine(`${r.status ?? r.signal}: ${r.stdout}${r.stderr}`);
const installed = (name) => existsSync(join(project, "node_modules", name));

async function install(packages, cwd = project, options = []) {
	const registry = await openRegistry(packages);
	env.npm_config_registry = registry.url;
	// not spawnSync: the registry is in this process
	const npm = spawn("npm", ["install", "killick", "--foreground-scripts", ...options], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
	let text = "";
	npm.stdout.on("data", (d) => text += d);
	npm.stderr.on("data", (d) => text += d);
	const [status] = await once(npm, "close");
	registry.close();
	result(status === 0, ["npm install killick", ...options].join(" "), oneLine(text));
	return registry.asked;
}

function checkInstalled(asked) {
	const other = process.arch === "x64" ? "arm64" : "x64";
	result(installed(`@killick/linux-${process.arch}`), "the programs of this machine are installed");
	result(!installed(`@killick/linux-${other}`), "those of another machine are not",
		asked.filter((path) => path.startsWith("/-/")).join(" "));
	for (const name of ["killick", `@killick/linux-${process.arch}`]) {
		const manifest = JSON.parse(readFileSync(join(project, "node_modules", name, "package.json")));
		result(!manifest.scripts, `${name} has no script that npm runs`);
	}
}

// Every way to start it executes the same program, and no process is between.
function checkCommands() {
	const version = JSON.parse(readFileSync(join(project, "node_modules/killick/package.json"))).version;
	const bin = join(project, "node_modules/.bin/killick");
	const npx = run("npx", "--no-install", "killick", "--version");
	const json = run(bin, "--version", "--json");
	const status = run("npx", "--no-install", "killick", "run", "--", "sh", "-c", "exit 7");
	const parent = run("sh", "-c", `echo $$; exec "${bin}" run -- sh -c 'readlink /proc/$PPID/exe'`);
	const linked = json.status === 0 && JSON.parse(json.stdout);
	const [, exe] = parent.stdout.split("\n");

	result(npx.stdout === `killick ${version}\n`, "npx killick --version", said(npx));
	result(linked?.static && linked.linked.some((l) => l.name === "openssl"), "killick --version --json", said(json));
	result(status.status === 7, "the exit status is that of the server", said(status));
	result(exe?.endsWith(`/@killick/linux-${process.arch}/bin/killick`), "the server's parent is killick", said(parent));
}

// As the README has it: from the files, without any registry (the one above is closed).
function checkFiles(packages) {
	const prefix = join(project, "global");
	const files = readdirSync(packages).filter((file) => /^killick-(linux-x64-)?[0-9.]+tgz$/.test(file)).map((file) => join(packages, file));
	const npm = run("npm", "install", "-g", "--prefix", prefix, ...files);
	const killick = run(join(prefix, "bin/killick"), "--version");

	result(npm.status === 0 && killick.status === 0, "npm install -g of the files, without a registry", said(npm) + said(killick));
}

// The code of npm that makes the killick.cmd of a package on Windows; null where npm has it elsewhere.
function findCmdShim() {
	const root = run("npm", "root", "-g").stdout.trim();
	try {
		return createRequire(join(root, "npm/package.json"))("cmd-shim");
	} catch {
		return null;
	}
}

// What npm would do on Windows: the programs for Windows are chosen, and killick.cmd starts killick.exe itself.
async function checkWindows(packages) {
	if (!readdirSync(packages).some((file) => file.startsWith("killick-win32-x64-"))) {
		skip("npm install killick for Windows", "make dist made no packages for Windows");
		return;
	}
	const cwd = join(project, "windows");
	const exe = join(cwd, "node_modules/@killick/win32-x64/bin/killick.exe");
	mkdirSync(cwd);
	writeFileSync(join(cwd, "package.json"), "{}"); // else npm installs into the project above
	await install(packages, cwd, ["--os=win32", "--cpu=x64"]);
	result(existsSync(exe) && readdirSync(join(cwd, "node_modules/@killick")).length === 1, "npm chooses the programs for Windows");
	const cmdShim = findCmdShim();
	if (!cmdShim) {
		skip("killick.cmd starts killick.exe", "the module cmd-shim of npm was not found");
		return;
	}
	await cmdShim(exe, join(cwd, "killick"));
	const lines = readFileSync(join(cwd, "killick.cmd"), "utf8").trim().split(/\r?\n/);
	result(/^"%dp0%\\node_modules\\@killick\\win32-x64\\bin\\killick\.exe" +%\*$/.test(lines.at(-1)), "killick.cmd starts killick.exe", lines.at(-1));
}

async function nextLine(lines) {
	const late = new Promise((_, fail) => setTimeout(() => fail(new Error("no answer in time")), READY_MS).unref());
	const { value, done } = await Promise.race([lines.next(), late]);
	if (done)
		throw new Error("the client ended before it was ready");
	return JSON.parse(value);
}

async function end(client, how, pid) {
	if (how === "close")
		client.stdin.write("close\n");
	else if (how === "killed command")
		process.kill(pid, "SIGKILL");
	else
		client.kill(how);
}

async function expectNobody(how) {
	const tag = randomBytes(12).toString("hex");
	const tree = new Tree(tag, true);
	const server = {
		name: how, command: "npx", cwd: project, stderr: "ignore", call: { name: "hang", arguments: {} },
		args: ["--no-install", "killick", "run", "--", join(project, "node_modules/.bin/killick"), "zoo", "daemon"],
		env: { ...env, [TAG]: tag },
	};
	const client = spawn(process.execPath, [join(interop, "client.mjs"), JSON.stringify([server])],
		{ cwd: project, env, stdio: ["pipe", "pipe", "inherit"] });
	const exited = once(client, "exit");
	const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]();
	try {
		const { ready: [{ pid }] } = await nextLine(lines);
		look([tree]);
		const count = tree.seen.size;
		const began = performance.now();
		await end(client, how, pid);
		await lookUntilEmpty([tree], began + EMPTY_MS);
		result(count >= 4 && tree.emptyAt, `the SDK through npx, ${how} in a call: no process is left`,
			tree.emptyAt ? `${count} processes, gone after ${(tree.emptyAt - began).toFixed(0)} ms` : show(tree.living));
	} catch (e) {
		result(false, `the SDK through npx, ${how}: ${e.message}`);
	} finally {
		client.kill("SIGKILL");
		await exited;
		await scrub([tree]);
	}
}

if (spawnSync("npm", ["--version"]).status !== 0)
	skipAll("npm is not installed");
checkInstalled(await install(process.argv[2]));
checkCommands();
if (process.arch === "x64")
	checkFiles(resolve(process.argv[2]));
await checkWindows(process.argv[2]);
for (const how of ENDINGS) {
	if (existsSync(join(interop, "node_modules/@modelcontextprotocol/sdk")))
		await expectNobody(how);
	else
		skip(`the SDK through npx, ${how}`, "the MCP SDK is not installed: npm ci --prefix tests/interop");
}
finish();
