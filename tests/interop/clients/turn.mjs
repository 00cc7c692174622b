// turn.mjs - one turn of a client of the TypeScript SDK: connect to a server, list its tools, call one
// of them, print the text of the result as JSON, close.
//
//	node turn.mjs 1.x|2.x|modern FILE SERVER TOOL ARGUMENTS
//
// FILE is an mcp.json. `modern` is SDK 2.x that speaks 2026-07-28.
import { readFileSync } from "node:fs";

const [sdk, file, name, tool, args] = process.argv.slice(2);

async function load() {
	if (sdk === "1.x")
		return {
			...await import("@modelcontextprotocol/sdk/client/index.js"),
			...await import("@modelcontextprotocol/sdk/client/stdio.js"),
		};
	return {
		...await import("@modelcontextprotocol/client"),
		...await import("@modelcontextprotocol/client/stdio"),
	};
}

const { Client, StdioClientTransport } = await load();
const { command, args: words, env } = JSON.parse(readFileSync(file, "utf8")).mcpServers[name];
const client = new Client({ name: `killick-turn-${sdk}`, version: "0.0.0" },
	sdk === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {});
await client.connect(new StdioClientTransport({
	command, args: words, env: { ...process.env, ...env },
}));
const { tools } = await client.listTools();
if (!tools.some((one) => one.name === tool))
	throw new Error(`no tool ${tool} in ${tools.map((one) => one.name).join()}`);
const result = await client.callTool({ name: tool, arguments: JSON.parse(args) });
console.log(JSON.stringify(result.content.map((part) => part.text)));
await client.close();
