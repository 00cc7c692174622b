// sdk.mjs - the smallest client of the TypeScript SDK: start every server of a config, list its tools,
// close.
//
//	node sdk.mjs FILE
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { mcpServers } = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const { command, args, env } of Object.values(mcpServers)) {
	const client = new Client({ name: "killick-clients", version: "0.0.0" });
	await client.connect(new StdioClientTransport({
		command, args, env: { ...process.env, ...env },
	}));
	await client.listTools();
	await client.close();
}
process.exit(); // a child of the server may hold the pipe, and node would wait for it
