// client.mjs - a real MCP client with several servers and a call in flight on each, made to be
// ended.
//
//	node client.mjs SERVERS-JSON
//
// SERVERS: [{ name, command, args, cwd, env, stderr, call: { name, arguments } }]. Prints one JSON
// line when every server has answered and has its call in flight. A line "close" on stdin closes
// every client; a second JSON line says that is done. Then it lives on, like the programs that
// forget their servers, until stdin ends.
import { createInterface } from "node:readline";
import { connect } from "./connect.mjs";

const servers = JSON.parse(process.argv[2]);
const clients = await Promise.all(servers.map(connect));

console.log(JSON.stringify({
	ready: clients.map(({ name, pid, tools }) => ({ name, pid, tools })),
}));

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
	if (line !== "close")
		return;
	await Promise.all(clients.map(async ({ client }) => client.close()));
	console.log(JSON.stringify({ closed: true }));
});
lines.on("close", () => process.exit(0));
