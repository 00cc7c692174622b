// clients.mjs - real MCP clients: where they are, a home for each with one server in its config, and
// one short run of each.
//
// A client is { name, version, config(dir, server), argv(dir), env(dir) } or { name, missing }: a
// sentence. config writes the client's own config file, below dir, and returns its path. The run
// starts the server, and ends by itself soon after the handshake.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findCodex } from "../codex/codex.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const install = "npm ci --prefix tests/interop/clients";
export const KEY = "INTEROP_MODEL_KEY"; // a variable
// no network but the loopback of an empty namespace: these clients would ask their makers for news
const OFFLINE = ["unshare", "--net", "--"];

const write = (dir, file, text) => {
	const path = join(dir, file);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
	return path;
};
const json = (value) => JSON.stringify(value, null, 2) + "\n";
const base = (dir) => ({ PATH: process.env.PATH, HOME: dir, TERM: "dumb" });
const entry = ({ command, args, env }) => ({ command, args, env });

function find(modules, name, program) {
	const about = join(modules, name, "package.json");
	if (!existsSync(program) || !existsSync(about))
		return { missing: `${name} is not installed: ${install}` };
	return { version: JSON.parse(readFileSync(about, "utf8")).version };
}

// { version } of a package that is installed for these clients, or { missing }.
export function findPackage(name) {
	const modules = join(here, "node_modules");
	return find(modules, name, join(modules, name, "package.json"));
}

export const claudeConfig = (dir, server) => write(dir, ".claude.json", json({
	hasCompletedOnboarding: true,
	mcpServers: { [server.name]: { type: "stdio", ...entry(server) } },
}));

function claudeCode() {
	const modules = join(here, "node_modules", "@anthropic-ai");
	const program = join(modules, `claude-code-${process.platform}-${process.arch}`, "claude");
	return {
		name: "Claude Code",
		...find(modules, "claude-code", program),
		config: claudeConfig,
		argv: () => [...OFFLINE, program, "mcp", "list"],
		env: (dir) => ({
			...base(dir), DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
		}),
	};
}

function geminiCli() {
	const modules = join(here, "node_modules", "@google");
	const program = join(modules, "gemini-cli", "bundle", "gemini.js");
	return {
		name: "Gemini CLI",
		...find(modules, "gemini-cli", program),
		config: (dir, server) => write(dir, ".gemini/settings.json", json({
			general: { enableAutoUpdate: false },
			privacy: { usageStatisticsEnabled: false },
			security: { folderTrust: { enabled: false } },
			mcpServers: { [server.name]: entry(server) },
		})),
		argv: () => [...OFFLINE, process.execPath, program, "mcp", "list"],
		env: base,
	};
}

const toml = (entries) =>
	Object.entries(entries).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);

export const codexConfig = (dir, { name, command, args, env }, modelUrl) =>
	write(dir, "config.toml", [
		...toml({
			model: "interop", model_provider: "interop", check_for_update_on_startup: false,
			approval_policy: "never", sandbox_mode: "danger-full-access",
		}),
		"[features]", ...toml({ plugins: false, apps: false, shell_snapshot: false }),
		"[analytics]", ...toml({ enabled: false }),
		"[model_providers.interop]", ...toml({
			name: "interop", base_url: modelUrl, wire_api: "responses", env_key: KEY,
			request_max_retries: 0, stream_max_retries: 0,
		}),
		`[mcp_servers.${name}]`, ...toml({
			command, args, required: true, startup_timeout_sec: 60, // its default is 10
		}),
		`[mcp_servers.${name}.env]`, ...toml(env), "",
	].join("\n"));

// codex starts its servers for a turn only, and a turn needs a model.
function codexCli(modelUrl) {
	const codex = findCodex();
	return {
		name: "Codex",
		...codex,
		config: (dir, server) => codexConfig(dir, server, modelUrl),
		argv: (dir) => [codex.path, "exec", "--skip-git-repo-check", "--json",
			"-C", join(dir, "work"), "Go on."],
		env: (dir) => ({ ...base(dir), CODEX_HOME: dir, [KEY]: "none" }),
	};
}

function npmSdk() {
	const modules = join(here, "..", "node_modules", "@modelcontextprotocol");
	return {
		name: "TypeScript SDK",
		...find(modules, "sdk", join(modules, "sdk", "package.json")),
		config: (dir, server) => write(dir, "mcp.json", json({
			mcpServers: { [server.name]: entry(server) },
		})),
		argv: (dir) => [process.execPath, join(here, "sdk.mjs"), join(dir, "mcp.json")],
		env: base,
	};
}

export const allClients = (modelUrl) =>
	[claudeCode(), geminiCli(), codexCli(modelUrl), npmSdk()];
