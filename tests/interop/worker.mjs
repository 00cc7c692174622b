// worker.mjs - a thread of a living client that starts a server and ends. By workerData.how:
//
//	fds	the server's stdin and stdout belong to the process: the end of the thread takes
//		nothing away
//	sdk	the SDK's transport belongs to the thread: its end closes the server's stdin
import { spawn } from "node:child_process";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.mjs";

const { how, server, theirs } = workerData;

if (how === "fds") {
	const { command, args, env, cwd } = server;
	const child = spawn(command, args, { cwd, env, stdio: [...theirs, "inherit"] });

	child.unref();
	child.on("spawn", () => parentPort.postMessage({ pid: child.pid }));
	child.on("error", (e) => parentPort.postMessage({ error: String(e) }));
} else {
	const { pid, tools } = await connect(server);

	parentPort.postMessage({ pid, tools });
}
parentPort.once("message", () => process.exit(0)); // this ends the thread, not the process
