// shell.mjs - a cmd.exe in Wine, to which lines are given. All programs of Wine end with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { within } from "../../interop/codex/child.mjs";

const LINE_MS = 60000; // for one line: a slow machine, and Wine that starts
const SAID_MAX = 8000;

export class Shell {
	constructor(wine) {
		this.said = "";
		this.heard = null; // called when something was said
		this.count = 0;
		this.child = spawn(wine, ["cmd.exe", "/q"], { stdio: ["pipe", "pipe", "inherit"] });
		this.child.stdout.on("data", (data) => {
			this.said = (this.said + data).slice(-SAID_MAX);
			this.heard?.();
		});
		this.exited = once(this.child, "exit");
		this.exited.then(() => this.heard?.());
	}

	// The exit status of a line. One line at a time: cmd.exe may read more than one at once.
	async do(line) {
		const mark = `line ${++this.count} done.`;
		await this.say(`${line} & echo ${mark}`, new RegExp(`line ${this.count} done\\.`));
		const status = new RegExp(`status ${this.count}=(-?\\d+)\\.`);
		const found = await this.say(`echo status ${this.count}=%errorlevel%.`, status);
		return Number(found[1]);
	}

	async say(line, mark) {
		const found = new Promise((done, fail) => {
			this.heard = () => {
				const match = this.said.match(mark);
				if (match)
					done(match);
				else if (this.child.exitCode !== null)
					fail(new Error(`cmd.exe is gone: ${line}: ${this.said}`));
			};
		});
		this.child.stdin.write(`${line}\r\n`);
		try {
			return await within(LINE_MS, line, found);
		} finally {
			this.heard = null;
		}
	}

	async close() {
		this.child.stdin.end();
		await within(LINE_MS, "the end of cmd.exe", this.exited);
	}
}
