// turn.mjs - one turn of a client of clients.mjs, started by a batch file in a cmd.exe (shell.mjs).
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onWindows } from "./clients.mjs";

const readOr = (file, other) => existsSync(file) ? readFileSync(file, "utf8") : other;

export class Turn {
	// The config of the client is in dir, which has a folder `work`.
	constructor(dir, client, modelUrl, script) {
		this.dir = dir;
		this.batch = onWindows(join(dir, "turn.cmd"));
		const [out, status] = ["out", "status"].map((name) => onWindows(join(dir, name)));
		const variables = Object.entries(client.env(dir, modelUrl));
		const tools = script.filter((step) => step.tool);
		const lines = [
			"@echo off",
			...variables.map(([name, value]) => `set "${name}=${value}"`),
			`cd /d ${onWindows(join(dir, "work"))}`,
			`${client.words(tools).join(" ")} <nul >${out} 2>&1`,
			`echo %errorlevel%. >${status}`,
		];
		writeFileSync(join(dir, "turn.cmd"), lines.map((line) => `${line}\r\n`).join(""));
	}

	start(shell) {
		return shell.do(`start /b cmd.exe /c ${this.batch} <nul >nul 2>&1`);
	}

	// The exit status; NaN while the client runs.
	status() {
		const text = readOr(join(this.dir, "status"), "");
		return parseInt(text.match(/^-?\d+(?=\.)/)?.[0], 10);
	}

	said() {
		return readOr(join(this.dir, "out"), "it said nothing").slice(-2000);
	}
}
