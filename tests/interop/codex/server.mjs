// server.mjs - servers for executors, and what the auditor knows of them.
//
// The hostile one has a child that ignores SIGTERM and holds stdout, and a daemon in a session of
// its own; both outlive everything unless they are killed. What the server is asked goes to a file
// on the way: that shows that a call has arrived, whatever becomes of it.
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TAG, Tree } from "../auditor.mjs";

const LIFE_S = 120; // longer than any deadline here: nobody leaves by old age
// the file first: whoever has an answer finds the call there
const TALK = 'tee /dev/fd/3 3>&1 >"$CALLS" | exec "$ZOO" mcp';
const HOSTILE = (talk) => [
	`(trap "" TERM; exec sleep ${LIFE_S}) &`,
	`daemon='echo $$ >"$CALLS.daemon"; exec sleep ${LIFE_S} </dev/null >/dev/null 2>&1'`,
	'(setsid sh -c "$daemon" &)',
	'until [ -s "$CALLS.daemon" ]; do sleep 0.01; done', // nobody may end it before it is known
	talk,
].join("\n");
const SCRIPTS = {
	polite: TALK,
	hostile: HOSTILE(TALK),
	mute: HOSTILE('exec cat >"$CALLS"'), // answers nothing: a client waits for the handshake
};
export const SIZE = { polite: 3, hostile: 5, mute: 3 }; // sh, tee, zoo or cat; child and daemon

const scratch = mkdtempSync(join(tmpdir(), "killick-codex-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

function readOr(file, other) {
	try {
		return readFileSync(file, "utf8");
	} catch {
		return other; // it has not begun yet
	}
}

export const newTag = () => randomBytes(12).toString("hex");

export function newDir(name) {
	const dir = mkdtempSync(join(scratch, `${name}-`));
	mkdirSync(join(dir, "work"));
	return dir;
}

// { name, command, args, cwd, env, tree, size, calls(), daemon() }: calls are what it was asked,
// daemon is the daemon's pid; "" while there is none.
export function newServer(kind, zoo, dir) {
	const tag = newTag();
	const file = join(dir, "calls");
	return {
		name: kind,
		command: "/usr/bin/env", // executors do not let every KILLICK_... through
		args: [`${TAG}=${tag}`, "/bin/sh", "-c", SCRIPTS[kind]],
		cwd: join(dir, "work"),
		env: { CALLS: file, ZOO: zoo, ZOO_LIFE_MS: String(LIFE_S * 1000) },
		tree: new Tree(tag),
		size: SIZE[kind],
		calls: () => readOr(file, ""),
		daemon: () => readOr(`${file}.daemon`, "").trim(),
	};
}
