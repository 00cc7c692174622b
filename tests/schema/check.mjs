// check.mjs DUMP [server] - does everything the client, or the server, writes match the official schemas? TAP.
//
// The schemas are not part of this tree: KILLICK_SCHEMA_DIR, or shared/schema beside it. Without them this is skipped, and
// says so; the servers of the interop suite validate what they get in any case. ajv comes with the official SDK.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const dir = process.env.KILLICK_SCHEMA_DIR ?? path.resolve(root, "../shared/schema");
const role = process.argv[3] ?? "client";
const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

function skip(why) {
	console.error(`SKIPPED: what the ${role} writes was not checked against the schemas: ${why}`);
	console.log(`1..1\nok 1 - schemas # SKIP ${why}`);
	process.exit(0);
}

let require;
try {
	require = createRequire(path.join(root, "tests/interop/package.json"));
	require.resolve("ajv");
} catch {
	skip("no ajv: npm ci --prefix tests/interop");
}
for (const revision of revisions)
	if (!existsSync(path.join(dir, `${revision}.json`)))
		skip(`no ${revision}.json in ${dir}`);

const addFormats = require("ajv-formats").default;
const { default: Ajv07 } = require("ajv");
const { default: Ajv2020 } = require("ajv/dist/2020.js");

// The definitions of one revision: validate(name, value) -> null or what is wrong.
class Schema {
	constructor(revision) {
		const text = JSON.parse(readFileSync(path.join(dir, `${revision}.json`), "utf8"));
		this.key = text.$defs ? "$defs" : "definitions";
		this.defs = text[this.key];
		this.ajv = new (text.$schema.includes("2020-12") ? Ajv2020 : Ajv07)({ strict: false, allErrors: true });
		addFormats(this.ajv);
		this.ajv.addSchema({ ...text, $id: "mcp" });
		this.byMethod = new Map();
		for (const union of role === "server" ? ["ServerRequest", "ServerNotification"] : ["ClientRequest", "ClientNotification"])
			for (const name of this.members(union))
				this.byMethod.set(this.defs[name].properties.method.const, name);
	}

	members(union) {
		const def = this.defs[union];
		if (!def)
			return []; // a modern server makes no requests
		return def.anyOf ? def.anyOf.map((m) => m.$ref.split("/").pop()) : [union];
	}

	validate(name, value) {
		if (!this.defs[name])
			return `there is no definition ${name}`;
		const check = this.ajv.getSchema(`mcp#/${this.key}/${name}`);
		return check(value) ? null : this.ajv.errorsText(check.errors, { dataVar: name });
	}

	// One line; kind names the definition of a result.
	line(text, kind) {
		const message = JSON.parse(text);
		const envelope = message.method === undefined ? "JSONRPCMessage" : "id" in message ? "JSONRPCRequest" : "JSONRPCNotification";
		const bad = this.validate(envelope, message);
		if (bad)
			return bad;
		if (message.method !== undefined) {
			const name = this.byMethod.get(message.method);
			return name ? this.validate(name, message) : `a ${role} does not send ${message.method}`;
		}
		if (message.error !== undefined)
			return this.validate(this.defs.JSONRPCErrorResponse ? "JSONRPCErrorResponse" : "JSONRPCError", message);
		return kind === "-" ? "a result of what?" : this.validate(kind, message.result);
	}
}

// What must have been written at least, so that nothing is left out unseen; and the method of a line to break.
const parts = {
	client: {
		always: ["tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
			"prompts/get", "completion/complete", "notifications/cancelled"],
		legacyOnly: ["initialize", "notifications/initialized", "ping", "logging/setLevel", "resources/subscribe",
			"resources/unsubscribe"],
		modernOnly: ["server/discover", "subscriptions/listen"],
		sample: "tools/call",
	},
	server: {
		always: ["notifications/progress", "notifications/message", "notifications/tools/list_changed",
			"notifications/resources/list_changed", "notifications/prompts/list_changed",
			"notifications/resources/updated", "notifications/cancelled"],
		legacyOnly: ["sampling/createMessage", "roots/list"],
		modernOnly: ["notifications/subscriptions/acknowledged"],
		sample: "notifications/progress",
	},
}[role];

const lines = execFileSync(process.argv[2], { encoding: "utf8" }).trimEnd().split("\n")
	.map((line) => line.match(/^([^\t]*)\t([^\t]*)\t(.*)$/).slice(1));
let count = 0;
let failed = 0;
function result(ok, name, details = []) {
	count++;
	failed += ok ? 0 : 1;
	for (const d of details)
		console.log(`# ${d}`);
	console.log(`${ok ? "ok" : "not ok"} ${count} - ${name}`);
}

for (const revision of revisions) {
	const schema = new Schema(revision);
	const mine = lines.filter(([r]) => r === revision);
	const bad = [];
	const seen = new Set();
	for (const [, kind, text] of mine) {
		const why = schema.line(text, kind);
		seen.add(JSON.parse(text).method);
		if (why)
			bad.push(text, `  ${why}`);
	}
	result(bad.length === 0, `${revision}: ${mine.length} lines match the schema`, bad);
	const wanted = [...parts.always, ...(revision < "2026" ? parts.legacyOnly : parts.modernOnly)];
	const missing = wanted.filter((m) => !seen.has(m));
	result(missing.length === 0, `${revision}: every method was written`, missing.map((m) => `missing: ${m}`));
	// would it be seen?
	const sample = mine.find(([, , text]) => JSON.parse(text).method === parts.sample)[2];
	const broken = [
		sample.replace('"name":', '"title":'),
		sample.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"'),
		sample.replace('"id":', '"id":null,"x":'),
		sample.replace("tools/call", "tools/cal"),
		sample.replace("io.modelcontextprotocol/protocolVersion", "protocolVersion"),
		sample.replace('"progress":', '"progres":'),
		sample.replace("notifications/progress", "notifications/progres"),
	].filter((text) => text !== sample);
	result(broken.every((text) => schema.line(text, "-") !== null), `${revision}: broken lines are noticed`);
}
console.log(`1..${count}`);
process.exitCode = failed ? 1 : 0;
