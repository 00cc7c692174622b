// sdk.mjs ECHO - the client of the MCP SDK, told what to do on stdin: start, burst LEN COUNT WINDOW,
// stop, launch COUNT, end. Answers each line with the time it took, in microseconds, or -1.
import { createInterface } from "node:readline";

const sdk = new URL("../tests/interop/node_modules/@modelcontextprotocol/sdk/dist/esm/client/",
	import.meta.url);
const { Client } = await import(new URL("index.js", sdk));
const { StdioClientTransport } = await import(new URL("stdio.js", sdk));
const echo = process.argv[2];
let one;
let crowd = [];

async function open() {
	const client = new Client({ name: "bench", version: "1" });
	await client.connect(new StdioClientTransport({ command: echo, args: ["mcp"] }));
	return client;
}

async function calls(text, state) {
	while (state.left-- > 0)
		await one.callTool({ name: "echo", arguments: { text } });
}

const orders = {
	start: async () => { one = await open(); },
	burst: async (len, count, window) => {
		const text = "x".repeat(len);
		const state = { left: count };
		await Promise.all(Array.from({ length: window }, () => calls(text, state)));
	},
	stop: () => one.close(),
	launch: async (count) => {
		crowd = await Promise.all(Array.from({ length: count }, open));
	},
	end: () => Promise.all(crowd.map((client) => client.close())),
};

for await (const line of createInterface({ input: process.stdin })) {
	const [order, ...args] = line.split(" ");
	const t0 = performance.now();
	try {
		await orders[order](...args.map(Number));
		console.log(((performance.now() - t0) * 1000).toFixed(1));
	} catch (e) {
		console.error(`sdk.mjs: ${order}: ${e.message}`);
		console.log("-1");
	}
}
process.exit(0);
