// executor.mjs - the executors: ours and codex's own, listening on a socket or as a program.
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { start, until, within } from "./child.mjs";

const UP_MS = 10000;
const DOWN_MS = 10000;

// An executor is { name, argv }; argv without where it listens.
export const killickExecutor = (killick, lease) =>
	({ name: "killick", argv: [killick, "exec-server", "--lease", lease] });
export const codexExecutor = (codex) => ({ name: "codex", argv: [codex.path, "exec-server"] });

export const asProgram = ({ argv }) => ({ program: [...argv, "--listen", "stdio"] });

// Start it on a port of its choice. As child.mjs has it, and { url }.
export async function listen({ name, argv }, env) {
	const run = start([...argv, "--listen", "ws://127.0.0.1:0"], env);
	const address = () => run.said.out.match(/^ws:\/\/\S+(?=\n)/m);
	try {
		await until(UP_MS, `the address of ${name} exec-server`, address, run.exited);
	} catch (e) {
		run.child.kill("SIGKILL");
		await run.exited;
		throw new Error(`${e.message}; it says: ${run.said.err}`);
	}
	return { ...run, url: address()[0] };
}

// SIGTERM, and how it ended; SIGKILL when it does not.
export async function endExecutor({ child, exited }) {
	child.kill("SIGTERM");
	try {
		return await within(DOWN_MS, "the end of exec-server", exited);
	} catch (e) {
		child.kill("SIGKILL");
		await exited;
		throw e;
	}
}

// A wire to the executor at `url` that can be cut. { url, cut(), close() }
export async function openWire(url) {
	const { hostname, port } = new URL(url);
	const ends = new Set();
	const join = (near) => {
		const far = connect(Number(port), hostname);
		for (const [one, other] of [[near, far], [far, near]]) {
			ends.add(one);
			one.pipe(other);
			one.on("error", () => {}); // the other end has gone; close comes next
			one.on("close", () => {
				ends.delete(one);
				other.destroy();
			});
		}
	};
	const server = createServer(join);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const cut = () => [...ends].forEach((end) => end.destroy());
	return {
		url: `ws://127.0.0.1:${server.address().port}`,
		cut,
		close() {
			server.close();
			cut();
		},
	};
}
