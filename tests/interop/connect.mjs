// connect.mjs - start one server with the SDK and leave a tool call in flight on it.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

export function newClient() {
	return new Client({ name: "killick-interop", version: "0.0.0" });
}

// A call that is not answered, sent before a ping that is: the pipe keeps their order, so the
// server has it.
export async function leaveInFlight(client, call) {
	client.callTool(call).catch(() => {}); // fails when the client closes, as it should
	await client.ping();
}

export async function connect({ name, call, ...how }) {
	const transport = new StdioClientTransport(how);
	const client = newClient();

	await client.connect(transport);
	const { tools } = await client.listTools();
	await leaveInFlight(client, call);
	return { name, client, pid: transport.pid, tools: tools.map((t) => t.name) };
}
