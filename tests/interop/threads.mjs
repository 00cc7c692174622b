// threads.mjs - a client whose server was started by a thread that has ended; made to be ended
// itself.
//
//	node threads.mjs fds|sdk SERVER-JSON DIRECTORY
//
// Prints one JSON line when the thread is gone. With `fds` it has then talked to the server from
// the main thread, and says whether that worked. DIRECTORY is an empty one for two FIFOs.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { leaveInFlight, newClient } from "./connect.mjs";

const [how, serverText, dir] = process.argv.slice(2);
const server = JSON.parse(serverText);
const fifos = [`${dir}/stdin`, `${dir}/stdout`];

// Two pipes with four separate ends (ours become non-blocking, the server's must not). While one
// descriptor has a FIFO open both ways, opening it one way waits for nobody.
execFileSync("mkfifo", fifos);
const both = fifos.map((path) => openSync(path, "r+"));
const theirs = [openSync(fifos[0], "r"), openSync(fifos[1], "w")];
const ours = [openSync(fifos[0], "w"), openSync(fifos[1], "r")];
both.forEach(closeSync);

const worker = new Worker(new URL("worker.mjs", import.meta.url), {
	workerData: { how, server, theirs },
});
const [started] = await once(worker, "message");
theirs.forEach(closeSync);
worker.postMessage("end");
await once(worker, "exit"); // the thread has been joined

// Does the server still answer?
async function talk() {
	const client = newClient();
	const [to, from] = ours.map((fd, i) =>
		new Socket({ fd, readable: i === 1, writable: i === 0 }));
	const end = new Promise((_, fail) => {
		from.on("end", () => fail(new Error("the server has ended")));
		to.on("error", fail);
		setTimeout(() => fail(new Error("no answer in 5 s")), 5000).unref();
	});
	const answers = (async () => {
		// two streams are all it wants; that it is called a server's is the SDK's affair
		await client.connect(new StdioServerTransport(from, to));
		const { tools } = await client.listTools();
		await leaveInFlight(client, server.call);
		return { tools: tools.map((t) => t.name) };
	})();
	answers.catch(() => {});
	return Promise.race([answers, end]);
}

const talked = how === "fds" ? await talk().catch((e) => ({ error: e.message })) : {};
console.log(JSON.stringify({ ready: [{ name: server.name, ...started, ...talked }] }));
process.stdin.on("end", () => process.exit(0)).resume();
