// json_node.mjs JSON_DUMP [COUNT] [SEED] - do we read JSON as node does? TAP.
//
// Random texts, most of them broken in one or two places, go to json_dump and to JSON.parse: both must take
// or refuse them, and must see the same value. Bytes that are no UTF-8 are a refusal on our side.
import { spawnSync } from "node:child_process";
import { result, bailOut, finish } from "../interop/tap.mjs";

const [dumpProgram, countArg = "30000", seedArg = String(Date.now())] = process.argv.slice(2);
let seed = BigInt(seedArg);

function random(n) { // splitmix64
	seed = BigInt.asUintN(64, seed + 0x9e3779b97f4a7c15n);
	let z = seed;
	z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
	z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
	return Number((z ^ (z >> 31n)) % BigInt(n));
}

const pick = (list) => list[random(list.length)];
const some = (max, fn) => Array.from({ length: random(max) }, fn);
const space = () => some(3, () => pick(["", "", " ", "\n", "\t", "\r", "  \n"])).join("");

// No NUL and no half of a pair: they are U+FFFD to us, and two keys could become one.
const keyChars = ["a", "b", "id", "\\n", "\\\"", "\\u0061", "ä", "⚓", "🚢", "\\ud83d\\udea2", "\\/", "0", "__proto__", " "];
const chars = [...keyChars, "\\u0000", "\\ud83d", "\\uDEA2", "\\u001f", "\u007f", "plain text of some length", "\ufeff", "\u2028"];

const string = (from) => `"${some(6, () => pick(from)).join("")}"`;

function number() {
	const whole = pick(["0", "1", "7", "10", "123456789", "9007199254740993", String(random(1e9)), "1".repeat(1 + random(60))]);
	const fraction = pick(["", "", ".0", ".5", "." + String(random(1e9)), "." + "0".repeat(random(40)) + "1"]);
	const exponent = pick(["", "", "", "e5", "E-7", "e+22", "e308", "e-323", "e" + random(400), "E-" + random(400)]);
	return pick(["", "-"]) + whole + fraction + exponent;
}

function value(depth) {
	switch (random(depth > 0 ? 9 : 6)) {
	case 0: return "null";
	case 1: return "true";
	case 2: return "false";
	case 3: case 4: return number();
	case 5: return string(chars);
	case 6: case 7: return "{" + some(4, () =>
		space() + string(keyChars) + space() + ":" + space() + value(depth - 1) + space()).join(",") + space() + "}";
	default: return "[" + some(5, () => space() + value(depth - 1) + space()).join(",") + space() + "]";
	}
}

const breaks = ["", "", ",", ":", "\"", "\\", "{", "}", "[", "]", "0", "-", "+", ".", "e", "\\u12", "\\ud83d", "/", "//", "/**/", "'", "nul", "true",
	"\n", "\0", "\x01", "\t", "\f", "\xa0", "\ufeff", "NaN", "1", " "];
const brokenBytes = [[0x80], [0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x9a], [0xf0, 0x80, 0x80, 0x80], [0xc3]];

function mutate(bytes) {
	const at = random(bytes.length + 1), gone = random(3);
	const put = random(12) === 0 ? Buffer.from(pick(brokenBytes)) : Buffer.from(pick(breaks));
	return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + gone)]);
}

function text() {
	let bytes = Buffer.from(space() + value(random(5)) + space());
	for (let n = random(3); n > 0; n--)
		bytes = mutate(bytes);
	return bytes;
}

function quote(s) {
	const well = s.replace(/[\p{Surrogate}\0]/gu, "\ufffd");
	return '"' + well.replace(/["\\]/g, "\\$&").replace(/[\x00-\x1f\x7f]/g,
		(c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")) + '"';
}

function dump(v) {
	if (v === null || typeof v === "boolean")
		return String(v)[0];
	if (typeof v === "number") {
		const bits = new DataView(new ArrayBuffer(8));
		bits.setFloat64(0, v);
		return "#" + bits.getBigUint64(0).toString(16).padStart(16, "0");
	}
	if (typeof v === "string")
		return quote(v);
	if (Array.isArray(v))
		return "[" + v.map(dump).join(",") + "]";
	const keys = Object.keys(v).map((key) => [Buffer.from(key), key]).sort((a, b) => Buffer.compare(a[0], b[0]));
	return "{" + keys.map(([, key]) => quote(key) + ":" + dump(v[key])).join(",") + "}";
}

function byNode(bytes) {
	try {
		return dump(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)));
	} catch {
		return "!";
	}
}

// A key that mutation has given a NUL or half a pair may meet another one: not to be compared.
const ambiguous = (bytes) => /\\u(0000|[dD][89a-fA-F])/.test(bytes.toString("latin1"));

const texts = Array.from({ length: Number(countArg) }, text);
const ours = spawnSync(dumpProgram, {
	input: Buffer.concat(texts.flatMap((t) => [Buffer.from(`${t.length}\n`), t])),
	maxBuffer: 1 << 30,
});
if (ours.status !== 0)
	bailOut(`${dumpProgram}: ${ours.error ?? ours.stderr}`, 99);
const lines = ours.stdout.toString("utf8").split("\n");
console.log(`# seed ${seedArg}`);

const differ = { verdict: [], value: [] };
let taken = 0;
texts.forEach((bytes, i) => {
	const want = byNode(bytes);
	taken += want !== "!";
	if ((want === "!") !== (lines[i] === "!"))
		differ.verdict.push([bytes, want, lines[i]]);
	else if (want !== lines[i] && !ambiguous(bytes))
		differ.value.push([bytes, want, lines[i]]);
});
for (const [what, list] of Object.entries(differ)) {
	for (const [bytes, want, got] of list.slice(0, 5))
		console.log(`# ${JSON.stringify(bytes.toString("latin1"))}: node ${want}, we ${got}`);
	result(list.length === 0, `the same ${what} for ${texts.length} texts, ${taken} of them JSON`);
}
result(lines.length === texts.length + 1 && taken > texts.length / 10 && taken < texts.length * 0.9, "texts of both kinds");
finish();
