// codex.mjs - the real codex: where it is, a home for it, and one turn of it.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "./child.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const KEY = "INTEROP_MODEL_KEY";

// { path, version } of the program itself, not of its launcher in JavaScript: what is killed here
// is codex. Or { missing }: a sentence.
export function findCodex() {
	const modules = join(here, "node_modules", "@openai");
	const machine = `${process.platform}-${process.arch}`;
	const vendor = join(modules, `codex-${machine}`, "vendor");
	const install = "npm ci --prefix tests/interop/codex";
	if (!existsSync(join(modules, "codex")))
		return { missing: `@openai/codex is not installed: ${install}` };
	const path = (existsSync(vendor) ? readdirSync(vendor) : [])
		.map((target) => join(vendor, target, "bin", "codex")).find(existsSync);
	if (!path)
		return { missing: `@openai/codex has no program for ${machine} here: ${install}` };
	const about = JSON.parse(readFileSync(join(modules, "codex", "package.json"), "utf8"));
	return { path, version: about.version };
}

// A string of JSON is one of TOML as well, and so is an array of them.
const toml = (entries) =>
	Object.entries(entries).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
const write = (file, ...lines) => writeFileSync(file, lines.flat().join("\n") + "\n");

// What codex reads: one server on one executor, { url } or { program }, and a model. It asks nobody
// else anything. executor.sandbox: a mode of codex. executor.first: codex itself works there, too,
// with a model that codex knows and gives its own tools for files.
export function writeHome(home, { modelUrl, executor, server }) {
	const [program, ...args] = executor.program ?? [];
	const { name, command, cwd, env } = server;

	write(join(home, "environments.toml"),
		toml(executor.first ? { default: "host" } : {}),
		"[[environments]]",
		toml({ id: "host", ...program ? { program, args } : { url: executor.url } }));
	write(join(home, "config.toml"),
		toml({
			model: executor.first ? "gpt-5.5" : "interop", model_provider: "interop",
			check_for_update_on_startup: false,
			// of the model's own commands, which are ours
			approval_policy: "never", sandbox_mode: executor.sandbox ?? "danger-full-access",
		}),
		"[features]", // these fetch something, or start a shell
		toml({ plugins: false, apps: false, shell_snapshot: false }),
		"[analytics]",
		toml({ enabled: false }),
		"[model_providers.interop]",
		toml({
			name: "interop", base_url: modelUrl, wire_api: "responses", env_key: KEY,
			request_max_retries: 0, stream_max_retries: 0,
		}),
		`[mcp_servers.${name}]`,
		toml({
			command, args: server.args, cwd, environment_id: "host", required: true,
			startup_timeout_sec: 60, // its default of 10 is too short on a busy machine
		}),
		`[mcp_servers.${name}.env]`,
		toml(env));
}

// The environment of a codex: nothing of the user's own.
export function codexEnv(home, more) {
	return { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, TERM: "dumb", ...more };
}

// One turn of `codex exec`.
export function startTurn(codex, home, cwd, more) {
	const argv = [codex.path, "exec", "--skip-git-repo-check", "--json", "-C", cwd, "Go on."];
	return start(argv, codexEnv(home, { [KEY]: "none", ...more }), cwd);
}
