// clients.mjs - real MCP clients for Windows: where they are, a home for each with one server in
// its config, and one turn of each, with a script in the place of the model.
//
// A client is { name, version, path, program, image, leaves, newModel(script), config(dir, server,
// modelUrl), words(tools), env(dir, modelUrl) } or { name, missing }: a sentence. path and program
// name its file, for Linux and for Windows, and image without its folder. leaves: the client is
// known to leave processes behind. config returns the path of the config file, words are the
// command line. Paths in words and env are those of Windows.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Model } from "../../interop/codex/model.mjs";
import { KEY, claudeConfig, codexConfig } from "../../interop/clients/clients.mjs";
import { Messages } from "../../interop/clients/messages.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const SLOW_MS = "60000";
const install = "npm ci --force --prefix tests/windows/clients";

export const onWindows = (path) => "Z:" + path.replaceAll("/", "\\");

function find(folder, program) {
	const modules = join(here, "node_modules", folder);
	const path = join(modules, program);
	if (!existsSync(path))
		return { missing: `${folder} is not installed: ${install}` };
	const { version } = JSON.parse(readFileSync(join(modules, "package.json"), "utf8"));
	return { version: version.replace("-win32-x64", ""), path, program: onWindows(path) };
}

export function claudeCode() {
	const found = find("@anthropic-ai/claude-code-win32-x64", "claude.exe");
	return {
		name: "claude.exe", image: "claude.exe", leaves: true, ...found,
		newModel: (script) => new Messages(script),
		config: claudeConfig,
		words: (tools) => [found.program, "-p", '"Go on."', "--allowedTools",
			tools.map(({ server, tool }) => `mcp__${server}__${tool}`).join(",")],
		env: (dir, modelUrl) => ({
			CLAUDE_CONFIG_DIR: onWindows(dir), USERPROFILE: onWindows(dir),
			ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: "none",
			DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
			ENABLE_TOOL_SEARCH: "false",
			// it goes on without a server that is slow to start, as all are on a busy machine
			CLAUDE_CODE_MCP_STARTUP_WAIT_MS: SLOW_MS, MCP_TIMEOUT: SLOW_MS,
		}),
	};
}

export function codexCli() {
	const found = find("codex-win32-x64", "vendor/x86_64-pc-windows-msvc/bin/codex.exe");
	return {
		name: "codex.exe", image: "codex.exe", ...found,
		newModel: (script) => new Model(script),
		config: codexConfig,
		words: () => [found.program, "exec", "--skip-git-repo-check", "--json", '"Go on."'],
		env: (dir) => ({ CODEX_HOME: onWindows(dir), [KEY]: "none" }),
	};
}
