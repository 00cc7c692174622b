// user.mjs - somebody to run clients as, and the servers they start.
//
// A user is { name, uid, home, places: { dir, killick, zoo } }. places are the programs' own, or
// copies where that user cannot get at them (a checkout below /root, say).
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "killick-interop-"));
chmodSync(scratch, 0o755);
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

// Asked by a process of that user: node may refuse to change its own (where it uses io_uring).
function canOpen(uid, path) {
	return spawnSync("test", ["-r", path], { uid, gid: uid }).status === 0;
}

function placesFor(uid, killick, zoo) {
	if (uid === process.getuid() || [here, killick, zoo].every((path) => canOpen(uid, path)))
		return { dir: here, killick, zoo };
	const copyOf = (path) => {
		const copy = join(scratch, "copy", basename(path));
		// without the real codex, which is large and is not used there
		cpSync(path, copy, { recursive: true, verbatimSymlinks: true, filter: (one) => basename(one) !== "codex" });
		return copy;
	};
	return { dir: copyOf(here), killick: copyOf(killick), zoo: copyOf(zoo) };
}

export function makeUser(name, uid, { killick, zoo }) {
	const home = join(scratch, name); // npx wants a home that it can write to
	mkdirSync(home);
	chownSync(home, uid, uid);
	return { name, uid, home, places: placesFor(uid, killick, zoo) };
}

// An empty directory of that user's.
export function makeDir(user) {
	const dir = mkdtempSync(join(user.home, "dir-"));
	chownSync(dir, user.uid, user.uid);
	return dir;
}

const HANG = { name: "hang", arguments: {} };
const LONG = { name: "trigger-long-running-operation", arguments: { duration: 60, steps: 2 } };

function server(user, held, name, argv, more) {
	const [command, ...args] = held ? [user.places.killick, "run", "--", ...argv] : argv;
	return { name, command, args, cwd: user.places.dir, call: HANG, life: 12, ...more };
}

// A server of the zoo, behind killick or not. `life`: ends by itself after so many seconds.
export function zooServer(user, mode, held) {
	return server(user, held, mode, [user.places.zoo, mode]);
}

// Servers as people start them. Their stderr is of no interest: it tells how they were killed.
export function npxServers(user, held) {
	const quiet = { stderr: "ignore", life: 60 };
	return [
		server(user, held, "npx --no-install",
			["npx", "--no-install", "killick-interop-server"], quiet),
		server(user, held, "npx --offline",
			["npx", "--offline", "killick-interop-server"], quiet),
		server(user, held, "npx server-everything",
			["npx", "--no-install", "mcp-server-everything"],
			{ ...quiet, call: LONG, life: Infinity }),
	];
}
