// schema.mjs WIRE-PROGRAM SCHEMAS - what the library writes, judged by the official schemas.
//
// SCHEMAS holds the schema.json of each revision as REVISION.json. They are not ours to ship: without
// them this is skipped, and the servers of the interop tests, which check what they get, remain.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import { finish, result } from "./tap.mjs";

const [program, schemas] = process.argv.slice(2);

function kindOf(message, names) {
	if (message.method)
		return "id" in message ? "ClientRequest" : "ClientNotification";
	if ("error" in message)
		return names.JSONRPCErrorResponse ? "JSONRPCErrorResponse" : "JSONRPCError";
	return "ClientResult";
}

// The definitions that a message must satisfy: the union of its kind, and the one of its method.
function judges(message, names) {
	const kind = kindOf(message, names);
	const ofMethod = Object.keys(names).filter((name) =>
		/(Request|Notification)$/.test(name) &&
		names[name].properties?.method?.const === message.method);
	return message.method ? [kind, ...ofMethod] : [kind];
}

function judge(revision, lines) {
	const schema = JSON.parse(readFileSync(join(schemas, `${revision}.json`), "utf8"));
	const place = schema.$defs ? "$defs" : "definitions";
	const ajv = new (schema.$defs ? Ajv2020.default : Ajv.default)({
		strict: false, validateFormats: false,
	});
	const complaints = [];
	ajv.addSchema(schema, "mcp");
	for (const line of lines) {
		const message = JSON.parse(line);
		const found = judges(message, schema[place]);
		if (message.method && found.length < 2)
			complaints.push(`${message.method} is not in this revision`);
		for (const name of found) {
			const valid = ajv.getSchema(`mcp#/${place}/${name}`);
			if (!valid(name === "ClientResult" ? message.result : message))
				complaints.push(`${name}: ${ajv.errorsText(valid.errors)}: ${line.slice(0, 300)}`);
		}
	}
	return complaints;
}

if (!existsSync(schemas)) {
	console.log("1..0 # SKIP the official schemas are not here");
	process.exit(0);
}
const dir = mkdtempSync(join(tmpdir(), "wire-"));
try {
	const { status, stdout } = spawnSync(program, [], { env: { ...process.env, WIRE: dir } });
	result(status === 0, "everything was said", status ? String(stdout) : "");
	for (const revision of readdirSync(dir).sort()) {
		const lines = readFileSync(join(dir, revision), "utf8").trim().split("\n");
		const complaints = judge(revision, lines);
		result(lines.length > 15 && complaints.length === 0,
			`${revision}: ${lines.length} messages satisfy the schema`, complaints.join("; "));
	}
} finally {
	rmSync(dir, { recursive: true });
}
finish();
