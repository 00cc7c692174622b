// child.mjs - a program that was started, what it said, and waiting, never without a deadline.
import { spawn } from "node:child_process";
import { once } from "node:events";

const SAID_MAX = 8000;
const LAST_WORDS_MS = 1000; // others may hold its output for longer

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL"))); // after an error

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// { child, exited, said: { out, err } }: exited is { code, signal }, said the end of what it wrote.
export function start([command, ...args], env, cwd) {
	const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
	const said = { out: "", err: "" };
	const keep = (stream, name) => stream.on("data", (data) => {
		said[name] = (said[name] + data).slice(-SAID_MAX);
	});
	keep(child.stdout, "out");
	keep(child.stderr, "err");
	running.add(child);
	const closed = once(child, "close");
	const exited = once(child, "exit").then(async ([code, signal]) => {
		running.delete(child);
		await Promise.race([closed, pause(LAST_WORDS_MS)]);
		return { code, signal };
	});
	return { child, exited, said };
}

// For TAP: as many lines of comment as there are.
export const comment = (text) => text.trim().replaceAll("\n", "\n# ");

// The promise, or an error that says what did not come.
export async function within(ms, what, promise) {
	let timer;
	const late = new Promise((_, fail) => {
		const error = new Error(`${what}: not within ${ms} ms`);
		timer = setTimeout(() => fail(error), ms);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}

// Ask again until the answer is true; an error when `exited` comes first.
export async function until(ms, what, ask, exited) {
	const deadline = performance.now() + ms;
	let ended = false;
	exited.then(() => {
		ended = true;
	});
	while (!ask()) {
		if (ended)
			throw new Error(`${what}: it ended before that`);
		if (performance.now() > deadline)
			throw new Error(`${what}: not within ${ms} ms`);
		await pause(10);
	}
}
